"""`vidsum report`, and `--report` of the commands that find something to show."""

import json
import re
from pathlib import Path

import pytest

from tests.commands.conftest import Run

CPU = ("--device", "cpu")

pytestmark = pytest.mark.usefixtures("loads")


def test_results_become_one_page_beside_the_film(run: Run, film: Path) -> None:
    for command in ("summarize", "highlights", "shots"):
        assert run(command, film, *CPU, "--output-dir", "out").code == 0
    records = sorted(Path("out").glob("*.json"))
    ran = run("report", *records, "-o", "out/all.html", "--json")
    assert (ran.code, ran.json["data"]) == (0, {"output": "out/all.html"})
    text = Path("out/all.html").read_text()
    assert 'src="../../film.mp4"' in text
    assert [text.count(name) > 0 for name in ("film_summary.json", "2 videos", "data:image/jpeg")] == [
        True,
        False,
        True,
    ]
    assert run("report", *records, "-o", "out/all.html").out == "out/all.html (unchanged)\n"
    assert run("report", *records, "-o", "-").out.startswith("<!DOCTYPE html>")


def test_a_page_to_send(run: Run, film: Path) -> None:
    assert run("shots", film, *CPU).code == 0
    for name in ("out", "out.zip"):
        assert run("report", "film_shots.json", "--bundle", name).out == f"{name}\n"
        again = run("report", "film_shots.json", "--bundle", name)
        assert (again.code, again.out) == (0, f"{name} (unchanged)\n")
        kept = run("report", "film_shots.json", "--bundle", name, "--title", "Mine")
        assert (kept.code, "--overwrite" in kept.err) == (1, True)
        assert run("report", "film_shots.json", "--bundle", name, "--overwrite", "--title", "Mine").code == 0
    assert "<h1>Mine</h1>" in Path("out/index.html").read_text()
    assert Path("out/media/film.mp4").read_bytes() == film.read_bytes()
    assert run("report", "film_shots.json", "--embed").code == 0
    assert "data:video/mp4;base64," in Path("report.html").read_text()


def test_an_own_page_is_kept_unless_overwrite(run: Run, film: Path) -> None:
    assert run("shots", film, *CPU).code == 0
    Path("report.html").write_text("mine")
    kept = run("report", "film_shots.json")
    assert (kept.code, "--overwrite" in kept.err, Path("report.html").read_text()) == (1, True, "mine")
    assert run("report", "film_shots.json", "--overwrite").out == "report.html\n"


def test_commands_write_a_page_named_like_their_json(run: Run, film: Path) -> None:
    ran = run("summarize", film, *CPU, "--report", "--export", "csv", "--json")
    assert ran.json["data"]["exports"] == ["film_summary.csv", "film_summary.html"]
    assert "Summary: " in Path("film_summary.html").read_text()
    assert run("highlights", film, *CPU, "--report", "--clips", "-k", "1", "-o", "best.json").code == 0
    text = Path("best.html").read_text()
    assert 'href="highlight_best_0m06s.mp4"' in text
    assert run("shots", film, *CPU, "--report", "-o", "-").code == 2


def test_results_of_one_name_have_clips_of_their_own(run: Run, film: Path) -> None:
    for folder, n in (("a", "1"), ("b", "2")):
        ran = run("highlights", film, *CPU, "--clips", "-k", n, "--output-dir", folder)
        assert ran.code == 0, ran.err
    assert run("report", "a/film_highlights.json", "b/film_highlights.json").code == 0
    links = re.findall(r'class="clip" href="([^"]*)"', Path("report.html").read_text())
    assert links == ["a/highlight_film_0m06s.mp4", "b/highlight_film_0m06s.mp4"]


def test_a_clip_that_is_another_is_not_linked(run: Run, film: Path) -> None:
    assert run("highlights", film, *CPU, "-k", "1").code == 0
    Path("highlight_film_0m00s.mp4").write_bytes(film.read_bytes())
    assert run("report", "film_highlights.json").code == 0
    assert "highlight_film_0m00s.mp4" not in Path("report.html").read_text()


def test_what_makes_no_sense_is_said_in_a_line(run: Run, film: Path) -> None:
    assert run("shots", film, *CPU).code == 0
    Path("run.json").write_text(json.dumps({"schema": "vidsum.evaluation/1"}))
    assert run("highlights", film, *CPU).code == 0
    document = json.loads(Path("film_highlights.json").read_text())
    document["saliency"]["scores"].pop()
    Path("bent.json").write_text(json.dumps(document))
    for arguments, code, said in (
        (["film_shots.json", "-o", "page.pdf"], 2, "-o page.html"),
        (["film_shots.json", "-o", "none/page.html"], 1, "mkdir"),
        (["film_shots.json", "--bundle", "."], 1, "is a folder of other files"),
        (["film_shots.json", "--bundle", "out", "--embed"], 2, "--bundle excludes --embed"),
        (["none.json"], 3, "no such file"),
        (["film_shots.json", "run.json"], 3, "run.json: not a result"),
        (["bent.json"], 3, "4 scores for 5 times"),
        ([film], 3, "UTF-8"),
        ([], 2, "Missing argument"),
    ):
        ran = run("report", *arguments)
        assert (ran.code, said in ran.err, len(ran.err.splitlines()) <= 2) == (code, True, True), ran.err
    film.unlink()
    ran = run("report", "film_shots.json")
    assert (ran.code, ran.out, "no such file" in ran.err) == (0, "report.html\n", True)
