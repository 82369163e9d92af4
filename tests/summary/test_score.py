"""Which model gives the scores, and on which device; scores of functions, numbers and installed packages."""

from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vidsum.errors import UsageError
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import FullTransNet
from vidsum.pipelines.summarize import summarize
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary
from vidsum.summary import score as module
from vidsum.summary.importance import SCORERS
from vidsum.summary.importance_model import ImportanceModel, load_importance_model
from vidsum.summary.score import best_score, candidate_models, check_flatness, is_flat, score
from vidsum.summary.settings import SHIPPED_MODEL, SHIPPED_MODELS, SUMMARIZERS, Selection

SMALL = FullTransNetConfig(dim_in=6, d=8, layers=1, heads=2, d_ff=8)
FEATURES = Features.from_array(np.random.default_rng(0).normal(size=(12, 6)))
SHOTS = Shots(np.array([0, 2.5, 6]), "made up")


def test_score_device(monkeypatch: pytest.MonkeyPatch) -> None:
    # Stands for a checkpoint on any device, and tells which devices were asked for
    torch.manual_seed(0)
    summarizer = ImportanceModel(FullTransNet(SMALL).eval(), "custom", 6, 2.0, "made up")
    devices: list[str] = []
    monkeypatch.setattr(
        module, "load_importance_checkpoint", lambda _, device: devices.append(device) or summarizer
    )
    assert score(FEATURES, SHOTS, Selection(model="x.safetensors"), 0.15, "cuda:1").shape == (12,)
    assert devices == ["cuda:1"]


def test_candidate_models_of_auto(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path))
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    shipped = load_importance_model(device="cpu")
    assert SHIPPED_MODEL not in candidate_models("auto", shipped.extractor, shipped.fps, False)
    assert SHIPPED_MODEL in candidate_models("auto", shipped.extractor, 0.5, True, film_fps=0.5)
    assert SHIPPED_MODEL not in candidate_models("auto", shipped.extractor, 0.5, True, film_fps=25)
    assert {*SCORERS, *SHIPPED_MODELS, "auto"} == set(SUMMARIZERS)


@pytest.fixture
def curves(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[float]]:
    """The curve that each model gives; set by the test."""
    given: dict[str, list[float]] = {}

    def scored(_features: object, _shots: object, selection: Selection, *_: object) -> np.ndarray:
        return np.array(given[selection.model], np.float32)

    monkeypatch.setattr(module, "score", scored)
    return given


FLAT, FLAT_TOO, VARIED = [0.7] * 12, [0.20] * 6 + [0.205] * 6, [0.1] * 6 + [0.9] * 6


@pytest.mark.parametrize(("ridge", "highlights", "contrastive", "chosen"), [
    (VARIED, VARIED, VARIED, "ridge"), (FLAT, VARIED, VARIED, "highlights"),
    (FLAT, FLAT_TOO, VARIED, "contrastive"), (FLAT, FLAT, FLAT, "uniform"),
])  # fmt: skip
def test_best_score_of_auto(
    curves: dict[str, list[float]],
    ridge: list[float],
    highlights: list[float],
    contrastive: list[float],
    chosen: str,
) -> None:
    curves |= {"ridge": ridge, "highlights": highlights, "contrastive": contrastive}
    result = best_score(
        candidate_models("auto", "efficientnet_lite0", 2.0, True), FEATURES, SHOTS, Selection(), 0.15
    )
    assert result.model == chosen
    assert result.reason.startswith("auto")
    passed_over = {"ridge": 0, "highlights": 1, "contrastive": 2, "uniform": 3}[chosen]
    assert [name in result.reason for name in curves] == [place < passed_over for place in range(3)]
    assert bool(result.warnings) == (chosen == "uniform")
    assert not is_flat(result.importance) or chosen == "uniform"


def test_best_score_of_a_still() -> None:
    still = Features.from_array(np.ones((12, 6)))
    result = best_score(("contrastive",), still, SHOTS, Selection(), 0.15)
    assert result.model == "uniform"
    assert result.warnings == ("the picture stands still: segments do not depend on its content",)
    (warning,) = check_flatness("fulltransnet", np.array(FLAT, np.float32)).warnings
    assert warning.endswith("; try the model ridge")


@pytest.mark.parametrize(
    ("model", "curve", "warns"),
    [("contrastive", FLAT, True), ("contrastive", VARIED, False), ("uniform", FLAT, False)],
)
def test_best_score_of_a_named_model(
    curves: dict[str, list[float]], model: str, curve: list[float], warns: bool
) -> None:
    curves[model] = curve
    result = best_score([model], FEATURES, SHOTS, Selection(model=model), 0.15)
    assert (result.model, bool(result.warnings)) == (model, warns)
    assert all(
        "is constant" in warning and "the model" in warning and "highlights" in warning
        for warning in result.warnings
    )


@pytest.mark.parametrize(
    ("curve", "flat"),
    [([0.5], True), ([0.5, 0.52], True), ([0.5, 0.53], False), ([0, 0.009], True), ([0, 0.011], False)],
)
def test_is_flat(curve: list[float], flat: bool) -> None:
    assert is_flat(np.array(curve, np.float32)) == flat


HALF_MINUTE = Features.from_array(np.random.default_rng(0).normal(size=(60, 8)), fps=2.0)
PEAK = np.exp(-(((np.arange(60) - 40) / 4) ** 2))
"""Scores in [0, 1], highest at 20 s."""


def brightness(features: Features) -> Any:
    return PEAK[: len(features)]


def summarize_by(model: Any) -> Summary:
    return summarize(HALF_MINUTE, "5s", model=model, shots="uniform", max_shot_s=2)


def test_summarize_by_a_function_or_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    by_function, by_scores = summarize_by(brightness), summarize_by(PEAK)
    assert by_function.segments == by_scores.segments
    assert all(15 <= start < end <= 25 for start, end in by_function.segments)
    np.testing.assert_array_equal(by_function.importance, PEAK.astype(np.float32))
    assert (by_function.model, by_scores.model) == ("brightness", "scores")
    assert "brightness" in str(by_function.provenance)
    assert by_scores.provenance == summarize_by(PEAK.copy()).provenance != summarize_by(PEAK[::-1]).provenance
    (warning,) = summarize_by(np.full(60, 7.0)).warnings
    assert warning.startswith("importance of scores is constant on this video")
    entry = EntryPoint("bright", f"{__name__}:brightness", module.GROUP)

    def entry_points(**wanted: str) -> EntryPoints:
        return EntryPoints([entry]).select(**wanted)

    monkeypatch.setattr(module, "entry_points", entry_points)
    summary = summarize_by("bright")
    assert summary.model == "bright"
    assert summary.segments == summarize_by(brightness).segments
    with pytest.raises(UsageError, match="unknown model 'dark'"):
        summarize_by("dark")


@given(arrays(np.float64, 60, elements=st.floats(-1e6, 1e6)))
def test_wrap_scorer_keeps_the_order(scores: np.ndarray) -> None:
    _, scorer = module.resolve_scorer(scores)
    assert scorer is not None
    curve = scorer.scored(HALF_MINUTE).importance
    assert curve.min() >= 0
    assert curve.max() <= 1
    assert (np.diff(curve[np.argsort(scores)]) >= 0).all()


@pytest.mark.parametrize(
    "scores", [None, np.ones(59), np.ones((60, 1)), 0.5, [np.nan] * 60, ["a"] * 60, lambda _: [[1], [1, 2]]]
)
def test_summarize_by_bad_scores(scores: Any) -> None:
    with pytest.raises(UsageError, match=r"scores|lambda") as refused:
        summarize_by(scores)
    assert "scores: scores" not in refused.value.message
    assert scores is not None or "auto, ridge" in str(refused.value.hint)


def test_scorer_inside_a_function() -> None:
    def late(features: Features) -> np.ndarray:
        return features.timestamps

    assert summarize_by(late).model == "late"
