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
from vidsum.summary.score import (
    SLOPES,
    CustomScorer,
    ScoredVideo,
    best_score,
    candidate_models,
    check_flatness,
    is_flat,
    score,
)
from vidsum.summary.settings import SHIPPED_MODEL, SHIPPED_MODELS, SUMMARIZERS, Selection

SMALL = FullTransNetConfig(dim_in=6, d=8, layers=1, heads=2, d_ff=8)
FEATURES = Features.from_array(np.random.default_rng(0).normal(size=(12, 6)))
SHOTS = Shots(np.array([0, 2.5, 6]), "made up")


def test_model_is_loaded_onto_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    # Stands for a checkpoint on any device, and tells which devices were asked for
    torch.manual_seed(0)
    summarizer = ImportanceModel(FullTransNet(SMALL).eval(), "custom", 6, 2.0, "made up")
    devices: list[str] = []
    monkeypatch.setattr(
        module, "load_importance_checkpoint", lambda _, device: devices.append(device) or summarizer
    )
    assert score(FEATURES, SHOTS, Selection(model="x.safetensors"), 0.15, "cuda:1").shape == (12,)
    assert devices == ["cuda:1"]


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ImportanceModel:
    """The shipped model, where nothing is in the cache and no network is there."""
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path))
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    return load_importance_model(device="cpu")


def test_auto_leaves_out_the_shipped_model_without_embeddings(shipped: ImportanceModel) -> None:
    assert SHIPPED_MODEL not in candidate_models("auto", shipped.extractor, shipped.fps, False)


@pytest.mark.parametrize(("film_fps", "is_candidate"), [(0.5, True), (25, False)])
def test_auto_takes_the_shipped_model_for_every_frame_of_a_slow_film(
    film_fps: float, is_candidate: bool, shipped: ImportanceModel
) -> None:
    models = candidate_models("auto", shipped.extractor, 0.5, True, film_fps=film_fps)
    assert (SHIPPED_MODEL in models) == is_candidate


def test_every_model_has_a_name_to_choose_it() -> None:
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


Curve = list[float]
Curves = dict[str, Curve]

AUTO = pytest.mark.parametrize(("ridge", "highlights", "contrastive", "chosen"), [
    (VARIED, VARIED, VARIED, "ridge"), (FLAT, VARIED, VARIED, "highlights"),
    (FLAT, FLAT_TOO, VARIED, "contrastive"), (FLAT, FLAT, FLAT, "uniform"),
], ids=["ridge", "highlights", "contrastive", "uniform"])  # fmt: skip


def score_by_auto(curves: Curves, *values: Curve) -> ScoredVideo:
    curves |= dict(zip(("ridge", "highlights", "contrastive"), values, strict=True))
    models = candidate_models("auto", "efficientnet_lite0", 2.0, True)
    return best_score(models, FEATURES, SHOTS, Selection(), 0.15)


@AUTO
def test_auto_takes_the_first_model_that_tells_samples_apart(
    curves: Curves, ridge: Curve, highlights: Curve, contrastive: Curve, chosen: str
) -> None:
    result = score_by_auto(curves, ridge, highlights, contrastive)
    assert result.model == chosen
    assert not is_flat(result.importance) or chosen == "uniform"


@AUTO
def test_reason_of_auto_names_the_models_passed_over(
    curves: Curves, ridge: Curve, highlights: Curve, contrastive: Curve, chosen: str
) -> None:
    result = score_by_auto(curves, ridge, highlights, contrastive)
    assert result.reason.startswith("auto")
    passed_over = {"ridge": 0, "highlights": 1, "contrastive": 2, "uniform": 3}[chosen]
    assert [name in result.reason for name in curves] == [place < passed_over for place in range(3)]


@AUTO
def test_auto_warns_where_no_model_tells_samples_apart(
    curves: Curves, ridge: Curve, highlights: Curve, contrastive: Curve, chosen: str
) -> None:
    result = score_by_auto(curves, ridge, highlights, contrastive)
    assert bool(result.warnings) == (chosen == "uniform")


def test_still_picture_is_scored_uniformly_with_a_warning() -> None:
    still = Features.from_array(np.ones((12, 6)))
    result = best_score(("contrastive",), still, SHOTS, Selection(), 0.15)
    assert result.model == "uniform"
    assert result.warnings == ("the picture stands still: segments do not depend on its content",)


def test_warning_of_constant_scores_names_another_model() -> None:
    (warning,) = check_flatness("fulltransnet", np.array(FLAT, np.float32)).warnings
    assert warning.endswith("; try the model ridge")


@pytest.mark.parametrize(
    ("model", "curve", "warns"),
    [("contrastive", FLAT, True), ("contrastive", VARIED, False), ("uniform", FLAT, False)],
)
def test_named_model_is_kept_with_a_warning_where_it_is_constant(
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
def test_curve_of_little_spread_is_flat(curve: list[float], flat: bool) -> None:
    assert is_flat(np.array(curve, np.float32)) == flat


HALF_MINUTE = Features.from_array(np.random.default_rng(0).normal(size=(60, 8)), fps=2.0)
PEAK = np.exp(-(((np.arange(60) - 40) / 4) ** 2))
"""Scores in [0, 1], highest at 20 s."""


def brightness(features: Features) -> Any:
    return PEAK[: len(features)]


def summarize_by(model: Any) -> Summary:
    return summarize(HALF_MINUTE, "5s", model=model, shots="uniform", max_shot_s=2)


@pytest.fixture(scope="module")
def by_function() -> Summary:
    return summarize_by(brightness)


@pytest.fixture(scope="module")
def by_scores() -> Summary:
    return summarize_by(PEAK)


def test_summary_by_a_function_is_around_its_peak(by_function: Summary) -> None:
    assert all(15 <= start < end <= 25 for start, end in by_function.segments)
    np.testing.assert_array_equal(by_function.importance, PEAK.astype(np.float32))


def test_summary_by_a_function_names_it(by_function: Summary) -> None:
    assert by_function.model == "brightness"
    assert "brightness" in str(by_function.provenance)


def test_scores_give_the_segments_of_their_function(by_function: Summary, by_scores: Summary) -> None:
    assert by_scores.segments == by_function.segments
    assert by_scores.model == "scores"


def test_provenance_of_scores_depends_on_their_values(by_scores: Summary) -> None:
    assert by_scores.provenance == summarize_by(PEAK.copy()).provenance
    assert by_scores.provenance != summarize_by(PEAK[::-1]).provenance


def test_constant_scores_warn() -> None:
    (warning,) = summarize_by(np.full(60, 7.0)).warnings
    assert warning.startswith("importance of scores is constant on this video")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that brings `brightness` under the name `bright`."""
    entry = EntryPoint("bright", f"{__name__}:brightness", module.GROUP)

    def entry_points(**wanted: str) -> EntryPoints:
        return EntryPoints([entry]).select(**wanted)

    monkeypatch.setattr(module, "entry_points", entry_points)


@pytest.mark.usefixtures("installed")
def test_scorer_of_a_package_is_chosen_by_name(by_function: Summary) -> None:
    summary = summarize_by("bright")
    assert summary.model == "bright"
    assert summary.segments == by_function.segments


@pytest.mark.usefixtures("installed")
def test_unknown_model_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown model 'dark'"):
        summarize_by("dark")


@given(arrays(np.float64, 60, elements=st.floats(-1e6, 1e6)))
def test_scores_of_any_range_become_importance_in_their_order(scores: np.ndarray) -> None:
    _, scorer = module.resolve_scorer(scores)
    assert scorer is not None
    curve = scorer.scored(HALF_MINUTE).importance
    assert curve.min() >= 0
    assert curve.max() <= 1
    assert (np.diff(curve[np.argsort(scores)]) >= 0).all()


@pytest.mark.parametrize(
    "scores",
    [np.ones(59), np.ones((60, 1)), 0.5, [np.nan] * 60, ["a"] * 60, lambda _: [[1], [1, 2]]],
    ids=["too few", "columns", "a number", "not numbers", "words", "a function"],
)
def test_scores_that_are_not_one_number_a_sample_are_refused(scores: Any) -> None:
    with pytest.raises(UsageError, match=r"scores|lambda") as refused:
        summarize_by(scores)
    assert "scores: scores" not in refused.value.message


def test_no_scores_are_refused_with_the_models() -> None:
    with pytest.raises(UsageError, match="scores") as refused:
        summarize_by(None)
    assert "scores: scores" not in refused.value.message
    assert "auto, ridge" in str(refused.value.hint)


def test_function_inside_another_names_the_model_by_itself() -> None:
    def late(features: Features) -> np.ndarray:
        return features.timestamps

    assert summarize_by(late).model == "late"


@given(arrays(np.float32, 9, elements=st.floats(-3, 3, width=32)), st.floats(0.05, 1))
def test_expected_score_is_the_logit_of_the_importance_times_the_slope(
    logits: np.ndarray, slope: float
) -> None:
    scored = ScoredVideo(1 / (1 + np.exp(-logits)), "made up", "asked for", slope=slope)
    np.testing.assert_allclose(scored.expected, slope * logits, atol=1e-3)


def test_expected_score_of_black_footage_is_finite() -> None:
    scored = ScoredVideo(np.array([0, 0.5, 1], np.float32), "made up", "asked for")
    np.testing.assert_allclose(scored.expected, [-3.89, 0, 3.89], atol=0.01)


@pytest.mark.parametrize(("model", "slope"), [("random", 1), ("contrastive", SLOPES["contrastive"])])
def test_scorer_has_the_slope_that_was_measured_or_1(model: str, slope: float) -> None:
    assert best_score((model,), FEATURES, SHOTS, Selection(model=model), 0.15).slope == slope


def test_shipped_model_moves_a_choice_by_less_than_half_of_a_deviation(shipped: ImportanceModel) -> None:
    assert 0.2 < shipped.slope < 0.6


def test_scores_of_the_user_are_taken_at_their_word() -> None:
    assert CustomScorer("mine", lambda features: np.linspace(0, 1, len(features))).scored(FEATURES).slope == 1
