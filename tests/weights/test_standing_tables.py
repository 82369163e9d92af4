"""Measures of passages and summaries against labels."""

import numpy as np
import pytest

from tests.summary.test_standing import spoken
from vidsum.summary.standing import StandingRun
from vidsum.weights.recipes.standing_model import FACTS, Passage, Talk
from vidsum.weights.recipes.standing_tables import (
    among_the_best,
    areas,
    best_of,
    cells,
    edges_are_good,
    from_the_beginning,
    in_a_summary,
)

TEXTS = [f"Printers number {n} cast letters of lead." for n in range(8)]


def made_up(*best: Passage, summaries: tuple[list[Passage], ...] = ()) -> Talk:
    """Return a talk of eight sentences: passages can begin with the first, and end with the fourth."""
    labels = np.zeros((8, 3), np.float32)
    labels[0, 0] = labels[3, 1] = 0.5
    labels[:, 2] = np.nan
    return Talk(spoken(*TEXTS), np.zeros((8, FACTS), np.float32), labels, best, summaries)


def test_area_is_the_share_of_pairs_in_the_right_order() -> None:
    marks = np.zeros((8, 3), np.float32)
    marks[:, 0] = [3, 9, 1, 1, 1, 1, 1, 4]  # five of seven are lower than the sentence with the label
    assert areas([made_up()], [marks])[0].tolist() == pytest.approx([5 / 7, 0.5, np.nan], nan_ok=True)


def test_runs_of_the_highest_value_do_not_overlap() -> None:
    runs = [StandingRun(first, first + 1, first / 10) for first in range(7)]
    best = best_of(made_up(), runs, lambda run: run.standing, 3, np.inf)
    assert [run.first for run in best] == [6, 4, 2]


def test_runs_fit_into_the_length() -> None:
    runs = [StandingRun(0, 3, 0.3), StandingRun(4, 5, 0.2), StandingRun(6, 6, 0.1)]  # 21, 9 and 3 s
    best = best_of(made_up(), runs, lambda run: run.standing, 9, 25.0)
    assert [run.first for run in best] == [0, 6]


def test_first_run_of_a_talk_is_the_longest_from_its_beginning() -> None:
    runs = [StandingRun(0, 1, 0.1), StandingRun(0, 2, 0.1), StandingRun(1, 7, 0.9)]
    assert max(runs, key=from_the_beginning) == runs[1]


def test_edges_are_those_of_the_labels() -> None:
    assert edges_are_good(made_up(), [StandingRun(0, 1, 1.0), StandingRun(0, 3, 1.0)]) == [1.0, 0.5, 0.5]
    assert edges_are_good(made_up(), []) == [0.0] * 3


@pytest.mark.parametrize(("first", "last", "share"), [(2, 3, 1.0), (1, 3, 0.0), (0, 5, 1.0), (6, 7, 0.0)])
def test_a_passage_is_among_the_best_by_half_of_both(first: int, last: int, share: float) -> None:
    assert among_the_best(made_up((2, 5)), [StandingRun(first, last, 1.0)]) == share


def test_seconds_are_counted_in_the_summary_that_has_most() -> None:
    talk = made_up(summaries=([(0, 0)], [(0, 1), (4, 4)]))
    assert in_a_summary(talk, [StandingRun(0, 3, 1.0)]) == pytest.approx(0.5)
    assert in_a_summary(talk, []) == 0.0


def test_means_are_of_the_talks_that_have_labels() -> None:
    (row,) = cells({"a": np.array([[0.5, np.nan], [1.0, 0.25]])})
    assert row[0] == "a"
    assert row[1].startswith("0.75 [")
    assert row[2] == "0.25 [0.25, 0.25]"
