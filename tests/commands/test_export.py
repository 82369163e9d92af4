"""`vidsum export`, and `--export` of the commands that find something to cut."""

import csv
import io
import json
import os
import sys
from pathlib import Path
from typing import Any, get_args

import av
import jsonschema
import numpy as np
import pytest

from tests import media
from tests.commands.conftest import Run
from vidsum.results.formats import FORMATS
from vidsum.results.settings import ExportFormat

RESULT_SCHEMA = json.loads(
    (Path(__file__).parents[2] / "vidsum" / "schemas" / "result.schema.json").read_text()
)
CPU = ("--device", "cpu")
EDITORS = ("otio", "edl", "fcpxml", "xml", "kdenlive", "mlt", "markers.edl")
LISTS = ("kodi.edl", "csv", "srt", "vtt", "ffmetadata", "labels.txt")

otio = pytest.importorskip("opentimelineio")
pytestmark = pytest.mark.usefixtures("loads")


@pytest.fixture
def summary(run: Run, film: Path) -> dict[str, Any]:
    """The summary of the film in film.json."""
    assert run("summarize", film, *CPU, "--budget", "40%", "-o", "film.json").code == 0
    document: dict[str, Any] = json.loads(Path("film.json").read_text())
    return document


def spans_of(path: str) -> list[tuple[float, float]]:
    """The source times of the clips of a timeline's video track."""
    timeline = otio.adapters.read_from_file(path)
    spans = [clip.source_range for clip in timeline.video_tracks()[0]]
    return [(span.start_time.to_seconds(), span.end_time_exclusive().to_seconds()) for span in spans]


@pytest.mark.parametrize("suffix", [*EDITORS, *LISTS])
def test_each_suffix_is_written_and_up_to_date_the_second_time(
    run: Run, summary: dict[str, Any], suffix: str
) -> None:
    name = f"cut.{suffix}"
    assert (run("export", "film.json", "-o", name).out, Path(name).stat().st_size > 20) == (f"{name}\n", True)
    assert run("export", "film.json", "-o", name).out == f"{name} (unchanged)\n"
    Path(name).write_text("mine")
    kept = run("export", "film.json", "-o", name)
    assert (kept.code, "--overwrite" in kept.err, Path(name).read_text()) == (1, True, "mine")
    assert run("export", "film.json", "-o", name, "--overwrite").code == 0
    assert run("export", "film.json", "-o", "-", "--format", suffix.split(".")[0]).out.count("\n") > 1


@pytest.mark.usefixtures("summary")
@pytest.mark.parametrize(
    ("product", "format"),
    [("losslesscut", "csv"), ("premiere", "xml"), ("resolve", "fcpxml"), ("finalcut", "fcpxml")],
)
def test_a_product_stands_for_the_format_that_it_reads(run: Run, product: str, format: str) -> None:
    texts = [run("export", "film.json", "-o", "-", "--format", name).out for name in (product, format)]
    assert texts[0] == texts[1] != ""


@pytest.mark.parametrize("suffix", ["otio", "xml"])
def test_a_timeline_holds_the_segments_of_the_summary(
    run: Run, summary: dict[str, Any], film: Path, suffix: str
) -> None:
    assert run("export", "film.json", "-o", f"cut.{suffix}").code == 0
    assert spans_of(f"cut.{suffix}") == [(one["start_s"], one["end_s"]) for one in summary["segments"]]
    for track in otio.adapters.read_from_file(f"cut.{suffix}").tracks:
        assert {clip.media_reference.target_url for clip in track} == {f"file://{film.resolve()}"}


@pytest.mark.usefixtures("summary")
def test_names_of_a_batch_and_relative_paths(run: Run, film: Path, tmp_path: Path) -> None:
    Path("other.json").write_bytes(Path("film.json").read_bytes())
    ran = run("export", "film.json", "other.json", "--media", "relative", "--output-dir", "cuts", "--json")
    assert [line["data"] for line in ran.json_lines] == [
        {"output": f"cuts/{name}.otio", "format": "otio"} for name in ("film", "other")
    ]
    jsonschema.validate(ran.json_lines[0], RESULT_SCHEMA)
    timeline = otio.adapters.read_from_file("cuts/film.otio")
    clip = timeline.video_tracks()[0][0]
    assert clip.media_reference.target_url == "../../film.mp4"
    assert (Path("cuts") / clip.media_reference.target_url).resolve() == film.resolve()
    assert run("export", "film.json", "other.json", "-o", "{n}_{stem}.edl").code == 0
    assert Path("2_other.edl").exists()


@pytest.mark.usefixtures("summary")
def test_a_suffix_may_be_in_capitals(run: Run) -> None:
    assert run("export", "film.json", "-o", "cut.EDL").code == 0
    assert run("export", "film.json", "-o", "cut.edl").code == 0
    events = [Path(name).read_text().splitlines()[1:] for name in ("cut.EDL", "cut.edl")]
    assert events[0] == events[1] != []


@pytest.mark.usefixtures("summary")
def test_a_video_that_has_moved_is_named_and_another_refused(run: Run, film: Path) -> None:
    film.rename("moved.mp4")
    lost = run("export", "film.json", "-o", "cut.edl")
    assert (lost.code, "no such file" in lost.err, "--video" in lost.err) == (3, True, True)
    assert run("export", "film.json", "-o", "cut.csv").code == 0
    assert run("export", "film.json", "-o", "cut.edl", "--video", "moved.mp4").code == 0
    assert "moved.mp4" in Path("cut.edl").read_text()
    media.make_video(film, n_frames=20)
    other = run("export", "film.json", "-o", "other.edl")
    assert (other.code, "not the video" in other.err, Path("other.edl").exists()) == (3, True, False)


@pytest.mark.usefixtures("summary")
def test_what_makes_no_sense_is_said_in_a_line(run: Run, film: Path) -> None:
    Path("run.json").write_text('{"schema": "vidsum.evaluation/1"}')
    Path("list.json").write_text("[]")
    document = json.loads(Path("film.json").read_text())
    Path("bent.json").write_text(json.dumps({**document, "segments": [{"start_s": "x"}]}))
    inverted = [{"start_s": 2.0, "end_s": 1.0}]
    Path("inverted.json").write_text(json.dumps({**document, "segments": inverted}))
    for arguments, code, said in (
        (["film.json", "-o", "cut.txtx"], 2, ".otio"),
        (["film.json", "-o", "cut.edl", "--format", "otio"], 2, "-o cut.otio"),
        (["film.json", "-o", "film.json"], 2, "no format"),
        (["none.json"], 3, "no such file"),
        (["run.json"], 3, "not a result of"),
        (["list.json"], 3, "JSON object"),
        (["bent.json"], 3, "not valid"),
        (["inverted.json"], 3, "inverted.json: segments[0]: ends at 1 s, but begins at 2 s"),
        ([film], 3, "UTF-8"),
        ([], 2, "Missing argument"),
    ):
        ran = run("export", *arguments)
        assert (ran.code, said in ran.err, "Traceback" in ran.err) == (code, True, False), ran.err
        assert len(ran.err.splitlines()) <= 2
    assert run("export", "film.json", "none.json", "--json").code == 1


def test_an_edited_result_is_exported_as_it_is(run: Run, summary: dict[str, Any]) -> None:
    segment = {"start_s": 1.0, "end_s": 1.48}
    Path("mine.json").write_text(json.dumps({**summary, "segments": [segment]}))
    assert run("export", "mine.json").code == 0
    assert spans_of("mine.otio") == [(1.0, 1.48)]


def test_features_have_lists_alone(run: Run) -> None:
    np.savez("own.npz", features=np.repeat(np.eye(3), 20, axis=0))
    assert run("shots", "own.npz", "-o", "shots.json", "--export", "csv").code == 0
    with Path("shots.csv").open(newline="") as file:
        assert [row["Name"] for row in csv.DictReader(file)][:2] == ["shot 1", "shot 2"]
    ran = run("export", "shots.json")
    assert (ran.code, "features only" in ran.err) == (2, True)


def test_what_cannot_be_exported_is_said_before_any_work(run: Run, film: Path, loads: list[str]) -> None:
    np.savez("own.npz", features=np.repeat(np.eye(3), 20, axis=0))
    ran = run("shots", "own.npz", "--export", "edl")
    assert (ran.code, "features only" in ran.err, Path("own_shots.json").exists()) == (2, True, False)
    assert loads == []


def test_a_name_that_is_not_utf8_is_exported_or_refused_before_any_work(
    run: Run, film: Path, loads: list[str]
) -> None:
    odd = film.rename(film.with_name(os.fsdecode(b"caf\xe9.mp4")))
    for suffix in ("edl", "kdenlive", "mlt"):
        ran = run("summarize", odd, *CPU, "--export", suffix, "--output-dir", "out")
        assert (ran.code, "UTF-8" in ran.err, len(ran.err.splitlines())) == (3, True, 2), ran.err
        assert (loads, Path("out").exists()) == ([], False)
    others = ("otio", "fcpxml", "xml", "csv", "srt", "vtt", "ffmetadata")
    exports = [argument for suffix in others for argument in ("--export", suffix)]
    assert run("summarize", odd, *CPU, *exports, "--output-dir", "out").code == 0
    record = next(Path("out").glob("*.json"))
    for suffix in ("otio", "fcpxml", "xml"):
        assert "/caf%E9.mp4" in record.with_suffix(f".{suffix}").read_text()
        assert run("export", record, "--format", suffix).code == 0
    assert run("export", record, "--format", "edl").code == 3


def test_a_variable_rate_is_conformed_with_a_warning(run: Run, tmp_path: Path) -> None:
    times = [frame / 30 + (0.012 if frame % 3 == 1 else 0) for frame in range(300)]
    media.make_video(tmp_path / "phone.mp4", times_s=times)
    assert run("shots", tmp_path / "phone.mp4", *CPU).code == 0
    ran = run("export", "phone_shots.json")
    assert (ran.code, "variable frame rate" in ran.err, "30" in ran.err) == (0, True, True)


def test_commands_export_beside_their_json(run: Run, film: Path) -> None:
    for command, record in (
        (("summarize",), "film_summary"),
        (("highlights", "--top-k", "2"), "film_highlights"),
        (("shots",), "film_shots"),
    ):
        ran = run(*command, film, *CPU, "--export", "otio", "--export", "ffmetadata", "--json")
        assert ran.code == 0, ran.err
        jsonschema.validate(ran.json, RESULT_SCHEMA)
        assert ran.json["data"]["exports"] == [f"{record}.otio", f"{record}.ffmetadata"]
        document = json.loads(Path(f"{record}.json").read_text())
        kind = {"film_summary": "segments", "film_shots": "shots"}.get(record, "moments")
        assert spans_of(f"{record}.otio") == [(one["start_s"], one["end_s"]) for one in document[kind]]
    again = run("shots", film, *CPU, "--export", "otio", "--export", "srt")
    assert again.out.splitlines()[-2:] == ["film_shots.otio (unchanged)", "film_shots.srt"]


def test_export_and_a_document_on_stdout_do_not_go_together(run: Run, film: Path) -> None:
    for command in (("summarize",), ("highlights",), ("shots",), ("ground", "--query", "x")):
        ran = run(*command, film, *CPU, "--export", "otio", "-o", "-")
        assert (ran.code, ran.out) == (2, "")
    ran = run("summarize", film, *CPU, "--export", "otio", "--dry-run", "--output-dir", "cuts")
    assert (ran.code, "segment" in ran.out) == (0, True)
    assert list(Path().iterdir()) == []


def test_a_result_is_read_from_stdin(
    run: Run, summary: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def given(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    given(Path("film.json").read_bytes())
    assert run("export", "-", "--format", "csv").out == "stdin.csv\n"
    given(Path("film.json").read_bytes())
    assert run("export", "-", "--format", "csv", "-o", "-").out == Path("stdin.csv").read_text()
    given(Path("film.json").read_bytes())
    assert run("report", "-", "-o", "all.html").code == 0
    for content in (b"", b"\xff", b"{}"):
        given(content)
        ran = run("export", "-", "--format", "csv")
        assert (ran.code, ran.err.count("\n") < 3, "internal" in ran.err) == (3, True, False)


def chapters_in(path: str) -> list[tuple[float, str]]:
    with av.open(path) as container:
        return [
            (float(each["start"] * each["time_base"]), each["metadata"]["title"])
            for each in container.chapters()
        ]


def packets(path: str) -> list[list[bytes]]:
    """What pictures and sound are stored as."""
    with av.open(path) as container:
        streams = [*container.streams.video, *container.streams.audio]
        found: dict[int, list[bytes]] = {stream.index: [] for stream in streams}
        for packet in container.demux(streams):
            found[packet.stream.index].append(bytes(packet))
    return list(found.values())


@pytest.mark.parametrize("suffix", ["mkv", "mp4", "mov"])
def test_chapters_are_written_into_a_copy_of_the_video(
    run: Run, summary: dict[str, Any], film: Path, suffix: str
) -> None:
    before, name = film.read_bytes(), f"film_chapters.{suffix}"
    starts = {one["start_s"]: f"segment {number}" for number, one in enumerate(summary["segments"], 1)}
    expected = sorted(({} if 0 in starts else {0.0: "Start"}) | starts)
    assert run("export", "film.json", "--chapters", "-o", name).out == f"{name}\n"
    with av.open(name) as container:
        late_s = next(container.decode(video=0)).time  # as sound begins before it
    expected[1:] = [start + late_s for start in expected[1:]]
    assert [start for start, _ in chapters_in(name)] == pytest.approx(expected, abs=0.0011)
    assert [packets(name), film.read_bytes()] == [packets(str(film)), before]
    assert run("export", "film.json", "--chapters", "-o", name).out == f"{name} (unchanged)\n"
    document = {**summary, "segments": [{"start_s": 1.0, "end_s": 1.48}]}
    Path("mine.json").write_text(json.dumps(document))
    assert run("export", "mine.json", "--chapters", "-o", name).code == 0
    assert [title for _, title in chapters_in(name)] == ["Start", "segment 1"]


@pytest.mark.usefixtures("summary")
def test_what_chapters_do_not_go_with_is_said_in_a_line(run: Run, film: Path) -> None:
    for arguments, code, said in (
        (["-o", film, "--overwrite"], 2, "over the video"),
        (["-o", "film.avi"], 2, ".mkv, .mp4, .m4v, .mov or .webm"),
        (["--format", "csv"], 2, "exclude each other"),
        (["-o", "-"], 2, "exclude each other"),
        (["-o", "film.webm"], 3, "cannot be copied into .webm"),
    ):
        ran = run("export", "film.json", "--chapters", *arguments)
        assert (ran.code, said in ran.err, len(ran.err.splitlines())) == (code, True, 2), ran.err
    assert not Path("film.webm").exists()
    np.savez("own.npz", features=np.repeat(np.eye(3), 20, axis=0))
    assert run("shots", "own.npz", "-o", "shots.json").code == 0
    ran = run("export", "shots.json", "--chapters")
    assert (ran.code, "features only" in ran.err) == (2, True)


def test_what_kodi_skips_stands_beside_the_video(run: Run, film: Path) -> None:
    Path("results").mkdir()
    ran = run("shots", film, *CPU, "--export", "kodi", "--output-dir", "results")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, str(film.with_suffix(".edl"))), ran.err
    assert film.with_suffix(".edl").read_text().startswith("0.000\t0.000\t2\n")
    assert run("export", "results/film_shots.json", "-o", "film2.edl", "--format", "kodi").code == 0
    assert Path("film2.edl").read_text() == film.with_suffix(".edl").read_text()


@pytest.mark.usefixtures("summary")
def test_chapters_that_youtube_would_not_take_are_not_written(run: Run) -> None:
    ran = run("export", "film.json", "--format", "chapters")
    assert (ran.code, "YouTube wants 3 chapters of at least 10 s" in ran.err) == (3, True)
    assert not Path("film.chapters.txt").exists()


def test_the_formats_are_those_that_options_offer(run: Run) -> None:
    assert tuple(FORMATS) == get_args(ExportFormat)
    assert all(how.ending in run("export", "--help-all").out for how in FORMATS.values())
