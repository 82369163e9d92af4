"""Training and measuring on features of `vidsum extract`, joined with what annotators think."""

import shlex
from pathlib import Path

import numpy as np
import pytest

from tests import media
from tests.lab.datasets.made import write_mat
from tests.lab.training.conftest import one_thread  # noqa: F401 (a fixture)
from tests.program import Run
from vidsum.results.feature_h5 import H5Video, write_h5
from vidsum.results.features import Features

N_VIDEOS, STEPS = 8, 40
LIKED = np.array([1.0, -0.5, 0.2, 0.0])
"""What of a feature people like."""


@pytest.fixture
def mat() -> Path:
    """Annotations of videos, and `own.h5`: features of them, of which a linear model tells the scores."""
    videos, scores = {}, {}
    for number in range(N_VIDEOS):
        rng = np.random.default_rng(number)
        array = np.repeat(rng.normal(size=(STEPS // 4, 4)), 4, axis=0)
        features = Features.from_array(array, 2.0, video_fps=30.0, extractor="efficientnet_lite0")
        points = np.stack([np.arange(0, 15 * STEPS, 60), np.arange(0, 15 * STEPS, 60) + 59], axis=1)
        videos[f"id_{number}"] = H5Video(features, points)
        liked = np.clip(np.round(3 + array @ LIKED), 1, 5)
        scores[f"id_{number}"] = np.repeat(np.tile(liked, (4, 1)), 15, axis=1)
    write_h5(videos, "own.h5")
    return write_mat(Path("ydata.mat"), scores)


def test_ridge_learns_from_own_features_and_the_command_at_the_end_measures_it(run: Run, mat: Path) -> None:
    given = ("--data", "own.h5", "--annotations", mat)
    ran = run("train", "ridge", *given, "--out", "run", "--window", 1, "--no-ends", "--penalty", 0.01)
    last = ran.out.splitlines()[-1]
    assert last == "evaluate it with: vidsum evaluate summary --data own.h5 --annotations ydata.mat --run run"
    _, *arguments = shlex.split(last.removeprefix("evaluate it with: "))
    ran = run(*arguments, "--json", "--seeds", 2)
    rows = {row["name"]: row for row in ran.json["data"]["rows"]}
    assert rows["run"]["tau"] > 0.6
    assert abs(rows["random"]["tau"]) < 0.2
    files = [file["name"] for file in ran.json["data"]["provenance"]["files"]]
    assert files == ["own.h5", "ydata.mat"]


def test_a_folder_of_what_extract_writes_is_a_data_set(run: Run, loads: list[str], tmp_path: Path) -> None:
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
    given = ("--data", "tvsum", "--annotations", mat, "--penalty", 1)
    run("train", "ridge", *given, "--out", "run", "--split", 0)
    twice = run("train", "ridge", *given, "--annotations", mat, "--out", "run", code=2)
    assert "1 of 1 --data lack gtscore" in twice.err
