"""No half files: outputs appear whole or not at all."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vidsum.errors import OutputError
from vidsum.io.outputs import atomic_write


def test_atomic_write(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    with atomic_write(target) as part:
        part.write_text("half")
        assert part.suffix == ".json"
        assert not target.exists()
    assert target.read_text() == "half"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
    with atomic_write(tmp_path / ("f" * 250 + ".json")) as part:  # as long as a name can be
        part.write_text("all")
    assert (tmp_path / ("f" * 250 + ".json")).read_text() == "all"


def test_atomic_write_failure(tmp_path: Path) -> None:
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


def test_atomic_write_errors(tmp_path: Path) -> None:
    (tmp_path / "nowhere").symlink_to(tmp_path / "no" / "file.txt")
    for name, message in (("", "is a folder"), ("f" * 300, "too long"), ("nowhere", "no folder")):
        with pytest.raises(OutputError, match=message), atomic_write(tmp_path / name) as part:
            part.write_text("lost")
    with pytest.raises(OutputError) as caught, atomic_write(tmp_path / "no" / "out.json"):
        pass
    assert caught.value.hint == f"mkdir -p {tmp_path / 'no'}"
    target = tmp_path / "out.json"
    with pytest.raises(OutputError, match=r"out\.json: cannot be written"), atomic_write(target):
        raise OSError(28, "No space left on device")


def test_atomic_write_in_threads(tmp_path: Path) -> None:
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


def test_atomic_write_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    there, link = tmp_path / "elsewhere" / "there.txt", tmp_path / "link.txt"
    link.symlink_to(there)
    for text in ("first", "second"):
        with atomic_write(link) as part:
            part.write_text(text)
        assert (link.is_symlink(), there.read_text()) == (True, text)
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == ["there.txt"]
