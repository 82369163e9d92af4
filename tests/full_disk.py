"""Places where a file cannot grow: a limit that any process may set itself, and a real small disk."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def files_up_to(n_bytes: int) -> Iterator[None]:
    """No file of this process may become longer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def small_disk(folder: Path, kib: int) -> Iterator[Path]:
    """A file system of so many KiB at a new folder; the test is skipped where mounting is not allowed."""
    if not sys.platform.startswith("linux"):
        pytest.skip("mounts a tmpfs of Linux")
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("mounting is not allowed here")
    try:
        yield folder
    finally:
        # lazy, as FFmpeg keeps a file open that it cannot complete
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
