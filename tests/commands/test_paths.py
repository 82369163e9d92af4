"""One rule for all paths that are written: inputs, other outputs and foreign files stay what they are."""

import json
import os
import threading
from pathlib import Path

import pytest

from tests.program import Run
from vidsum.errors import InputError
from vidsum.io.outputs import is_special
from vidsum.results.load import load, read_document

pytestmark = pytest.mark.usefixtures("loads")


@pytest.mark.parametrize(
    "taken", ["film.mp4", "out.json", "list.txt", "own.yaml", "notes.txt", "link.mp4", "hard.mp4"]
)
def test_table_spares_files(run: Run, film: Path, taken: str, loads: list[str]) -> None:
    Path("film.mp4").write_bytes(film.read_bytes())
    Path("link.mp4").symlink_to("film.mp4")
    os.link("film.mp4", "hard.mp4")
    for name, text in {"list.txt": "film.mp4\n", "own.yaml": "device: cpu\n", "notes.txt": "mine\n"}.items():
        Path(name).write_text(text)
    before = {path: path.read_bytes() for path in Path().iterdir()}
    words = ["shots", "--from-file", "list.txt", "-o", "out.json", "--config", "own.yaml"]
    ran = run(*words, "--table", taken, code=None, error=taken)
    assert ran.code in (1, 2)
    assert "Traceback" not in ran.err
    assert loads == []
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", ["queries.txt", "film_moments.json", "film_moments.csv"])
def test_table_over_files_of_ground(run: Run, film: Path, name: str) -> None:
    Path("queries.txt").write_text("a dog\n")
    ran = run("ground", film, "--queries", "queries.txt", "--export", "csv", "--table", name, code=2)
    assert name in ran.err
    assert Path("queries.txt").read_text() == "a dog\n"


def test_file_created_during_batch(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vidsum.pipelines import summary

    plan = summary.plan_shots

    def interfering(*arguments: object) -> object:
        Path("all.csv").write_text("mine")
        return plan(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(summary, "plan_shots", interfering)
    run("shots", film, "--table", "all.csv", code=1)
    assert Path("all.csv").read_text() == "mine"


def test_pipe_without_reader(run: Run, film: Path) -> None:
    os.mkfifo("pipe")
    ran = run("shots", film, "--table", "pipe", code=1, error="no process reads this pipe")
    assert "Traceback" not in ran.err
    os.mkfifo("pipe.csv")
    transcript: list[str] = []
    reader = threading.Thread(target=lambda: transcript.append(Path("pipe.csv").read_text()), daemon=True)
    reader.start()
    Path("null.json").symlink_to("/dev/null")
    run("shots", film, "-o", "null.json", "--overwrite", "--table", "pipe.csv")
    reader.join(10)
    assert transcript[0].splitlines()[1].split(",")[1] == "done"
    assert is_special(Path("pipe.csv"))
    assert is_special(Path("/dev/null"))


def test_endless_queries(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.io.text.MAX_BYTES", 2**20)
    for words in (["ground", film, "--queries", "/dev/zero"], ["shots", "--from-file", "/dev/zero"]):
        run(*words, code=3, error="longer than 1 MiB")
    run("shots", film)
    document, playlist = read_document("film_shots.json"), film.with_name("list.txt")
    playlist.write_text(f"ffconcat version 1.0\nfile '{film}'\n")
    document["video"] |= {"container": "concat", "path": str(playlist)}
    Path("evil.json").write_text(json.dumps(document))
    for code, words in ((3, ["export", "evil.json", "-o", "x.edl"]), (0, ["report", "evil.json"])):
        run(*words, code=code, error="is a playlist")
    Path("evil.json").rename("film_shots.json")
    run("shots", film, "--report", code=1)
    with pytest.raises(InputError, match="edited after"):
        load("film_shots.json")
