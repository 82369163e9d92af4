"""Passages for shorts: whole thoughts and runs of shots, and the choice against all choices."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evidence.test_spoken import transcript
from tests.summary.standing_texts import CAST, LATE, OLD, QUESTION
from tests.summary.test_speech_units import said
from vidsum.summary.content import Content
from vidsum.summary.objective import Objective
from vidsum.summary.short_passages import (
    ShortPassage,
    choose_passages,
    find_scenes,
    find_thoughts,
    value_passages,
)
from vidsum.types import FloatArray, TimeArray

NO_CUTS = np.array([0.0, 1000.0])


def thoughts(
    *sentences: str, low_s: float = 2.0, high_s: float = 60.0, every_s: float = 6.0, language: str = "en"
) -> list[str]:
    """Return the texts of passages; a sentence begins every six seconds."""
    words = [word for n, text in enumerate(sentences) for word in said(every_s * n + 1, text)]
    spoken = replace(transcript(*words), language=language)
    return [" ".join(part.texts) for part in find_thoughts(spoken, NO_CUTS, (low_s, high_s))]


def test_neighbouring_sentences_make_passages() -> None:
    assert thoughts(OLD, LATE) == [OLD, f"{OLD} {LATE}", LATE]


def test_first_short_of_a_talk_neither_begins_in_the_middle_nor_asks() -> None:
    talk = [OLD, "But they came to it late, as we said.", LATE, QUESTION, CAST, "So that is what they did."]
    words = [word for n, text in enumerate(talk) for word in said(6.0 * n + 1, text)]
    passages = find_thoughts(transcript(*words), NO_CUTS, (10.0, 25.0))
    best = max(passages, key=lambda part: part.standing)
    assert best.texts[0] in (OLD, LATE, CAST)
    assert best.texts[-1] != QUESTION


def test_no_passage_ends_with_a_question_that_others_answer() -> None:
    assert thoughts(OLD, QUESTION, CAST) == [
        OLD,
        f"{OLD} {QUESTION} {CAST}",
        f"{QUESTION} {CAST}",
        CAST,
    ]


def test_questions_are_passages_where_nothing_else_is() -> None:
    assert thoughts(QUESTION) == [QUESTION]


@given(st.lists(st.sampled_from([OLD, LATE, QUESTION, CAST]), min_size=1, max_size=6))
def test_passages_end_with_questions_only_if_all_do(sentences: list[str]) -> None:
    asks = [text.endswith("?") for text in thoughts(*sentences)]
    assert all(asks) == ({*sentences} == {QUESTION})
    assert all(asks) or not any(asks)


def test_advertisements_make_no_passages() -> None:
    advert = "Hot coffee is brought to you by Maria."
    assert thoughts(OLD, LATE, advert, every_s=30.0) == [OLD, LATE]


def test_fragments_make_no_passages() -> None:
    assert thoughts("and this is the way that it", "came to be what it was,", "so that is that") == []


def test_passage_with_uncertain_speech_is_worth_half() -> None:
    spoken = transcript(*said(1.0, OLD), *said(7.0, LATE))
    segments = [transcript(*said(start_s, text)).segments[0] for start_s, text in ((1.0, OLD), (7.0, LATE))]
    certain = find_thoughts(replace(spoken, segments=tuple(segments)), NO_CUTS, (2.0, 60.0))
    segments[1] = replace(segments[1], uncertain=True)
    doubtful = find_thoughts(replace(spoken, segments=tuple(segments)), NO_CUTS, (2.0, 60.0))
    shares = [part.certain / sure.certain for part, sure in zip(doubtful, certain, strict=True)]
    assert shares == [1.0, 0.5, 0.5]


def test_passage_does_not_go_on_over_a_long_silence() -> None:
    assert thoughts(OLD, LATE, every_s=12.0) == [OLD, LATE]


def test_silence_stops_at_a_cut() -> None:
    (part,) = find_thoughts(transcript(*said(1.0, OLD)), np.array([0.0, 0.9, 5.95, 9.0]), (2.0, 9.0))
    assert (part.start_s, part.end_s) == (0.9, 5.95)


@pytest.mark.parametrize(
    ("cut_s", "start_s"),
    [(0.9, 0.9), (1.0, 1.0), (1.08, 1.08), (1.2, 0.7)],
    ids=["silence", "at", "in", "no"],
)
def test_start_is_at_a_cut_that_is_near_the_first_word(cut_s: float, start_s: float) -> None:
    (part,) = find_thoughts(transcript(*said(1.0, OLD)), np.array([0.0, cut_s, 9.0]), (2.0, 9.0))
    assert part.start_s == pytest.approx(start_s)


@pytest.mark.parametrize(("cut_s", "end_s"), [(0.2, 0.2), (0.0, 0.0), (-0.08, -0.08), (-0.2, 0.3)])
def test_end_is_at_a_cut_that_is_near_the_last_word(cut_s: float, end_s: float) -> None:
    spoken = transcript(*said(1.0, OLD))
    last_s = spoken.words[-1].end_s
    (part,) = find_thoughts(spoken, np.array([0.0, last_s + cut_s, 99.0]), (2.0, 9.0))
    assert part.end_s - last_s == pytest.approx(end_s)


@given(st.lists(st.floats(2.0, 9.0), min_size=1, max_size=20), st.floats(2.0, 30.0), st.floats(1.1, 3.0))
def test_thoughts_have_a_length_in_the_range(gaps_s: list[float], low_s: float, factor: float) -> None:
    starts_s = np.cumsum([1.0, *gaps_s]).tolist()
    words = [word for start_s in starts_s for word in said(start_s, OLD, step_s=0.3)]
    spoken = transcript(*words)
    sentences = spoken.sentences(np.inf, 0.0)
    edges_s = {part.start_s for part in sentences} | {part.end_s for part in sentences}
    for part in find_thoughts(spoken, NO_CUTS, (low_s, low_s * factor)):
        assert low_s <= part.end_s - part.start_s <= low_s * factor
        assert min(abs(part.start_s - edge_s) for edge_s in edges_s) <= 0.3 + 1e-6
        assert min(abs(part.end_s - edge_s) for edge_s in edges_s) <= 0.3 + 1e-6


@given(st.lists(st.floats(0.5, 60.0), min_size=1, max_size=20), st.floats(2.0, 30.0), st.floats(1.1, 3.0))
def test_scenes_have_a_length_in_the_range(lengths_s: list[float], low_s: float, factor: float) -> None:
    edges_s = np.cumsum([0.0, *lengths_s])
    parts = find_scenes(edges_s, (low_s, low_s * factor))
    runs_s = edges_s - edges_s[:, None]
    fits = ((runs_s >= low_s) & (runs_s <= low_s * factor)).any()
    assert bool(parts) == bool(fits or (np.diff(edges_s) > low_s * factor).any())
    for part in parts:
        assert low_s - 1e-6 <= part.end_s - part.start_s <= low_s * factor + 1e-6
        assert 0 <= part.start_s < part.end_s <= edges_s[-1] + 1e-6


def test_scenes_are_runs_of_shots() -> None:
    edges_s = np.array([0.0, 4.0, 7.0, 12.0])
    spans = [(part.start_s, part.end_s) for part in find_scenes(edges_s, (5.0, 8.0))]
    assert spans == [(0, 7), (4, 12), (7, 12)]


def part(start_s: float, end_s: float, text: str = "") -> ShortPassage:
    return ShortPassage(start_s, end_s, (text or f"begins at {start_s} and ends at {end_s}",))


def choose(parts: list[ShortPassage], values: list[float], count: int) -> list[int]:
    nothing = np.zeros((len(parts), 1), np.float32)
    return [number for number, _ in choose_passages(parts, np.array(values), nothing, count)]


def test_best_passages_come_first() -> None:
    parts = [part(0, 5), part(5, 10), part(10, 15)]
    assert choose(parts, [1.0, 3.0, 2.0], 2) == [1, 2]
    assert choose(parts, [1.0, 3.0, 2.0], 9) == [1, 2, 0]


def test_passages_do_not_overlap() -> None:
    assert choose([part(0, 6), part(5, 10), part(9, 15)], [3.0, 2.0, 2.5], 2) == [0, 2]
    assert choose([part(0, 6), part(5, 10)], [2.0, 3.0], 2) == [1]


def test_what_is_said_twice_is_chosen_once() -> None:
    parts = [part(0, 5, CAST), part(5, 10, CAST), part(10, 15, LATE)]
    assert choose(parts, [3.0, 2.0, 1.0], 3) == [0, 2]


def test_passage_that_shows_the_same_gives_way() -> None:
    parts = [part(0, 5), part(5, 10), part(10, 15)]
    shows = np.array([[3.0, 0.0], [2.9, 0.0], [0.0, 1.0]], np.float32)
    chosen = choose_passages(parts, np.array([0.1, 0.1, 0.1]), shows, 2)
    assert [number for number, _ in chosen] == [0, 2]


def test_nothing_is_chosen_of_nothing() -> None:
    assert choose([], [], 3) == []


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[ShortPassage], TimeArray, FloatArray, int]:
    starts = draw(st.lists(st.integers(0, 20), min_size=1, max_size=9))
    parts = [
        part(start, start + draw(st.integers(2, 8)), f"number {n} of them {n}")
        for n, start in enumerate(starts)
    ]
    random = np.random.default_rng(draw(st.integers(0, 9999)))
    shows = random.random((len(parts), 4)).astype(np.float32)
    return parts, random.random(len(parts)), shows, draw(st.integers(1, 4))


def is_apart(parts: list[ShortPassage]) -> bool:
    pairs = itertools.combinations(parts, 2)
    return all(one.end_s <= other.start_s or other.end_s <= one.start_s for one, other in pairs)


@given(problems())
def test_each_is_the_best_of_what_is_left(
    problem: tuple[list[ShortPassage], TimeArray, FloatArray, int],
) -> None:
    parts, values, shows, count = problem
    objective = Objective(values, shows, np.zeros(4, np.float32))
    chosen = choose_passages(parts, values, shows, count)
    for place, (number, gain) in enumerate(chosen):
        before = [at for at, _ in chosen[:place]]
        added = {
            at: objective.value([*before, at]) - objective.value(before)
            for at in range(len(parts))
            if is_apart([parts[other] for other in (*before, at)])
        }
        assert gain == pytest.approx(added[number], abs=1e-5)
        assert gain == pytest.approx(max(added.values()), abs=1e-5)
    assert len(chosen) <= count


@given(problems())
def test_fewer_are_the_beginning_of_more(
    problem: tuple[list[ShortPassage], TimeArray, FloatArray, int],
) -> None:
    parts, values, shows, count = problem
    many = choose_passages(parts, values, shows, len(parts))
    assert choose_passages(parts, values, shows, count) == many[:count]
    assert [score for _, score in many] == sorted((score for _, score in many), reverse=True)


HELLO, THANKS = "Good morning, and welcome to this museum.", "Thank you for coming tonight."


def test_no_passage_has_a_greeting() -> None:
    assert not any(HELLO in text or THANKS in text for text in thoughts(HELLO, OLD, LATE, THANKS))
    assert OLD in thoughts(HELLO, OLD, LATE, THANKS)
    assert thoughts(HELLO) == []


HALVES = ShortPassage(0.0, 2.0), ShortPassage(2.0, 4.0)


def valued(
    *passages: ShortPassage, importance: tuple[float, ...] = (0, 0, 0, 0), n_first: int = 2
) -> tuple[list[float], FloatArray]:
    """Values and what is shown of a film of four seconds, of which the first look like each other."""
    looks = np.repeat(np.eye(2, dtype=np.float32), [n_first, 4 - n_first], axis=0)
    content = Content(np.zeros(4, np.int64), np.zeros(1, np.bool_), looks, None)
    values, shows = value_passages(passages, content, np.arange(4.0), np.array(importance))
    return values.tolist(), shows


def test_passage_is_worth_its_mean_importance_above_the_least() -> None:
    assert valued(*HALVES, importance=(-3, -1, 0, 2))[0] == [0, 3]


def test_passage_that_stands_by_itself_is_worth_more() -> None:
    standing = replace(HALVES[0], standing=0.5)
    assert valued(standing, HALVES[1], importance=(0, 0, 5, 5))[0] == [20, 5]


def test_passage_of_doubtful_words_is_worth_less() -> None:
    doubtful = replace(HALVES[1], certain=0.5)
    assert valued(HALVES[0], doubtful, importance=(0, 0, 6, 6))[0] == [0, 3]


def test_what_passages_show_differs_by_a_deviation() -> None:
    shows = valued(ShortPassage(0.0, 3.0), ShortPassage(3.0, 4.0), n_first=3)[1]
    assert shows.sum(axis=1).std() == pytest.approx(1)
    assert (shows > 0).tolist() == [[True, True, True, False], [False, False, False, True]]


def test_passages_that_show_as_much_differ_by_less_than_a_deviation() -> None:
    assert valued(*HALVES)[1].sum(axis=1).tolist() == pytest.approx([20, 20])
