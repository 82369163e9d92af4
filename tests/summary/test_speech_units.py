"""Sentences and clauses of a transcript, and which of them a summary takes."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.evidence.test_spoken import transcript
from tests.summary.test_selection import segments
from vidsum.errors import UsageError
from vidsum.results.features import Features
from vidsum.results.sentences import cuts_inside_phrases
from vidsum.results.shots import Shots
from vidsum.results.transcript import Transcript
from vidsum.summary.constraints import VideoFrames
from vidsum.summary.selection import SegmentLimits, SelectedSegments, select
from vidsum.summary.speech_units import SpeechUnit, choose_speech, speech_units, split_long
from vidsum.types import Interval

FPS = 10.0


def sentence(start_s: float, *words: str, step_s: float = 0.5) -> list[tuple[float, float, str]]:
    return [(start_s + step_s * n, start_s + step_s * n + 0.4, word) for n, word in enumerate(words)]


def test_units_are_sentences_with_little_silence() -> None:
    first = sentence(1.0, "Printing", "is", "an", "old", "art.")
    second = sentence(3.8, "Letters", "of", "metal", "came", "late.")
    units = speech_units(transcript(*first, *second), 2.0)
    assert [unit.start_s for unit in units] == pytest.approx([0.7, 3.6])
    assert [unit.end_s for unit in units] == pytest.approx([3.6, 6.5])


def test_sentence_of_a_word_joins_its_neighbour_or_gets_silence() -> None:
    words = [*sentence(1.0, "Yes."), *sentence(1.8, "It", "is", "the", "oldest", "book."), (9.0, 9.3, "No.")]
    units = speech_units(transcript(*words), 2.0)
    assert [unit.start_s for unit in units] == pytest.approx([0.7, 8.15])  # "No." is in 2 s, and silence


def test_sentence_at_the_start_gets_its_silence_behind_it() -> None:
    words = [(0.0, 0.3, "Yes."), *sentence(9.0, "It", "is", "the", "oldest", "book.")]
    first = speech_units(transcript(*words), 2.0)[0]
    assert (first.start_s, first.end_s) == pytest.approx((0.0, 2.0))


def test_clauses_of_a_unit_end_at_commas_and_pauses() -> None:
    words = sentence(0.0, "one", "two", "three", "four", "five,", "six", "seven", "eight", "nine", "ten")
    (unit,) = speech_units(transcript(*words, (6.0, 6.4, "eleven"), (6.5, 8.4, "twelve.")), 2.0)
    assert unit.clauses == ((0.0, 2.4), (2.5, 4.9), (6.0, 8.4))


def test_unit_of_words_that_others_share_scores_highest() -> None:
    texts = ["printing of books.", "printing of letters.", "weather was nice.", "books of letters."]
    words = itertools.chain(*(sentence(10.0 * n, *text.split()) for n, text in enumerate(texts)))
    scores = [unit.score for unit in speech_units(transcript(*words), 1.0)]
    assert min(scores) == scores[2]
    assert max(scores) == pytest.approx(1, abs=0.01)


def frames(n_frames: int, capacity: int) -> VideoFrames:
    none = np.zeros(n_frames, np.bool_)
    return VideoFrames(np.array([0, n_frames]), none, none.copy(), capacity, FPS)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=7),
    st.integers(1, 60),
    st.integers(0, 99),
)
def test_the_choice_of_units_is_optimal(lengths: list[tuple[int, int]], capacity: int, seed: int) -> None:
    rng, at = np.random.default_rng(seed), 0
    units = []
    for length, pause in lengths:
        units.append(SpeechUnit(at / FPS, (at + length) / FPS, float(rng.uniform(0.1, 1))))
        at += length + pause
    sums = np.concatenate([[0.0], np.cumsum(rng.uniform(0.1, 1, at + 1))])
    speech = choose_speech(units, frames(at + 1, capacity), sums, is_whole=True)
    spans = [(round(unit.start_s * FPS), round(unit.end_s * FPS)) for unit in units]
    seen = np.array([(sums[end] - sums[start]) / (end - start) for start, end in spans])
    sizes = np.array([end - start for start, end in spans])
    values = sizes * (np.array([unit.score for unit in units]) + seen / seen.max()) / 2
    best = max(
        values[list(some)].sum()
        for count in range(len(units) + 1)
        for some in itertools.combinations(range(len(units)), count)
        if sizes[list(some)].sum() <= capacity
    )
    is_in = np.array([speech.chosen[start:end].all() for start, end in spans])
    assert speech.chosen.sum() <= capacity
    assert speech.chosen.sum() == sizes[is_in].sum()
    assert values[is_in].sum() == pytest.approx(best)


CLAUSES = [SpeechUnit(0, 3, 1.0), SpeechUnit(4, 12, 1.0, ((4, 7), (7.5, 12)))]
"""Two sentences, of which the second does not fit into 6.5 s, but a clause of it does."""


@pytest.mark.parametrize(("is_whole", "seconds"), [(True, 3.0), (False, 6.0)])
def test_clauses_fill_what_sentences_leave(is_whole: bool, seconds: float) -> None:
    speech = choose_speech(CLAUSES, frames(150, 65), np.arange(151.0), is_whole=is_whole)
    assert speech.chosen.sum() / FPS == seconds


def test_speech_is_known_though_it_is_not_chosen() -> None:
    speech = choose_speech(CLAUSES, frames(150, 65), np.arange(151.0), is_whole=False)
    assert speech.spoken.sum() / FPS == 11
    assert speech.edges == (0, 40)


def test_units_that_are_dropped_kept_or_too_long_are_not_chosen() -> None:
    units = [SpeechUnit(0, 3, 1.0), SpeechUnit(4, 8, 0.5), SpeechUnit(9, 12, 0.2)]
    video = frames(150, 70)
    video.dropped[20:25] = True
    video.required[40:90] = True
    speech = choose_speech(units, video, np.arange(151.0), is_whole=True)
    assert not speech.chosen.any()  # the first is dropped in part, the second in anyway, the third too long


@pytest.mark.parametrize(
    ("edges", "start", "end"), [([10, 42], 10, 42), ([12, 40], 12, 40), ([13, 39], 9, 43), ([5, 60], 9, 43)]
)
def test_silence_around_speech_stops_at_a_cut(edges: list[int], start: int, end: int) -> None:
    units = [SpeechUnit(0.9, 4.3, 1.0, ((1.2, 2.0), (2.2, 4.0)))]
    video = replace(frames(100, 60), edges=np.array([0, *edges, 100]))
    chosen = choose_speech(units, video, np.arange(101.0), is_whole=True).chosen
    assert np.flatnonzero(chosen)[[0, -1]].tolist() == [start, end - 1]


LONG_CLAUSES = ((1.0, 4.0), (4.5, 12.0))
LONG = [SpeechUnit(0.7, 12.3, 0.5, LONG_CLAUSES), SpeechUnit(13.0, 25.0, 0.4), SpeechUnit(26, 31, 0.3)]
"""Twice twelve seconds, of which the first has clauses, and five."""


def with_cuts(*edges: int) -> VideoFrames:
    return replace(frames(320, 60), edges=np.array([0, *edges, 320]))


@pytest.mark.parametrize(
    ("edges", "n_units"), [((20, 100), 4), ((20,), 3), ((7, 123), 3), ((140, 150, 270, 280), 3)]
)
def test_long_sentence_is_split_where_cuts_lie_inside_it(edges: tuple[int, ...], n_units: int) -> None:
    parts = split_long(LONG, with_cuts(*edges), 10.0)
    assert len(parts) == n_units
    assert parts[-2:] == LONG[-2:]


def test_parts_of_a_long_sentence_are_its_clauses() -> None:
    parts = split_long(LONG, with_cuts(20, 100), 10.0)
    assert parts[:2] == [SpeechUnit(*clause, 0.5, (clause,)) for clause in LONG_CLAUSES]


def test_sentence_within_the_limit_is_not_split() -> None:
    assert split_long(LONG, with_cuts(20, 100), 12.0) == LONG


@st.composite
def speech_of(draw: st.DrawFn, duration_s: float) -> list[SpeechUnit]:
    units, at_s = [], draw(st.floats(0, 3))
    while True:
        end_s = at_s + draw(st.floats(0.5, 14))
        if end_s > duration_s:
            return units
        middle_s = (at_s + end_s) / 2
        clauses = ((at_s, middle_s), (middle_s, end_s)) if end_s - at_s > 5 else ()
        units.append(SpeechUnit(at_s, end_s, draw(st.floats(0.01, 1)), clauses))
        at_s = end_s + draw(st.floats(0, 4))


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
    limits = SegmentLimits(is_whole_sentences=draw(st.booleans()))
    try:
        result = select(
            features, shots, importance, budget_s, keep=keep, drop=drop, limits=limits, speech=units
        )
    except UsageError:
        assume(False)
    return Spoken(budget_s, keep, drop, result)


OF_SPEECH = settings(suppress_health_check=[HealthCheck.filter_too_much])


@OF_SPEECH
@given(summaries_of_speech())
def test_summary_of_speech_is_within_its_budget_and_not_empty(made: Spoken) -> None:
    assert 0 < sum(end - start for start, end in made.result.segments) <= made.budget_s + 1e-6


@OF_SPEECH
@given(summaries_of_speech())
def test_segments_of_speech_are_in_order_and_apart(made: Spoken) -> None:
    chosen = made.result.segments
    assert all(start < end for start, end in chosen)
    assert all(end <= start + 1e-9 for (_, end), (start, _) in itertools.pairwise(chosen))


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


TALK = [SpeechUnit(5.0, 13.0, 1.0), SpeechUnit(14.0, 19.0, 0.5), SpeechUnit(20.0, 32.0, 0.9)]


def select_speech(budget_s: float, speech: list[SpeechUnit]) -> SelectedSegments:
    """Of 100 s with cuts every 4 s, whose second half, where nobody speaks, has more importance."""
    shots = Shots(np.arange(0, 101, 4.0), "test", video_fps=25)
    importance = np.full(200, 0.2, np.float32)
    importance[100:] = 0.9
    return select(footage(100), shots, importance, budget_s, speech=speech)


def test_sentences_lie_across_cuts() -> None:
    short = select_speech(13.0, TALK)
    assert short.segments == ((5.0, 13.0), (14.0, 19.0))
    assert short.note == ""


def test_silent_pictures_fill_what_speech_leaves() -> None:
    long = select_speech(40.0, TALK)
    assert long.segments[:3] == ((5.0, 13.0), (14.0, 19.0), (20.0, 32.0))
    assert all(start > 49.9 for start, _ in long.segments[3:])  # the longest window has the highest sum
    assert sum(end - start for start, end in long.segments) > 36


def test_note_says_where_no_further_clause_fits() -> None:
    little = select_speech(9.0, [SpeechUnit(0, 60, 1.0), SpeechUnit(61, 66, 1.0)])
    assert little.segments == ((61.0, 66.0),)
    assert little.note == "no further clause fits"


def test_sentences_that_touch_are_joined_up_to_the_longest_segment() -> None:
    shots = Shots(np.array([0.0, 60.0]), "test", video_fps=25)
    talk = [SpeechUnit(0, 2, 1.0), SpeechUnit(2, 4, 1.0), SpeechUnit(4, 12, 1.0), SpeechUnit(50, 52, 0.1)]
    chosen = select(footage(60), shots, np.ones(120, np.float32), 12.0, speech=talk).segments
    assert chosen == ((0, 4), (4, 12))


@st.composite
def spoken_words(draw: st.DrawFn) -> list[tuple[float, float, str]]:
    words, at_s = list[tuple[float, float, str]](), draw(st.floats(0, 3))
    for _ in range(draw(st.integers(20, 120))):
        at_s += draw(st.sampled_from([0.0, 0.0, 0.0, 0.1, 0.3, 0.8, 2.5]))
        end_s = at_s + draw(st.floats(0.15, 0.6))
        words.append((at_s, end_s, "word" + draw(st.sampled_from(["", "", "", "", "", ",", "."]))))
        at_s = end_s
    return words


def is_good_edge(words: list[tuple[float, float, str]], time_s: float) -> bool:
    """Whether a time is at a full stop, a pause or a comma, give or take a frame; written anew."""
    near_s = 1 / 25 + 1e-6
    if time_s <= words[0][0] + near_s or time_s >= words[-1][1] - near_s:
        return True
    return any(
        before[1] - near_s <= time_s <= after[0] + near_s
        and (after[0] - before[1] >= 0.25 - 1e-6 or before[2][-1] in ".,")
        for before, after in itertools.pairwise(words)
    )


@dataclass(frozen=True)
class Talk:
    """A summary of spoken words, in which no word may be cut."""

    words: list[tuple[float, float, str]]
    transcript: Transcript
    budget_s: float
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
    said = replace(transcript(*words), duration_s=duration_s)
    selected = select(
        features,
        Shots(edges, "test", video_fps=25),
        rng.random(len(features)).astype(np.float32),
        budget_s,
        uncut=[(start_s, end_s) for start_s, end_s, _ in words],
        limits=SegmentLimits(is_whole_sentences=draw(st.booleans())),
        speech=speech_units(said, 2.0, budget_s),
    )
    return Talk(words, said, budget_s, selected.segments)


@given(talks())
def test_segments_of_speech_have_the_minimum_length(talk: Talk) -> None:
    assert all(end_s - start_s >= 2.0 - 2 / 25 for start_s, end_s in talk.segments)


@given(talks())
def test_speech_is_cut_at_stops_pauses_and_commas(talk: Talk) -> None:
    is_edge = [is_good_edge(talk.words, time_s) for segment in talk.segments for time_s in segment]
    forced = cuts_inside_phrases(talk.transcript.spoken, [s for segment in talk.segments for s in segment])
    sentences = talk.transcript.sentences(talk.budget_s - 0.6, 2.0)
    edges_s = [time_s for sentence in sentences for time_s in (sentence.start_s, sentence.end_s)]
    # a sentence may have no better place
    is_forced = not all(is_good_edge(talk.words, time_s) for time_s in edges_s)
    has_room = any(sentence.length_s + 0.7 <= talk.budget_s for sentence in sentences)
    if has_room and not is_forced:
        assert all(is_edge)
    assert all(is_edge) or forced
