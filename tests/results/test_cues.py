"""Subtitles to norm: all words in order, within the limits unless a word or the speech breaks them."""

import re
from itertools import chain, pairwise

from hypothesis import given
from hypothesis import strategies as st

from vidsum.results.cues import RULES, CueWord, Subtitle, add_notes, display_width, join_words, make_cues
from vidsum.results.transcript import Segment, Word, format_segments, to_cue_words

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
def test_make_cues(pieces: list[CueWord]) -> None:
    cues = make_cues(pieces)
    assert list(chain.from_iterable(map(words_in, cues))) == pieces
    for cue, following in pairwise([*cues, Subtitle(1e9, 1e9, ((CueWord(1e9, 1e9, "x"),),))]):
        words, length_s = words_in(cue), cue.end_s - cue.start_s
        assert RULES.min_s - 0.002 <= length_s <= RULES.max_s + 0.002
        assert cue.start_s >= words[0].start_s - 0.001
        assert following.start_s - cue.end_s >= RULES.gap_s - 0.002
        assert len(cue.lines) <= 2
        for line in cue.lines:
            assert display_width(join_words(line)) <= RULES.line_letters or len(line) == 1
        assert all(after.start_s - before.end_s < 1.0 for before, after in pairwise(words))  # no pause
        is_quick = display_width(join_words(words)) > RULES.letters_per_s * (length_s + 0.002)
        if is_quick and length_s < RULES.max_s - 0.002:  # it stays as long as it may
            assert cue.end_s >= words[-1].end_s + RULES.lag_s - 0.002
            assert following.start_s - cue.end_s <= RULES.gap_s + 0.002
        marked = cue.to_vtt(with_times=True)
        clocks = re.findall(r"<(\d+):(\d\d):(\d\d\.\d{3})>", marked)
        times = [int(h) * 3600 + int(m) * 60 + float(s) for h, m, s in clocks]
        assert times == sorted(set(times))
        assert all(cue.start_s < time_s < cue.end_s for time_s in times)
        assert re.sub(r"<[\d:.]+>", "", marked) == cue.text


def words_of(text: str, word_s: float = 0.35) -> list[CueWord]:
    return [CueWord(n * word_s, (n + 1) * word_s, f" {word}") for n, word in enumerate(text.split())]


def test_make_cues_breaks() -> None:
    assert [cue.text for cue in make_cues(words_of("Hello there."))] == ["Hello there."]
    text = "The dog ran across the field to the old house. Nobody had ever seen it there before that day."
    first, second = make_cues(words_of(text))
    assert first.text == "The dog ran across the field\nto the old house."
    assert second.text == "Nobody had ever seen it there\nbefore that day."


def test_make_cues_keeps_articles() -> None:
    words = "we saw it near the river and then the mountain with the snow under a cloud in the evening "
    for cue in make_cues(words_of(words * 20)):
        assert not re.search(r"\b(the|a|of|in|with)$", cue.text, re.MULTILINE)


def test_make_cues_of_a_talk() -> None:
    """At 150 words a minute no cue is too quick."""
    sentence = "when the river rose, people from the old town went up to the hills with all they had. "
    cues = make_cues(words_of(sentence * 60, word_s=0.4))
    assert cues[-1].end_s > 400
    letters = [(display_width(join_words(words_in(cue))), cue.end_s - cue.start_s) for cue in cues]
    assert max(length_s for _, length_s in letters) <= RULES.max_s + 0.002
    assert all(n <= RULES.letters_per_s * (length_s + 0.002) for n, length_s in letters)


def test_to_cue_words_blanks() -> None:
    words = tuple(Word(n / 2, n / 2 + 0.5, text, 0.9) for n, text in enumerate("今日はよい"))
    chinese = Segment(0, 2.5, "今日はよい", 0.9, 0.1, words)
    assert [piece.text for piece in to_cue_words([chinese])] == [" 今", "日", "は", "よ", "い"]
    assert format_segments([chinese], "srt").splitlines()[2] == "今日はよい"
    other = Segment(0, 2.5, "something else", 0.9, 0.1, words[:2])
    assert join_words(to_cue_words([other])) == "今 日"


def test_to_cue_words_without_words() -> None:
    pieces = to_cue_words([Segment(10, 20, "four fivex", 0.9, 0.1, uncertain=True)])
    spans = [(piece.start_s, piece.end_s, piece.text) for piece in pieces]
    assert spans == [(10, 14, " four"), (15, 20, " fivex (?)")]
    assert to_cue_words([Segment(10, 20, "", 0.9, 0.1)]) == []
    (letter,) = to_cue_words([Segment(10, 20, "a", 0.9, 0.1)])
    assert (letter.start_s, letter.end_s) == (10, 20)


def test_format_segments_with_words() -> None:
    words = tuple(Word(n / 2, n / 2 + 0.5, text, 0.9) for n, text in enumerate(["We", "<go>", "now."]))
    segment = Segment(0, 1.5, "We <go> now.", 0.9, 0.1, words)
    assert format_segments([segment], "vtt", with_words=True).splitlines()[2:] == [
        "00:00:00.000 --> 00:00:01.500",
        "We <00:00:00.500>&lt;go&gt; <00:00:01.000>now.",
    ]
    assert "<0" not in format_segments([segment], "vtt")


def test_notes_stand_in_gaps() -> None:
    cues = make_cues([CueWord(2.0, 4.0, "hello"), CueWord(4.5, 5.0, " there")])
    (spoken,) = cues
    noted = add_notes(cues, [(0.5, 1.2, "[a]"), (0.0, 9.0, "[b]"), (3.0, 4.0, "[c]"), (0.0, 20.0, "[d]")])
    assert [cue.text for cue in noted] == ["[b]", spoken.text, "[d]"]
    first, _, last = noted
    assert (first.start_s, first.end_s) == (0.0, 2.0 - RULES.gap_s)
    assert last.start_s >= spoken.end_s + RULES.gap_s
    assert last.end_s - last.start_s == 3.0
    assert add_notes([], []) == []
