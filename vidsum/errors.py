"""The errors that vidsum raises on purpose.

    VidsumError            a fault: exit code 1
    ├── UsageError         an option or argument makes no sense: 2
    ├── InputError         the input cannot be read or has no video: 3
    │   ├── DamagedError   only a part of the video decodes and `strict` was asked for: 3
    │   └── MissingError   an archive or the disk lacks what is named: 3
    │       └── ForeignFileError   an archive names a file that is not its video: 3
    ├── WeightsError       weights are missing, cannot be fetched or fail their check: 4
    ├── PackageError       an extra of vidsum is not installed: 1
    └── OutputError        an output already exists or cannot be written: 1

Each message is one line that names the thing at fault and the reason. `hint` names the remedy, if anything
does: a command, an option, a package. Neither shows secrets of a URL.
"""

import errno

from vidsum.urls import redact


class VidsumError(Exception):
    """Base of all errors that vidsum raises on purpose."""

    exit_code = 1
    ends_batch = False
    """Whether every input that follows would meet the same fault."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        self.message = redact(message)
        super().__init__(self.message)
        self.hint = hint and redact(hint)


def is_full(error: OSError) -> bool:
    """Return whether a disk or a quota is used up: what is written next fails too."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


class UsageError(VidsumError, ValueError):
    """An option, argument or parameter value makes no sense; `option` is its name, if it is one option's."""

    exit_code = 2

    def __init__(self, message: str, hint: str | None = None, option: str = "") -> None:
        super().__init__(message, hint)
        self.option = option


class InputError(VidsumError):
    """The input cannot be read, is not a video or has no video stream."""

    exit_code = 3


class DamagedError(InputError):
    """Only a part of the video decodes, and the caller asked for all or nothing."""


class MissingError(InputError):
    """The archive lacks what is asked for, or the disk lacks the file."""


class ForeignFileError(MissingError):
    """An archive names a file that is not the video that it describes."""


class WeightsError(VidsumError):
    """Weights are missing, cannot be fetched, or do not have the recorded SHA-256."""

    exit_code = 4


class PackageError(VidsumError):
    """A package of an extra is not installed; `hint` is the command that installs it."""

    ends_batch = True


class OutputError(VidsumError):
    """An output already exists, or cannot be written."""
