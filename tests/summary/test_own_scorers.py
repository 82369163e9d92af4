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


def made_of(model: Any) -> Summary:
    return summarize(FEATURES, "5s", model=model, shots="uniform", max_shot_s=2)


def test_a_function_and_its_scores_choose_the_same_segments() -> None:
    by_function, by_scores = made_of(brightness), made_of(PEAK)
    assert by_function.segments == by_scores.segments
    assert all(15 <= start < end <= 25 for start, end in by_function.segments)
    np.testing.assert_array_equal(by_function.importance, PEAK.astype(np.float32))
    assert (by_function.model, by_scores.model) == ("brightness", "scores")
    assert "brightness" in str(by_function.provenance)


def test_other_scores_make_another_provenance() -> None:
    assert made_of(PEAK).provenance == made_of(PEAK.copy()).provenance
    assert made_of(PEAK).provenance != made_of(PEAK[::-1]).provenance


@given(arrays(np.float64, 60, elements=st.floats(-1e6, 1e6)))
def test_scores_of_any_range_keep_their_order(scores: np.ndarray) -> None:
    _, scorer = own_scorers.resolve_scorer(scores)
    assert scorer is not None
    curve = scorer.scored(FEATURES).importance
    assert curve.min() >= 0
    assert curve.max() <= 1
    assert (np.diff(curve[np.argsort(scores)]) >= 0).all()


def test_flat_scores_are_said_to_be_flat() -> None:
    (warning,) = made_of(np.full(60, 7.0)).warnings
    assert warning.startswith("importance of scores is constant on this video")


@pytest.mark.parametrize(
    "scores", [np.ones(59), np.ones((60, 1)), 0.5, [np.nan] * 60, ["a"] * 60, lambda _: [[1], [1, 2]]]
)
def test_scores_that_do_not_fit_are_refused(scores: Any) -> None:
    with pytest.raises(UsageError, match=r"scores|lambda"):
        made_of(scores)


def test_a_scorer_of_an_installed_package_goes_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("bright", f"{__name__}:brightness", own_scorers.GROUP)

    def entry_points(**wanted: str) -> EntryPoints:
        return EntryPoints([entry]).select(**wanted)

    monkeypatch.setattr(own_scorers, "entry_points", entry_points)
    found = made_of("bright")
    assert found.model == "bright"
    assert found.segments == made_of(brightness).segments
    with pytest.raises(UsageError, match="unknown model 'dark'"):
        made_of("dark")
