"""`vidsum edit`: what it opens, what it writes without a page, what it refuses."""

import json
import shutil
from pathlib import Path

import pytest

from tests.commands.conftest import files_here
from tests.program import Run
from tests.results.test_edits import leave
from vidsum.results.decisions import decisions_path, write_decisions
from vidsum.results.load import load
from vidsum.results.summary import Summary

RECORD = Path("film_summary.json")


@pytest.fixture
def film_here(made_film: Path, known_film: None) -> Path:
    shutil.copy(made_film, "film.mp4")
    return Path("film.mp4")


def first_of(record: Path) -> tuple[float, float]:
    summary = load(record)
    assert isinstance(summary, Summary)
    return summary.segments[0]


@pytest.mark.usefixtures("quick_plots")
def test_apply_writes_all_files_of_the_result(run: Run, film_here: Path) -> None:
    run("summarize", film_here, "--export", "edl", "--export", "srt", "--report", "--plot", "--storyboard")
    before, mtimes = (
        files_here(),
        {name: Path(name).read_bytes() for name in files_here() if Path(name).is_file()},
    )
    gone = first_of(RECORD)
    write_decisions(decisions_path(RECORD), {"decisions": [leave(*gone)], "undone": []})
    ran = run("edit", RECORD, "--apply")
    assert ran.out.splitlines()[-1] != ""
    assert files_here() == sorted([*before, "film_summary.edits"])
    changed = {name for name, content in mtimes.items() if Path(name).read_bytes() != content}
    made = ("edl", "html", "json", "mp4", "srt")
    expected = {*(f"film_summary.{ending}" for ending in made), "film_storyboard.png", "film_importance.png"}
    assert changed == expected
    assert gone not in load(RECORD).segments  # type: ignore[attr-defined]
    run("edit", RECORD, "--apply")  # the same decisions about the result as it was made
    assert json.loads(RECORD.read_text())["provenance"]["edit"]["decisions"] == [leave(*gone)]


def test_a_deleted_mp4_is_named_and_written_again_with_overwrite(run: Run, film_here: Path) -> None:
    run("summarize", film_here)
    Path("film_summary.mp4").unlink()
    ran = run("edit", RECORD, "--apply")
    warning = "film_summary.json: film_summary.mp4 was deleted or edited, and is not written again"
    assert f"warning: {warning}" in ran.err
    assert not Path("film_summary.mp4").exists()
    run("summarize", film_here)
    Path("film_summary.mp4").write_text("foreign")
    assert "film_summary.mp4" in run("edit", RECORD, "--apply", "--overwrite").out
    assert Path("film_summary.mp4").stat().st_size > 1000


def test_edited_files_are_replaced_without_a_question(run: Run, film_here: Path) -> None:
    run("summarize", film_here)
    write_decisions(decisions_path(RECORD), {"decisions": [leave(*first_of(RECORD))], "undone": []})
    run("edit", RECORD, "--apply")
    ran = run("summarize", film_here)
    assert "unchanged" not in ran.out
    assert "edit" not in json.loads(RECORD.read_text())["provenance"]


@pytest.mark.deep
def test_choices_of_the_mp4_stay(run: Run, film_here: Path) -> None:
    run("summarize", film_here, "--vertical")
    write_decisions(decisions_path(RECORD), {"decisions": [leave(*first_of(RECORD))], "undone": []})
    run("edit", RECORD, "--apply")
    ran = run("info", "film_summary.mp4", "--json")
    video = ran.json["data"]
    assert video["display_width"] < video["display_height"]


def test_foreign_mp4_is_an_error(run: Run, film_here: Path) -> None:
    run("summarize", film_here)
    Path("film_summary.mp4").write_bytes(b"mine")
    write_decisions(decisions_path(RECORD), {"decisions": [leave(*first_of(RECORD))], "undone": []})
    run("edit", RECORD, "--apply")  # the MP4 is not among the files of the result any more
    assert Path("film_summary.mp4").read_bytes() == b"mine"


def test_clips_of_highlights_are_written_again(run: Run, film_here: Path, low_level: None) -> None:
    run("highlights", film_here, "--clips", "--top-k", "2")
    record = Path("film_highlights.json")
    clips = sorted(Path().glob("highlight_*.mp4"))
    moment = json.loads(record.read_text())["moments"][0]
    out = leave(moment["start_s"], moment["end_s"])
    write_decisions(decisions_path(record), {"decisions": [out], "undone": []})
    run("edit", record, "--apply")
    left = sorted(Path().glob("highlight_*.mp4"))
    assert set(left) < set(clips)
    assert len(left) == len(json.loads(record.read_text())["moments"])


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that were opened; the server ends at once."""
    addresses = list[str]()

    def begin(server: object, poll_interval: float = 0.5) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", addresses.append)
    monkeypatch.setattr("vidsum.editing.edit_server.EditServer.serve_forever", begin)
    return addresses


def test_video_gets_its_summary_first(run: Run, film_here: Path, no_server: list[str]) -> None:
    ran = run("edit", film_here, "--open", "--token", "secret")
    assert no_server == [ran.out.splitlines()[0]]
    assert no_server[0].endswith("/?token=secret")
    assert files_here() == ["film.mp4", "film_summary.json"]
    content = RECORD.read_bytes()
    run("edit", film_here)
    assert RECORD.read_bytes() == content
    run("edit", film_here, "--apply")
    assert files_here() == ["film.mp4", "film_summary.json", "film_summary.mp4"]


def test_film_that_vidsum_wrote_opens_its_result(run: Run, film_here: Path, no_server: list[str]) -> None:
    run("summarize", film_here)
    before = files_here()
    ran = run("edit", "film_summary.mp4", "--json")
    assert json.loads(ran.out.splitlines()[0])["data"]["result"] == "film_summary.json"
    assert files_here() == before


def test_result_of_another_video_of_this_name(run: Run, film_here: Path, no_server: list[str]) -> None:
    run("summarize", film_here, "-o", RECORD)
    Path("other").mkdir()
    Path("other/film.mp4").write_bytes(film_here.read_bytes() + b"\0" * 100)
    run("edit", "other/film.mp4", code=3, error="not the video that the result was made from")
    assert no_server == []


def test_result_that_has_moved_needs_its_video(run: Run, film_here: Path, no_server: list[str]) -> None:
    run("summarize", film_here, "-o", "film_summary.json")
    film_here.rename("moved.mp4")
    run("edit", RECORD, code=3, error=("film.mp4", "--video FILE"))
    run("edit", RECORD, "--video", "moved.mp4")


@pytest.mark.parametrize("name", ["film_shots.json", "notes.json", "none.json"])
def test_other_files_are_refused(run: Run, film_here: Path, name: str) -> None:
    run("shots", film_here)
    Path("notes.json").write_text("{}")
    run("edit", name, code=None, error="error: ")
    assert not decisions_path(Path(name)).exists()
