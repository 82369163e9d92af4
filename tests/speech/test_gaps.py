"""Descriptions in pauses: never over speech, too fast or outside the film."""

from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.results.descriptions import Description
from vidsum.speech.gaps import (
    MARGIN_S,
    MIN_PAUSE_S,
    WORDS_A_MINUTE,
    find_gaps,
    fit_descriptions,
    shorten,
    speaking_time_s,
)
from vidsum.types import Interval

_WORDS = ["A", "dog", "runs", "in", "the", "grass,", "with", "is", "jumping", "over", "fence", "man", "and"]

times = st.integers(0, 100_000).map(lambda milliseconds: milliseconds / 1000)
intervals = st.tuples(times, times).filter(lambda ends: ends[0] < ends[1])
texts = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=16).map(lambda words: " ".join(words) + ".")
described = st.tuples(
    st.builds(lambda times, text: Description(*times, text, 1.0), intervals, texts), st.floats(0, 1)
)


writers = st.sampled_from(["words", "retrieve", "vlm:tiny"])


def overlap_s(first: Interval, second: Interval) -> float:
    return min(first[1], second[1]) - max(first[0], second[0])


@given(st.lists(intervals, max_size=8), st.floats(0.5, 120))
def test_gaps_keep_clear_of_speech(speech: list[Interval], duration_s: float) -> None:
    audible = [span for span in speech if span[0] < duration_s]
    for gap in find_gaps(speech, duration_s):
        assert all(overlap_s(gap, span) <= -MARGIN_S + 1e-6 for span in audible)


@given(st.lists(intervals, max_size=8), st.floats(0.5, 120))
def test_gaps_lie_in_the_film_in_order(speech: list[Interval], duration_s: float) -> None:
    gaps = find_gaps(speech, duration_s)
    assert all(0 <= start < end <= duration_s for start, end in gaps)
    assert all(before[1] < after[0] for before, after in pairwise(gaps))


@given(st.lists(intervals, min_size=1, max_size=8), st.floats(0.5, 120))
def test_no_gap_is_in_a_short_pause(speech: list[Interval], duration_s: float) -> None:
    gaps = find_gaps(speech, duration_s)
    assert all(end - start >= MIN_PAUSE_S - 2 * MARGIN_S - 1e-6 for start, end in gaps)


@given(st.lists(intervals, max_size=8), st.floats(4, 100))
def test_each_long_pause_has_a_gap(speech: list[Interval], duration_s: float) -> None:
    """Against a count of the tenths of a second without speech."""
    gaps = find_gaps(speech, duration_s)
    silent, run = 0, 0
    for tenth in range(int(duration_s * 10)):
        is_silent = all(overlap_s((tenth / 10, (tenth + 1) / 10), span) <= 0 for span in speech)
        run = run + 1 if is_silent else 0
        silent += run == round(MIN_PAUSE_S * 10) + 1  # a tenth may be lost at either end
    assert len(gaps) >= silent


@dataclass(frozen=True)
class Fitted:
    """Descriptions, whose confidence is their number, and what was fitted of them into gaps."""

    candidates: list[Description]
    gaps: list[Interval]
    spoken: list[Description]


@st.composite
def fitted(draw: st.DrawFn) -> Fitted:
    drawn = draw(st.lists(described, max_size=12))
    gaps = find_gaps(draw(st.lists(intervals, max_size=6)), draw(st.floats(1, 120)))
    candidates = [replace(candidate, confidence=number) for number, (candidate, _) in enumerate(drawn)]
    importance = [value for _, value in drawn]
    spoken = fit_descriptions(candidates, draw(writers), importance, gaps)
    return Fitted(candidates, gaps, list(spoken))


@given(fitted())
def test_fitted_descriptions_lie_in_gaps(made: Fitted) -> None:
    for text in made.spoken:
        assert any(start <= text.start_s and text.end_s <= end + 1e-9 for start, end in made.gaps)


@given(fitted())
def test_fitted_descriptions_begin_while_their_picture_is_visible(made: Fitted) -> None:
    for text in made.spoken:
        source = made.candidates[int(text.confidence)]
        assert source.start_s <= text.start_s < source.end_s


@given(fitted())
def test_fitted_descriptions_can_be_spoken_in_their_time(made: Fitted) -> None:
    for text in made.spoken:
        assert len(text.text.split()) * 60 / (text.end_s - text.start_s) <= WORDS_A_MINUTE + 1e-6


@given(fitted())
def test_fitted_descriptions_are_forms_of_different_candidates(made: Fitted) -> None:
    for text in made.spoken:
        assert text.text in shorten(made.candidates[int(text.confidence)].text)
    assert len({text.confidence for text in made.spoken}) == len(made.spoken)


@given(fitted())
def test_fitted_descriptions_follow_each_other_with_a_margin(made: Fitted) -> None:
    assert all(after.start_s - before.end_s >= MARGIN_S - 1e-9 for before, after in pairwise(made.spoken))


@given(texts)
def test_first_form_of_a_text_is_all_of_it(text: str) -> None:
    assert next(iter(shorten(text))) == text


@given(texts)
def test_shorter_forms_are_ever_shorter_beginnings(text: str) -> None:
    forms = list(shorten(text))
    lengths = [len(form.split()) for form in forms]
    assert lengths == sorted(lengths, reverse=True)
    assert all(text.startswith(form.removesuffix(".")) for form in forms)


@given(texts)
def test_shorter_forms_have_three_words(text: str) -> None:
    assert all(len(form.split()) >= 3 for form in [*shorten(text)][1:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A dog runs through the grass with a ball.", ["A dog runs through the grass.", "A dog runs."]),
        ("Two men, both in red, are climbing a wall.", ["Two men, both in red."]),
        ("A man is wearing a red shirt and a hat.", ["A man is wearing a red shirt."]),
        ("A man dressed in black is looking at the sea.", []),
        ("Dogs play.", []),
    ],
)
def test_text_is_shortened_where_a_phrase_ends(text: str, expected: list[str]) -> None:
    assert list(shorten(text))[1:] == expected


SHORT, LONG = "A man waves.", "A brown dog runs over the green grass near a lake in the sun."


def test_more_important_description_is_spoken_whole() -> None:
    spoken = fit_descriptions(
        [Description(0, 9, text, 1.0) for text in (LONG, SHORT)], "retrieve", [0.2, 0.9], [(1.0, 6.0)]
    )
    assert [text.text for text in spoken] == [SHORT, "A brown dog runs over the green grass."]


def test_second_description_follows_the_first_after_its_time_and_a_margin() -> None:
    first, second = fit_descriptions(
        [Description(0, 9, text, 1.0) for text in (LONG, SHORT)], "retrieve", [0.2, 0.9], [(1.0, 6.0)]
    )
    assert first.start_s == 1.0
    assert second.start_s == pytest.approx(1 + speaking_time_s(SHORT) + MARGIN_S)


def test_list_of_words_is_spoken_whole_or_not_at_all() -> None:
    lists = [Description(0, 9, text, 1.0) for text in ("A person, a dog, in a kitchen.", "A man, cooking.")]
    spoken = fit_descriptions(lists, "words", [0.9, 0.2], [(1.0, 3.0)])
    assert [text.text for text in spoken] == ["A man, cooking."]


@pytest.mark.parametrize(
    ("speech", "duration_s", "gaps"),
    [
        ([], 1.5, [(0.0, 1.5)]),  # without speech the film is one gap
        ([(0.0, 9.9)], 10.0, []),
        ([(3.0, 4.0)], 10.0, [(0.0, 2.7), (4.3, 10.0)]),
        ([(0.0, 1.0), (1.0 + MIN_PAUSE_S, 9.0)], 9.0, [(1.3, 2.7)]),  # the shortest pause
        ([(0.0, 1.0), (0.99 + MIN_PAUSE_S, 9.0)], 9.0, []),
    ],
)
def test_gaps_of_a_film(speech: list[Interval], duration_s: float, gaps: list[Interval]) -> None:
    assert find_gaps(speech, duration_s) == gaps
