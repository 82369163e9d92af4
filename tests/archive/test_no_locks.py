"""Archives and outputs on file systems without locks."""

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.archive.made import film, use_archive
from vidsum.archive.archive import Archive
from vidsum.features.settings import Extraction
from vidsum.io import locks

ROOT = Path(__file__).parents[2]
REFUSE_LOCKS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#undef fcntl
#undef fcntl64
static int is_lock(int command) {
    return command == F_GETLK || command == F_SETLK || command == F_SETLKW
        || (command >= 36 && command <= 38);
}
int flock(int file, int operation) { errno = NUMBER; return -1; }
int lockf(int file, int command, off_t length) { errno = NUMBER; return -1; }
#define REFUSE(name) \
    int name(int file, int command, ...) { \
        va_list rest; va_start(rest, command); void *value = va_arg(rest, void *); va_end(rest); \
        if (is_lock(command)) { errno = NUMBER; return -1; } \
        int (*real)(int, int, ...) = dlsym(RTLD_NEXT, #name); \
        return real(file, command, value); }
REFUSE(fcntl)
REFUSE(fcntl64)
"""


@pytest.fixture
def unlockable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without locks, and networks of colours."""
    use_archive(monkeypatch)
    monkeypatch.setattr(locks, "_can_lock", lambda folder: False)


def add(path: Path, video: Path) -> str:
    with Archive(path) as archive:
        return archive.add_video(str(video), Extraction(device="cpu")).state


def test_an_archive_needs_no_locks(unlockable: None, tmp_path: Path) -> None:
    film(tmp_path / "a.mp4")
    film(tmp_path / "b.mp4", ("blue", "green"))
    path = tmp_path / "a.vidsum"
    assert [add(path, tmp_path / name) for name in ("a.mp4", "b.mp4", "a.mp4")] == [
        "added",
        "added",
        "unchanged",
    ]
    with Archive(path) as archive:
        assert archive.search("red")[0].video == str(tmp_path / "a.mp4")
    assert not list(tmp_path.glob("a.vidsum-*"))
    assert not (tmp_path / "a.vidsum.lock").exists()


def test_an_archive_made_with_a_log_needs_no_locks(
    tmp_path: Path, unlockable: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    film(tmp_path / "a.mp4")
    film(tmp_path / "b.mp4", ("blue", "green"))
    with monkeypatch.context() as patch:
        patch.setattr(locks, "_can_lock", lambda folder: True)
        add(tmp_path / "a.vidsum", tmp_path / "a.mp4")
    assert (tmp_path / "a.vidsum").read_bytes()[18] == 2
    assert add(tmp_path / "a.vidsum", tmp_path / "b.mp4") == "added"
    assert len(Archive(tmp_path / "a.vidsum").videos()) == 2
    with monkeypatch.context() as patch:
        patch.setattr(locks, "_can_lock", lambda folder: True)
        assert len(Archive(tmp_path / "a.vidsum").videos()) == 2


def test_the_mark_of_a_killed_process_ends(unlockable: None, tmp_path: Path) -> None:
    film(tmp_path / "a.mp4")
    add(tmp_path / "a.vidsum", tmp_path / "a.mp4")
    mark = tmp_path / "a.vidsum.lock"
    mark.mkdir()
    os.utime(mark, (time.time() - 3600,) * 2)
    assert add(tmp_path / "a.vidsum", tmp_path / "a.mp4") == "unchanged"
    assert not mark.exists()


def test_the_mark_of_a_live_process_is_heeded(
    unlockable: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.archive.store._WAIT_S", 0.2)
    film(tmp_path / "a.mp4")
    add(tmp_path / "a.vidsum", tmp_path / "a.mp4")
    uri = f"{(tmp_path / 'a.vidsum').as_uri()}?vfs=unix-dotfile"
    writer = sqlite3.connect(uri, uri=True, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(Exception, match="another process has been writing"):
        add(tmp_path / "a.vidsum", tmp_path / "a.mp4")
    writer.execute("ROLLBACK")
    writer.close()
    assert add(tmp_path / "a.vidsum", tmp_path / "a.mp4") == "unchanged"


@pytest.mark.skipif(shutil.which("gcc") is None or sys.platform != "linux", reason="needs gcc on Linux")
@pytest.mark.deep
@pytest.mark.parametrize("number", ["ENOLCK", "ENOSYS", "EOPNOTSUPP"])
def test_commands_where_the_system_refuses_locks(tmp_path: Path, number: str) -> None:
    (tmp_path / "refuse.c").write_text(REFUSE_LOCKS)
    library = tmp_path / "refuse.so"
    build = ["gcc", "-shared", "-fPIC", f"-DNUMBER={number}", "-o", library, tmp_path / "refuse.c", "-ldl"]
    subprocess.run(build, check=True)
    film(tmp_path / "a.mp4")
    more = {"LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT), "VIDSUM_HOME": str(tmp_path / "home")}
    commands = ("shots a.mp4 --shots uniform --export csv", "index a.mp4 --archive a.vidsum")
    for words in commands:
        command = [sys.executable, "-m", "vidsum", *words.split()]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | more, capture_output=True, text=True, check=False
        )
        assert (done.returncode, "internal" in done.stderr) == (0, False), done.stderr
        assert f"warning: {tmp_path}: its file system has no locks" in done.stderr
