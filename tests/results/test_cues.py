"""Subtitles to norm: all words in order, within the limits unless a word or the speech breaks them."""

import re
from itertools import accumulate, chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.results.cues import RULES, CueWord, Subtitle, add_notes, display_width, join_words, make_cues

WORDS = ["the", "of", "and", "dog", "jumped,", "home.", "extraordinarily", "Mr.", "なに", "a" * 50]
TEXTS = st.one_of(st.sampled_from(WORDS), st.text("abc.,é中", min_size=1, max_size=12))
TIMES = st.tuples(st.floats(0, 2), st.floats(0, 1.5))


@st.composite
def spoken(draw: st.DrawFn) -> list[CueWord]:
    """Words with pauses of all lengths; few are as long as a cue may be."""
    pieces, at = list[CueWord](), draw(st.floats(0, 1e4))
    for text, (length_s, pause_s) in draw(st.lists(st.tuples(TEXTS, TIMES), max_size=60)):
        length_s *= 6 if text == "Mr." else 0.3
        ends = draw(st.booleans()) if pause_s > 1.2 else False
        pieces.append(CueWord(at, at + length_s, f" {text}", ends))
        at += length_s + max(0.0, pause_s - 0.5)
    return pieces


def words_in(cue: Subtitle) -> list[CueWord]:
    return list(chain(*cue.lines))


@given(spoken())
def test_cues_have_all_words_in_order(pieces: list[CueWord]) -> None:
    assert list(chain.from_iterable(map(words_in, make_cues(pieces)))) == pieces


@given(spoken())
def test_cues_last_as_long_as_the_rules_allow(pieces: list[CueWord]) -> None:
    for cue in make_cues(pieces):
        assert RULES.min_s - 0.002 <= cue.end_s - cue.start_s <= RULES.max_s + 0.002


@given(spoken())
def test_cues_begin_with_their_words_and_leave_a_gap(pieces: list[CueWord]) -> None:
    cues = make_cues(pieces)
    assert all(cue.start_s >= words_in(cue)[0].start_s - 0.001 for cue in cues)
    assert all(after.start_s - before.end_s >= RULES.gap_s - 0.002 for before, after in pairwise(cues))


@given(spoken())
def test_cues_have_two_lines_of_the_allowed_width(pieces: list[CueWord]) -> None:
    for cue in make_cues(pieces):
        assert len(cue.lines) <= 2
        for line in cue.lines:
            assert display_width(join_words(line)) <= RULES.line_letters or len(line) == 1


@given(spoken())
def test_no_cue_goes_on_over_a_pause(pieces: list[CueWord]) -> None:
    for cue in make_cues(pieces):
        assert all(after.start_s - before.end_s < 1.0 for before, after in pairwise(words_in(cue)))


@given(spoken())
def test_cue_that_is_too_quick_stays_as_long_as_it_may(pieces: list[CueWord]) -> None:
    end = Subtitle(1e9, 1e9, ((CueWord(1e9, 1e9, "x"),),))
    for cue, following in pairwise([*make_cues(pieces), end]):
        words, length_s = words_in(cue), cue.end_s - cue.start_s
        is_quick = display_width(join_words(words)) > RULES.letters_per_s * (length_s + 0.002)
        if is_quick and length_s < RULES.max_s - 0.002:
            assert cue.end_s >= words[-1].end_s + RULES.lag_s - 0.002
            assert following.start_s - cue.end_s <= RULES.gap_s + 0.002


@given(spoken())
def test_times_of_words_increase_within_their_cue(pieces: list[CueWord]) -> None:
    for cue in make_cues(pieces):
        clocks = re.findall(r"<(\d+):(\d\d):(\d\d\.\d{3})>", cue.to_vtt(with_times=True))
        times = [int(h) * 3600 + int(m) * 60 + float(s) for h, m, s in clocks]
        assert times == sorted(set(times))
        assert all(cue.start_s < time_s < cue.end_s for time_s in times)


@given(spoken())
def test_text_with_times_of_words_is_the_text(pieces: list[CueWord]) -> None:
    for cue in make_cues(pieces):
        assert re.sub(r"<[\d:.]+>", "", cue.to_vtt(with_times=True)) == cue.text


def words_of(text: str, word_s: float = 0.35) -> list[CueWord]:
    return [CueWord(n * word_s, (n + 1) * word_s, f" {word}") for n, word in enumerate(text.split())]


def test_short_text_is_a_cue_of_one_line() -> None:
    assert [cue.text for cue in make_cues(words_of("Hello there."))] == ["Hello there."]


def test_cues_and_lines_end_where_sentences_and_phrases_do() -> None:
    text = "The dog ran across the field to the old house. Nobody had ever seen it there before that day."
    first, second = make_cues(words_of(text))
    assert first.text == "The dog ran across the field\nto the old house."
    assert second.text == "Nobody had ever seen it there\nbefore that day."


@pytest.mark.parametrize(
    "text",
    [
        "The dog is a hound -type dog breed that originated in Germany.",
        "It may be smooth -haired, wire -haired, or long -haired, and comes in many colours.",
    ],
)
def test_no_line_begins_with_the_rest_of_a_compound(text: str) -> None:
    words = text.replace(" -", "|-").replace(" ", "| ").split("|")
    pieces = [CueWord(0.4 * number, 0.4 * number + 0.4, word) for number, word in enumerate(words)]
    lines = [join_words(line) for cue in make_cues(pieces, 22) for line in cue.lines]
    assert not [line for line in lines if line.startswith("-")]


def test_no_line_ends_with_an_article_or_preposition() -> None:
    words = "we saw it near the river and then the mountain with the snow under a cloud in the evening "
    for cue in make_cues(words_of(words * 20)):
        assert not re.search(r"\b(the|a|of|in|with)$", cue.text, re.MULTILINE)


def test_no_cue_of_a_talk_at_150_words_a_minute_is_too_quick_or_long() -> None:
    sentence = "when the river rose, people from the old town went up to the hills with all they had. "
    cues = make_cues(words_of(sentence * 60, word_s=0.4))
    assert cues[-1].end_s > 400
    letters = [(display_width(join_words(words_in(cue))), cue.end_s - cue.start_s) for cue in cues]
    assert max(length_s for _, length_s in letters) <= RULES.max_s + 0.002
    assert all(n <= RULES.letters_per_s * (length_s + 0.002) for n, length_s in letters)


@pytest.mark.parametrize("letters", [22, 30, 42])
@given(st.lists(st.tuples(st.integers(5, 30), st.floats(0, 0.9)), min_size=2, max_size=6))
def test_no_cue_has_parts_of_two_sentences(letters: int, sentences: list[tuple[int, float]]) -> None:
    pieces, at = list[CueWord](), 0.0
    for length, pause_s in sentences:
        for number in range(1, length + 1):
            text = " over" if number % 4 == 0 and number < length else f" letter{'.' * (number == length)}"
            pieces.append(CueWord(at, at + 0.4, text))
            at += 0.4
        at += pause_s
    places = {id(piece): number for number, piece in enumerate(pieces)}
    edges = {0, *accumulate(length for length, _ in sentences)}
    for cue in make_cues(pieces, letters):
        first, end = places[id(words_in(cue)[0])], places[id(words_in(cue)[-1])] + 1
        assert not edges & {*range(first + 1, end)} or {first, end} <= edges


def test_line_may_end_with_an_object() -> None:
    (cue,) = make_cues(words_of("Now let me tell you about my worst mistake."))
    assert cue.text == "Now let me tell you\nabout my worst mistake."


@pytest.fixture
def hello() -> Subtitle:
    """A cue from 2 to 5 s."""
    (cue,) = make_cues([CueWord(2.0, 4.0, "hello"), CueWord(4.5, 5.0, " there")])
    return cue


def test_notes_stand_in_gaps_of_their_time(hello: Subtitle) -> None:
    notes = [(0.5, 1.2, "[a]"), (0.0, 9.0, "[b]"), (3.0, 4.0, "[c]"), (0.0, 20.0, "[d]")]
    assert [cue.text for cue in add_notes([hello], notes)] == ["[b]", hello.text, "[d]"]


def test_note_ends_before_the_next_cue(hello: Subtitle) -> None:
    note, _ = add_notes([hello], [(0.0, 9.0, "[b]")])
    assert (note.start_s, note.end_s) == (0.0, 2.0 - RULES.gap_s)


def test_note_after_a_cue_begins_after_a_gap_and_stays_three_seconds(hello: Subtitle) -> None:
    _, note = add_notes([hello], [(4.9, 20.0, "[d]")])
    assert note.start_s >= hello.end_s + RULES.gap_s
    assert note.end_s - note.start_s == 3.0


def test_no_cues_and_notes_are_no_cues() -> None:
    assert add_notes([], []) == []
