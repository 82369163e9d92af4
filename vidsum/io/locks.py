"""Locks between processes, on file systems that have no locks too, as some of networks and containers."""

import errno
import os
import stat
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)
_MARKED_S = 600.0
"""Longest wait for a file that marks a lock: a mark of a killed process is recognised on the machine where
the process ran, but it may have run on another."""


@contextmanager
def lock_file(path: Path, timeout_s: float = -1) -> Iterator[None]:
    """Exclude other processes that lock the same file, which is made; its folder is there.

    Without locks of the file system, a file beside it marks the lock; where none can be made either, nothing
    is excluded. Raises Timeout: another process has held it for `timeout_s`. OSError: the file cannot be
    made.
    """
    if has_locks(path.parent):
        with FileLock(path, timeout_s):
            yield
        return
    lock = SoftFileLock(f"{path}.held", timeout_s if timeout_s >= 0 else _MARKED_S)
    is_held = _acquire(lock, must=timeout_s >= 0)
    try:
        yield
    finally:
        if is_held:
            lock.release()


@contextmanager
def transient_lock(path: Path) -> Iterator[None]:
    """Exclude other processes that lock the same file, which is made, and removed at the end.

    A killed process leaves the file, which is empty and holds no lock; the next to lock it removes it. A file
    of this name that has content is locked, and stays. Where none can be made, as in a folder that may only
    be read, nothing is excluded: nothing can be written there.
    """
    if sys.platform == "win32" or not has_locks(path.parent):  # these files are removed by their locks
        with lock_file(path):
            yield
        return
    if (descriptor := _open_locked(path)) is None:
        yield
        return
    with os.fdopen(descriptor) as file:  # which is closed last: who waits for the lock must see it go
        try:
            yield
        finally:
            status = os.fstat(file.fileno())
            with suppress(OSError):
                if stat.S_ISREG(status.st_mode) and status.st_size == 0:
                    path.unlink()


def _open_locked(path: Path) -> int | None:
    """Return the descriptor of a file, made if it is not there and locked; None if it cannot be opened."""
    import fcntl

    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    while True:
        try:
            descriptor = os.open(path, flags, 0o666)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                return descriptor
        except FileNotFoundError:  # the process that held the lock has removed the file
            pass
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _acquire(lock: BaseFileLock, *, must: bool) -> bool:
    try:
        lock.acquire()
    except Timeout:
        if must:
            raise
        warnings.warn(f"{lock.lock_file}: held for {_MARKED_S:g} s, and no longer heeded", stacklevel=4)
        return False
    except OSError:
        return False
    return True


def has_locks(folder: Path) -> bool:
    """Return whether files in a folder can be locked; a warning names one where they cannot, once."""
    return not folder.is_dir() or _can_lock(os.path.realpath(folder))


@lru_cache(maxsize=64)
def _can_lock(folder: str) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl

    with suppress(OSError), TemporaryFile(dir=folder) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                warnings.warn(
                    f"{folder}: its file system has no locks; files that mark them are used", stacklevel=4
                )
                return False
    return True  # where nothing can be written, nothing needs a lock
