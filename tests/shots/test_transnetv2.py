"""Cuts by TransNetV2: streamed windows, and real cuts of real clips."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from tests.conftest import real_weights
from tests.media import video_info
from tests.shots.boundaries import f1
from vidsum.errors import InputError, UsageError
from vidsum.models.transnetv2 import TransNetV2
from vidsum.results.features import Features
from vidsum.shots.transnetv2 import SAMPLING, find_cuts, first_frames, load_model, predict_transitions
from vidsum.video.frames import Frame
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

ONE_TAKE = ("baby_reading.mp4", "basketball.mp4", "hitting_baseball.mp4", "jesse_dance.mp4", "yoga.mp4")
"""Clips without a cut, by eye."""

VIDEO = video_info(duration_s=6.04, width=48, height=27)


@pytest.fixture(scope="module")
def small_model() -> TransNetV2:
    """A tiny network with random weights, large enough to matter."""
    torch.manual_seed(0)
    model = TransNetV2(filters=1, hidden=8).eval()
    for weights in model.parameters():
        torch.nn.init.normal_(weights, std=0.3)
    return model


def pictures_of(n: int) -> npt.NDArray[np.uint8]:
    return np.random.default_rng(n).integers(0, 256, (n, 27, 48, 3), np.uint8)


def frames_of(pictures: npt.NDArray[np.uint8]) -> list[Frame]:
    return [Frame(index, index / 25, index / 25, picture) for index, picture in enumerate(pictures)]


def predict_directly(model: TransNetV2, pictures: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """As published: 25 copies of the first frame before, some of the last after; 100 frames every 50."""
    n = len(pictures)
    after = 25 + 50 - (n % 50 or 50)
    padded = np.concatenate([pictures[:1].repeat(25, axis=0), pictures, pictures[-1:].repeat(after, axis=0)])
    with torch.inference_mode():
        middles = [
            model(torch.from_numpy(padded[start : start + 100])[None])[0][0, 25:75].sigmoid().numpy()
            for start in range(0, len(padded) - 50, 50)
        ]
    return np.concatenate(middles)[:n]


@pytest.mark.parametrize("n", [1, 25, 50, 51, 101])
def test_predict_transitions(small_model: TransNetV2, n: int) -> None:
    pictures = pictures_of(n)
    predictions = predict_transitions(iter(frames_of(pictures)), small_model, VIDEO)
    np.testing.assert_allclose(predictions.array[:, 0], predict_directly(small_model, pictures), rtol=1e-6)
    assert predictions.timestamps.tolist() == [index / 25 for index in range(n)]
    assert n < 3 or np.ptp(predictions.array) > 0


def test_predict_transitions_errors(small_model: TransNetV2) -> None:
    with pytest.raises(InputError, match=r"film\.mp4: no frame could be decoded"):
        predict_transitions([], small_model, VIDEO)
    frame = Frame(0, 0.0, 0.0, np.zeros((48, 27, 3), np.uint8))
    with pytest.raises(UsageError, match="takes frames of 48 x 27 pixels, not 27 x 48"):
        predict_transitions([frame], small_model, VIDEO)


def test_predict_transitions_progress(small_model: TransNetV2) -> None:
    steps: list[tuple[str, float, float]] = []
    predict_transitions(frames_of(pictures_of(60)), small_model, VIDEO, lambda *step: steps.append(step))
    assert steps == [("looking for cuts", 59 / 25, 6.04)] * 2


@pytest.mark.parametrize(
    ("marks", "starts"),
    [
        ("........", []),
        ("...#....", [4]),
        ("...##...", [4]),
        ("...###..", [5]),
        (".#....#.", [2, 7]),
        (".#.#....", [2, 4]),
        ("##......", []),
        ("......##", []),
        ("########", []),
        ("#", []),
    ],
)
def test_first_frames(marks: str, starts: list[int]) -> None:
    assert first_frames(np.array([mark == "#" for mark in marks])).tolist() == starts


def test_find_cuts() -> None:
    predictions = Features.from_array(np.array([[0.1], [0.6], [0.1], [0.4], [0.1]]), fps=10.0)
    predictions = replace(predictions, timestamps=np.array([0, 0.11, 0.19, 0.3, 0.42]))
    assert find_cuts(predictions).tolist() == [0.19]
    assert find_cuts(predictions, threshold=0.3).tolist() == [0.19, 0.42]


@pytest.mark.deep
@pytest.mark.shared
@pytest.mark.weights
def test_published_weights_find_cuts(shared: Path, tmp_path: Path) -> None:
    real_weights("transnetv2")
    clips = json.loads((shared / "videos" / "clips.json").read_text())["clips"]
    one_take = [
        {**clip, "file": str(shared / "videos" / clip["file"])} for clip in clips if clip["file"] in ONE_TAKE
    ]
    (tmp_path / "clips.json").write_text(json.dumps({"clips": one_take}))
    tool, film = shared / "tools" / "make_composite.py", tmp_path / "film.mp4"
    options = ["--seconds", "14", "--size", "96x54"]
    subprocess.run([sys.executable, str(tool), str(tmp_path / "clips.json"), str(film), *options], check=True)
    moments = json.loads(film.with_suffix(".json").read_text())["moments"]
    truth = np.array([moment["start"] for moment in moments[1:]])

    frames = (frame for _, frame in read_frames(probe(film), [SAMPLING]))
    cuts = find_cuts(predict_transitions(frames, load_model("cpu"), probe(film)))

    assert len(truth) >= 2
    assert f1(cuts, truth, within_s=0.1) > 0.9
