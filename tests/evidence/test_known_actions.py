"""What known actions add to the match probability: against a slow computation, with made-up names."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.test_match_probability import BACKGROUND, video_of
from tests.evidence.test_named_objects import classes, texts
from vidsum.evidence import running_match
from vidsum.evidence.match_probability import (
    MatchedQueries,
    compare_actions,
    list_windows,
    match_windows,
    prepare_queries,
    usual_of,
)
from vidsum.evidence.running_match import RunningMatch
from vidsum.grounding.actions import WEIGHT_LINE
from vidsum.grounding.spaces import ClassMixture, ClipEmbeddings, log_likelihood
from vidsum.types import FloatArray

ACTIONS = texts(13, 7)
"""Names."""


def acted(n_clips: int, *edges_s: float) -> ClipEmbeddings:
    """A video whose actions are known."""
    return replace(
        video_of(n_clips, *edges_s), actions=ClassMixture(classes(3, n_clips), ACTIONS, WEIGHT_LINE)
    )


def near(seed: int, count: int) -> FloatArray:
    """Queries, each near the name of an action."""
    rows = ACTIONS[np.arange(count) % len(ACTIONS)] + 0.4 * texts(seed, count)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def prepare(queries: FloatArray, actions: FloatArray | None = ACTIONS) -> MatchedQueries:
    return prepare_queries(["action"] * len(queries), queries, BACKGROUND, None, actions)


def term(query: FloatArray, mixture: FloatArray) -> float:
    """The term of a clip, written out."""
    cosines = [float(query @ name) for name in ACTIONS]
    seen = np.log(sum(p * np.exp(10 * cosine) for p, cosine in zip(mixture, cosines, strict=True)))
    weight = max(0.0, 2 * max(cosines) - 0.8)
    return float(1.3 * weight * ((seen - 10 * np.mean(cosines)) / (10 * np.std(cosines)) - 2.9))


@given(st.integers(0, 50))
def test_actions_are_compared_with_clips_of_one_action_each(seed: int) -> None:
    video, queries = acted(5), near(seed, 3)
    usual = usual_of(video, BACKGROUND)
    prepared = prepare(queries)
    more = prepared.clip_evidence(video, usual) - prepared.clip_evidence(replace(video, actions=None), usual)
    assert video.actions is not None
    expected = [[term(query, mixture) for mixture in video.actions.probabilities] for query in queries]
    np.testing.assert_allclose(more, expected, atol=2e-3)


def test_a_query_that_no_action_is_near_gets_nothing_of_them() -> None:
    names = np.eye(6, dtype=np.float32)[:5]
    query = np.array([[0.3, 0.3, 0.3, 0, 0, 0.85]], np.float32)
    seen = log_likelihood(ClassMixture(classes(3, 4)[:, :5], names), query)
    assert not compare_actions(names, query)(seen).any()


def test_clips_without_known_actions_are_compared_as_before() -> None:
    video, queries = video_of(6, 0.0, 3.0), near(1, 3)
    usual = usual_of(video, BACKGROUND)
    before = match_windows(video, prepare(queries, None), usual)
    np.testing.assert_array_equal(match_windows(video, prepare(queries), usual).logits, before.logits)


def test_a_live_window_with_actions_is_as_likely_as_in_the_whole_video(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running_match, "_FADE", 1.0)
    video, queries = acted(19, 0.0, 3.0, 10.0, 11.0), near(2, 3)
    assert video.actions is not None
    assert video.shots_s is not None
    prepared = prepare(queries)
    running = RunningMatch(prepared, BACKGROUND)
    for _ in range(20):
        live = [
            running.add(
                row, None, ClassMixture(seen[None], ACTIONS), begins_shot=bool(np.isin(at_s, video.shots_s))
            )
            for row, seen, at_s in zip(video.rows, video.actions.probabilities, video.timestamps, strict=True)
        ]
    matches = match_windows(video, prepared, usual_of(video, BACKGROUND))
    ends = list_windows(video)[:, 1] - 1
    np.testing.assert_allclose(np.stack(live, axis=1)[:, ends], 1 / (1 + np.exp(-matches.logits)), atol=1e-3)
