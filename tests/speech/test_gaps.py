"""Descriptions in pauses: never over speech, never too fast, never outside the film; by properties."""

from dataclasses import replace
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

times = st.floats(0, 100, allow_nan=False).map(lambda time_s: round(time_s, 3))
intervals = st.tuples(times, times).filter(lambda ends: ends[0] < ends[1])
texts = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=16).map(lambda words: " ".join(words) + ".")
wishes = st.tuples(
    st.builds(lambda times, text: Description(*times, text, 1.0), intervals, texts), st.floats(0, 1)
)


def overlap_s(one: Interval, other: Interval) -> float:
    return min(one[1], other[1]) - max(one[0], other[0])


@given(st.lists(intervals, max_size=8), st.floats(0.5, 120))
def test_gaps_keep_clear_of_speech(speech: list[Interval], duration_s: float) -> None:
    gaps = find_gaps(speech, duration_s)
    for start, end in gaps:
        assert 0 <= start < end <= duration_s
        assert not speech or end - start >= MIN_PAUSE_S - 2 * MARGIN_S - 1e-6
        assert all(overlap_s((start, end), one) <= -MARGIN_S + 1e-6 for one in speech if one[0] < duration_s)
    assert all(before[1] < after[0] for before, after in pairwise(gaps))


@given(st.lists(intervals, max_size=8), st.floats(4, 100))
def test_every_pause_is_a_gap(speech: list[Interval], duration_s: float) -> None:
    """Against a count of the tenths of a second without speech."""
    gaps = find_gaps(speech, duration_s)
    silent, run = 0, 0
    for tenth in range(int(duration_s * 10)):
        is_silent = all(overlap_s((tenth / 10, (tenth + 1) / 10), one) <= 0 for one in speech)
        run = run + 1 if is_silent else 0
        silent += run == round(MIN_PAUSE_S * 10) + 1  # a tenth may be lost at either end
    assert len(gaps) >= silent


@given(st.lists(wishes, max_size=12), st.lists(intervals, max_size=6), st.floats(1, 120))
def test_what_is_spoken(
    said: list[tuple[Description, float]], speech: list[Interval], duration_s: float
) -> None:
    gaps = find_gaps(speech, duration_s)
    numbered = [replace(one, confidence=number) for number, (one, _) in enumerate(said)]
    spoken = fit_descriptions(numbered, [importance for _, importance in said], gaps)
    for one in spoken:
        assert any(start <= one.start_s and one.end_s <= end + 1e-9 for start, end in gaps)
        of = said[int(one.confidence)][0]
        assert of.start_s <= one.start_s < of.end_s
        assert len(one.text.split()) * 60 / (one.end_s - one.start_s) <= WORDS_A_MINUTE + 1e-6
        assert one.text in shorten(of.text)
    assert all(after.start_s - before.end_s >= MARGIN_S - 1e-9 for before, after in pairwise(spoken))
    assert len({one.confidence for one in spoken}) == len(spoken)


@given(texts)
def test_a_shorter_text_is_the_beginning_of_the_text(text: str) -> None:
    forms = list(shorten(text))
    assert forms[0] == text
    lengths = [len(form.split()) for form in forms]
    assert lengths == sorted(lengths, reverse=True)
    assert all(text.startswith(form.removesuffix(".")) for form in forms)
    assert all(length >= 3 for length in lengths[1:])


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
def test_last_phrases_go_first(text: str, expected: list[str]) -> None:
    assert list(shorten(text))[1:] == expected


def test_the_most_important_comes_first_and_others_are_shortened() -> None:
    long = "A brown dog runs over the green grass near a lake in the sun."
    found = [Description(0, 9, text, 1.0) for text in (long, "A man waves.")]
    spoken = fit_descriptions(found, [0.2, 0.9], [(1.0, 6.0)])
    assert [one.text for one in spoken] == ["A man waves.", "A brown dog runs over the green grass."]
    assert spoken[0].start_s == 1.0
    assert spoken[1].start_s == pytest.approx(1 + speaking_time_s("A man waves.") + MARGIN_S)


def test_without_speech_the_film_is_one_gap() -> None:
    assert find_gaps([], 1.5) == [(0.0, 1.5)]
    assert find_gaps([(0.0, 9.9)], 10.0) == []
    assert find_gaps([(3.0, 4.0)], 10.0) == [(0.0, 2.7), (4.3, 10.0)]
