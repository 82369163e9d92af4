"""Locks where the file system has some, and where it has none."""

import errno
import multiprocessing
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import Timeout

from vidsum.io import locks
from vidsum.io.locks import has_locks, lock_file, transient_lock

fcntl = pytest.importorskip("fcntl")


@pytest.fixture(autouse=True)
def unknown_folders() -> Iterator[None]:
    """Nothing is known of any folder."""
    cached = locks._can_lock
    cached.cache_clear()
    yield
    cached.cache_clear()


@pytest.fixture
def without_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without locks, which says so by the error ENOLCK or that of the parameter."""

    def refuse(*_: Any) -> None:
        raise OSError(getattr(errno, getattr(request, "param", "ENOLCK")), "refused")

    monkeypatch.setattr(fcntl, "flock", refuse)
    monkeypatch.setattr(fcntl, "lockf", refuse)


def try_lock(path: Path, timeout_s: float = 0.2) -> bool:
    """Whether a lock can be had."""
    try:
        with lock_file(path, timeout_s):
            return True
    except Timeout:
        return False


def hold_and_die(path: Path) -> None:
    locks._can_lock = lambda folder: False  # type: ignore[assignment]
    with lock_file(path):
        os._exit(9)


def test_a_lock_excludes(tmp_path: Path) -> None:
    with lock_file(tmp_path / "a.lock"):
        assert not try_lock(tmp_path / "a.lock")
        assert try_lock(tmp_path / "b.lock")
    assert try_lock(tmp_path / "a.lock")


every_error = pytest.mark.parametrize(
    "without_locks", ["ENOLCK", "ENOSYS", "EOPNOTSUPP", "ENOTSUP"], indirect=True
)


@every_error
def test_missing_locks_are_named_once(tmp_path: Path, without_locks: None) -> None:
    with pytest.warns(UserWarning, match="its file system has no locks") as caught:
        is_free = [try_lock(tmp_path / name) for name in ("a.lock", "a.lock", "b.lock")]
    assert is_free == [True, True, True]
    assert len(caught) == 1
    assert str(tmp_path) in str(caught[0].message)


@every_error
@pytest.mark.filterwarnings("ignore:.*no locks")
def test_mark_excludes_where_there_are_no_locks(tmp_path: Path, without_locks: None) -> None:
    with lock_file(tmp_path / "a.lock"):
        assert not try_lock(tmp_path / "a.lock")
        assert try_lock(tmp_path / "b.lock")
    assert try_lock(tmp_path / "a.lock")


@pytest.mark.filterwarnings("ignore:.*no locks")
def test_mark_is_removed_with_its_lock(tmp_path: Path, without_locks: None) -> None:
    with lock_file(tmp_path / "a.lock"):
        assert list(tmp_path.glob("*.held"))
    assert list(tmp_path.glob("*.held")) == []


def test_the_mark_of_a_killed_process_is_not_heeded(tmp_path: Path, without_locks: None) -> None:
    process = multiprocessing.get_context("spawn").Process(target=hold_and_die, args=(tmp_path / "a.lock",))
    process.start()
    process.join()
    assert process.exitcode == 9
    assert list(tmp_path.glob("*.held"))
    with pytest.warns(UserWarning, match="no locks"):
        assert try_lock(tmp_path / "a.lock", 10)


def test_a_mark_of_another_machine_is_heeded_for_a_while(
    tmp_path: Path, without_locks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_MARKED_S", 0.2)
    Path(tmp_path / "a.lock.held").write_text("1\nelsewhere\n")
    monkeypatch.setattr(locks, "_can_lock", lambda folder: False)
    with pytest.warns(UserWarning, match="no longer heeded"), lock_file(tmp_path / "a.lock"):
        pass
    assert (tmp_path / "a.lock.held").exists()


def test_nothing_is_excluded_where_nothing_can_be_marked(
    tmp_path: Path, without_locks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(lock: Any) -> None:
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr("filelock.SoftFileLock.acquire", refuse)
    with pytest.warns(UserWarning, match="no locks"), lock_file(tmp_path / "a.lock"):
        pass


def test_folder_that_cannot_be_written_to_counts_as_one_with_locks(
    tmp_path: Path, without_locks: None
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert has_locks(tmp_path / "missing")


ADD_ONE = """
import sys
from pathlib import Path
from vidsum.io.locks import transient_lock
total = Path(sys.argv[1])
for _ in range(100):
    with transient_lock(total.with_name(".lock")):
        total.write_text(str(int(total.read_text()) + 1))
"""


def test_transient_locks_exclude_though_their_file_comes_and_goes(tmp_path: Path) -> None:
    total = tmp_path / "total"
    total.write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", ADD_ONE, str(total)]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0] * 3
    assert total.read_text() == "300"
    assert [*tmp_path.iterdir()] == [total]


def test_the_file_that_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    with transient_lock(tmp_path / ".lock"):
        assert (tmp_path / ".lock").exists()
    assert not (tmp_path / ".lock").exists()


def test_a_file_with_content_stays_where_it_has_the_name_of_a_lock(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("mine")
    with transient_lock(tmp_path / ".lock"):
        pass
    assert (tmp_path / ".lock").read_text() == "mine"


@pytest.mark.parametrize("place", ["folder", "link", "missing/lock"])
def test_a_name_that_cannot_be_locked_stays_as_it_is(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    before = {*tmp_path.iterdir()}
    with transient_lock(tmp_path / place):
        pass
    assert {*tmp_path.iterdir()} == before
