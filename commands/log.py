"""The log of `--log-file`: a line with the time for each step, result, warning and error."""

import logging
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from vidsum.commands.paths import claim
from vidsum.errors import OutputError
from vidsum.outputs import check_target, is_special, open_existing
from vidsum.version import __version__

LOG = logging.getLogger("vidsum.commands")
"""Silent until `start_log`."""
LOG.propagate = False
LOG.addHandler(logging.NullHandler())

_LINE = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|WARNING|ERROR) ")
_LINE_BYTES = 40
"""What `_LINE` matches is shorter."""


def start_log(path: Path) -> None:
    """Append to a file what this process does; the log of a command before it in this process ends.

    Raises:
        UsageError: the command reads the file, or writes it for something else.
        OutputError: it exists and is not a log, or cannot be written.
    """
    for handler in LOG.handlers[1:]:
        LOG.removeHandler(handler)
        handler.close()
    claim(path, "--log-file")
    check_target(path)
    if not _may_be_appended_to(path):
        raise OutputError(f"{path}: already exists, and is not a log of vidsum", hint="--log-file FILE")
    try:
        handler = _Handler(_opened(path), path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    handler.raises = True  # a full disk is told before any work
    LOG.info(f"vidsum {__version__}")
    handler.raises = False


class _Handler(logging.StreamHandler[TextIO]):
    """Writes lines as long as it can; then it says so once, and the command goes on without a log."""

    raises = False

    def __init__(self, stream: TextIO, path: Path) -> None:
        super().__init__(stream)
        self._path = path

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """End the log."""
        error = sys.exc_info()[1]
        LOG.removeHandler(self)
        self.close()
        reason = error.strerror if isinstance(error, OSError) else error
        fault = f"{self._path}: cannot be written ({reason})"
        if self.raises:
            raise OutputError(fault)
        print(f"warning: {fault}; the log ends here", file=sys.stderr)

    def close(self) -> None:
        """Close the file; what a full disk did not take is lost."""
        super().close()
        with suppress(OSError):
            self.stream.close()


def _opened(path: Path) -> TextIO:
    flags = os.O_APPEND | (0 if is_special(path) else os.O_CREAT)
    return os.fdopen(open_existing(path, flags), "a", encoding="utf-8", errors="backslashreplace")


def _may_be_appended_to(path: Path) -> bool:
    """Whether a path is a log, is empty or not there yet, or is no regular file."""
    if not path.is_file():
        return True
    with path.open("rb") as file:
        head = file.read(_LINE_BYTES)
    return not head or _LINE.match(head) is not None
