"""Highlights: one scene each, of limited length, with the peak inside; on made-up features and curves."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.grounding.settings import HighlightSettings
from vidsum.results.features import Features
from vidsum.results.moments import Moment
from vidsum.results.sentences import SpokenWord
from vidsum.results.transcript import Segment, Transcript, Word
from vidsum.summary.highlight_scenes import (
    PARAMS,
    _without_flashes,
    choose_highlights,
    longest_highlight,
)
from vidsum.types import Interval

LIMITS = HighlightSettings()

Scene = tuple[float, float]  # seconds, and importance


def video(*scenes: Scene, cuts: int = 1) -> tuple[np.ndarray, Features, np.ndarray]:
    rows, importance, edges = list[np.ndarray](), list[float](), [0.0]
    for number, (seconds, value) in enumerate(scenes):
        look = np.eye(len(scenes) + 1)[number]
        rows += [look] * round(2 * seconds)
        importance += [value] * round(2 * seconds)
        edges += [edges[-1] + seconds * part / cuts for part in range(1, cuts + 1)]
    return np.array(importance, np.float32), Features.from_array(np.stack(rows), 2.0), np.array(edges)


def spans(moments: list[Moment]) -> list[Interval]:
    return [moment.interval for moment in moments]


def said(*sentences: Interval) -> list[SpokenWord]:
    """Sentences of a word each, as a transcript has them: in order, without overlap."""
    parts = tuple(Segment(*span, "So.", 0.9, 0.0, (Word(*span, "So.", 0.9),)) for span in sorted(sentences))
    return Transcript(parts, "en", 1.0, 90.0).spoken


SCENES = ((6, 0.2), (5, 0.9), (8, 0.7), (30, 0.2), (4, 0.8), (12, 0.1))


def test_score_of_a_highlight_is_above_the_mean() -> None:
    importance, features, edges = video(*SCENES, cuts=2)
    level = float(importance.mean())
    scores = [moment.score for moment in choose_highlights(importance, features, edges)]
    assert scores == pytest.approx([0.9 - level, 0.8 - level, 0.7 - level])


def test_highlight_is_a_whole_scene_across_its_cuts() -> None:
    highlights = choose_highlights(*video(*SCENES, cuts=2))
    assert spans(highlights) == [(6, 11), (49, 53), (11, 19)]


def test_no_more_highlights_than_asked_for() -> None:
    assert len(choose_highlights(*video(*SCENES), HighlightSettings(top_k=2))) == 2


def test_scene_shorter_than_two_seconds_is_no_highlight() -> None:
    assert choose_highlights(*video((20, 0.3), (1.5, 0.9), (20, 0.3))) == []


@pytest.mark.parametrize(("cuts", "expected"), [
    ((10.3,), (10.3, 16)), ((15.7,), (10, 15.7)), ((10.3, 15.7), (10.3, 15.7)), ((12, 14), (10, 16)),
])  # fmt: skip
def test_flash_at_an_end_of_a_highlight_is_left_out(cuts: tuple[float, ...], expected: Interval) -> None:
    importance, features, edges = video((10, 0.2), (6, 0.9), (30, 0.2))
    highlights = choose_highlights(importance, features, np.array(sorted([*edges.tolist(), *cuts])))
    assert spans(highlights) == [expected]


def test_scene_of_one_short_shot_keeps_it() -> None:
    assert _without_flashes((1.0, 1.4), np.array([0, 1.0, 1.4, 9])) == (1.0, 1.4)


def test_scene_hardly_above_the_others_is_no_highlight() -> None:
    assert choose_highlights(*video((20, 0.3), (5, 0.35), (20, 0.3))) == []


@pytest.mark.parametrize(
    ("sentences", "limits", "highlight"),
    [
        ([(18.6, 20.5), (24, 27.5)], LIMITS, (20.5, 27.5)),
        ([(10, 24.5)], HighlightSettings(max_length_s=8), (20, 26)),
        ([(18, 30)], LIMITS, (18, 30)),
        ([(18, 35)], LIMITS, (20, 26)),
    ],
    ids=["cut by its start and end", "too long for a limit", "around the scene", "around it and too long"],
)
def test_highlight_holds_whole_sentences_where_they_fit_else_keeps_both_ends(
    sentences: list[Interval], limits: HighlightSettings, highlight: Interval
) -> None:
    importance, features, edges = video((20, 0.2), (6, 0.8), (30, 0.2))
    importance[44] = 0.9  # at 22 s
    assert spans(choose_highlights(importance, features, edges, limits, said(*sentences))) == [highlight]


@pytest.mark.parametrize(("duration_s", "max_length_s", "longest_s"), [
    (200, 15, 15), (200, 60, 50), (48, 15, 12), (40, 15, 10), (20, 15, 10), (10, 15, 5), (3, 15, 2),
    (9, 3, 3),
])  # fmt: skip
def test_longest_highlight_depends_on_the_length(
    duration_s: float, max_length_s: float, longest_s: float
) -> None:
    assert longest_highlight(duration_s, max_length_s) == longest_s


def test_part_of_a_long_take_is_around_its_peak() -> None:
    importance, features, edges = video((90, 0.2))
    times = features.timestamps
    importance += 0.6 * np.exp(-(((times - 60) / 4) ** 2)) + 0.5 * np.exp(-(((times - 20) / 2) ** 2))
    first, second = choose_highlights(importance.astype(np.float32), features, edges)
    assert first.start_s < 58 < 62 < first.end_s
    assert second.start_s < 19 < 21 < second.end_s
    assert 4 <= second.end_s - second.start_s <= first.end_s - first.start_s <= 15


def test_highlight_ends_at_a_cut_near_it() -> None:
    importance, features, _ = video((90, 0.2))
    importance += 0.6 * np.exp(-(((features.timestamps - 60) / 4) ** 2)).astype(np.float32)
    ((start_s, end_s),) = spans(choose_highlights(importance, features, np.array([0, 90.0])))
    edges = np.array([0, start_s - 0.7, end_s + 0.6, 90])
    ((near_s, last_s),) = spans(choose_highlights(importance, features, edges))
    assert (near_s, last_s) == pytest.approx((start_s - 0.7, end_s + 0.6))


@dataclass(frozen=True)
class Chosen:
    """The highlights of a made-up video, and what they were chosen from."""

    importance: np.ndarray
    features: Features
    max_length_s: float
    highlights: list[Moment]


@st.composite
def chosen_highlights(draw: st.DrawFn) -> Chosen:
    scenes = draw(st.lists(st.tuples(st.integers(1, 12), st.floats(0, 1)), min_size=1, max_size=12))
    max_length_s = draw(st.floats(2, 20))
    words = draw(st.lists(st.tuples(st.floats(0, 60), st.floats(0.5, 8)), max_size=4))
    importance, features, edges = video(*scenes)
    settings = HighlightSettings(max_length_s=max_length_s, top_k=99)
    spoken = said(*((start_s, start_s + length_s) for start_s, length_s in words))
    highlights = choose_highlights(importance, features, edges, settings, spoken)
    return Chosen(importance, features, max_length_s, highlights)


@given(chosen_highlights())
def test_highlights_do_not_overlap(chosen: Chosen) -> None:
    in_time = sorted(chosen.highlights, key=lambda moment: moment.start_s)
    assert all(before.end_s <= after.start_s for before, after in pairwise(in_time))


@given(chosen_highlights())
def test_highlights_come_best_first_above_the_least_score(chosen: Chosen) -> None:
    scores = [moment.score for moment in chosen.highlights]
    assert scores == sorted(scores, reverse=True)
    assert min(scores, default=1) >= PARAMS.min_score


@given(chosen_highlights())
def test_length_of_a_highlight_is_within_its_limits(chosen: Chosen) -> None:
    longest_s = longest_highlight(chosen.features.duration_s, chosen.max_length_s)
    for moment in chosen.highlights:
        assert PARAMS.min_s - 1e-6 <= moment.end_s - moment.start_s <= longest_s + 1e-6


@given(chosen_highlights())
def test_peak_of_a_highlight_is_above_the_mean(chosen: Chosen) -> None:
    times = chosen.features.timestamps
    for moment in chosen.highlights:
        inside = (times >= moment.start_s) & (times < moment.end_s)
        assert chosen.importance[inside].max() > chosen.importance.mean()
