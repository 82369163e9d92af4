"""A disk that is full in the middle of a run: files stay whole and known, and foreign ones stay."""

from pathlib import Path

import pytest

from tests.full_disk import small_disk
from tests.outputs.test_artifacts import visible_files
from vidsum.errors import OutputError
from vidsum.io.atomic import write_text
from vidsum.outputs.artifacts import Artifacts

KIB = 1024


def write_long(text: str, path: Path) -> tuple[str, ...]:
    write_text(path, text * (12 * KIB // len(text)))
    return ()


def write(root: Path, text: str) -> None:
    artifacts = Artifacts(root / "r.txt.vidsum.json", {name: root / name for name in ("a.txt", "b.txt")})
    artifacts.write(text, dict.fromkeys(artifacts.files, write_long))


@pytest.mark.parametrize("free_kib", range(0, 40, 4))
def test_a_full_disk_costs_no_file(tmp_path: Path, free_kib: int) -> None:
    with small_disk(tmp_path / "disk", 32 + 40) as disk:
        (disk / "mine.txt").write_text("mine")
        write(disk, "one ")
        filler = disk / ".filler"
        filler.write_bytes(bytes((40 - free_kib) * KIB - 4 * KIB))
        try:
            write(disk, "two ")
            is_written = True
        except OutputError:
            is_written = False
        assert {name for name in visible_files(disk) if name.endswith(".txt")} == {
            "a.txt",
            "b.txt",
            "mine.txt",
        }
        for name in ("a.txt", "b.txt"):
            assert (disk / name).read_text()[:4] in (("two ",) if is_written else ("one ", "two "))
            assert (disk / name).stat().st_size == 12 * KIB
        filler.unlink()
        write(disk, "three ")  # is not refused
        assert [*disk.glob(".*")] == []
        assert (disk / "mine.txt").read_text() == "mine"
