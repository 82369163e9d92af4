"""Training with the head `frame`: targets against a loop, the loss of an example, whole runs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import zscore

from tests.lab.training.videos import toy_video, toy_videos
from vidsum.lab.datasets.splits import k_fold
from vidsum.lab.datasets.summaries import AnnotatedVideo, shot_of_sample, shots_of, target_of
from vidsum.lab.training.fulltransnet import VideoExample, example_of, loss_of, prepare_run, train_split
from vidsum.lab.training.ridge import fit_split, prepare_ridge
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.summary_settings import FullTransNetSettings, RidgeSettings
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.frame_scores import frame_loss
from vidsum.models.fulltransnet import FullTransNet, fulltransnet_loss
from vidsum.summary.importance_model import (
    FeatureTransform,
    ImportanceModel,
    importance,
    load_importance_model,
)

VIDEO = toy_video("made/video_1")
SMALL = FullTransNetConfig(
    dim_in=6, d=8, layers=1, heads=2, d_ff=8, window=3, t_max=64, head="frame", dropout=0
)


def scored(scores: np.ndarray) -> AnnotatedVideo:
    """The video, with scores [U, T] of annotators."""
    return replace(VIDEO, user_scores=scores.astype(np.float32))


@given(st.integers(0, 1000), st.integers(1, 5))
def test_the_target_is_the_mean_of_standardised_scores_standardised(seed: int, n_annotators: int) -> None:
    scores = np.random.default_rng(seed).integers(1, 6, (n_annotators, 40))
    scores[:, :2] = [1, 5]  # no one gives all frames one score
    wanted = zscore(np.mean([zscore(each) for each in scores.astype(float)], axis=0))
    np.testing.assert_allclose(target_of(scored(scores)), wanted, atol=1e-4)


def test_an_annotator_without_an_opinion_has_no_say() -> None:
    scores = np.random.default_rng(0).integers(1, 6, (3, 40)).astype(np.float32)
    with_another = np.concatenate([scores, np.full((1, 40), 4.0)])
    np.testing.assert_allclose(target_of(scored(with_another)), target_of(scored(scores)), atol=1e-5)
    assert target_of(scored(np.full((2, 40), 3.0))).tolist() == [0] * 40
    np.testing.assert_allclose(target_of(VIDEO), zscore(VIDEO.gtscore), atol=1e-5)


def test_the_loss_of_an_example_is_that_of_the_decoder_and_of_the_scores_that_are_learned() -> None:
    torch.manual_seed(0)
    model = FullTransNet(replace(SMALL, ridge=True)).eval()
    model.scores.ridge.fill_(9.0)
    torch.nn.init.normal_(model.scores.network.weight)
    video = scored(np.random.default_rng(0).integers(1, 6, (3, 40)))
    whole = example_of(video, 3, torch.device("cpu"))
    found = loss_of(model, VideoExample(video, whole), crop=1, noise=0)
    steps = model(whole.features, whole.is_global, whole.key_frames)
    learned = model.scores.network_part(model.encode(whole.features, whole.is_global).memory)
    wanted = fulltransnet_loss(steps, whole.key_frames) + frame_loss(learned, whole.target)
    assert found.item() == pytest.approx(wanted.item(), rel=1e-5)
    parts = {loss_of(model, VideoExample(video, whole), crop=0.3, noise=0).item() for _ in range(5)}
    assert len(parts) > 1


@pytest.mark.parametrize("ridge", [False, True])
def test_importance_of_a_long_video_joins_windows_of_scores(ridge: bool) -> None:
    torch.manual_seed(0)
    model = FullTransNet(replace(SMALL, t_max=24, ridge=ridge)).eval()
    summarizer = ImportanceModel(model, "custom", 6, 2.0, "made up")
    if ridge:
        model.scores.ridge.normal_()
    curve = importance(summarizer, VIDEO.features, shots_of(VIDEO))
    assert curve.shape == (40,)
    assert 0 < curve.min() < curve.max() < 1
    whole = ImportanceModel(FullTransNet(replace(SMALL, ridge=ridge)).eval(), "custom", 6, 2.0, "made up")
    whole.model.load_state_dict(model.state_dict())
    with torch.inference_mode():
        array = torch.from_numpy(VIDEO.features.array)[None]
        is_global = torch.zeros(1, 40, dtype=torch.bool)
        for shot in range(10):
            own = np.flatnonzero(shot_of_sample(VIDEO) == shot)
            is_global[0, [own[0], own[(len(own) - 1) // 2], own[-1]]] = True
        scores = model.scores(array, whole.model.encode(array, is_global).memory)[0].numpy()
    wanted = 1 / (1 + np.exp(-(scores - scores.mean())))
    np.testing.assert_allclose(importance(whole, VIDEO.features, shots_of(VIDEO)), wanted, atol=1e-5)


def test_a_run_starts_from_the_ridge_regression_of_its_training_videos(tmp_path: Path) -> None:
    """Without a rate that moves it, it ranks as `vidsum train ridge` of the same videos."""
    videos = toy_videos(9)
    split = k_fold(videos, 3)[0]
    small = replace(SMALL, ridge=True)
    loop = LoopSettings(epochs=1, patience=None)
    settings = FullTransNetSettings(
        model=small, loop=loop, lr=1e-12, anneal=True, ends=True, validation=0, device="cpu"
    )
    trained = train_split(prepare_run(videos, [split], settings, tmp_path / "network"), 0)
    network = load_importance_model(str(trained.fitted.checkpoint), "cpu")
    fitted = fit_split(prepare_ridge(videos, [split], RidgeSettings(), tmp_path / "ridge"), 0)
    regression = load_importance_model(str(fitted.checkpoint))
    for name in split.test:
        curves = [
            importance(each, videos[name].features, shots_of(videos[name])) for each in (network, regression)
        ]
        logits = [np.log(curve / (1 - curve)) for curve in curves]
        assert np.corrcoef(logits)[0, 1] > 0.9999


@pytest.mark.parametrize("ends", [False, True])
def test_a_run_learns_what_people_score(tmp_path: Path, ends: bool) -> None:
    videos = toy_videos(6)
    loop = LoopSettings(epochs=25, patience=None)
    settings = FullTransNetSettings(
        model=replace(SMALL, dim_in=99), loop=loop, lr=0.02, ends=ends, device="cpu"
    )
    split = k_fold(videos, 3)[0]
    trained = train_split(prepare_run(videos, [split], settings, tmp_path), 0)
    assert trained.fitted.history[-1].loss < trained.fitted.history[0].loss / 2
    summarizer = load_importance_model(str(trained.fitted.checkpoint), "cpu")
    assert summarizer.model.config.dim_in == 6 + 2 * ends
    assert (summarizer.dim, summarizer.inputs) == (6, FeatureTransform(ends=ends))
    for name in split.test:
        curve = importance(summarizer, videos[name].features, shots_of(videos[name]))
        assert np.corrcoef(curve, videos[name].gtscore)[0, 1] > 0.7


def test_it_learns_from_videos_without_key_shots(tmp_path: Path) -> None:
    """Three shots, each more than the 15 % of a summary: the decoder would have nothing to write."""
    videos = {name: toy_video(name, n_shots=3) for name in ("made/video_1", "made/video_2", "made/video_3")}
    loop = LoopSettings(epochs=1, patience=None)
    settings = FullTransNetSettings(model=SMALL, loop=loop, validation=0, device="cpu")
    trained = train_split(prepare_run(videos, k_fold(videos, 3)[:1], settings, tmp_path), 0)
    assert trained.warnings == ()
    assert trained.fitted.history[0].loss > 0


def test_draws_of_an_epoch_differ_and_resuming_gives_the_same_bytes(tmp_path: Path) -> None:
    seeds: list[tuple[int, ...]] = []

    def draw(video: AnnotatedVideo, *seed: int) -> AnnotatedVideo:
        seeds.append(seed)
        noise = np.random.default_rng([*seed, *video.name.encode()]).normal(0, 0.5, (40, 6))
        array = (video.features.array + noise).astype(np.float32)
        return replace(video, features=replace(video.features, array=array, extractor="drawn"))

    def train(out: Path, epochs: int) -> bytes:
        loop = LoopSettings(epochs=epochs, patience=None)
        settings = FullTransNetSettings(model=SMALL, loop=loop, validation=0.3, device="cpu")
        run = prepare_run(videos, k_fold(videos, 3)[:1], settings, out, draw=draw, overwrite=True)
        trained = train_split(run, 0)
        assert load_importance_model(str(trained.fitted.checkpoint), "cpu").extractor == "drawn"
        return (out / "split_0" / "best.safetensors").read_bytes()

    videos = toy_videos(6)
    assert train(tmp_path / "one", 3) == train(tmp_path / "other", 3)
    of_epochs = {seed for seed in seeds if len(seed) == 3}
    assert {epoch for _, _, epoch in of_epochs} == {1, 2, 3}
    assert {seed for seed in seeds if len(seed) == 1} <= {(0,), (1,)}
