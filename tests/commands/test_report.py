"""`vidsum report`, and `--report` of the commands that find something to show."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from tests.program import Run

CPU = ("--device", "cpu")

pytestmark = pytest.mark.usefixtures("known_film")


@pytest.fixture
def shots(run: Run, film: Path) -> Path:
    run("shots", film, *CPU)
    return Path("film_shots.json")


def test_results_of_a_video_share_its_part_of_the_page(run: Run, film: Path) -> None:
    for command in ("summarize", "highlights", "shots"):
        run(command, film, *CPU, "--output-dir", "out")
    records = sorted(Path("out").glob("*.json"))
    assert run("report", *records, "-o", "out/all.html", "--json").json["data"] == {
        "outputs": {"html": "out/all.html"}
    }
    text = Path("out/all.html").read_text()
    assert 'src="../../film.mp4"' in text
    contains = [name in text for name in ("film_summary.json", "2 videos", "data:image/jpeg")]
    assert contains == [True, False, True]
    assert run("report", *records, "-o", "out/all.html").out == "out/all.html (unchanged)\n"


def test_page_on_stdout_is_html(run: Run, shots: Path) -> None:
    assert run("report", shots, "-o", "-").out.startswith("<!DOCTYPE html>")


def test_page_has_the_results_that_can_be_read_and_the_faults_of_others(
    run: Run, film: Path, shots: Path
) -> None:
    Path("note.json").write_text("hello")
    ran = run("report", shots, "note.json", "lost.json", film, "--json", code=1)
    assert ran.json["data"] == {"outputs": {"html": "report.html"}}
    faults = [fault["message"] for fault in ran.json["errors"]]
    assert faults[0].startswith("note.json: cannot be read as JSON")
    assert faults[1:] == ["lost.json: no such file", f"{film}: is a video, not a result"]
    assert "<h1>film.mp4</h1>" in Path("report.html").read_text()


def test_document_that_is_no_result_is_refused_with_the_commands_that_make_some(run: Run) -> None:
    Path("note.json").write_text("{}")
    commands = "summarize, trim, shots, chapters, shorts, ground, highlights, describe or transcribe"
    run("report", "note.json", code=3, error=f"note.json: not a result of {commands}")


def test_no_page_is_written_where_no_result_can_be_read(run: Run) -> None:
    assert run("report", "lost.json", "gone.json", code=1).err.count("no such file") == 2
    assert not Path("report.html").exists()


def test_only_result_that_cannot_be_read_is_the_error(run: Run) -> None:
    run("report", "lost.json", code=3, error="lost.json: no such file")


def test_curve_with_fewer_scores_than_times_is_refused(run: Run, film: Path) -> None:
    run("highlights", film, *CPU)
    document = json.loads(Path("film_highlights.json").read_text())
    document["saliency"]["scores"].pop()
    Path("bent.json").write_text(json.dumps(document))
    run("report", "bent.json", code=3, error="4 scores for 5 times")


def test_page_of_a_video_that_is_gone_has_a_warning(run: Run, film: Path, shots: Path) -> None:
    film.unlink()
    assert run("report", shots, error="no such file").out == "report.html\n"


def test_bundle_excludes_another_name_of_the_page(run: Run) -> None:
    run("report", "a.json", "-o", "a.html", "--bundle", "a.zip", code=2, error="its page is index.html")


@pytest.mark.parametrize("option", [("-o", "a.txt"), ("--bundle", "a.tar")])
def test_page_and_bundle_of_another_suffix_are_refused(run: Run, option: tuple[str, str]) -> None:
    run("report", "a.json", *option, code=2, error="must end in")


@pytest.mark.deep
def test_foreign_page_and_bundle_are_replaced_on_request_alone(run: Run, film: Path) -> None:
    run("shots", film, *CPU)
    Path("report.html").write_text("mine")
    run("report", "film_shots.json", code=1, error="--overwrite")
    assert Path("report.html").read_text() == "mine"
    assert run("report", "film_shots.json", "--overwrite").out == "report.html\n"
    for title in ("", "Mine"):
        assert run("report", "film_shots.json", "--bundle", "out.zip", "--title", title).out == "out.zip\n"
    with zipfile.ZipFile("out.zip") as archive:
        assert "<h1>Mine</h1>" in archive.read("index.html").decode()
        assert archive.read("media/film.mp4") == film.read_bytes()
    Path("out.zip").write_text("mine")
    run("report", "film_shots.json", "--bundle", "out.zip", code=1, error="--overwrite")
    assert Path("out.zip").read_text() == "mine"
    run("report", "film_shots.json", "--bundle", "out", code=2, error="must end in .zip")
    assert run("report", "film_shots.json", "--bundle", "x.ZIP").out == "x.ZIP\n"
    assert zipfile.is_zipfile("x.ZIP")
    assert run("report", "film_shots.json", "-o", "page.HTML").out == "page.HTML\n"


@pytest.mark.usefixtures("low_level")
def test_report_of_a_command_is_beside_its_other_outputs(run: Run, film: Path) -> None:
    ran = run("summarize", film, *CPU, "--report", "--export", "csv", "--json")
    outputs = ran.json["data"]["outputs"]
    assert (outputs["csv"], outputs["html"]) == ("film_summary.csv", "film_summary.html")
    assert "Summary: " in Path("film_summary.html").read_text()
    run("highlights", film, *CPU, "--report", "--clips", "-k", "1", "-o", "best.json")
    text = Path("best.html").read_text()
    assert 'href="highlight_film_0m06s.mp4"' in text
    run("shots", film, *CPU, "--report", "-o", "-", code=2)


@pytest.mark.usefixtures("low_level")
def test_page_links_the_clips_of_its_results_alone(run: Run, film: Path) -> None:
    for folder in ("a", "b"):
        run("highlights", film, *CPU, "--clips", "-k", "1", "--output-dir", folder)
    run("report", "a/film_highlights.json", "b/film_highlights.json")
    links = re.findall(r'class="clip" href="([^"]*)"', Path("report.html").read_text())
    assert links == ["a/highlight_film_0m06s.mp4", "b/highlight_film_0m06s.mp4"]
    run("highlights", film, *CPU, "-k", "1")
    Path("highlight_film_0m00s.mp4").write_bytes(film.read_bytes())
    run("report", "film_highlights.json")
    assert "highlight_film_0m00s.mp4" not in Path("report.html").read_text()
