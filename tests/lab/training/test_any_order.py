"""Training with key frames in any order: what people like, the loss against a loop, whole runs."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import zscore

from tests.lab.training.videos import toy_video, toy_videos
from vidsum.errors import UsageError
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, shots_of, target_of
from vidsum.lab.datasets.splits import k_fold
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.summary_settings import FullTransNetSettings
from vidsum.lab.training.train_fulltransnet import likes_of, prepare_run, taught_by, train_split
from vidsum.models.configs import FullTransNetConfig, RidgeConfig
from vidsum.models.fulltransnet import fulltransnet_loss
from vidsum.models.ridge import RidgeScorer
from vidsum.summary.importance_model import FeatureTransform, importance, load_importance_model

VIDEO = toy_video("made/video_1")
SMALL = FullTransNetConfig(
    dim_in=6, d=8, layers=1, heads=2, d_ff=8, window=3, t_max=64, head="pointer", dropout=0
)


def scored(scores: np.ndarray) -> AnnotatedVideo:
    """The video, with scores [U, T] of annotators."""
    return replace(VIDEO, user_scores=scores.astype(np.float32))


@given(st.integers(0, 1000), st.integers(1, 5))
def test_target_is_the_mean_of_standardised_scores_standardised(seed: int, n_annotators: int) -> None:
    scores = np.random.default_rng(seed).integers(1, 6, (n_annotators, 40))
    scores[:, :2] = [1, 5]  # no one gives all frames one score
    wanted = zscore(np.mean([zscore(each) for each in scores.astype(float)], axis=0))
    np.testing.assert_allclose(target_of(scored(scores)), wanted, atol=1e-4)


def test_annotator_without_an_opinion_has_no_say() -> None:
    scores = np.random.default_rng(0).integers(1, 6, (3, 40)).astype(np.float32)
    with_another = np.concatenate([scores, np.full((1, 40), 4.0)])
    np.testing.assert_allclose(target_of(scored(with_another)), target_of(scored(scores)), atol=1e-5)


def test_target_without_any_opinion_is_zero() -> None:
    assert target_of(scored(np.full((2, 40), 3.0))).tolist() == [0] * 40


def test_target_without_annotators_is_the_standardised_gtscore() -> None:
    np.testing.assert_allclose(target_of(VIDEO), zscore(VIDEO.gtscore), atol=1e-5)


def test_likes_rise_with_the_scores_of_people() -> None:
    video = scored(np.random.default_rng(1).integers(1, 6, (3, 40)))
    likes, target = likes_of(video), target_of(video)
    assert likes.sum() == pytest.approx(1, rel=1e-5)
    for first, second in ((0, 1), (5, 30)):
        wanted = math.exp(2 * (target[first] - target[second]))
        assert likes[first] / likes[second] == pytest.approx(wanted, rel=1e-4)


def test_in_any_order_each_frame_that_is_left_is_right_in_proportion() -> None:
    logits = torch.randn(1, 3, 5, generator=torch.Generator().manual_seed(0))
    likes = torch.tensor([[0.1, 0.2, 0.3, 0.4]])
    wanted = torch.tensor([[0.1, 0.2, 0.3, 0.4, 0], [1 / 6, 2 / 6, 3 / 6, 0, 0], [0, 0, 0, 0, 1.0]])
    loss = fulltransnet_loss(logits.log_softmax(2), torch.tensor([[3, 1]]), likes)
    entropy = torch.nn.functional.binary_cross_entropy(logits[0].softmax(1), wanted, reduction="sum")
    assert loss.item() == pytest.approx(entropy.item() / 4, rel=1e-5)


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_share_of_the_target_is_the_scores_of_ridge_regression(weight: float) -> None:
    teacher = RidgeScorer(RidgeConfig(dim_in=6), np.arange(6, dtype=np.float32), 1.0)
    video = scored(np.random.default_rng(2).integers(1, 6, (3, 40)))
    scores = teacher(video.features.array)
    wanted = zscore((1 - weight) * target_of(video) + weight * zscore(scores))
    np.testing.assert_allclose(target_of(taught_by(teacher, video, weight)), wanted, atol=1e-4)


def test_any_order_needs_a_decoder_that_chooses(tmp_path: Path) -> None:
    settings = FullTransNetSettings(model=replace(SMALL, target="same-step"), order="any", validation=0)
    videos = toy_videos(6)
    with pytest.raises(UsageError, match="target='same-step' repeats its inputs, which have an order"):
        prepare_run(videos, k_fold(videos, 3)[:1], settings, tmp_path)


def test_ridge_has_no_effect_on_the_order_of_time(tmp_path: Path) -> None:
    videos = toy_videos(6)
    with pytest.raises(UsageError, match="ridge has no effect on order='time'"):
        prepare_run(videos, k_fold(videos, 3)[:1], FullTransNetSettings(model=SMALL, ridge=0.5), tmp_path)


@pytest.mark.deep
def test_run_in_any_order_learns_the_scores_of_people(tmp_path: Path) -> None:
    videos = toy_videos(6)
    loop = LoopSettings(epochs=25, patience=None)
    settings = FullTransNetSettings(
        model=replace(SMALL, dim_in=99), loop=loop, lr=0.02, order="any", ends=True, device="cpu"
    )
    split = k_fold(videos, 3)[0]
    trained, _ = train_split(prepare_run(videos, [split], settings, tmp_path), 0)
    assert trained.history[-1].loss < trained.history[0].loss * 0.8
    summarizer = load_importance_model(str(trained.checkpoint), "cpu")
    assert summarizer.model.config.dim_in == 6 + 2
    assert (summarizer.dim, summarizer.inputs) == (6, FeatureTransform(ends=True))
    for name in split.test:
        curve = importance(summarizer, videos[name].features, shots_of(videos[name]))
        assert np.corrcoef(curve, videos[name].gtscore)[0, 1] > 0.7


class DrawingRun:
    """Trains in any order on features that are drawn for each epoch; records the seeds of the draws."""

    def __init__(self) -> None:
        self.seeds: list[tuple[int, ...]] = []
        self.weights: dict[str, str] = {}

    def __call__(self, video: AnnotatedVideo, *seed: int) -> AnnotatedVideo:
        self.seeds.append(seed)
        noise = np.random.default_rng([*seed, *video.name.encode()]).normal(0, 0.5, (40, 6))
        array = (video.features.array + noise).astype(np.float32)
        return replace(video, features=replace(video.features, array=array, extractor="drawn"))

    def train(self, out: Path, crop: float = 1.0) -> Path:
        videos = toy_videos(9)
        loop = LoopSettings(epochs=3, patience=None)
        settings = FullTransNetSettings(
            model=SMALL, loop=loop, order="any", ridge=0.5, validation=0.1, crop=crop, device="cpu"
        )
        run = prepare_run(videos, k_fold(videos, 3)[:1], settings, out, draw=self)
        return train_split(run, 0)[0].checkpoint


def test_run_on_drawn_features_makes_the_same_bytes_again(tmp_path: Path) -> None:
    first, other = (DrawingRun().train(tmp_path / name) for name in ("one", "other"))
    assert first.read_bytes() == other.read_bytes()


def test_each_epoch_draws_features_of_its_own(tmp_path: Path) -> None:
    run = DrawingRun()
    run.train(tmp_path)
    assert {seed[-1] for seed in run.seeds if len(seed) == 3} == {1, 2, 3}
    assert {seed for seed in run.seeds if len(seed) == 1} <= {(0,), (1,)}  # of ridge and of the validation


def test_parts_are_of_the_features_of_their_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wholes = list[bytes]()

    def take_all(video: AnnotatedVideo, least: float) -> AnnotatedVideo:
        wholes.append(video.features.array.tobytes())
        return video

    monkeypatch.setattr("vidsum.lab.training.train_fulltransnet.random_part", take_all)
    DrawingRun().train(tmp_path, crop=0.5)
    assert len({*wholes}) == len(wholes) > 0


def test_checkpoint_of_drawn_features_has_their_extractor(tmp_path: Path) -> None:
    assert load_importance_model(str(DrawingRun().train(tmp_path)), "cpu").extractor == "drawn"
