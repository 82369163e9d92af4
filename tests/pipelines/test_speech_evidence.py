"""Moments far below the first are left out."""

import numpy as np

from vidsum.grounding.settings import Retrieval
from vidsum.pipelines.speech_evidence import without_weak
from vidsum.results.moments import Moment, QueryMoments

ANSWER = QueryMoments("a dog", tuple(Moment(n, n + 1, s) for n, s in enumerate((0.9, 0.5, 0.4))), np.zeros(3))


def scores(retrieval: Retrieval) -> list[float]:
    return [moment.score for moment in without_weak(ANSWER, retrieval).moments]


def test_moments_below_half_of_the_first_score_are_left_out() -> None:
    assert scores(Retrieval()) == [0.9, 0.5]


def test_weak_moments_stay_where_their_number_is_given() -> None:
    assert scores(Retrieval(top_k=3)) == [0.9, 0.5, 0.4]
