"""`vidsum export`, and `--export` of the commands that find something to cut."""

import csv
import io
import json
import os
import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import vidsum
from tests import media
from tests.program import Run, check_schema
from tests.results.made import texts
from vidsum.results.formats import FORMATS, PROGRAMS
from vidsum.results.settings import ExportFormat

CPU = ("--device", "cpu")
EDITORS = ("otio", "edl", "fcpxml", "xml", "kdenlive", "mlt")
LISTS = ("kodi.edl", "csv", "srt", "vtt", "ffmetadata")

otio = pytest.importorskip("opentimelineio")
pytestmark = pytest.mark.usefixtures("known_film")


@pytest.fixture
def summary(run: Run, film: Path) -> dict[str, Any]:
    """The summary of the film in film.json."""
    run("summarize", film, *CPU, "--budget", "40%", "-o", "film.json")
    document: dict[str, Any] = json.loads(Path("film.json").read_text())
    return document


def spans_of(path: str) -> list[tuple[float, float]]:
    """The source times of the clips of a timeline's video track."""
    timeline = otio.adapters.read_from_file(path)
    spans = [clip.source_range for clip in timeline.video_tracks()[0]]
    return [(span.start_time.to_seconds(), span.end_time_exclusive().to_seconds()) for span in spans]


@pytest.mark.parametrize("suffix", [*EDITORS, *LISTS])
def test_export_suffix(run: Run, summary: dict[str, Any], suffix: str) -> None:
    name = f"cut.{suffix}"
    assert (run("export", "film.json", "-o", name).out, Path(name).stat().st_size > 20) == (f"{name}\n", True)
    assert run("export", "film.json", "-o", name).out == f"{name} (unchanged)\n"
    Path(name).write_text("mine")
    run("export", "film.json", "-o", name, code=1, error="--overwrite")
    assert Path(name).read_text() == "mine"
    run("export", "film.json", "-o", name, "--overwrite")
    assert run("export", "film.json", "-o", "-", "--format", suffix.split(".")[0]).out.count("\n") > 1


@pytest.mark.usefixtures("summary")
def test_export_product_names(run: Run) -> None:
    for product, format in PROGRAMS.items():
        if format != "chapters":  # of which the summary has too few
            ask = ("export", "film.json", "-o", "-", "--format")
            assert run(*ask, product).out == run(*ask, format).out != ""


def test_export_names_of_clips(run: Run, film: Path) -> None:
    run("shots", film, "--shots", "uniform", "-o", "film_shots.json", "--max-shot", 5)
    plain = run("export", "film_shots.json", "--format", "csv", "-o", "-").out
    assert "shot 1" in plain
    transcript, descriptions = texts(film)
    vidsum.write_json(descriptions, "film_descriptions.json")
    assert "a bird" in run("export", "film_shots.json", "--format", "csv", "-o", "-").out
    vidsum.write_json(transcript, "film_transcript.json")
    assert "<b> hello" in run("export", "film_shots.json", "--format", "csv", "-o", "-").out
    ran = run("export", "film_transcript.json", "--format", "srt", code=3)
    assert "has texts, not cuts" in ran.err
    assert "vidsum transcribe VIDEO --format srt" in ran.err
    assert "vidsum describe VIDEO" in run("export", "film_descriptions.json", "--format", "srt", code=3).err


@pytest.mark.usefixtures("summary")
def test_export_batch_names(run: Run, film: Path) -> None:
    Path("other.json").write_bytes(Path("film.json").read_bytes())
    ran = run("export", "film.json", "other.json", "--media", "relative", "--output-dir", "cuts", "--json")
    assert [line["data"] for line in ran.json_lines] == [
        {"outputs": {"otio": f"cuts/{name}.otio"}} for name in ("film", "other")
    ]
    check_schema(ran.json_lines[0], "result")
    timeline = otio.adapters.read_from_file("cuts/film.otio")
    clip = timeline.video_tracks()[0][0]
    assert clip.media_reference.target_url == "../../film.mp4"
    assert (Path("cuts") / clip.media_reference.target_url).resolve() == film.resolve()
    run("export", "film.json", "other.json", "-o", "{n}_{stem}.edl")
    assert Path("2_other.edl").exists()
    ran = run("export", "film.json", "--format", "youtube", code=3)
    fault = "film.json: makes no .chapters.txt: YouTube wants 3 chapters of at least 10 s"
    assert fault in ran.err
    assert fault in run("export", "film.json", "--format", "youtube", "-o", "-", code=3).err
    assert not Path("film.chapters.txt").exists()
    film.rename("moved.mp4")
    run("export", "film.json", "-o", "cut.edl", code=3, error=("no such file", "--video"))
    run("export", "film.json", "-o", "cut.csv")
    run("export", "film.json", "-o", "cut.edl", "--video", "moved.mp4")
    assert "moved.mp4" in Path("cut.edl").read_text()
    media.make_video(film, n_frames=20)
    run("export", "film.json", "-o", "other.edl", code=3, error="not the video")
    assert not Path("other.edl").exists()


def test_export_bad_segments(run: Run, summary: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for segment, error in (
        ({"start_s": "x"}, "not valid"),
        ({"start_s": 2.0, "end_s": 1.0}, "bent.json: segments[0]: ends at 1 s, but begins at 2 s"),
    ):
        Path("bent.json").write_text(json.dumps({**summary, "segments": [segment]}))
        run("export", "bent.json", code=3, error=error)

    def source(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    source(Path("film.json").read_bytes())
    assert run("export", "-", "--format", "csv").out == "stdin.csv\n"
    source(Path("film.json").read_bytes())
    assert run("export", "-", "--format", "csv", "-o", "-").out == Path("stdin.csv").read_text()
    source(Path("film.json").read_bytes())
    run("report", "-", "-o", "all.html")
    for content in (b"", b"\xff", b"{}"):
        source(content)
        ran = run("export", "-", "--format", "csv", code=3)
        assert (ran.err.count("\n") < 3, "internal" in ran.err) == (True, False)


def test_features_have_lists_alone(run: Run, film: Path) -> None:
    np.savez("own.npz", features=np.repeat(np.eye(3), 20, axis=0))
    run("shots", "own.npz", "-o", "shots.json", "--export", "csv")
    with Path("shots.csv").open(newline="") as file:
        assert [row["Name"] for row in csv.DictReader(file)][:2] == ["shot 1", "shot 2"]
    run("export", "shots.json", code=2, error="features only")
    Path("results").mkdir()
    ran = run("shots", film, *CPU, "--export", "kodi", "--output-dir", "results")
    assert ran.out.splitlines()[-1] == str(film.with_suffix(".edl"))
    assert film.with_suffix(".edl").read_text().startswith("0.000\t0.000\t2\n")
    run("export", "results/film_shots.json", "-o", "film2.edl", "--format", "kodi")
    assert Path("film2.edl").read_text() == film.with_suffix(".edl").read_text()


def test_export_of_name_in_another_encoding(run: Run, film: Path, loads: list[str]) -> None:
    odd = film.rename(film.with_name(os.fsdecode(b"caf\xe9.mp4")))
    for suffix in ("edl", "kdenlive", "mlt"):
        ran = run("summarize", odd, *CPU, "--export", suffix, "--output-dir", "out", code=3, error="UTF-8")
        assert len(ran.err.splitlines()) == 2
        assert (loads, Path("out").exists()) == ([], False)
    others = ("otio", "fcpxml", "xml", "csv", "srt", "vtt", "ffmetadata")
    exports = [argument for suffix in others for argument in ("--export", suffix)]
    run("summarize", odd, *CPU, *exports, "--output-dir", "out")
    record = next(Path("out").glob("*.json"))
    for suffix in ("otio", "fcpxml", "xml"):
        assert "/caf%E9.mp4" in record.with_suffix(f".{suffix}").read_text()
        run("export", record, "--format", suffix)
    run("export", record, "--format", "edl", code=3)


@pytest.mark.usefixtures("low_level")
def test_export_option_of_commands(run: Run, film: Path) -> None:
    for command, record in (
        (("summarize",), "film_summary"),
        (("highlights", "--top-k", "2"), "film_highlights"),
        (("shots",), "film_shots"),
    ):
        ran = run(*command, film, *CPU, "--export", "otio", "--export", "ffmetadata", "--json")
        check_schema(ran.json, "result")
        outputs = ran.json["data"]["outputs"]
        assert [outputs[kind] for kind in ("otio", "ffmetadata")] == [
            f"{record}.otio",
            f"{record}.ffmetadata",
        ]
        document = json.loads(Path(f"{record}.json").read_text())
        kind = {"film_summary": "segments", "film_shots": "shots"}.get(record, "moments")
        assert spans_of(f"{record}.otio") == [(item["start_s"], item["end_s"]) for item in document[kind]]
    again = run("shots", film, *CPU, "--export", "otio", "--export", "srt")
    assert again.out.splitlines()[-2:] == ["film_shots.otio (unchanged)", "film_shots.srt"]


def test_every_export_format_has_a_writer(run: Run) -> None:
    assert get_args(ExportFormat) == tuple(FORMATS), "name each in vidsum/results: settings.py and formats.py"
    assert all(options.ending in run("export", "--help-all").out for options in FORMATS.values())


@pytest.mark.usefixtures("summary")
def test_several_formats_are_all_written(run: Run) -> None:
    formats = ("--format", "csv", "--format", "edl", "--format", "premiere")
    ran = run("export", "film.json", *formats, "-o", "cut.csv", "--json")
    assert ran.json["data"] == {"outputs": {"csv": "cut.csv", "edl": "cut.edl", "xml": "cut.xml"}}
    assert all(Path(name).stat().st_size > 20 for name in ran.json["data"]["outputs"].values())
    run("export", "film.json", *formats, "-o", "-", code=2, error="--output - prints one format")


@pytest.mark.usefixtures("summary")
def test_a_format_that_cannot_be_made_costs_no_other(run: Run, film: Path) -> None:
    fault = "error: film.json: makes no .chapters.txt: YouTube wants 3 chapters"
    run("export", "film.json", "--format", "youtube", "--format", "csv", code=1, error=fault)
    assert (Path("film.csv").exists(), Path("film.chapters.txt").exists()) == (True, False)
    exports = ("--export", "youtube", "--export", "edl", "--export", "csv")
    ran = run("shots", film, "--shots", "uniform", "-o", "s.json", *exports, code=1)
    assert (Path("s.edl").exists(), Path("s.csv").exists(), Path("s.chapters.txt").exists()) == (
        True,
        True,
        False,
    )
    assert ran.err.count("YouTube wants 3 chapters") == 1
