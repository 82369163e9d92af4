"""Sentences that stand by themselves, and which of them a summary takes."""

import itertools
from dataclasses import dataclass, replace
from math import inf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.conftest import fewer_examples
from tests.evidence.test_spoken import transcript
from tests.summary.standing_texts import CAST, LATE, OLD, QUESTION
from tests.summary.test_selection import segments
from vidsum.errors import UsageError
from vidsum.results.features import Features
from vidsum.results.screen_text import ScreenLine, ScreenText
from vidsum.results.shots import Shots
from vidsum.results.transcript import Transcript
from vidsum.summary.constraints import VideoFrames
from vidsum.summary.selection import SelectedSegments, select
from vidsum.summary.speech_units import SpeechUnit, SpokenParts, find_speech_units, timed_texts, with_silence
from vidsum.types import Interval

FPS = 10.0


def said(start_s: float, text: str, step_s: float = 0.5) -> list[tuple[float, float, str]]:
    words = enumerate(text.split())
    return [(start_s + step_s * n, start_s + step_s * n + 0.4, word) for n, word in words]


def texts_of(
    *sentences: str, longest_s: float = 8.0, language: str = "en", every_s: float = 6.0
) -> list[str]:
    """Return the texts of the units, with a sentence every six seconds."""
    words = [word for n, text in enumerate(sentences) for word in said(every_s * n + 1, text)]
    spoken = replace(transcript(*words), language=language)
    units = find_speech_units(spoken, 2.0, longest_s).units
    return [spoken.text_between(unit.start_s, unit.end_s) for unit in units]


def test_runs_that_stand_by_themselves_are_units() -> None:
    assert texts_of(OLD, "But it came late.", CAST, longest_s=12.0, every_s=12.0) == [OLD, CAST]


def test_units_do_not_overlap_and_fit_into_the_budget() -> None:
    texts = [f"Maria{n} walks home with bread{n} and water{n}." for n in range(40)]
    units = find_speech_units(
        transcript(*[w for n, text in enumerate(texts) for w in said(6.0 * n, text)]), 2.0, 60.0
    )
    spans = [(unit.first_s, unit.last_s) for unit in units.units]
    assert all(one[1] <= two[0] for one, two in itertools.pairwise(spans))
    assert 40 < sum(end_s - start_s for start_s, end_s in spans) <= 60


def test_no_unit_reaches_into_what_is_decided() -> None:
    texts = [f"Maria{n} walks home with bread{n} and water{n}." for n in range(40)]
    spoken = transcript(*[w for n, text in enumerate(texts) for w in said(6.0 * n, text)])
    best = find_speech_units(spoken, 2.0, 60.0).units
    decided = [(unit.start_s + 1, unit.end_s - 1) for unit in best]
    others = find_speech_units(spoken, 2.0, 60.0, decided).units
    assert sum(unit.last_s - unit.first_s for unit in others) > 40
    for unit, (start_s, end_s) in itertools.product(others, decided):
        assert unit.last_s <= start_s or unit.first_s >= end_s


def test_longer_units_come_before_shorter_ones() -> None:
    """A sentence of five seconds says little in a summary of a minute."""
    assert texts_of(OLD, LATE, longest_s=60.0) == [f"{OLD} {LATE}"]


def test_units_have_little_silence() -> None:
    units = find_speech_units(transcript(*said(1.0, OLD), *said(13.0, LATE)), 2.0, 12.0).units
    assert [(unit.first_s, unit.last_s) for unit in units] == [
        pytest.approx((0.7, 6.2)),
        pytest.approx((12.7, 17.7)),
    ]


def test_question_goes_with_its_answer() -> None:
    texts = texts_of(QUESTION, LATE, OLD, longest_s=20.0)
    assert any(text.startswith(f"{QUESTION} {LATE}") for text in texts)
    assert not any(text.endswith(QUESTION) for text in texts)


def test_sentences_that_need_others_are_units_where_nothing_else_fits() -> None:
    assert texts_of(QUESTION, "But late.", longest_s=4.5) == [QUESTION]


def test_beginnings_of_sentences_come_before_other_parts() -> None:
    text = "Printing in the only sense, with which we are at present concerned here, differs from most arts."
    assert texts_of(text, longest_s=4.0)[0] == "Printing in the only sense,"
    assert all(text.startswith(part) for part in texts_of(text, longest_s=4.0))


def test_part_that_continues_a_sentence_is_no_beginning() -> None:
    """The recognizer broke the sentence off, and wrote the next one small."""
    begun = "Printing in the only sense, with which we are at present concerned here, differs"
    rest = "from most if not all of the arts, which the exhibition has on show this year."
    texts = texts_of(begun + ".", rest, longest_s=4.0)
    assert texts
    assert all(begun.startswith(text.rstrip(".")) for text in texts)


def test_clause_that_ends_a_sentence_says_something() -> None:
    begun, clause = "Produced in many towns of the time,", "the letters of metal may be called an invention."
    assert clause in texts_of(f"{begun} {clause}", longest_s=6.0)


def test_clause_without_a_verb_says_nothing() -> None:
    begun, clause = "Letters of metal may be an invention,", "the earliest book printed with such types."
    assert texts_of(f"{begun} {clause}", longest_s=4.5)[0] != clause


def test_greetings_are_no_units_where_something_is_said() -> None:
    welcome, thanks = "Welcome to this lecture on old letters.", "Thank you for coming to the lecture."
    assert texts_of(welcome, OLD, thanks) == [OLD]
    assert texts_of(welcome) == [welcome]


def test_dots_without_a_word_are_no_sentences() -> None:
    assert texts_of(OLD, ".", LATE, longest_s=12.0, every_s=12.0) == [OLD, LATE]


def test_uncertain_speech_counts_half() -> None:
    (segment,) = transcript(*said(1.0, OLD)).segments
    doubtful = replace(transcript(*said(1.0, OLD)), segments=(replace(segment, uncertain=True),))
    assert find_speech_units(doubtful, 2.0).units[0].certain == 0.5


def test_unit_with_an_uncertain_end_counts_less_than_without() -> None:
    """A few wrong words after a long answer, which the mean would not notice."""
    spoken = transcript(*said(1.0, f"{QUESTION} {LATE} {OLD}"), *said(25.0, CAST)).sentences(inf, 0.0)
    wrong = tuple(replace(word, certain=False) for word in spoken[-1].words)
    doubtful = [*spoken[:-1], replace(spoken[-1], words=wrong)]
    assert with_silence(doubtful, 0, len(spoken) - 1, 2.0, 40.0).certain == 0.5
    assert with_silence(doubtful, 0, len(spoken) - 2, 2.0, 40.0).certain == 1.0


def test_short_sentences_without_a_pause_are_joined() -> None:
    """Speech that goes on for five minutes, a sentence of 1.5 s after another."""
    words = [word for n in range(200) for word in said(1.5 * n, f"Maria{n} walks home quickly.", 0.35)]
    units = find_speech_units(transcript(*words), 2.0, 45.0).units
    assert units
    assert min(unit.last_s - unit.first_s for unit in units) >= 2


def test_short_unit_gets_silence() -> None:
    (unit,) = find_speech_units(transcript(*said(0.0, "Yes we do that.", 0.3)), 2.0).units
    assert (unit.first_s, unit.last_s) == pytest.approx((0.0, 2.0))


@pytest.mark.parametrize(
    ("edges", "start", "end"), [([10, 42], 10, 42), ([12, 40], 12, 40), ([13, 39], 9, 43), ([5, 60], 9, 43)]
)
def test_silence_around_speech_stops_at_a_cut(edges: list[int], start: int, end: int) -> None:
    none = np.zeros(100, np.bool_)
    video = VideoFrames(np.array([0, *edges, 100]), none, none.copy(), 60, FPS)
    assert SpeechUnit(1.2, 4.0, 0.9, 4.3).frames(video) == (start, end)


@given(st.floats(2, 50), st.sampled_from([24.0, 25.0, 30.0, 60.0, 30000 / 1001]))
def test_units_that_meet_in_a_pause_meet_in_a_frame(at_s: float, fps: float) -> None:
    none = np.zeros(round(90 * fps), np.bool_)
    video = VideoFrames(np.array([0, len(none)]), none, none.copy(), 60, fps)
    before = SpeechUnit(1.0, at_s - 0.1, 1.0, at_s).frames(video)
    after = SpeechUnit(at_s + 0.1, 60.0, at_s, 60.0).frames(video)
    assert before[1] == after[0]


def speech(*spans: Interval) -> SpokenParts:
    return SpokenParts(tuple(SpeechUnit(*span, *span) for span in spans), spans)


@st.composite
def speech_of(draw: st.DrawFn, duration_s: float) -> SpokenParts:
    spans, at_s = [], draw(st.floats(0, 3))
    while (end_s := at_s + draw(st.floats(0.5, 14))) <= duration_s:
        spans.append((at_s, end_s))
        at_s = end_s + draw(st.floats(0, 4))
    return speech(*spans)


@dataclass(frozen=True)
class Spoken:
    """A summary of a made-up talk, and what it had to obey."""

    budget_s: float
    keep: list[Interval]
    drop: list[Interval]
    result: SelectedSegments


@st.composite
def summaries_of_speech(draw: st.DrawFn) -> Spoken:
    duration_s, rng = draw(st.floats(8, 90)), np.random.default_rng(draw(st.integers(0, 99)))
    rows = rng.normal(size=(int(2 * duration_s) + 1, 16))
    features = Features.from_array(rows, duration_s=duration_s, video_fps=25)
    inside = rng.uniform(0, duration_s, draw(st.integers(0, 12)))
    shots = Shots(np.unique(np.concatenate([[0], inside, [duration_s]])), "test", video_fps=25)
    units, budget_s = draw(speech_of(duration_s)), draw(st.floats(1, duration_s))
    keep, drop = draw(segments(duration_s)), draw(segments(duration_s))
    importance = rng.random(len(features)).astype(np.float32)
    try:
        result = select(features, shots, importance, budget_s, keep=keep, drop=drop, speech=units)
    except UsageError:
        assume(False)
    return Spoken(budget_s, keep, drop, result)


OF_SPEECH = fewer_examples(2)


@OF_SPEECH
@given(summaries_of_speech())
def test_summary_of_speech_is_within_its_budget_and_not_empty(made: Spoken) -> None:
    assert 0 < sum(end - start for start, end in made.result.segments) <= made.budget_s + 1e-6


@OF_SPEECH
@given(summaries_of_speech())
def test_segments_of_speech_are_in_order_and_apart(made: Spoken) -> None:
    chosen = made.result.segments
    assert all(start < end for start, end in chosen)
    assert all(end < start for (_, end), (start, _) in itertools.pairwise(chosen))


@OF_SPEECH
@given(summaries_of_speech())
def test_kept_parts_are_in_a_summary_of_speech(made: Spoken) -> None:
    for start, end in made.keep:
        assert any(a <= start + 1e-6 and end <= b + 1 / 25 for a, b in made.result.segments)


@OF_SPEECH
@given(summaries_of_speech())
def test_dropped_parts_are_not_in_a_summary_of_speech(made: Spoken) -> None:
    for start, end in made.drop:
        assert all(b <= start + 1 / 25 or a >= end - 1 / 25 for a, b in made.result.segments)


@OF_SPEECH
@given(summaries_of_speech())
def test_summary_of_speech_says_why_its_budget_is_not_used(made: Spoken) -> None:
    used_s = sum(end - start for start, end in made.result.segments)
    assert used_s >= 0.88 * made.budget_s or made.result.note or made.result.messages


def footage(duration_s: int) -> Features:
    rows = np.random.default_rng(0).normal(size=(2 * duration_s, 16))
    return Features.from_array(rows, video_fps=25)


TALK = speech((5.0, 13.0), (14.0, 19.0), (20.0, 32.0))


def select_speech(budget_s: float, talk: SpokenParts) -> SelectedSegments:
    """Of 100 s with cuts every 4 s, whose second half, where nobody speaks, has more importance."""
    shots = Shots(np.arange(0, 101, 4.0), "test", video_fps=25)
    importance = np.repeat(np.array([0.4, 0.6], np.float32), 100)
    return select(footage(100), shots, importance, budget_s, speech=talk, slope=0.36)


def test_sentences_lie_across_cuts() -> None:
    assert select_speech(13.0, speech((5.0, 15.0), (16.0, 95.0))).segments == ((5.0, 15.0),)


def test_share_of_speech_is_at_least_the_share_in_the_film() -> None:
    spoken_s = sum(end - start for start, end in select_speech(13.0, TALK).segments if end <= 32)
    assert spoken_s >= 0.25 * 13


def test_windows_lie_in_silence() -> None:
    chosen = select_speech(40.0, TALK)
    for start, end in chosen.segments:
        is_unit = (start, end) in TALK.sentences
        assert is_unit or not any(start < stop and begin < end for begin, stop in TALK.sentences)
    assert sum(end - start for start, end in chosen.segments) > 36


def test_note_says_where_no_further_sentence_fits() -> None:
    little = select_speech(9.0, speech((0.0, 60.0), (61.0, 66.0)))
    assert little.segments == ((61.0, 66.0),)
    assert little.note == "no further sentence fits"


def test_sentences_that_touch_are_one_segment() -> None:
    shots = Shots(np.array([0.0, 60.0]), "test", video_fps=25)
    talk = speech((0.0, 2.0), (2.0, 4.0), (4.0, 12.0), (20.0, 60.0))
    chosen = select(footage(60), shots, np.ones(120, np.float32), 12.0, speech=talk).segments
    assert chosen == ((0, 12),)


def test_end_of_speech_counts_as_much_as_its_middle() -> None:
    """Quarters of a film lie mostly in its middle, those that go round everywhere."""
    shots = Shots(np.array([0.0, 100.0]), "test", video_fps=25)
    long = (0.0, 19.0), (25.0, 55.0), (61.0, 69.0), (75.0, 94.0)
    talk = speech(*long, (20.0, 24.0), (56.0, 60.0), (70.0, 74.0), (95.0, 99.4))
    features = Features.from_array(np.ones((200, 4)), video_fps=25)
    chosen = select(features, shots, np.ones(200, np.float32), 8.5, speech=talk).segments
    assert chosen[-1] == (95.0, 99.4)


@st.composite
def spoken_words(draw: st.DrawFn) -> list[tuple[float, float, str]]:
    words, at_s = list[tuple[float, float, str]](), draw(st.floats(0, 3))
    for _ in range(draw(st.integers(20, 120))):
        at_s += draw(st.sampled_from([0.0, 0.0, 0.0, 0.1, 0.3, 0.8, 2.5]))
        end_s = at_s + draw(st.floats(0.15, 0.6))
        words.append((at_s, end_s, "Word" + draw(st.sampled_from(["", "", "", "", "", ",", "."]))))
        at_s = end_s
    return words


@dataclass(frozen=True)
class Talk:
    """A summary of spoken words, in which no word may be cut."""

    transcript: Transcript
    budget_s: float
    units: tuple[SpeechUnit, ...]
    segments: tuple[Interval, ...]


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    words, rng = draw(spoken_words()), np.random.default_rng(draw(st.integers(0, 99)))
    duration_s = words[-1][1] + 2
    rows = rng.normal(size=(int(2 * duration_s) + 1, 16))
    features = Features.from_array(rows, duration_s=duration_s, video_fps=25)
    inside = np.sort(rng.uniform(0, duration_s, 6))
    edges = np.unique(np.concatenate([[0], np.round(inside * 25) / 25, [duration_s]]))
    budget_s = max(draw(st.floats(0.1, 0.45)) * duration_s, 5.0)
    recorded = replace(transcript(*words), duration_s=duration_s)
    speech = find_speech_units(recorded, 2.0, budget_s)
    selected = select(
        features,
        Shots(edges, "test", video_fps=25),
        rng.random(len(features)).astype(np.float32),
        budget_s,
        uncut=[(start_s, end_s) for start_s, end_s, _ in words],
        speech=speech,
    )
    return Talk(recorded, budget_s, speech.units, selected.segments)


@given(talks())
def test_units_of_speech_fit_the_budget(talk: Talk) -> None:
    assert all(unit.last_s - unit.first_s <= talk.budget_s for unit in talk.units)


@given(talks())
def test_segments_of_speech_have_the_minimum_length(talk: Talk) -> None:
    assert all(end_s - start_s >= 2.0 - 2 / 25 for start_s, end_s in talk.segments)


@given(talks())
def test_no_segment_cuts_a_sentence_that_stands(talk: Talk) -> None:
    # a unit is whole, unless it is a part of a sentence that is too long, or none is long enough to be taken
    taken = [
        unit
        for unit in talk.units
        if any(a < unit.start_s + 2 / 25 and b > unit.end_s - 2 / 25 for a, b in talk.segments)
    ]
    for unit in talk.units if taken else ():
        parts = [(max(a, unit.start_s), min(b, unit.end_s)) for a, b in talk.segments]
        shown = [b - a for a, b in parts if b - a > 2 / 25]
        others = [other for other in talk.units if other != unit and other.start_s < unit.end_s]
        overlaps = any(other.end_s > unit.start_s for other in others)
        assert overlaps or not shown or sum(shown) >= unit.end_s - unit.start_s - 2 / 25


def test_texts_of_a_film_are_its_sentences_and_the_lines_on_its_screen() -> None:
    spoken = transcript((0, 1, "It"), (1, 2, "rains."))
    screen = ScreenText((ScreenLine(3, 5, "Weather", 0.9, (0, 0, 1, 0.1)),), 6.0, 1)
    both = timed_texts(spoken, screen)
    assert [(text.start_s, text.end_s, text.text) for text in both] == [
        (0, 2, "It rains."),
        (3, 5, "Weather"),
    ]
    assert timed_texts(spoken, None) + timed_texts(None, screen) == both


def test_neighbours_are_both_taken_wherever_they_meet_between_two_frames() -> None:
    features, shots = footage(40), Shots(np.array([0.0, 40.0]), "test", video_fps=25)
    units = SpeechUnit(1.0, 9.9, 0.92, 10.03), SpeechUnit(10.16, 19.0, 10.03, 19.12)
    spoken = SpokenParts(units, ((1.0, 9.9), (10.16, 19.0), (20.0, 39.0)))
    importance = np.ones(len(features), np.float32)
    assert select(features, shots, importance, 20.0, speech=spoken).segments == ((0.92, 19.12),)


@given(st.floats(0, 9), st.floats(0.01, 3), st.lists(st.floats(0, 13), max_size=4), st.floats(0, 0.3))
def test_between_cuts_a_unit_keeps_a_length(
    start_s: float, length_s: float, cuts_s: list[float], silence_s: float
) -> None:
    end_s = start_s + length_s
    unit = SpeechUnit(start_s, end_s, max(start_s - silence_s, 0.0), end_s + silence_s)
    low, high = unit.between_cuts(np.sort(cuts_s))
    assert low <= start_s + length_s / 4 + 1e-9
    assert high >= end_s - length_s / 4 - 1e-9
