"""Scoring the test videos of a run: each by its own split's model, with no labels unless chosen."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.lab.training.test_fulltransnet import train_splits
from tests.lab.training.videos import toy_video, toy_videos
from vidsum.errors import InputError, UsageError
from vidsum.lab.datasets.splits import k_fold
from vidsum.lab.datasets.summaries import AnnotatedVideo, shots_of
from vidsum.lab.training.predict import predict_run
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.summary_settings import FullTransNetSettings
from vidsum.models.configs import FullTransNetConfig
from vidsum.summary.importance_model import importance, load_importance_model

SMALL = FullTransNetConfig(d=8, layers=1, heads=2, d_ff=16, window=5, t_max=64)
SETTINGS = FullTransNetSettings(model=SMALL, loop=LoopSettings(epochs=1), device="cpu")
VIDEOS = toy_videos(6)
SPLITS = k_fold(VIDEOS, folds=2)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run")
    train_splits(VIDEOS, SPLITS, SETTINGS, out)
    return out


def without_labels(video: AnnotatedVideo) -> AnnotatedVideo:
    return replace(video, gtscore=np.zeros_like(video.gtscore))


def test_each_video_is_scored_by_the_model_that_has_not_seen_it(run: Path) -> None:
    tested = predict_run(run, VIDEOS, device="cpu")
    assert tested.scores.keys() == tested.videos.keys() == VIDEOS.keys()
    for number, split in enumerate(SPLITS):
        model = load_importance_model(str(run / f"split_{number}" / "best.safetensors"), "cpu")
        for name in split.test:
            expected = importance(model, VIDEOS[name].features, shots_of(VIDEOS[name]))
            assert np.array_equal(tested.scores[name], expected)


def test_no_label_is_looked_at(run: Path) -> None:
    blind = {name: without_labels(video) for name, video in VIDEOS.items()}
    seen, unseen = (predict_run(run, videos, device="cpu").scores for videos in (VIDEOS, blind))
    assert all(np.array_equal(seen[name], unseen[name]) for name in VIDEOS)


def test_the_protocol_of_the_paper_looks_at_them_and_says_so(run: Path) -> None:
    blind = {name: without_labels(video) for name, video in VIDEOS.items()}
    seen, unseen = (predict_run(run, videos, "paper", device="cpu") for videos in (VIDEOS, blind))
    assert seen.row == f"{run.name} (uses ground truth at test time)"
    assert any(not np.array_equal(seen.scores[name], unseen.scores[name]) for name in VIDEOS)


def test_a_decoder_of_the_same_step_is_measured_with_labels_only(tmp_path: Path) -> None:
    same = replace(SETTINGS, model=replace(SMALL, target="same-step"))
    with pytest.raises(UsageError, match="--target same-step") as caught:
        train_splits(VIDEOS, SPLITS, same, tmp_path)
    assert caught.value.hint == "--validation 0 takes the last epoch"
    train_splits(VIDEOS, SPLITS, replace(same, validation=0), tmp_path)
    tested = predict_run(tmp_path, VIDEOS, "paper", device="cpu")
    assert tested.scores.keys() == VIDEOS.keys()
    with pytest.raises(UsageError, match="repeats the key frames"):
        predict_run(tmp_path, VIDEOS, device="cpu")


def test_the_protocol_of_the_paper_refuses_what_the_model_cannot_read(run: Path) -> None:
    name = SPLITS[0].test[0]
    longer = {**VIDEOS, name: toy_video(name, n_shots=20)}
    with pytest.raises(UsageError, match=f"{name} has 80 samples; the model has positions for 64"):
        predict_run(run, longer, "paper", device="cpu")
    assert len(predict_run(run, longer, device="cpu").scores[name]) == 80
    wide = replace(VIDEOS[name].features, array=np.zeros((len(VIDEOS[name].features), 9), np.float32))
    with pytest.raises(UsageError, match=r"reads features of \d numbers, not of 9"):
        predict_run(run, {**VIDEOS, name: replace(VIDEOS[name], features=wide)}, "paper", device="cpu")


def test_a_test_video_that_is_not_given_is_named(run: Path) -> None:
    with pytest.raises(UsageError, match=f"tests on {SPLITS[0].test[0]}, which is not in the data"):
        predict_run(run, {name: VIDEOS[name] for name in SPLITS[0].train})


def test_a_folder_that_holds_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no training run \(run\.json\)"):
        predict_run(tmp_path, VIDEOS)
