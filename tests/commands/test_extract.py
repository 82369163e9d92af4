"""`vidsum extract`."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests import media
from tests.program import Run, check_schema
from vidsum.results.feature_files import read_features
from vidsum.results.feature_h5 import read_group


@pytest.fixture(autouse=True)
def without_weights(loads: list[str]) -> None:
    """No test here loads a real network."""


def test_features_go_into_a_file_named_after_the_video(run: Run, film: Path) -> None:
    ran = run("extract", film)
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
    run("extract", film, *arguments)
    (path,) = Path().glob("*.h5")
    assert len(read_features(path)) == 20
    points = read_group(path, "film")["change_points"]
    assert points[:, 0].tolist() == [0, 44, 94, 144]


def test_the_cache_saves_the_second_decode(run: Run, film: Path, loads: list[str]) -> None:
    run("extract", film)
    Path("film_efficientnet_lite0.npz").rename("first.npz")
    run("extract", film)
    assert len(loads) == 1
    assert Path("film_efficientnet_lite0.npz").read_bytes() == Path("first.npz").read_bytes()
    run("extract", film, "--no-cache", "--overwrite", "-o", "third.npz")
    assert len(loads) == 2


def test_a_dash_writes_json_to_stdout(run: Run, film: Path) -> None:
    ran = run("extract", film, "-o", "-")
    check_schema(ran.json, "features")
    assert np.shape(ran.json["features"]) == (20, 1280)
    assert list(Path().iterdir()) == []


def test_a_damaged_video_is_used_with_a_warning_or_refused(run: Run, film: Path, tmp_path: Path) -> None:
    half = _half(tmp_path)
    run("extract", half, error=("warning: ", "half.mp4"))
    run("extract", half, "--strict", "--overwrite", code=3)


def _half(folder: Path) -> Path:
    whole = media.make_video(
        folder / "whole.mp4", n_frames=250, container_options={"movflags": "+faststart"}
    ).path
    return media.cut_short(whole, folder / "half.mp4", 0.6)
