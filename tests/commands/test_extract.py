"""`vidsum extract`."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests import media
from tests.commands.conftest import Run, check_schema
from vidsum.results.feature_files import read_features
from vidsum.results.feature_h5 import read_group


@pytest.fixture(autouse=True)
def without_weights(loads: list[str]) -> None:
    """No test here loads a real network."""


def test_features_go_into_a_file_named_after_the_video(run: Run, film: Path) -> None:
    ran = run("extract", film)
    assert ran.code == 0, ran.err
    features = read_features("film_efficientnet_lite0.npz")
    assert features.array.shape == (20, 1280)
    assert features.timestamps.tolist() == [k / 2 for k in range(20)]
    assert features.video is not None
    assert features.duration_s == 10.0
    assert ran.out == "film_efficientnet_lite0.npz: 20 features of 1280 numbers, one every 0.5 s\n"
    with np.load("film_efficientnet_lite0.npz") as data:
        check_schema(json.loads(str(data["metadata"])), "features")


@pytest.mark.parametrize("arguments", [["-o", "f.h5"], ["--format", "h5", "--output-dir", "."]])
def test_features_as_h5(run: Run, film: Path, arguments: list[str]) -> None:
    assert run("extract", film, *arguments).code == 0
    (path,) = Path().glob("*.h5")
    assert len(read_features(path)) == 20
    points = read_group(path, "film")["change_points"]
    assert points[:, 0].tolist() == [0, 44, 94, 144]


@pytest.mark.parametrize("fps", ["1e300", "1001", "nan"])
def test_a_rate_that_no_video_has_is_wrong_usage(run: Run, film: Path, fps: str) -> None:
    ran = run("extract", film, "--fps", fps)
    assert ran.code == 2
    assert "fps" in ran.err


@pytest.mark.parametrize("arguments", [["f" * 300 + ".mp4"], ["film.mp4", "-o", "f" * 300 + ".npz"]])
def test_a_name_that_is_too_long_is_told_in_one_line(run: Run, film: Path, arguments: list[str]) -> None:
    ran = run("extract", *[str(film) if word == "film.mp4" else word for word in arguments])
    assert ran.code in (1, 3)
    assert "too long" in ran.err
    assert "fault" not in ran.err


def test_fps_sets_the_rate(run: Run, film: Path) -> None:
    assert run("extract", film, "--fps", 5).code == 0
    assert len(read_features("film_efficientnet_lite0.npz")) == 50


def test_a_second_run_leaves_the_file_alone(run: Run, film: Path) -> None:
    run("extract", film)
    before = Path("film_efficientnet_lite0.npz").stat().st_mtime_ns
    again = run("extract", film)
    assert again.code == 0
    assert "unchanged" in again.out
    assert Path("film_efficientnet_lite0.npz").stat().st_mtime_ns == before


def test_a_file_made_with_other_options_is_replaced(run: Run, film: Path) -> None:
    run("extract", film)
    assert len(read_features("film_efficientnet_lite0.npz")) == 20
    assert run("extract", film, "--fps", 1).code == 0
    assert len(read_features("film_efficientnet_lite0.npz")) == 10


def test_the_cache_saves_the_second_decode(run: Run, film: Path, loads: list[str]) -> None:
    run("extract", film)
    Path("film_efficientnet_lite0.npz").rename("first.npz")
    run("extract", film)
    assert len(loads) == 1
    assert Path("film_efficientnet_lite0.npz").read_bytes() == Path("first.npz").read_bytes()
    run("extract", film, "--no-cache", "--overwrite", "-o", "third.npz")
    assert len(loads) == 2


def test_a_batch_goes_on_after_a_bad_file(run: Run, film: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.mp4"
    bad.write_text("no video")
    ran = run("extract", bad, film, "--json")
    first, second = ran.json_lines
    assert ran.code == 1
    assert (first["ok"], first["exit_code"], second["ok"]) == (False, 3, True)
    assert second["data"]["shape"] == [20, 1280]


def test_fail_fast_stops_at_the_bad_file(run: Run, film: Path) -> None:
    ran = run("extract", "no.mp4", film, "--fail-fast", "--json")
    assert len(ran.json_lines) == 1
    assert ran.code == 1


def test_one_output_cannot_take_several_videos(run: Run, film: Path) -> None:
    ran = run("extract", film, "other.mp4", "-o", "f.npz")
    assert ran.code == 2
    assert "--output-dir" in ran.err


def test_a_dash_writes_json_to_stdout(run: Run, film: Path) -> None:
    ran = run("extract", film, "-o", "-")
    check_schema(ran.json, "features")
    assert np.shape(ran.json["features"]) == (20, 1280)
    assert list(Path().iterdir()) == []


def test_a_damaged_video_is_used_with_a_warning_or_refused(run: Run, film: Path, tmp_path: Path) -> None:
    half = _half(tmp_path)
    ran = run("extract", half)
    assert ran.code == 0, ran.err
    assert "warning: " in ran.err
    assert "half.mp4" in ran.err
    strict = run("extract", half, "--strict", "--overwrite")
    assert strict.code == 3


def _half(folder: Path) -> Path:
    whole = media.make_video(
        folder / "whole.mp4", n_frames=250, container_options={"movflags": "+faststart"}
    ).path
    return media.cut_short(whole, folder / "half.mp4", 0.6)


def test_weights_that_cannot_be_had_are_4(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the real loading of weights, and nothing to load
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    monkeypatch.setenv("VIDSUM_HOME", str(film.parent / "empty"))
    ran = run("extract", film, "-o", film.parent / "f.npz")
    assert ran.code == 4
    assert "vidsum weights pull efficientnet_lite0" in ran.err
