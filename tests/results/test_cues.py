"""Subtitles to norm: every word in order, and no limit broken unless a word or the speech itself does."""

import re
from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.results.cues import RULES, CueWord, Subtitle, display_width, join_words, make_cues
from vidsum.results.transcript import Segment, Word, format_segments, to_cue_words

TEXTS = st.one_of(
    st.sampled_from(
        ["the", "of", "and", "dog", "jumped,", "home.", "extraordinarily", "Mr.", "なに", "a" * 50]
    ),
    st.text("abc.,é中", min_size=1, max_size=12),
)
TIMES = st.tuples(st.floats(0, 2), st.floats(0, 1.5))


@st.composite
def spoken(draw: st.DrawFn) -> list[CueWord]:
    """Words one after the other, with pauses of all lengths; few are as long as a cue may be."""
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
def test_all_words_stand_in_their_order(pieces: list[CueWord]) -> None:
    assert list(chain.from_iterable(map(words_in, make_cues(pieces)))) == pieces


@given(spoken())
def test_cues_keep_to_the_limits(pieces: list[CueWord]) -> None:
    cues = make_cues(pieces)
    for cue in cues:
        assert RULES.min_s - 0.002 <= cue.end_s - cue.start_s <= RULES.max_s + 0.002
        assert len(cue.lines) <= 2
        assert cue.start_s >= words_in(cue)[0].start_s - 0.001
        for line in cue.lines:
            assert display_width(join_words(line)) <= RULES.line_letters or len(line) == 1
    assert all(after.start_s - before.end_s >= RULES.gap_s - 0.002 for before, after in pairwise(cues))


@given(spoken())
def test_a_cue_is_too_quick_only_where_it_stays_as_long_as_it_may(pieces: list[CueWord]) -> None:
    cues = make_cues(pieces)
    for cue, following in pairwise([*cues, Subtitle(1e9, 1e9, ((CueWord(1e9, 1e9, "x"),),))]):
        length_s = cue.end_s - cue.start_s
        if (
            display_width(join_words(words_in(cue))) > RULES.letters_per_s * (length_s + 0.002)
            and length_s < RULES.max_s - 0.002
        ):
            assert cue.end_s >= words_in(cue)[-1].end_s + RULES.lag_s - 0.002
            assert following.start_s - cue.end_s <= RULES.gap_s + 0.002


@given(spoken())
def test_no_cue_goes_on_after_a_pause(pieces: list[CueWord]) -> None:
    for cue in make_cues(pieces):
        assert all(after.start_s - before.end_s < 1.0 for before, after in pairwise(words_in(cue)))


def said(text: str, word_s: float = 0.35) -> list[CueWord]:
    return [CueWord(n * word_s, (n + 1) * word_s, f" {word}") for n, word in enumerate(text.split())]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello there.", ["Hello there."]),
        (
            "And so my fellow Americans, ask not what your country can do for you.",
            ["And so my fellow Americans,\nask not what your country can do for you."],
        ),
        (
            "The dog ran across the field to the old house. Nobody had ever seen it there before that day.",
            [
                "The dog ran across the field\nto the old house.",
                "Nobody had ever seen it there\nbefore that day.",
            ],
        ),
    ],
)
def test_breaks_are_at_phrases(text: str, shown: list[str]) -> None:
    assert [cue.text for cue in make_cues(said(text))] == shown


def test_a_break_does_not_part_an_article_and_its_noun() -> None:
    words = "we saw it near the river and then the mountain with the snow under a cloud in the evening "
    for cue in make_cues(said(words * 20)):
        assert not re.search(r"\b(the|a|of|in|with)$", cue.text, re.MULTILINE)


def test_twenty_minutes_of_speech_keep_to_the_norm() -> None:
    """At 150 words a minute, as in talks: not a letter too quick."""
    sentence = "when the river rose, people from the old town went up to the hills with all they had. "
    cues = make_cues(said(sentence * 175, word_s=0.4))
    assert cues[-1].end_s > 1170
    letters = [(display_width(join_words(words_in(cue))), cue.end_s - cue.start_s) for cue in cues]
    assert max(length_s for _, length_s in letters) <= RULES.max_s + 0.002
    assert all(n <= RULES.letters_per_s * (length_s + 0.002) for n, length_s in letters)


def test_words_of_a_text_keep_its_own_blanks() -> None:
    words = tuple(
        Word(n / 2, n / 2 + 0.5, text, 0.9) for n, text in enumerate("今日は よい".replace(" ", ""))
    )
    chinese = Segment(0, 2.5, "今日はよい", 0.9, 0.1, words)
    assert [piece.text for piece in to_cue_words([chinese])] == [" 今", "日", "は", "よ", "い"]
    assert format_segments([chinese], "srt").splitlines()[2] == "今日はよい"
    other = Segment(0, 2.5, "something else", 0.9, 0.1, words[:2])
    assert join_words(to_cue_words([other])) == "今 日"


def test_a_text_without_words_takes_the_time_of_its_letters() -> None:
    pieces = to_cue_words([Segment(10, 20, "four fivex", 0.9, 0.1, uncertain=True)])
    assert [(piece.start_s, piece.end_s, piece.text) for piece in pieces] == [
        (10, 14, " four"),
        (15, 20, " fivex (?)"),
    ]
    assert to_cue_words([Segment(10, 20, "", 0.9, 0.1)]) == []


def test_webvtt_tells_when_words_are_said() -> None:
    words = tuple(Word(n / 2, n / 2 + 0.5, text, 0.9) for n, text in enumerate(["We", "<go>", "now."]))
    segment = Segment(0, 1.5, "We <go> now.", 0.9, 0.1, words)
    assert format_segments([segment], "vtt", with_words=True).splitlines()[2:] == [
        "00:00:00.000 --> 00:00:01.500",
        "We <00:00:00.500>&lt;go&gt; <00:00:01.000>now.",
    ]
    assert "<0" not in format_segments([segment], "vtt")


@given(spoken())
def test_times_of_words_rise_within_their_cue(pieces: list[CueWord]) -> None:
    for cue in make_cues(pieces):
        marked = cue.to_vtt(with_times=True)
        found = [
            int(h) * 3600 + int(m) * 60 + float(s)
            for h, m, s in re.findall(r"<(\d+):(\d\d):(\d\d\.\d{3})>", marked)
        ]
        assert [*found] == sorted(set(found))
        assert all(cue.start_s < time_s < cue.end_s for time_s in found)
        assert re.sub(r"<[\d:.]+>", "", marked) == cue.text
