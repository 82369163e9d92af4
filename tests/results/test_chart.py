"""Charts of the page: the shapes of curves, shots and segments, and their places."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.results.chart import draw_line, make_chart
from vidsum.results.cut_list import Cut

LONG, SHORT = Cut(2.0, 3.0, ""), Cut(0.0, 0.001, "")


def test_segments_have_their_place_and_at_least_a_line() -> None:
    bands = make_chart("x", 10.0, [LONG, SHORT])["chosen"]
    assert [(band["x"], band["width"]) for band in bands] == [(200, 100), (0, 1)]


@pytest.mark.parametrize(("is_ranked", "best"), [(True, [True, False]), (False, [False, False])])
def test_first_segment_of_a_ranking_is_the_best(is_ranked: bool, best: list[bool]) -> None:
    chart = make_chart("x", 10.0, [LONG, SHORT], is_ranked=is_ranked)
    assert [band["is_best"] for band in chart["chosen"]] == best


def test_every_second_shot_is_a_band() -> None:
    shots = [Cut(0.0, 2.0, ""), Cut(2.0, 3.0, ""), Cut(3.0, 5.0, ""), Cut(5.0, 10.0, "")]
    assert [band["x"] for band in make_chart("x", 10.0, [], shots=shots)["shots"]] == [200, 500]


def test_curve_steps_up_to_its_share_of_the_highest() -> None:
    chart = make_chart("x", 10.0, [], ([0.0, 5.0], [0.2, 0.4]))
    assert chart["line"] == "M0.00 52.5H500.00L500.00 5H1000.00"


def test_chart_without_a_curve_has_no_line() -> None:
    assert make_chart("x", 10.0, [])["line"] == ""


def test_curve_of_speech_is_a_line_of_its_own() -> None:
    chart = make_chart("x", 10.0, [], ([0.0, 5.0], [0.2, 0.4]), said=[0.5, 0.0])
    assert chart["said"] == "M0.00 5H500.00L500.00 100H1000.00"


def test_segments_of_speech_are_marked() -> None:
    said = [replace(LONG, evidence="speech"), LONG]
    assert [band["is_said"] for band in make_chart("x", 10.0, said)["chosen"]] == [True, False]


def test_negative_scores_are_drawn_as_zero() -> None:
    assert draw_line([0.0, 5.0], [-1.0, 1.0], 10.0) == "M0.00 100H500.00L500.00 5H1000.00"


def points_of(scores: Sequence[float]) -> list[tuple[str, str, str]]:
    """The steps of the line of a curve with two samples a second."""
    times_s = [place / 2 for place in range(len(scores))]
    return re.findall(r"([\d.]+) ([\d.]+)H([\d.]+)", draw_line(times_s, scores, len(scores) / 2))


CURVES = st.lists(st.floats(0, 1), min_size=1, max_size=3000)


@given(CURVES)
def test_line_of_a_long_curve_has_few_steps(scores: list[float]) -> None:
    assert len(points_of(scores)) <= 1000


@given(CURVES)
def test_line_of_a_long_curve_has_its_highest_sample(scores: list[float]) -> None:
    heights = [100 - float(y) for _, y, _ in points_of(scores)]
    assert max(heights) == pytest.approx(95 if max(scores) else 0, abs=0.01)


@given(CURVES)
def test_line_of_a_curve_goes_on_to_the_end(scores: list[float]) -> None:
    assert float(points_of(scores)[-1][2]) == 1000
