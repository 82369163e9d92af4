"""Descriptions in pauses: never over speech, too fast or outside the film."""

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
described = st.tuples(
    st.builds(lambda times, text: Description(*times, text, 1.0), intervals, texts), st.floats(0, 1)
)


def overlap_s(first: Interval, second: Interval) -> float:
    return min(first[1], second[1]) - max(first[0], second[0])


@given(st.lists(intervals, max_size=8), st.floats(0.5, 120))
def test_find_gaps_keeps_clear_of_speech(speech: list[Interval], duration_s: float) -> None:
    gaps = find_gaps(speech, duration_s)
    for start, end in gaps:
        assert 0 <= start < end <= duration_s
        assert not speech or end - start >= MIN_PAUSE_S - 2 * MARGIN_S - 1e-6
        audible = [span for span in speech if span[0] < duration_s]
        assert all(overlap_s((start, end), span) <= -MARGIN_S + 1e-6 for span in audible)
    assert all(before[1] < after[0] for before, after in pairwise(gaps))


@given(st.lists(intervals, max_size=8), st.floats(4, 100))
def test_find_gaps_in_all_pauses(speech: list[Interval], duration_s: float) -> None:
    """Against a count of the tenths of a second without speech."""
    gaps = find_gaps(speech, duration_s)
    silent, run = 0, 0
    for tenth in range(int(duration_s * 10)):
        is_silent = all(overlap_s((tenth / 10, (tenth + 1) / 10), span) <= 0 for span in speech)
        run = run + 1 if is_silent else 0
        silent += run == round(MIN_PAUSE_S * 10) + 1  # a tenth may be lost at either end
    assert len(gaps) >= silent


@given(st.lists(described, max_size=12), st.lists(intervals, max_size=6), st.floats(1, 120))
def test_fit_descriptions(
    candidates: list[tuple[Description, float]], speech: list[Interval], duration_s: float
) -> None:
    gaps = find_gaps(speech, duration_s)
    numbered = [replace(candidate, confidence=number) for number, (candidate, _) in enumerate(candidates)]
    spoken = fit_descriptions(numbered, [importance for _, importance in candidates], gaps)
    for text in spoken:
        assert any(start <= text.start_s and text.end_s <= end + 1e-9 for start, end in gaps)
        source = candidates[int(text.confidence)][0]
        assert source.start_s <= text.start_s < source.end_s
        assert len(text.text.split()) * 60 / (text.end_s - text.start_s) <= WORDS_A_MINUTE + 1e-6
        assert text.text in shorten(source.text)
    assert all(after.start_s - before.end_s >= MARGIN_S - 1e-9 for before, after in pairwise(spoken))
    assert len({text.confidence for text in spoken}) == len(spoken)


@given(texts)
def test_shorten_keeps_the_beginning(text: str) -> None:
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
def test_shorten(text: str, expected: list[str]) -> None:
    assert list(shorten(text))[1:] == expected


def test_fit_descriptions_by_importance() -> None:
    long = "A brown dog runs over the green grass near a lake in the sun."
    descriptions = [Description(0, 9, text, 1.0) for text in (long, "A man waves.")]
    spoken = fit_descriptions(descriptions, [0.2, 0.9], [(1.0, 6.0)])
    assert [text.text for text in spoken] == ["A man waves.", "A brown dog runs over the green grass."]
    assert spoken[0].start_s == 1.0
    assert spoken[1].start_s == pytest.approx(1 + speaking_time_s("A man waves.") + MARGIN_S)


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
def test_find_gaps(speech: list[Interval], duration_s: float, gaps: list[Interval]) -> None:
    assert find_gaps(speech, duration_s) == gaps
