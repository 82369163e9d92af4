"""A training whose network tells no samples apart ends with an error and leaves no checkpoint."""

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.training.small import SETTINGS, small_recipe
from tests.lab.training.videos import toy_video, toy_videos
from vidsum.errors import VidsumError
from vidsum.lab.datasets.splits import k_fold
from vidsum.lab.training.loop import fit
from vidsum.lab.training.settings import LoopSettings
from vidsum.lab.training.spread import Spread, uniform_fault
from vidsum.lab.training.state import Epoch
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


@pytest.mark.parametrize(
    ("perplexity", "deviation", "is_fault"),
    [(0.89, 0.05, False), (0.9, 0.5, True), (0.5, 0.049, True), (1.0, 0.0, True), (0.1, 0.7, False)],
)
def test_uniform_is_a_high_perplexity_or_a_low_deviation(
    perplexity: float, deviation: float, is_fault: bool
) -> None:
    epoch = Epoch(1, 0.5, None, perplexity, deviation)
    assert (uniform_fault(epoch, 100, Path("split_0")) is not None) == is_fault


def test_short_training_may_end_uniform() -> None:
    assert uniform_fault(Epoch(1, 0.5, None, 1.0, 0.0), 99, Path("split_0")) is None


def test_training_that_ends_uniform_leaves_its_log_alone(tmp_path: Path) -> None:
    recipe = replace(small_recipe(), spread=lambda model: Spread(0.98, 0.01))
    with pytest.raises(VidsumError, match=r"does not tell samples apart.* 0\.980 .* 0\.010"):
        fit(recipe, LONG, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"log.csv", "last.safetensors.vidsum.json"}
    with (tmp_path / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["perplexity"], row["deviation"]) for row in rows} == {("0.98", "0.01")}


@pytest.mark.deep
def test_uniform_training_that_was_killed_before_the_error_ends_with_it(tmp_path: Path) -> None:
    fit(small_recipe(), LONG, tmp_path)
    uniform = replace(small_recipe(), spread=lambda model: Spread(0.98, 0.01))
    with pytest.raises(VidsumError, match="does not tell samples apart"):
        fit(uniform, LONG, tmp_path, overwrite=True)
    assert not (tmp_path / "best.safetensors").exists()


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
