"""No half files: outputs appear whole or not at all."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vidsum.errors import OutputError
from vidsum.io.outputs import atomic_write


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
        pytest.raises(OutputError, match=r"out\.json: cannot be written \(No space left"),
        atomic_write(target),
    ):
        raise OSError(28, "No space left on device")


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
