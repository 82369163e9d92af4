"""The log of `--log-file`: a line with the time for each step, result, warning and error."""

import logging
from pathlib import Path

from vidsum.errors import OutputError

LOG = logging.getLogger("vidsum.commands")
"""Silent until `start_log`."""
LOG.propagate = False
LOG.addHandler(logging.NullHandler())


def start_log(path: Path) -> None:
    """Append to a file what this process does; the log of a command before it in this process ends.

    Raises:
        OutputError: it cannot be written.
    """
    for handler in LOG.handlers[1:]:
        LOG.removeHandler(handler)
        handler.close()
    try:
        handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
