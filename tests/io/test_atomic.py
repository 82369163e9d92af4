"""No half files: outputs appear whole or not at all."""

import hashlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import OutputError
from vidsum.io.atomic import as_utf8, atomic_write, check_folder, make_folder, shortened, stems_of, write_text


def test_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    with atomic_write(target) as part:
        part.write_text("half")
        assert not target.exists()
    assert target.read_text() == "half"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_temporary_file_has_the_suffix_and_folder_of_the_target(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "out.json") as part:
        part.write_text("all")
        assert (part.suffix, part.parent) == (".json", tmp_path)


def test_name_as_long_as_names_can_be_is_written(tmp_path: Path) -> None:
    target = tmp_path / ("f" * 250 + ".json")
    with atomic_write(target) as part:
        part.write_text("all")
    assert target.read_text() == "all"


def test_failure_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    target.write_text("old")

    def fail() -> None:
        with atomic_write(target) as part:
            part.write_text("half")
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "is a folder"), ("f" * 300, "too long"), ("nowhere", "no folder"), ("a\0b", "cannot hold a NUL")],
    ids=["folder", "long name", "link to a missing folder", "NUL"],
)
def test_target_that_cannot_be_written_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "nowhere").symlink_to(tmp_path / "no" / "file.txt")
    with pytest.raises(OutputError, match=message), atomic_write(f"{tmp_path}/{name}") as part:
        part.write_text("lost")


@pytest.mark.parametrize("is_linked", [False, True], ids=["folder", "folder of a link"])
def test_missing_folder_has_a_command_that_makes_it(tmp_path: Path, is_linked: bool) -> None:
    target = tmp_path / "no" / "out.json"
    (tmp_path / "link.json").symlink_to(target)
    path = tmp_path / "link.json" if is_linked else target
    with pytest.raises(OutputError) as caught, atomic_write(path):
        pass
    assert caught.value.hint == f"mkdir -p {tmp_path / 'no'}"


def test_full_disk_is_one_error(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    with (
        pytest.raises(OutputError, match=r"out\.json: cannot be written \(No space left") as caught,
        atomic_write(target),
    ):
        raise OSError(28, "No space left on device")
    assert caught.value.ends_batch


def test_fault_of_a_file_does_not_end_a_batch(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as caught, atomic_write(tmp_path / "out.json"):
        raise OSError(27, "File too large")
    assert not caught.value.ends_batch


def test_file_that_many_threads_write_is_always_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.bin"

    def write(number: int) -> None:
        for _ in range(20):
            with atomic_write(target) as part:
                part.write_bytes(bytes([number]) * 100_000)
            assert len(set(target.read_bytes())) == 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert [path.name for path in tmp_path.iterdir()] == ["out.bin"]
    assert len(target.read_bytes()) == 100_000


def test_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "there.txt", tmp_path / "link.txt"
    link.symlink_to(target)
    for text in ("first", "second"):
        with atomic_write(link) as part:
            part.write_text(text)
        assert (link.is_symlink(), target.read_text()) == (True, text)
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == ["there.txt"]


def test_pipe_gets_the_whole_content(tmp_path: Path) -> None:
    """More than a pipe holds at once, so that writing waits for the reader."""
    pipe, content = tmp_path / "pipe", bytes(1 << 20)
    os.mkfifo(pipe)
    with (
        os.fdopen(os.open(pipe, os.O_RDWR), "rb", buffering=0) as both_ends,  # until `cat` has opened it
        (tmp_path / "received").open("wb") as received,
        subprocess.Popen(["cat", pipe], stdout=received) as reader,
    ):
        try:
            with atomic_write(pipe) as part:
                part.write_bytes(content)
            both_ends.close()
            reader.wait(20)
        finally:
            reader.kill()
    assert (tmp_path / "received").read_bytes() == content
    assert pipe.is_fifo()


def test_pipe_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(OutputError, match="no process reads this pipe"),
        atomic_write(tmp_path / "pipe") as part,
    ):
        part.write_text("lost")


def test_device_is_not_replaced() -> None:
    with atomic_write("/dev/null") as part:
        part.write_text("nothing")
    assert Path("/dev/null").is_char_device()


def test_text_is_written_as_it_is(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "é\r\nb\n")
    assert (tmp_path / "a.txt").read_bytes() == b"\xc3\xa9\r\nb\n"


def test_folders_are_made_with_those_above_them(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize(
    ("name", "reason"), [("file/b", "Not a directory"), ("a\0b", "null byte")], ids=["file above", "NUL"]
)
def test_folder_that_cannot_be_made_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=f"cannot be made .*{reason}"):
        make_folder(tmp_path / name)


def test_a_folder_that_could_not_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    check_folder(tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()
    for name in ("file/b", "link", "link/b"):
        with pytest.raises(OutputError, match=r"cannot be made .*Not a directory"):
            check_folder(tmp_path / name)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match=r"cannot be made .*Permission denied"):
        check_folder(tmp_path / "a")
    check_folder(tmp_path)


@pytest.mark.parametrize(
    "name", ["n" * 300, "a/" + "n" * 300, "n" * 300 + "/a", "/".join(["n" * 200] * 25)], ids=range(4)
)
def test_a_folder_with_a_name_that_is_too_long_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match=r"cannot be made .*name too long"):
        check_folder(tmp_path / name)


@pytest.mark.parametrize("name", ["f", "é" * 110], ids=["short", "longest"])
def test_name_that_is_short_enough_stays(name: str) -> None:
    assert shortened(name) == name


@given(st.text("aé旅🎞", min_size=60, max_size=300))
def test_long_name_is_cut_between_letters_and_differs_by_its_hash(name: str) -> None:
    short = shortened(name, 50)
    beginning, _, digest = short.rpartition("~")
    assert name.startswith(beginning)
    assert 50 - 4 < len(short.encode()) <= 50
    assert digest == hashlib.sha256(name.encode()).hexdigest()[:8]


def test_outputs_are_named_by_the_stem_or_the_name_of_a_file() -> None:
    assert stems_of("films/a.b.mp4") == ("a.b", "a.b.mp4")


def test_bytes_of_names_that_are_not_utf_8_become_escapes() -> None:
    assert as_utf8(os.fsdecode(b"caf\xe9")) == r"caf\udce9"
    assert as_utf8("café") == "café"
