"""`vidsum summarize`."""

import json
from pathlib import Path

import av
import numpy as np
import pytest

from tests import media
from tests.commands.conftest import files_here
from tests.program import Run, check_schema
from vidsum.results.feature_files import write_features
from vidsum.results.features import Features

pytestmark = pytest.mark.usefixtures("loads")


def seconds_of(path: Path) -> float:
    with av.open(str(path)) as container:
        return float(container.duration or 0) / 1e6


def test_summarize_mp4_and_json(run: Run, film: Path) -> None:
    run("summarize", film, "--budget", "30%")
    assert files_here() == ["film_summary.json", "film_summary.mp4"]
    document = json.loads(Path("film_summary.json").read_text())
    check_schema(document, "summary")
    used = sum(segment["end_s"] - segment["start_s"] for segment in document["segments"])
    assert 0 < used <= 3.0
    assert document["budget"]["used_s"] == pytest.approx(used)
    assert seconds_of(Path("film_summary.mp4")) == pytest.approx(used, abs=0.08)


def test_summarize_is_reproducible(run: Run, film: Path) -> None:
    for folder, options in (("one", []), ("two", []), ("three", ["--no-cache"])):
        Path(folder).mkdir()
        run("summarize", film, "--output-dir", folder, "--storyboard", "--plot", *options)
    for name in ("film_summary.json", "film_summary.mp4", "film_storyboard.png", "film_importance.png"):
        first, second, third = (Path(folder, name).read_bytes() for folder in ("one", "two", "three"))
        assert first == second == third, name


@pytest.mark.parametrize(
    ("output", "files"), [("s.mp4", ["s.json", "s.mp4"]), ("s.json", ["s.json"]), ("-", [])]
)
def test_output_names_the_files(run: Run, film: Path, output: str, files: list[str]) -> None:
    ran = run("summarize", film, "-o", output)
    assert files_here() == files
    if output == "-":
        check_schema(ran.json, "summary")


def test_summarize_dry_run(run: Run, film: Path) -> None:
    ran = run("summarize", film, "--dry-run")
    assert ran.out.splitlines()[0].split() == ["segment", "start", "end", "seconds"]
    assert files_here() == []
    ran = run("summarize", film, "--budget", "1:00", "-o", "-", "--json")
    assert ran.json["data"]["segments"] == [{"start_s": 0, "end_s": 10}]
    assert ran.json["messages"]
    ran = run(
        "summarize", film, "-b", "3s", "--keep", "4.5-5.5", "--drop", "0-2", "--drop", "8-10", "-o", "-"
    )
    segments = [(segment["start_s"], segment["end_s"]) for segment in ran.json["segments"]]
    assert any(start <= 4.5 and end >= 5.5 for start, end in segments)
    assert all(end <= 2 + 8 and start >= 2 and end <= 8 for start, end in segments)


@pytest.mark.parametrize("option", ["--keep", "--drop"])
def test_ranges_before_first_picture(run: Run, tmp_path: Path, option: str) -> None:
    late = media.make_video(tmp_path / "late.mkv", n_frames=75, sound=True, late_s=3.0).path
    ran = run("summarize", late, "-b", "1s", option, "0-2", "-o", "-", code=2)
    assert f"{option} ends before the first picture, at 0:03." in ran.err


@pytest.mark.parametrize("model", ["contrastive", "cluster", "uniform", "random"])
@pytest.mark.parametrize("shots", ["kts", "uniform"])
def test_models_and_shots(run: Run, film: Path, model: str, shots: str) -> None:
    ran = run("summarize", film, "--model", model, "--shots", shots, "-o", "-")
    check_schema(ran.json, "summary")
    assert (ran.json["model"], ran.json["shot_method"]) == (model, shots)


def test_summarize_features(run: Run, tmp_path: Path) -> None:
    features = Features.from_array(np.random.default_rng(0).normal(size=(60, 8)))
    write_features(features, tmp_path / "f.npz")
    run("summarize", tmp_path / "f.npz")
    assert files_here() == ["f_summary.json"]
    check_schema(json.loads(Path("f_summary.json").read_text()), "summary")
    run("summarize", tmp_path / "f.npz", "-o", "f.mp4", code=2)
    media.make_video(tmp_path / "film.avi", n_frames=50, b_frames=2)  # does not say when pictures are shown
    run("summarize", tmp_path / "film.avi", "--copy", code=2)
    run("summarize", tmp_path / "film.avi", "--budget", "1:00", "-o", "whole.mp4")
    assert seconds_of(Path("whole.mp4")) == pytest.approx(2, abs=0.1)
    part = media.make_video(tmp_path / "part.ts", n_frames=50).path
    joined = tmp_path / "joined.ts"
    joined.write_bytes(part.read_bytes() * 2)
    ran = run("summarize", joined, "--json")
    assert ran.json["data"]["duration_s"] == pytest.approx(4.0)
    assert sum("start again" in message for message in ran.json["messages"]) == 1


def pictures_in(path: Path) -> list[bytes]:
    with av.open(str(path)) as container:
        return [bytes(packet) for packet in container.demux(video=0) if packet.size]


def test_whole_video_is_copied(run: Run, film: Path) -> None:
    whole, written = ("summarize", film, "--budget", "1:00"), Path("film_summary.mp4")
    run(*whole)
    assert pictures_in(written) == pictures_in(film)
    with av.open("film_summary.mp4") as container:
        assert container.metadata["comment"].count(" ") == 1  # of the default form
        assert container.streams.audio[0].codec_context.name == "aac"
    before = written.read_bytes()
    assert "unchanged" in run(*whole).out
    assert (run(*whole, "--overwrite").code, written.read_bytes() == before) == (0, True)
    for chosen in (["--crf", "30"], ["--drop", "0-0.1"]):
        run(*whole, *chosen, "--overwrite")
        assert pictures_in(written) != pictures_in(film)
        assert "unchanged" in run(*whole, *chosen).out


@pytest.mark.parametrize("kind", ["hevc", "vp9", "mpeg4_avi", "odd_size", "ten_bit"])
def test_whole_video_of_other_codec(run: Run, tmp_path: Path, kind: str) -> None:
    film = media.GOOD_VIDEOS[kind](tmp_path).path
    run("summarize", film, "--budget", "1:00", "-o", "whole.mp4")
    with av.open("whole.mp4") as container:
        pictures = container.streams.video[0].codec_context
        assert (pictures.name, pictures.pix_fmt) == ("h264", "yuv420p")
    assert "unchanged" in run("summarize", film, "--budget", "1:00", "-o", "whole.mp4").out
