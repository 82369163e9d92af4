"""`vidsum extract`, and training on what it writes."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests import media
from tests.lab.datasets.made import write_mat
from tests.lab.training.conftest import one_thread  # noqa: F401 (fixtures)
from tests.program import Run, check_schema
from vidsum.results.feature_files import read_features
from vidsum.results.feature_h5 import read_group

pytestmark = pytest.mark.usefixtures("loads")


@pytest.mark.parametrize("arguments", [["-o", "f.h5"], ["--format", "h5", "--output-dir", "."]])
def test_features_as_h5(run: Run, film: Path, arguments: list[str]) -> None:
    run("extract", film, *arguments)
    (path,) = Path().glob("*.h5")
    assert len(read_features(path)) == 20
    points = read_group(path, "film")["change_points"]
    assert points[:, 0].tolist() == [0, 44, 94, 144]


def test_extract_cache(run: Run, film: Path, loads: list[str], tmp_path: Path) -> None:
    run("extract", film)
    Path("film_efficientnet_lite0.npz").rename("first.npz")
    run("extract", film)
    assert len(loads) == 1
    assert Path("film_efficientnet_lite0.npz").read_bytes() == Path("first.npz").read_bytes()
    run("extract", film, "--no-cache", "--overwrite", "-o", "third.npz")
    assert len(loads) == 2
    half = _half(tmp_path)
    run("extract", half, error=("warning: ", "half.mp4"))
    run("extract", half, "--strict", "--overwrite", code=3)


def test_extract_npz_and_to_stdout(run: Run, film: Path) -> None:
    ran = run("extract", film, "-o", "-")
    check_schema(ran.json, "features")
    assert np.shape(ran.json["features"]) == (20, 1280)
    assert list(Path().iterdir()) == []
    ran = run("extract", film)
    features = read_features("film_efficientnet_lite0.npz")
    assert features.array.shape == (20, 1280)
    assert features.timestamps.tolist() == [k / 2 for k in range(20)]
    assert features.video is not None
    assert features.duration_s == 10.0
    assert ran.out == "film_efficientnet_lite0.npz: 20 features of 1280 numbers, one every 0.5 s\n"
    with np.load("film_efficientnet_lite0.npz") as data:
        check_schema(json.loads(str(data["metadata"])), "features")


def _half(folder: Path) -> Path:
    whole = media.make_video(
        folder / "whole.mp4", n_frames=250, container_options={"movflags": "+faststart"}
    ).path
    return media.cut_short(whole, folder / "half.mp4", 0.6)


def test_train_on_extracted_folder(run: Run, loads: list[str], tmp_path: Path) -> None:
    scores = {}
    for number in range(5):
        name = f"id_{number}"
        media.make_video(tmp_path / f"{name}.mp4", n_frames=100 + number)
        scores[name] = np.random.default_rng(number).integers(1, 6, (3, 100 + number)).astype(float)
        extract = ("extract", tmp_path / f"{name}.mp4", "--device", "cpu", "--format", "h5")
        run(*extract, "--output-dir", "tvsum")
    mat = write_mat(Path("ydata.mat"), scores, fps=25.0)
    bare = run("train", "ridge", "--data", "tvsum", "--out", "run", code=3)
    assert "id_0 has no gtscore" in bare.err
    assert "--annotations" in bare.err
    measured = run("evaluate", "summary", "--data", "tvsum", "--annotations", mat, "--seeds", 1, "--json")
    assert len(measured.json["data"]["provenance"]["files"]) == 6
    source = ("--data", "tvsum", "--annotations", mat, "--penalty", 1)
    run("train", "ridge", *source, "--out", "run", "--split", 0)
    twice = run("train", "ridge", *source, "--annotations", mat, "--out", "run", code=2)
    assert "1 of 1 --data lack gtscore" in twice.err
