"""Evidence second by second: against a slow computation of what has been seen so far."""

import numpy as np
import pytest

from vidsum.grounding import live_evidence
from vidsum.grounding.live_evidence import BARE, NAMED_OTHER, RunningEvidence, to_probabilities
from vidsum.models.scaling import logistic, unit_rows

RNG = np.random.default_rng(0)
BACKGROUND, QUERIES, ROWS = (unit_rows(RNG.standard_normal((n, 6)).astype(np.float32)) for n in (9, 2, 12))


def test_evidence_is_that_of_the_seconds_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_evidence, "_FADE", 1.0)
    running = RunningEvidence(BACKGROUND)
    for count in range(1, len(ROWS) + 1):
        value = running.add(QUERIES, ROWS[count - 1])
        cosines = BACKGROUND @ ROWS[:count].T
        mean, deviation = cosines.mean(), np.sqrt(cosines.var(axis=0).mean())
        windows = [cosines[:, max(0, end - 5) : end].mean(axis=1) for end in range(1, count + 1)]
        usual = ((np.max(windows, axis=0) - mean) / deviation).mean()
        np.testing.assert_allclose(
            value, (QUERIES @ ROWS[count - 1] - mean) / deviation - usual / 2, atol=1e-4
        )


def test_what_is_named_is_added() -> None:
    named = np.array([0.5, -1], np.float32)
    plain, more = (RunningEvidence(BACKGROUND).add(QUERIES, ROWS[0], part) for part in (None, named))
    np.testing.assert_allclose(more - plain, named, atol=1e-6)


def test_the_past_fades(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_evidence, "_FADE", 0.9)
    running, fresh = RunningEvidence(BACKGROUND), RunningEvidence(BACKGROUND)
    running.add(QUERIES, ROWS[0])
    for _ in range(300):
        value = running.add(QUERIES, ROWS[1])
    np.testing.assert_allclose(value, fresh.add(QUERIES, ROWS[1]), atol=1e-4)


def test_other_languages_have_their_own_curve() -> None:
    evidence = np.array([1.0, 1.0], np.float32)
    present = to_probabilities(evidence, [False, True], is_named=False)
    assert present[0] == pytest.approx(logistic(np.array(BARE.slope + BARE.offset)))
    named = to_probabilities(evidence, [False, True], is_named=True)
    assert named[1] == pytest.approx(logistic(np.array(NAMED_OTHER.slope + NAMED_OTHER.offset)))
