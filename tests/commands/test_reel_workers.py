"""`vidsum reel` in a worker process, which a file may kill."""

from pathlib import Path

import pytest

from tests.commands import deadly_reader
from tests.commands.test_reel import clip, names_of, photograph
from tests.program import Run, read_valid
from vidsum.batch import workers
from vidsum.batch.workers import in_workers

pytestmark = pytest.mark.usefixtures("loads")


@pytest.mark.deep
def test_files_that_kill_their_reader_are_left_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "in_workers", in_workers)
    monkeypatch.setattr(workers, "_prepare", deadly_reader.prepare)
    clip(Path("a.mp4"), "red")
    clip(Path("unreadable.mp4"), "green", seconds=1)
    clip(Path("undecodable.mp4"), "blue", seconds=1)
    clip(Path("deafening.mp4"), "yellow", seconds=1, sound=True)
    photograph(Path("undecodable.jpg"), "yellow")
    photograph(Path("z.jpg"), "blue")
    ran = run("reel", ".", "-o", "film.json", "--budget", "6s", code=1)
    document = read_valid("film.json", "reel")
    assert names_of(document) == ["a.mp4", "z.jpg"]
    end = "its worker process was killed by SIGSEGV, twice"
    killers = ("unreadable.mp4", "undecodable.mp4", "deafening.mp4", "undecodable.jpg")
    expected = dict.fromkeys(killers, end)
    assert {part["path"]: part["fault"] for part in document["left_out"]} == expected
    for name in expected:
        assert f"error: {name}: {end}; left out" in ran.err
    again = run("reel", ".", "-o", "film.json", "--budget", "6s", code=1)
    assert "(unchanged)" in again.out
