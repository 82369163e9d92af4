"""`vidsum export`, and `--export` of the commands that find something to cut."""

import csv
import io
import json
import os
import sys
from collections.abc import Callable
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
def test_suffix_chooses_the_format_and_a_second_export_changes_nothing(
    run: Run, summary: dict[str, Any], suffix: str
) -> None:
    name = f"cut.{suffix}"
    assert (run("export", "film.json", "-o", name).out, Path(name).stat().st_size > 20) == (f"{name}\n", True)
    assert run("export", "film.json", "-o", name).out == f"{name} (unchanged)\n"


@pytest.mark.parametrize("suffix", ["otio", "csv"])
def test_edited_file_is_exported_over_on_demand_alone(run: Run, summary: dict[str, Any], suffix: str) -> None:
    name = f"cut.{suffix}"
    run("export", "film.json", "-o", name)
    Path(name).write_text("mine")
    run("export", "film.json", "-o", name, code=1, error="--overwrite")
    assert Path(name).read_text() == "mine"
    run("export", "film.json", "-o", name, "--overwrite")
    assert Path(name).read_text() != "mine"


@pytest.mark.usefixtures("summary")
def test_each_format_is_printed(run: Run) -> None:
    for suffix in (*EDITORS, *LISTS):
        text = run("export", "film.json", "-o", "-", "--format", suffix.split(".")[0]).out
        assert text.count("\n") > 1, suffix


@pytest.mark.usefixtures("summary")
def test_program_names_its_format(run: Run) -> None:
    for product, format in PROGRAMS.items():
        if format != "chapters":  # of which the summary has too few
            ask = ("export", "film.json", "-o", "-", "--format")
            assert run(*ask, product).out == run(*ask, format).out != ""


@pytest.fixture
def shots(run: Run, film: Path) -> str:
    """The name of a document of two shots."""
    run("shots", film, "--shots", "uniform", "-o", "film_shots.json", "--max-shot", 5)
    return "film_shots.json"


@pytest.mark.parametrize(
    ("kind", "title"),
    [(None, "shot 1"), (1, "a bird"), (0, "<b> hello")],
    ids=["none", "descriptions", "speech"],
)
def test_clip_is_named_by_the_texts_that_lie_beside(
    run: Run, film: Path, shots: str, kind: int | None, title: str
) -> None:
    if kind is not None:
        vidsum.write_json(texts(film)[kind], ("film_transcript.json", "film_descriptions.json")[kind])
    assert title in run("export", shots, "--format", "csv", "-o", "-").out


@pytest.mark.parametrize(("kind", "command"), [(0, "transcribe VIDEO --format srt"), (1, "describe VIDEO")])
def test_texts_are_not_exported_but_the_command_for_them_is_named(
    run: Run, film: Path, kind: int, command: str
) -> None:
    vidsum.write_json(texts(film)[kind], "texts.json")
    run("export", "texts.json", "--format", "srt", code=3, error=("has texts, not cuts", f"vidsum {command}"))


@pytest.fixture
def two(summary: dict[str, Any]) -> tuple[str, str]:
    """The names of two summaries of the film."""
    Path("other.json").write_bytes(Path("film.json").read_bytes())
    return "film.json", "other.json"


def test_exports_of_several_results_have_their_names(run: Run, two: tuple[str, str]) -> None:
    lines = run("export", *two, "--output-dir", "cuts", "--json").json_lines
    assert [line["data"] for line in lines] == [
        {"outputs": {"otio": f"cuts/{name}.otio"}} for name in ("film", "other")
    ]
    check_schema(lines[0], "result")


def test_exports_are_named_by_a_pattern(run: Run, two: tuple[str, str]) -> None:
    run("export", *two, "-o", "{n}_{stem}.edl")
    assert Path("2_other.edl").exists()


@pytest.mark.usefixtures("summary")
def test_timeline_names_the_film_by_a_relative_path(run: Run, film: Path) -> None:
    run("export", "film.json", "--media", "relative", "--output-dir", "cuts")
    clip = otio.adapters.read_from_file("cuts/film.otio").video_tracks()[0][0]
    assert clip.media_reference.target_url == "../../film.mp4"
    assert (Path("cuts") / clip.media_reference.target_url).resolve() == film.resolve()


@pytest.mark.usefixtures("summary")
@pytest.mark.parametrize("more", [(), ("-o", "-")])
def test_too_few_chapters_for_youtube_are_refused(run: Run, more: tuple[str, ...]) -> None:
    fault = "film.json: makes no .chapters.txt: YouTube wants 3 chapters of at least 10 s"
    run("export", "film.json", "--format", "youtube", *more, code=3, error=fault)
    assert not Path("film.chapters.txt").exists()


@pytest.mark.usefixtures("summary")
def test_film_that_was_moved_is_needed_for_timelines_alone(run: Run, film: Path) -> None:
    film.rename("moved.mp4")
    run("export", "film.json", "-o", "cut.edl", code=3, error=("no such file", "--video"))
    run("export", "film.json", "-o", "cut.csv")
    run("export", "film.json", "-o", "cut.edl", "--video", "moved.mp4")
    assert "moved.mp4" in Path("cut.edl").read_text()


@pytest.mark.usefixtures("summary")
def test_film_that_was_replaced_is_refused(run: Run, film: Path) -> None:
    media.make_video(film, n_frames=20)
    run("export", "film.json", "-o", "other.edl", code=3, error="not the video")
    assert not Path("other.edl").exists()


@pytest.mark.parametrize(
    ("segment", "fault"),
    [
        ({"start_s": "x"}, "not valid"),
        ({"start_s": 2.0, "end_s": 1.0}, "bent.json: segments[0]: ends at 1 s, but begins at 2 s"),
    ],
)
def test_damaged_segments_are_refused(
    run: Run, summary: dict[str, Any], segment: dict[str, Any], fault: str
) -> None:
    Path("bent.json").write_text(json.dumps({**summary, "segments": [segment]}))
    run("export", "bent.json", code=3, error=fault)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Put bytes on stdin."""
    return lambda content: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.usefixtures("summary")
def test_result_on_stdin_is_exported(run: Run, typed: Callable[[bytes], None]) -> None:
    typed(Path("film.json").read_bytes())
    assert run("export", "-", "--format", "csv").out == "stdin.csv\n"
    typed(Path("film.json").read_bytes())
    assert run("export", "-", "--format", "csv", "-o", "-").out == Path("stdin.csv").read_text()


@pytest.mark.usefixtures("summary")
def test_result_on_stdin_is_reported(run: Run, typed: Callable[[bytes], None]) -> None:
    typed(Path("film.json").read_bytes())
    run("report", "-", "-o", "all.html")
    assert Path("all.html").exists()


@pytest.mark.parametrize("content", [b"", b"\xff", b"{}"])
def test_no_result_on_stdin_is_refused_in_a_line(
    run: Run, typed: Callable[[bytes], None], content: bytes
) -> None:
    typed(content)
    ran = run("export", "-", "--format", "csv", code=3)
    assert (ran.err.count("\n") < 3, "internal" in ran.err) == (True, False)


def test_shots_of_features_have_lists_and_no_timelines(run: Run) -> None:
    np.savez("own.npz", features=np.repeat(np.eye(3), 20, axis=0))
    run("shots", "own.npz", "-o", "shots.json", "--export", "csv")
    with Path("shots.csv").open(newline="") as file:
        assert [row["Name"] for row in csv.DictReader(file)][:2] == ["shot 1", "shot 2"]
    run("export", "shots.json", code=2, error="features only")


def test_list_for_kodi_lies_beside_the_film(run: Run, film: Path) -> None:
    Path("results").mkdir()
    ran = run("shots", film, *CPU, "--export", "kodi", "--output-dir", "results")
    assert ran.out.splitlines()[-1] == str(film.with_suffix(".edl"))
    assert film.with_suffix(".edl").read_text().startswith("0.000\t0.000\t2\n")


def test_list_for_kodi_is_exported_as_it_is_written_with_the_shots(run: Run, film: Path) -> None:
    run("shots", film, *CPU, "--export", "kodi")
    run("export", "film_shots.json", "-o", "film2.edl", "--format", "kodi")
    assert Path("film2.edl").read_text() == film.with_suffix(".edl").read_text()


@pytest.fixture
def odd(film: Path) -> Path:
    """The film with a name that is no UTF-8."""
    return film.rename(film.with_name(os.fsdecode(b"caf\xe9.mp4")))


@pytest.mark.parametrize("suffix", ["edl", "kdenlive", "mlt"])
def test_format_that_cannot_name_the_film_is_refused_before_any_work(
    run: Run, odd: Path, loads: list[str], suffix: str
) -> None:
    ran = run("summarize", odd, *CPU, "--export", suffix, "--output-dir", "out", code=3, error="UTF-8")
    assert len(ran.err.splitlines()) == 2
    assert (loads, Path("out").exists()) == ([], False)


def test_film_whose_name_is_no_utf8_is_quoted_in_timelines(run: Run, odd: Path) -> None:
    others = ("otio", "fcpxml", "xml", "csv", "srt", "vtt", "ffmetadata")
    exports = [argument for suffix in others for argument in ("--export", suffix)]
    run("summarize", odd, *CPU, *exports, "--output-dir", "out")
    record = next(Path("out").glob("*.json"))
    for suffix in ("otio", "fcpxml", "xml"):
        assert "/caf%E9.mp4" in record.with_suffix(f".{suffix}").read_text()
        run("export", record, "--format", suffix)
    run("export", record, "--format", "edl", code=3)


@pytest.mark.usefixtures("low_level")
@pytest.mark.parametrize(
    ("command", "record", "kind"),
    [
        (("summarize",), "film_summary", "segments"),
        (("highlights", "--top-k", "2"), "film_highlights", "moments"),
        (("shots",), "film_shots", "shots"),
    ],
)
def test_command_exports_what_it_found(
    run: Run, film: Path, command: tuple[str, ...], record: str, kind: str
) -> None:
    ran = run(*command, film, *CPU, "--export", "otio", "--export", "ffmetadata", "--json")
    check_schema(ran.json, "result")
    outputs = ran.json["data"]["outputs"]
    assert [outputs[kind] for kind in ("otio", "ffmetadata")] == [f"{record}.otio", f"{record}.ffmetadata"]
    document = json.loads(Path(f"{record}.json").read_text())
    assert spans_of(f"{record}.otio") == [(item["start_s"], item["end_s"]) for item in document[kind]]


def test_further_export_leaves_the_first_as_it_is(run: Run, film: Path) -> None:
    run("shots", film, *CPU, "--export", "otio")
    again = run("shots", film, *CPU, "--export", "otio", "--export", "srt")
    assert again.out.splitlines()[-2:] == ["film_shots.otio (unchanged)", "film_shots.srt"]


def test_every_export_format_has_a_writer(run: Run) -> None:
    assert get_args(ExportFormat) == tuple(FORMATS), "name each in vidsum/results: settings.py and formats.py"
    assert all(options.ending in run("export", "--help-all").out for options in FORMATS.values())


FORMATS_OF_THREE = ("--format", "csv", "--format", "edl", "--format", "premiere")


@pytest.mark.usefixtures("summary")
def test_several_formats_are_all_written(run: Run) -> None:
    ran = run("export", "film.json", *FORMATS_OF_THREE, "-o", "cut.csv", "--json")
    assert ran.json["data"] == {"outputs": {"csv": "cut.csv", "edl": "cut.edl", "xml": "cut.xml"}}
    assert all(Path(name).stat().st_size > 20 for name in ran.json["data"]["outputs"].values())


@pytest.mark.usefixtures("summary")
def test_several_formats_are_not_printed(run: Run) -> None:
    run("export", "film.json", *FORMATS_OF_THREE, "-o", "-", code=2, error="--output - prints one format")


@pytest.mark.usefixtures("summary")
def test_a_format_that_cannot_be_made_is_an_error_but_costs_no_other(run: Run) -> None:
    fault = "error: film.json: makes no .chapters.txt: YouTube wants 3 chapters"
    run("export", "film.json", "--format", "youtube", "--format", "csv", code=1, error=fault)
    assert (Path("film.csv").exists(), Path("film.chapters.txt").exists()) == (True, False)


def test_an_export_of_a_command_that_cannot_be_made_costs_no_other(run: Run, film: Path) -> None:
    exports = ("--export", "youtube", "--export", "edl", "--export", "csv")
    ran = run("shots", film, "--shots", "uniform", "-o", "s.json", *exports, code=1)
    made = [Path(name).exists() for name in ("s.edl", "s.csv", "s.chapters.txt")]
    assert made == [True, True, False]
    assert ran.err.count("YouTube wants 3 chapters") == 1
