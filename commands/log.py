"""The log of commands (`--log-file`)."""

import logging
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from vidsum.commands.paths import reserve_output
from vidsum.errors import OutputError
from vidsum.io.outputs import check_target, is_special, open_existing
from vidsum.version import __version__

LOG = logging.getLogger("vidsum.commands")
"""Silent until `start_log`."""
LOG.propagate = False
LOG.addHandler(logging.NullHandler())

_LINE = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|WARNING|ERROR) ")
_LINE_BYTES = 40
"""Upper limit of the length of a match of `_LINE`."""


def start_log(path: Path) -> None:
    """Log this process to a file, in place of the log of an earlier command.

    Raises:
        UsageError: the command reads the file, or writes another output to it.
        OutputError: it exists and is not a log, or cannot be written.
    """
    for handler in LOG.handlers[1:]:
        LOG.removeHandler(handler)
        handler.close()
    reserve_output(path, "--log-file")
    check_target(path)
    if path.is_file() and (head := _head(path)) and not _LINE.match(head):
        raise OutputError(f"{path}: already exists, and is not a log of vidsum", hint="--log-file FILE")
    flags = os.O_APPEND | (0 if is_special(path) else os.O_CREAT)
    try:
        stream = os.fdopen(open_existing(path, flags), "a", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
    handler = _Handler(stream, path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    handler.raises = True  # report a full disk before any work
    LOG.info(f"vidsum {__version__}")
    handler.raises = False


class _Handler(logging.StreamHandler[TextIO]):
    """A handler that ends the log, with one warning, when it cannot write."""

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
        """Close the file; lines that do not fit on a full disk are lost."""
        super().close()
        with suppress(OSError):
            self.stream.close()


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LINE_BYTES)
