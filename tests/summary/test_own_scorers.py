"""Scores from outside vidsum: functions, numbers, and scorers of installed packages."""

from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vidsum.errors import UsageError
from vidsum.pipelines.summary import summarize
from vidsum.results.features import Features
from vidsum.results.summary import Summary
from vidsum.summary import score as own_scorers

FEATURES = Features.from_array(np.random.default_rng(0).normal(size=(60, 8)), fps=2.0)
PEAK = np.exp(-(((np.arange(60) - 40) / 4) ** 2))
"""Scores in [0, 1], highest at 20 s."""


def brightness(features: Features) -> Any:
    return PEAK[: len(features)]


def summarize_by(model: Any) -> Summary:
    return summarize(FEATURES, "5s", model=model, shots="uniform", max_shot_s=2)


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
    entry = EntryPoint("bright", f"{__name__}:brightness", own_scorers.GROUP)

    def entry_points(**wanted: str) -> EntryPoints:
        return EntryPoints([entry]).select(**wanted)

    monkeypatch.setattr(own_scorers, "entry_points", entry_points)
    summary = summarize_by("bright")
    assert summary.model == "bright"
    assert summary.segments == summarize_by(brightness).segments
    with pytest.raises(UsageError, match="unknown model 'dark'"):
        summarize_by("dark")


@given(arrays(np.float64, 60, elements=st.floats(-1e6, 1e6)))
def test_wrap_scorer_keeps_the_order(scores: np.ndarray) -> None:
    _, scorer = own_scorers.resolve_scorer(scores)
    assert scorer is not None
    curve = scorer.scored(FEATURES).importance
    assert curve.min() >= 0
    assert curve.max() <= 1
    assert (np.diff(curve[np.argsort(scores)]) >= 0).all()


@pytest.mark.parametrize(
    "scores", [np.ones(59), np.ones((60, 1)), 0.5, [np.nan] * 60, ["a"] * 60, lambda _: [[1], [1, 2]]]
)
def test_summarize_by_bad_scores(scores: Any) -> None:
    with pytest.raises(UsageError, match=r"scores|lambda"):
        summarize_by(scores)
