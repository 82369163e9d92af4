"""A training whose network tells no samples apart in the end is an error and leaves no checkpoint."""

import csv
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.lab.training.small import SETTINGS, small_recipe
from tests.lab.training.videos import toy_video, toy_videos
from vidsum.errors import VidsumError
from vidsum.lab.datasets.splits import k_fold
from vidsum.lab.training.loop import fit
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.spread import Spread, alike_fault, uniform_fault
from vidsum.lab.training.state import Epoch, is_finished
from vidsum.lab.training.summary_settings import FullTransNetSettings
from vidsum.lab.training.train_fulltransnet import example_of, prepare_run, spread_of, train_split
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import FullTransNet

SMALL = FullTransNetConfig(
    dim_in=6, d=8, layers=1, heads=2, d_ff=8, window=3, t_max=64, head="pointer", dropout=0
)
LONG = replace(SETTINGS, epochs=25)  # 100 steps of the small recipe's four examples


def test_uniform_choice_has_a_perplexity_of_1_and_equal_states_no_deviation() -> None:
    model = FullTransNet(SMALL).eval()
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
    spread = spread_of(model, [example_of(toy_video("made/video_1"), 3, torch.device("cpu"))])
    assert spread == Spread(pytest.approx(1, abs=1e-5), pytest.approx(0, abs=1e-5))


@given(st.integers(0, 1000))
def test_spread_is_of_each_steps_choice_and_of_the_last_states(seed: int) -> None:
    torch.manual_seed(seed)
    model = FullTransNet(SMALL).eval()
    example = example_of(toy_video("made/video_1", seed=seed), 3, torch.device("cpu"))
    with torch.inference_mode():
        spread = spread_of(model, [example])
        steps = model(example.features, example.is_global, example.key_frames)[0].exp().numpy()
        states = model.encode(example.features, example.is_global).memory[0].numpy()
    frames = steps[:, :-1] / steps[:, :-1].sum(axis=1, keepdims=True)
    entropies = [-sum(p * math.log(p) for p in row) for row in frames]
    assert spread.perplexity == pytest.approx(math.exp(sum(entropies) / len(entropies)) / 40, rel=1e-3)
    assert spread.deviation == pytest.approx(states.std(axis=0).mean(), rel=1e-3)


@given(st.floats(0, 1), st.floats(0, 1))
def test_uniform_is_a_high_perplexity_whatever_the_deviation(perplexity: float, deviation: float) -> None:
    epoch = Epoch(1, 0.5, None, perplexity, deviation)
    assert bool(uniform_fault(epoch, 100)) == (perplexity >= 0.9)
    assert bool(alike_fault(epoch, 100)) == (deviation < 0.05)


def test_short_training_may_end_uniform() -> None:
    epoch = Epoch(1, 0.5, None, 1.0, 0.0)
    assert not uniform_fault(epoch, 99)
    assert not alike_fault(epoch, 99)


def ends_with(*perplexities: float, deviation: float = 0.5) -> Callable[[nn.Module], Spread]:
    """Return a spread of these perplexities, epoch by epoch; the last one stays."""
    left = list(perplexities)
    return lambda _: Spread(left.pop(0) if len(left) > 1 else left[0], deviation)


def test_training_that_ends_uniform_has_no_checkpoint_but_its_last_epoch(tmp_path: Path) -> None:
    recipe = replace(small_recipe(), spread=ends_with(0.3, 0.98))
    with pytest.raises(VidsumError, match=r"does not tell samples apart.* 0\.980"):
        fit(recipe, LONG, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "log.csv",
        "last.safetensors",
        "last.safetensors.vidsum.json",
    }
    assert not is_finished(tmp_path)
    with (tmp_path / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["perplexity"] for row in rows] == ["0.3", *["0.98"] * 24]


def test_training_whose_best_epoch_was_uniform_but_not_its_last_is_fine(tmp_path: Path) -> None:
    recipe = replace(small_recipe(), spread=ends_with(0.95, 0.3), validate=lambda model: 0.0)
    fitted = fit(recipe, LONG, tmp_path)
    assert (fitted.best.epoch, fitted.best.perplexity, fitted.warnings) == (1, 0.95, ())
    assert fitted.checkpoint.is_file()


def test_states_that_are_alike_are_a_warning(tmp_path: Path) -> None:
    recipe = replace(small_recipe(), spread=ends_with(0.321, deviation=0.015))
    (warning,) = fit(recipe, LONG, tmp_path / "split_0").warnings
    assert warning.startswith("split_0: samples look alike")
    assert "0.015" in warning


def test_uniform_training_of_a_papers_figures_is_a_warning(tmp_path: Path) -> None:
    fitted = fit(replace(small_recipe(), spread=ends_with(0.98), may_be_uniform=True), LONG, tmp_path)
    (warning,) = fitted.warnings
    assert "does not tell samples apart" in warning
    assert fitted.checkpoint.is_file()


@pytest.mark.parametrize("target", ["next", "same-step"])
def test_uniform_fulltransnet_is_refused_unless_it_only_repeats_the_papers_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: Literal["next", "same-step"]
) -> None:
    monkeypatch.setattr("vidsum.lab.training.spread.MAX_PERPLEXITY", 0.0)
    monkeypatch.setattr("vidsum.lab.training.spread.LEAST_STEPS", 1)
    videos = toy_videos(6)
    settings = FullTransNetSettings(
        model=replace(SMALL, target=target), loop=LoopSettings(epochs=1), validation=0, device="cpu"
    )
    run = prepare_run(videos, k_fold(videos, 3)[:1], settings, tmp_path)
    if target == "next":
        with pytest.raises(VidsumError, match="does not tell samples apart"):
            train_split(run, 0)
    else:
        assert any("does not tell samples apart" in warning for warning in train_split(run, 0)[1])


@pytest.mark.parametrize("with_best", [True, False])
def test_uniform_training_that_ended_ends_with_the_error_again(tmp_path: Path, with_best: bool) -> None:
    """Also where it was killed between the last epoch and the error."""
    uniform = replace(small_recipe(), spread=ends_with(0.98))
    fit(replace(uniform, may_be_uniform=True), LONG, tmp_path)
    if not with_best:
        (tmp_path / "best.safetensors").unlink()
    last = (tmp_path / "last.safetensors").read_bytes()
    with pytest.raises(VidsumError, match="does not tell samples apart"):
        fit(uniform, LONG, tmp_path)
    assert not (tmp_path / "best.safetensors").exists()
    assert (tmp_path / "last.safetensors").read_bytes() == last


@pytest.mark.deep
def test_log_of_fulltransnet_shows_how_its_choice_sharpens(tmp_path: Path) -> None:
    videos = toy_videos(6)
    settings = FullTransNetSettings(
        model=replace(SMALL, norm="before"),
        loop=LoopSettings(epochs=25, patience=None),
        lr=0.02,
        order="any",
        warm_up=1,
        validation=0,
        device="cpu",
    )
    trained, _ = train_split(prepare_run(videos, k_fold(videos, 3)[:1], settings, tmp_path), 0)
    first, last = trained.history[0], trained.history[-1]
    assert (last.perplexity or 1) < 0.8 * (first.perplexity or 0)
    assert (last.deviation or 0) > 0.05
