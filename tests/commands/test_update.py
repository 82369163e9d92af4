"""`--update`: what changed is made again, the rest is kept, and nothing is lost that is not vidsum's."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import av
import pytest

from tests.commands.conftest import Run
from tests.grounding.colours import use_colours
from tests.speech import stub
from vidsum.commands import paths
from vidsum.video.probe import probe
from vidsum.video.write import write_segments

pytestmark = pytest.mark.usefixtures("loads")


@pytest.fixture
def half(film: Path) -> bytes:
    """The first part of the film, as it is while it is uploaded: its index is at the start."""
    indexed = film.with_name("indexed.mp4")
    write_segments(probe(film), [(0, 10)], indexed)
    content = indexed.read_bytes()
    film.write_bytes(content)
    indexed.unlink()
    return content[: len(content) * 2 // 3]


def states(run: Run, *arguments: object) -> list[str]:
    """What became of the inputs."""
    run(*arguments, "--summary-json", "all.json")
    return [one["state"] for one in json.loads(Path("all.json").read_text())["inputs"]]


def test_an_upload_that_was_completed_is_summarized_again_and_the_rest_kept(
    run: Run, film: Path, half: bytes, tmp_path: Path
) -> None:
    place = tmp_path / "films"
    place.mkdir()
    (place / "a.mp4").write_bytes(film.read_bytes())
    (place / "b.mp4").write_bytes(half)
    how = ("summarize", place, "--update", "--storyboard", "--plot", "--table", "table.csv", "-m", "uniform")
    ran = run(*how)
    assert (ran.code, "b.mp4" in ran.err, "frames decoded" in ran.err) == (0, True, True)
    assert "frames decoded" in Path("table.csv").read_text().splitlines()[2]
    kept = {path: path.stat().st_mtime_ns for path in Path().glob("a_*")}
    (place / "b.mp4").write_bytes(film.read_bytes())
    assert states(run, *how) == ["up to date", "done"]
    assert {path: path.stat().st_mtime_ns for path in Path().glob("a_*")} == kept
    assert json.loads(Path("b_summary.json").read_text())["warnings"] == []
    assert states(run, *how) == ["up to date", "up to date"]


def test_a_truncated_input_is_an_error_with_strict_and_is_not_kept(run: Run, film: Path, half: bytes) -> None:
    whole = film.read_bytes()
    film.write_bytes(half)
    for _ in range(2):  # the second time, not from the cache either
        ran = run("summarize", film, "--strict", "--update")
        assert (ran.code, "frames decoded" in ran.err, list(Path().glob("film_*"))) == (3, True, [])
        run("shots", film, "-o", "s.json")  # caches the features of what decodes
    assert run("summarize", film, "--update").code == 0
    film.write_bytes(whole)
    assert run("summarize", film, "--strict", "--update").code == 0


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("summarize", ["--budget", "40%"]),
        ("summarize", ["--copy"]),
        ("shots", ["--shots", "uniform"]),
        ("extract", ["--fps", "1"]),
        ("highlights", ["-k", "1"]),
    ],
)
def test_other_options_make_it_again(run: Run, film: Path, command: str, more: list[str]) -> None:
    assert run(command, film).code == 0
    assert run(command, film, *more).code == 1
    assert states(run, command, film, *more, "--update") == ["done"]
    assert states(run, command, film, *more) == ["up to date"]


@pytest.mark.parametrize(
    "name", ["film_summary.json", "film_summary.mp4", "film_storyboard.png", "film_importance.svg"]
)
def test_what_is_not_vidsums_is_an_error_and_stays(run: Run, film: Path, name: str) -> None:
    how = ("summarize", film, "--storyboard", "--plot", "--plot-format", "svg")
    assert run(*how).code == 0
    Path(name).write_text("mine")
    for more in ([], ["--budget", "40%"]):
        ran = run(*how, *more, "--update")
        assert (ran.code, name in ran.err, Path(name).read_text()) == (1, True, "mine")


def test_an_edited_document_is_an_error_and_stays(run: Run, film: Path) -> None:
    assert run("shots", film).code == 0
    record = Path("film_shots.json")
    record.write_text(record.read_text().replace('"method": "kts"', '"method": "uniform"'))
    before = record.read_bytes()
    ran = run("shots", film, "--shots", "uniform", "--update")
    assert (ran.code, "edited after" in ran.err, record.read_bytes() == before) == (1, True, True)


EXPORTS = {
    "film_shots.csv": ["--export", "csv"],
    "film_shots.html": ["--report"],
    "film_shots_previews/1.gif": ["--preview", "gif"],
}


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_are_made_again_unless_they_were_edited(run: Run, film: Path, name: str) -> None:
    how = ("shots", film, *EXPORTS[name])
    target = Path(name)
    assert run(*how).code == 0
    before = target.read_bytes()
    with film.open("ab") as file:
        file.write(bytes(8))
    uniform = (*how, "--shots", "uniform", "--max-shots", "2", "--update")
    assert states(run, *uniform) == ["done"]
    assert target.read_bytes() != before
    assert states(run, *uniform) == ["up to date"]
    target.write_bytes(b"mine")
    ran = run(*how, "--update")
    assert (ran.code, name in ran.err, target.read_bytes()) == (1, True, b"mine")
    target.unlink()
    assert states(run, *how, "--update") == ["up to date"]


def test_outdated_previews_are_removed_and_others_stay(run: Run, film: Path) -> None:
    how = ("shots", film, "--preview", "gif")
    assert run(*how).code == 0
    folder = Path("film_shots_previews")
    assert sorted(path.name for path in folder.iterdir()) == ["1.gif", "2.gif", "3.gif", "4.gif"]
    (folder / "4.gif").write_bytes(b"edited")
    (folder / "mine.gif").write_bytes((folder / "3.gif").read_bytes())
    assert run(*how, "--shots", "uniform", "--max-shots", "2", "--update").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["1.gif", "2.gif", "4.gif", "mine.gif"]


def test_clips_that_the_result_no_longer_has_are_removed(
    run: Run, film: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def clips() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in Path().glob("*_film_0m0?s.mp4")}

    def ask(*colours: str) -> list[str]:
        return [word for colour in colours for word in ("--query", colour)]

    use_colours(monkeypatch)
    how = ("ground", film, "--device", "cpu", "--clips", "-k", "1")
    assert run(*how, *ask("green", "red", "blue", "yellow")).code == 0
    first = clips()
    assert len(first) == 4
    Path("yellow_film_0m06s.mp4").write_bytes(film.read_bytes())  # somebody's own
    ran = run(*how, *ask("red", "green"), "--update")
    assert (ran.code, "removed 1 " in ran.out) == (0, True)
    assert sorted(clips()) == ["green_film_0m02s.mp4", "red_film_0m00s.mp4", "yellow_film_0m06s.mp4"]
    assert clips()["red_film_0m00s.mp4"] != first["red_film_0m00s.mp4"]
    kept = clips()
    refused = run(*how, *ask("green", "red", "blue", "yellow"), "--update")
    assert (refused.code, "yellow_film_0m06s.mp4" in refused.err, clips() == kept) == (1, True, True)


def test_moments_of_other_queries_are_found_again(
    run: Run, film: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_colours(monkeypatch)
    how = ("ground", film, "--device", "cpu", "--clips", "--export", "csv")
    assert run(*how, "--query", "green", "--query", "red", "-k", "2").code == 0
    assert states(run, *how, "--query", "green", "-k", "1", "--saliency", "--update") == ["done"]
    assert sorted(path.name for path in Path().glob("*_film_*.mp4")) == ["green_film_0m02s.mp4"]
    assert Path("film_moments.csv").read_text().count("\n") == 2
    assert "timestamps_s" in json.loads(Path("film_moments.json").read_text())
    assert states(run, *how, "--query", "green", "-k", "1", "--update") == ["up to date"]


def test_subtitles_of_a_transcript_are_written_again_unless_they_were_edited(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch)
    how = ("transcribe", film, "--format", "srt", "--update")
    assert run(*how).code == 0
    before = Path("film_transcript.srt").stat().st_ino
    assert states(run, *how, "--words") == ["done"]
    assert states(run, *how, "--translate") == ["done"]
    assert Path("film_transcript.srt").stat().st_ino != before
    Path("film_transcript.srt").write_text("mine")
    ran = run(*how)
    assert (ran.code, "film_transcript.srt" in ran.err) == (1, True)
    assert Path("film_transcript.srt").read_text() == "mine"


def test_exports_of_results_are_made_again_too(run: Run, film: Path) -> None:
    assert run("shots", film).code == 0
    assert run("export", "film_shots.json", "-o", "cut.csv").code == 0
    assert run("shots", film, "--shots", "uniform", "--max-shots", "2", "--update").code == 0
    assert run("export", "film_shots.json", "-o", "cut.csv").code == 1
    assert run("export", "film_shots.json", "-o", "cut.csv", "--update").out == "cut.csv\n"
    Path("cut.csv").write_text("mine")
    assert run("export", "film_shots.json", "-o", "cut.csv", "--update").code == 1
    assert Path("cut.csv").read_text() == "mine"


@pytest.mark.parametrize("step", ["write_storyboard", "write_plot"])
def test_what_a_stopped_run_of_other_options_left_is_made_again(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def stopped(*_: object) -> None:
        raise SystemExit(143)

    how = ("summarize", film, "--storyboard", "--plot")
    for first in ([], ["--budget", "20%"]):  # without and with an older result
        with monkeypatch.context() as context:
            context.setattr(f"vidsum.pipelines.export.{step}", stopped)
            assert run(*how, *first, "--update").code == 143
        assert states(run, *how, "--budget", "40%", "--update") == ["done"]
        assert states(run, *how, "--budget", "40%") == ["up to date"]
    with av.open("film_summary.mp4") as container:
        assert container.duration / 1e6 == pytest.approx(4, abs=0.6)


@pytest.mark.parametrize("other", [["--overwrite"], ["--skip-existing"], ["-o", "-"]])
def test_updating_excludes_the_others(run: Run, film: Path, other: list[str]) -> None:
    assert run("shots", film, "--update", *other).code == 2


def test_what_vidsum_wrote_is_known_until_it_is_edited(tmp_path: Path) -> None:
    mine, log = tmp_path / "cut.edl", tmp_path / ".vidsum.sha256"
    mine.write_text("one")
    assert not paths.is_as_written(mine, tmp_path)
    for _ in range(2):
        paths.note(mine.read_bytes(), tmp_path)
    assert (paths.is_as_written(mine, tmp_path), log.read_text().count("\n")) == (True, 2)
    mine.write_text("two")
    assert not paths.is_as_written(mine, tmp_path)


def test_a_file_of_that_name_which_is_not_vidsums_is_left_alone(tmp_path: Path) -> None:
    mine, log, notes = tmp_path / "cut.edl", tmp_path / ".vidsum.sha256", tmp_path / "notes"
    mine.write_text("one")
    log.write_text("my own sums\n")
    paths.note(mine.read_bytes(), tmp_path)
    assert log.read_text() == "my own sums\n"
    log.unlink()
    log.symlink_to(notes)
    paths.note(mine.read_bytes(), tmp_path)
    assert not notes.exists()


@pytest.mark.parametrize("command", ["summarize", "shots", "ground"])
def test_outputs_that_record_defaults_too_are_up_to_date(
    command: str, run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions before wrote such records; and a newer one may have options that this one has not."""

    def full(settings: Any, *besides: str) -> dict[str, Any]:
        record = json.loads(json.dumps(asdict(settings)))
        return {name: value for name, value in record.items() if name not in besides}

    use_colours(monkeypatch)
    how = (command, film, *(["--query", "red", "--plot"] if command == "ground" else ["--max-shots", 3]))
    with monkeypatch.context() as before:
        for module in ("summary", "moments"):
            before.setattr(f"vidsum.pipelines.{module}.without_defaults", full)
        run(*how)
    assert states(run, *how) == ["up to date"]
    ran = run(*how, *(["--snap", "kts"] if command == "ground" else ["--max-shots", 2]))
    assert (ran.code, "made with --snap none" in ran.err or "made with --max-shots 3" in ran.err) == (1, True)
