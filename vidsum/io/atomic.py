"""Writing result files so that a run which is killed leaves no half file, and no device is replaced."""

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory

from vidsum.errors import OutputError, is_disk_fault

_STEM = 40  # letters of a name that the temporary one keeps: the whole could be as long as names may be
_NAME_BYTES = 220  # longest name of a source: file systems take 255 bytes, our endings have 35


def check_name(path: Path) -> None:
    """See that a file may have such a name. Raises OutputError: too long, or cannot be followed."""
    _require_no_nul(path)
    try:
        path.exists()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"cannot be written ({reason})", subject=path) from error


def _require_no_nul(path: Path) -> None:
    if "\0" in os.fspath(path):
        raise OutputError("cannot be written (a path cannot hold a NUL)", subject=path)


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path in the folder of `path`; on success rename it to `path`, on failure remove it.

    The temporary name keeps the suffix, for writers that choose the format by it. Several processes may write
    one file at a time: each writes its own, and the last to end is the one that stays. A link is written
    through: it stays, and the file that it leads to is replaced. A device or named pipe is never replaced:
    the finished content is written into it.

    Raises OutputError: the folder does not exist or cannot be written to, or `path` is a folder, holds a NUL,
    or is a pipe that no process reads.
    """
    target = Path(path)
    try:
        check_target(target)
        if is_special(target):
            with TemporaryDirectory() as folder:
                part = Path(folder) / f"part{target.suffix}"
                yield part
                with part.open("rb") as made, os.fdopen(open_existing(target), "wb") as into:
                    shutil.copyfileobj(made, into)
            return
        place = Path(os.path.realpath(target))
        part = place.with_name(f".{place.stem[:_STEM]}.{secrets.token_hex(4)}.part{target.suffix}")
        try:
            yield part
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        fault = OutputError(f"cannot be written ({error.strerror or error})", subject=target)
        fault.ends_batch = is_disk_fault(error)
        raise fault from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8. Raises OutputError: see `atomic_write`."""
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


def is_special(path: Path) -> bool:
    """Return whether a path leads to a device, pipe or socket."""
    return path.exists() and not path.is_file() and not path.is_dir()


def open_existing(path: Path) -> int:
    """Return a file descriptor to write into a device or pipe. Raises OSError: also if nobody reads it."""
    nonblocking = getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, os.O_WRONLY | nonblocking)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(error.errno, "no process reads this pipe") from error
        raise
    if nonblocking:
        os.set_blocking(descriptor, True)
    return descriptor


def check_target(target: Path) -> None:
    """See that a file could be written, or replaced. Raises OutputError: see `atomic_write`."""
    _require_no_nul(target)
    if target.is_dir():
        raise OutputError("is a folder, not a file to write", subject=target)
    if is_special(target):
        return
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        missing = folder if target.is_symlink() else target.parent
        raise OutputError(f"no folder {missing}", f"mkdir -p {quote(str(missing))}", subject=target)
    if not os.access(folder, os.W_OK):
        fault = OutputError("the folder cannot be written to", subject=target)
        fault.ends_batch = _is_read_only(folder)
        raise fault


def _is_read_only(folder: Path) -> bool:
    """Return whether a file system may only be read; False where the system cannot say."""
    return hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless it is there. Raises OutputError: it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: it holds a NUL
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        fault = OutputError(f"cannot be made ({reason})", subject=folder)
        fault.ends_batch = isinstance(error, OSError) and is_disk_fault(error)
        raise fault from error


def check_folder(folder: Path) -> None:
    """See that a folder is there or could be made. Raises OutputError: it could not."""
    _require_no_nul(folder)
    if fault := _fault_of_making(folder):
        refused = OutputError(f"cannot be made ({os.strerror(fault)})", subject=folder)
        refused.ends_batch = fault == errno.EROFS
        raise refused


def _fault_of_making(folder: Path) -> int:
    """Return the number of the error that making a folder would raise; 0 if none."""
    place = nearest_folder(folder)
    missing = folder.relative_to(place).parts
    # the system checks the length of a name only in a folder that is there
    if any(map(_is_too_long, (folder, *(place / name for name in missing)))):
        return errno.ENAMETOOLONG
    if missing and os.path.lexists(place / missing[0]):
        return errno.ENOTDIR
    if missing and not os.access(place, os.W_OK | os.X_OK):
        return errno.EROFS if _is_read_only(place) else errno.EACCES
    return 0


def _is_too_long(path: Path) -> bool:
    """Return whether a path, or the last name in it, is longer than the system takes."""
    try:
        path.lstat()
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    return False


def nearest_folder(folder: Path) -> Path:
    """Return a folder, or the nearest above it that is there."""
    places = (folder, *folder.parents)
    # unlike Path.is_dir, it takes a name that is too long for a folder that is not there
    return next((place for place in places if os.path.isdir(place)), Path())  # noqa: PTH112


def shortened(name: str, most_bytes: int = _NAME_BYTES) -> str:
    """Return a name, or its beginning and a hash of it if it is too long for what is appended to it."""
    content = os.fsencode(name)
    if len(content) <= most_bytes:
        return name
    digest = hashlib.sha256(content).hexdigest()[:8]
    end = most_bytes - len(digest) - 1
    while content[end] & 0xC0 == 0x80:  # no letter of several bytes is cut
        end -= 1
    return f"{os.fsdecode(content[:end])}~{digest}"


def stems_of(source: str | os.PathLike[str]) -> tuple[str, str]:
    """Return how the outputs of a file are named: by its stem or, if another file has that, by its name."""
    path = Path(source)
    return shortened(path.stem), shortened(path.name)


def as_utf8(text: str) -> str:
    r"""Return the text with escapes (`\udce9`, as in JSON) for bytes of file names that are not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


_SLUG_LETTERS = 40


def slug(text: str) -> str:
    """Return a text as part of a file's name: lower-case letters and digits, dashes between words."""
    words = re.sub(r"[\W_]+", "-", as_utf8(text).lower()).strip("-")
    return words[:_SLUG_LETTERS].rstrip("-") or "query"
