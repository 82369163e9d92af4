"""No half files: outputs appear whole or not at all."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vidsum.errors import OutputError
from vidsum.io.outputs import atomic_write


def test_the_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    with atomic_write(target) as part:
        part.write_text("half")
        assert part.suffix == ".json"
        assert not target.exists()
    assert target.read_text() == "half"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_a_name_as_long_as_can_be_is_written(tmp_path: Path) -> None:
    target = tmp_path / ("f" * 250 + ".json")
    with atomic_write(target) as part:
        part.write_text("all")
    assert target.read_text() == "all"


def test_a_name_that_is_too_long_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="too long"), atomic_write(tmp_path / ("f" * 300)):
        pass


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
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


def test_a_missing_folder_is_told_with_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(OutputError) as caught, atomic_write(tmp_path / "no" / "out.json"):
        pass
    assert caught.value.hint == f"mkdir -p {tmp_path / 'no'}"


def test_a_folder_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is a folder"), atomic_write(tmp_path):
        pass


def test_a_disk_fault_names_the_target(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match=r"out\.json: cannot be written"),
        atomic_write(tmp_path / "out.json"),
    ):
        raise OSError(28, "No space left on device")


def test_several_threads_and_one_output_leave_one_atomic_write(tmp_path: Path) -> None:
    target = tmp_path / "out.bin"

    def write(number: int) -> None:
        for _ in range(50):
            with atomic_write(target) as part:
                part.write_bytes(bytes([number]) * 100_000)
            assert len(set(target.read_bytes())) == 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert [path.name for path in tmp_path.iterdir()] == ["out.bin"]
    assert len(target.read_bytes()) == 100_000


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    there, link = tmp_path / "elsewhere" / "there.txt", tmp_path / "link.txt"
    link.symlink_to(there)
    for text in ("first", "second"):
        with atomic_write(link) as part:
            part.write_text(text)
        assert (link.is_symlink(), there.read_text()) == (True, text)
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == ["there.txt"]


def test_a_link_into_no_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "nowhere").symlink_to(tmp_path / "no" / "file.txt")
    with pytest.raises(OutputError, match="no folder"), atomic_write(tmp_path / "nowhere") as part:
        part.write_text("lost")
