"""`vidsum report`, and `--report` of the commands that find something to show."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from tests.program import Run

CPU = ("--device", "cpu")

pytestmark = pytest.mark.usefixtures("known_film")


def test_report_of_three_results(run: Run, film: Path) -> None:
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
    assert run("report", *records, "-o", "-").out.startswith("<!DOCTYPE html>")
    run("shots", film, *CPU)
    Path("note.json").write_text("hello")
    ran = run("report", "film_shots.json", "note.json", "lost.json", film, "--json", code=1)
    assert ran.json["data"] == {"outputs": {"html": "report.html"}}
    faults = [fault["message"] for fault in ran.json["errors"]]
    assert faults[0].startswith("note.json: cannot be read as JSON")
    assert faults[1:] == ["lost.json: no such file", f"{film}: is a video, not a result"]
    assert "<h1>film.mp4</h1>" in Path("report.html").read_text()
    Path("note.json").write_text("{}")
    commands = "summarize, trim, shots, chapters, shorts, ground, highlights, describe or transcribe"
    run("report", "note.json", code=3, error=f"note.json: not a result of {commands}")
    Path("report.html").unlink()
    assert run("report", "lost.json", "gone.json", code=1).err.count("no such file") == 2
    assert not Path("report.html").exists()
    run("report", "lost.json", code=3, error="lost.json: no such file")
    run("highlights", film, *CPU)
    document = json.loads(Path("film_highlights.json").read_text())
    document["saliency"]["scores"].pop()
    Path("bent.json").write_text(json.dumps(document))
    run("report", "bent.json", code=3, error="4 scores for 5 times")
    film.unlink()
    assert run("report", "film_highlights.json", error="no such file").out == "report.html\n"


@pytest.mark.deep
def test_report_overwrite(run: Run, film: Path) -> None:
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
def test_report_option_of_commands(run: Run, film: Path) -> None:
    ran = run("summarize", film, *CPU, "--report", "--export", "csv", "--json")
    outputs = ran.json["data"]["outputs"]
    assert (outputs["csv"], outputs["html"]) == ("film_summary.csv", "film_summary.html")
    assert "Summary: " in Path("film_summary.html").read_text()
    run("highlights", film, *CPU, "--report", "--clips", "-k", "1", "-o", "best.json")
    text = Path("best.html").read_text()
    assert 'href="highlight_film_0m06s.mp4"' in text
    run("shots", film, *CPU, "--report", "-o", "-", code=2)


@pytest.mark.usefixtures("low_level")
def test_report_clips_of_one_name(run: Run, film: Path) -> None:
    for folder in ("a", "b"):
        run("highlights", film, *CPU, "--clips", "-k", "1", "--output-dir", folder)
    run("report", "a/film_highlights.json", "b/film_highlights.json")
    links = re.findall(r'class="clip" href="([^"]*)"', Path("report.html").read_text())
    assert links == ["a/highlight_film_0m06s.mp4", "b/highlight_film_0m06s.mp4"]
    run("highlights", film, *CPU, "-k", "1")
    Path("highlight_film_0m00s.mp4").write_bytes(film.read_bytes())
    run("report", "film_highlights.json")
    assert "highlight_film_0m00s.mp4" not in Path("report.html").read_text()
