"""`vidsum summarize` and `vidsum highlights`."""

import json
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from tests import media
from tests.commands.conftest import files_here
from tests.program import Run, check_schema, read_valid
from tests.untrained import save_untrained
from vidsum.outputs.alone import write_features
from vidsum.results.features import Features
from vidsum.video.probe import probe

pytestmark = pytest.mark.usefixtures("known_film")


def test_summarize_mp4_and_json(run: Run, film: Path) -> None:
    run("summarize", film, "--budget", "30%")
    assert files_here() == ["film_summary.json", "film_summary.mp4"]
    document = read_valid("film_summary.json", "summary")
    used = sum(segment["end_s"] - segment["start_s"] for segment in document["segments"])
    assert 0 < used <= 3.0
    assert document["budget"]["used_s"] == pytest.approx(used)
    assert probe("film_summary.mp4").duration_s == pytest.approx(used, abs=0.08)


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
    ranges = ("--keep", "4.5-5.5", "--drop", "0-2", "--drop", "8-10")
    ran = run("summarize", film, "-b", "3s", *ranges, "-o", "-")
    segments = [(segment["start_s"], segment["end_s"]) for segment in ran.json["segments"]]
    assert any(start <= 4.5 and end >= 5.5 for start, end in segments)
    assert all(2 <= start < end <= 8 for start, end in segments)


@pytest.mark.parametrize("option", ["--keep", "--drop"])
def test_ranges_before_first_picture(run: Run, tmp_path: Path, option: str) -> None:
    late = media.make_video(tmp_path / "late.mkv", n_frames=75, sound=True, late_s=3.0).path
    ran = run("summarize", late, "-b", "1s", option, "0-2", "-o", "-", code=2)
    assert f"{option} ends before the first picture, at 0:03." in ran.err


@pytest.mark.parametrize("model", ["contrastive", "uniform", "random"])
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
    assert probe("whole.mp4").duration_s == pytest.approx(2, abs=0.1)
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


def save(path: Path, seed: int = 0, **features: object) -> Path:
    reads = {"extractor": "efficientnet_lite0", "dim": 1280, "fps": 2.0, **features}
    return save_untrained(path, "fulltransnet", reads, seed, dim_in=1280, layers=2, window=3)


@pytest.fixture
def model() -> Path:
    """A checkpoint that reads what the extractors of `loads` give."""
    return save(Path("best.safetensors"))


def test_model_of_another_extractor(run: Run, film: Path, loads: list[str], model: Path) -> None:
    other = save(Path("other.safetensors"), extractor="clip")
    ran = run("summarize", film, "--model", other, "-o", "-", code=2)
    assert "other.safetensors reads features of clip, not of efficientnet_lite0" in ran.err
    assert "--extractor clip" in ran.err
    assert loads == []
    arguments = ("summarize", film, "--model", model)
    run(*arguments)
    assert "unchanged" in run(*arguments).out
    save(model, seed=1)
    ran = run(*arguments)
    assert "unchanged" not in ran.out
    ran = run("summarize", film, "--model", model, "-o", "-")
    assert ran.json["model"] == "best.safetensors"
    assert len(ran.json["provenance"]["summary"]["model_sha256"]) == 64
    plain = run("summarize", film, "--model", "contrastive", "-o", "-").json
    assert ran.json["importance"] != plain["importance"]
    assert "model_sha256" not in plain["provenance"]["summary"]


def test_auto_model_reason(run: Run, film: Path, tmp_path: Path) -> None:
    ran = run("summarize", film, "-v")
    document = json.loads(Path("film_summary.json").read_text())
    assert document["model"] == "ridge"  # four still pictures, each another
    assert document["model_reason"].startswith("auto: it was fitted")
    assert document["model_reason"] in ran.out
    requests = document["provenance"]["summary"]
    assert ("model" in requests, requests["candidates"][0]) == (False, "ridge")
    assert len(requests["model_sha256"]) == 64
    still = media.make_video(tmp_path / "still.mp4", n_frames=200, paint=_grey).path
    ran = run("summarize", still, "-o", "-", "--json")
    assert ran.json["data"]["model"] == "uniform"
    assert any("stands still" in message for message in ran.json["messages"])


@pytest.mark.parametrize("options", [["--fps", "1"], ["--extractor", "i3d"]])
def test_auto_model_candidates(run: Run, film: Path, options: list[str]) -> None:
    ran = run("summarize", film, *options, "-o", "-")
    requests = ran.json["provenance"]["summary"]
    assert requests["candidates"] == ["highlights", "contrastive"]
    assert "model_sha256" not in requests


def _grey(number: int, width: int, height: int) -> media.Picture:
    return np.full((height, width, 3), 90, np.uint8)


def test_summarize_ridge_offline(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    run("summarize", film, "--model", "ridge", "-o", "-")
    run("summarize", film, "--model", "fulltransnet")
    document = json.loads(Path("film_summary.json").read_text(encoding="utf-8"))
    assert (document["model"], document["model_reason"]) == ("fulltransnet", "it was asked for")
    assert {"model_sha256", "map_sha256"} <= document["provenance"]["summary"].keys()


CPU = ("--device", "cpu")


def test_nothing_stands_out(run: Run, film: Path) -> None:
    outputs = ("--clips", "--sheet", "--plot", "--report", "--export", "csv")
    run("highlights", film, *CPU, *outputs, error="nothing stands out")
    assert json.loads(Path("film_highlights.json").read_text())["moments"] == []
    assert [name for name in files_here() if name.endswith(".mp4")] == []
    ran = run("highlights", film, *CPU, "--export", "otio", "--export", "csv", "--overwrite", "--json")
    assert ran.json["data"]["exports"] == ["film_highlights.csv"]
    assert "film_highlights.otio: not written: the result has no moments" in ran.json["messages"]
    Path("highlight_film_0m06s.mp4").write_bytes(film.read_bytes())
    ran = run("highlights", film, "highlight_film_0m06s.mp4", *CPU, "--clips", "--overwrite", code=1)
    assert "has the name of a clip" in ran.err


@pytest.mark.usefixtures("low_level")
def test_highlights_table_and_document(run: Run, film: Path) -> None:
    ran = run("highlights", film, *CPU, "--top-k", "2")
    assert files_here() == ["film_highlights.json"]
    head, *rows, message = ran.out.splitlines()
    assert head.split() == ["rank", "start", "end", "seconds", "score"]
    assert message == "film_highlights.json"
    document = read_valid("film_highlights.json", "highlights")
    assert 1 <= len(document["moments"]) == len(rows) <= 2
    assert document["saliency"]["timestamps_s"] == [0, 2, 4, 6, 8]


@pytest.mark.usefixtures("low_level")
def test_highlights_plot_and_clips(run: Run, film: Path) -> None:
    ran = run("highlights", film, "--plot", "--clips", *CPU, "-k", "1", "--json")
    assert files_here() == ["film_highlights.json", "film_highlights.png", "highlight_film_0m06s.mp4"]
    named = {"json": "film_highlights.json", "plot": "film_highlights.png"}
    assert ran.json["data"]["outputs"] == {**named, "clips": ["highlight_film_0m06s.mp4"]}
    (moment,) = ran.json["data"]["moments"]
    length_s = moment["end_s"] - moment["start_s"]
    assert probe("highlight_film_0m06s.mp4").duration_s == pytest.approx(length_s, abs=0.1)
    assert cv2.imread("film_highlights.png").shape[2] == 3
    run("highlights", *CPU, "-k", "1", "-o", "best.json", "--clips-dir", "parts", film)
    assert Path("parts/highlight_film_0m06s.mp4").exists()
    requests = ("highlights", film, *CPU, "-k", "1", "--clips", "--vertical", "--pad", "1s")
    run(*requests)
    tall = probe("highlight_film_0m06s.mp4")
    assert tall.display_width / tall.display_height == pytest.approx(9 / 16, abs=0.02)
    assert "unchanged" in run(*requests).out
    assert "unchanged" not in run(*requests[:-2]).out
