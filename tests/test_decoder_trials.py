"""The trials of decoders: targets of their steps, and breaks that a decoder which decides would feel."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch

from docs.benchmarks.captured import BROKEN
from docs.benchmarks.decoder import (
    TRIALS,
    Tokens,
    TriedNet,
    by_coverage,
    chances,
    curve_of,
    fit,
    in_time,
    measure,
    tokens_of,
)
from tests.conftest import deep_but
from tests.lab.training.videos import toy_video
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import FullTransNet
from vidsum.summary.fulltransnet_scores import importance_curve


def toy_tokens(seed: int = 0, piece: int = 0) -> Tokens:
    """A video of ten shots, whose first feature is the importance."""
    video = toy_video(f"made/video_{seed}", seed=seed)
    video = replace(video, features=replace(video.features, extractor="vse"))
    likes = np.exp(2 * video.gtscore.astype(np.float64))
    return tokens_of(video, [video], likes / likes.sum(), piece)


@given(st.integers(0, 1000))
def test_summaries_are_15_percent_long_on_average(seed: int) -> None:
    rng = np.random.default_rng(seed)
    likes, lengths = rng.dirichlet(np.ones(20)), rng.integers(1, 9, 20)
    assert chances(likes, lengths) @ lengths == pytest.approx(0.15 * lengths.sum(), rel=0.02)


@given(st.integers(0, 1000))
def test_next_in_time_comes_later_and_shots_are_taken_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shot = np.sort(rng.integers(0, 8, 24))
    likes, lengths = rng.dirichlet(np.ones(24)), np.ones(24, np.int64)
    chosen, rows = in_time(likes, lengths, shot, rng)
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    for last, row in zip(chosen, rows[1:], strict=True):
        assert not row[: last + 1].any()
        if last < 23 and shot[last + 1] == shot[last]:
            assert row[last + 1] == 1
    assert all(set(np.flatnonzero(shot == of)) <= set(chosen) for of in shot[chosen])


@given(st.integers(0, 1000))
def test_coverage_never_chooses_twice_nor_what_is_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.repeat(rng.normal(size=(5, 6)), 2, axis=0).astype(np.float32)  # in pairs
    chosen, targets = by_coverage(rows, np.full(10, 0.1), np.ones(10, np.int64), 6.0, rng)
    np.testing.assert_allclose(targets.sum(axis=1), 1)
    for number, row in enumerate(targets[:-1]):
        for before in chosen[:number]:
            assert row[before] == 0
            assert row[before ^ 1] < 1e-9


def test_tokens_of_seconds_stay_within_their_shots() -> None:
    tokens = toy_tokens(piece=2)
    assert len(tokens.lengths) == 20
    assert tokens.lengths.sum() == 40
    assert tokens.likes.sum() == pytest.approx(1)
    assert (np.diff(tokens.shot) >= 0).all()


@pytest.mark.parametrize("name", deep_but(["any order, as ships"], TRIALS))
def test_trial_trains_and_is_measured_whole_and_broken(name: str) -> None:
    trial = TRIALS[name]
    videos = [toy_tokens(seed, trial.piece) for seed in range(3)]
    model = fit(trial, videos, 2)
    captures = measure(model, videos[:2])
    assert {len(of_videos) for of_videos in captures.values()} == {2}
    assert np.isfinite(list(captures.values())).all()


def test_decoder_of_places_depends_on_its_video() -> None:
    torch.manual_seed(0)
    model = TriedNet(TRIALS["time, place fed back, keys are places"], 8).eval()
    first, other = toy_tokens(0), toy_tokens(1)
    whole, broken = (curve_of(model, first, other.draws[0], how) for how in ("whole", "another video"))
    assert np.abs(whole - broken).max() > 1e-3


@pytest.mark.parametrize("name", BROKEN)
def test_breaking_a_part_changes_an_untrained_model(name: str) -> None:
    torch.manual_seed(1)
    config = FullTransNetConfig(dim_in=6, d=8, layers=1, heads=2, d_ff=8, window=3, head="pointer", dropout=0)
    array, other = (toy_video(f"made/video_{number}").features.array for number in (1, 2))
    shots, curves = np.repeat(np.arange(10), 4), []
    for spoil in (None, BROKEN[name]):
        torch.manual_seed(1)
        model = FullTransNet(config).eval()
        if spoil:
            spoil(model, other)
        curves.append(importance_curve(model, array, shots, 0.15))
    assert np.abs(curves[0] - curves[1]).max() > 1e-5
