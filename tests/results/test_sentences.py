"""Sentences, clauses and the edges between words, on made-up words."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vidsum.results.sentences import (
    LONG_PAUSE_S,
    Edge,
    SpokenSentence,
    SpokenWord,
    cuts_inside_phrases,
    describe_cuts,
    edge_between,
    split_clauses,
    split_sentences,
)
from vidsum.results.transcript import Segment, Transcript, Word


def timed(text: str, word_s: float = 0.4, start_s: float = 0.0) -> list[SpokenWord]:
    """Words of a length, each right after the one before; `|.3` is a pause of .3 s."""
    words, at_s = list[SpokenWord](), start_s
    for part in text.split():
        if part.startswith("|"):
            at_s += float(part[1:])
        else:
            words.append(SpokenWord(at_s, at_s + word_s, f" {part}"))
            at_s += word_s
    return words


def texts(sentences: list[SpokenSentence]) -> list[str]:
    return [sentence.text for sentence in sentences]


@pytest.mark.parametrize(
    ("before", "pause_s", "after", "edge"),
    [
        ("home.", 0, "We", Edge.STOP),
        ("home?”", 0, "We", Edge.STOP),
        ("回家。", 0, "我", Edge.STOP),
        ("है।", 0, "वह", Edge.STOP),
        ("لا؟", 0, "نعم", Edge.STOP),
        ("home", 1.6, "we", Edge.STOP),
        ("home", 0.25, "we", Edge.PAUSE),
        ("home", 0.24, "we", Edge.NONE),
        ("home,", 0, "we", Edge.COMMA),
        ("回家，", 0, "我", Edge.COMMA),
        ("نعم،", 0, "لا", Edge.COMMA),
        ("Dr.", 0.1, "Smith", Edge.NONE),
        ("Mrs.", 0.1, "Jones", Edge.NONE),
        ("J.", 0.1, "Smith", Edge.NONE),
        ("U.S.", 0, "Senate", Edge.NONE),
        ("U.S.", 0.3, "They", Edge.STOP),
        ("U.S.", 0.3, "economy", Edge.PAUSE),
        ("3.5", 0, "million", Edge.NONE),
        ("1945.", 0, "Then", Edge.STOP),
        ("3.", 0, "Mai", Edge.NONE),
        ("I.", 0, "You", Edge.STOP),
        ("well...", 0, "we", Edge.NONE),
        ("etc.", 0, "and", Edge.NONE),
    ],
)
def test_edges_between_words(before: str, pause_s: float, after: str, edge: Edge) -> None:
    first, second = SpokenWord(0, 1, f" {before}"), SpokenWord(1 + pause_s, 2 + pause_s, f" {after}")
    assert edge_between(first, second) is edge


def test_a_long_sentence_is_split_at_its_pause_then_at_a_comma_then_at_its_longest_gap() -> None:
    ten = " ".join(["so"] * 10)
    assert texts(split_sentences(timed(f"{ten} {ten}, {ten} |.3 {ten}"), 13)) == [f"{ten} {ten}, {ten}", ten]
    assert texts(split_sentences(timed(f"{ten} {ten}, {ten}"), 10)) == [f"{ten} {ten},", ten]
    assert texts(split_sentences(timed(f"{ten} |.1 {ten} {ten} |.2 {ten}"), 13)) == [
        f"{ten} {ten} {ten}",
        ten,
    ]
    assert len(split_sentences(timed(f"{ten} {ten}"), 10)) == 1


def test_a_short_sentence_goes_with_its_nearer_neighbour() -> None:
    ten = " ".join(["so"] * 10)
    words = timed(f"{ten}. |.5 Yes. |.2 {ten}. |.2 No. |.6 {ten}.")
    assert texts(split_sentences(words)) == [f"{ten}.", f"Yes. {ten}. No.", f"{ten}."]
    words = timed(f"{ten}. |3.1 Yes. |3.1 {ten}.")
    assert len(split_sentences(words)) == 3


def test_many_short_sentences_do_not_make_a_long_one() -> None:
    sentences = split_sentences(timed("Yes. |.2 " * 100))
    assert 2 <= max(sentence.length_s for sentence in sentences) < 5


def test_clauses_are_split_at_commas_and_pauses() -> None:
    five = " ".join(["so"] * 5)
    (sentence,) = split_sentences(timed(f"so, {five}, {five} |.3 {five} so, so."))
    assert texts(split_clauses(sentence)) == [f"so, {five},", five, f"{five} so, so."]


@st.composite
def speech(draw: st.DrawFn) -> list[SpokenWord]:
    words, at_s = list[SpokenWord](), draw(st.floats(0, 3))
    for _ in range(draw(st.integers(1, 60))):
        pause = draw(st.sampled_from([0.0, 0.0, 0.0, 0.1, 0.25, 0.4, 1.0, 1.5, 2.0, 4.0]))
        end_s = at_s + pause + draw(st.floats(0, 1.2))
        text = " wo" + draw(st.sampled_from(["", "", "", "", ",", ".", "?", "..."]))
        words.append(SpokenWord(at_s + pause, end_s, text, draw(st.booleans())))
        at_s = end_s
    return words


def kind(before: SpokenWord, after: SpokenWord) -> int:
    """0: a full stop, 1: a pause, 2: a comma, 3: none; written anew, for these words."""
    pause_s = after.start_s - before.end_s
    if before.text[-1] in "?" or pause_s > LONG_PAUSE_S or before.text == " wo.":
        return 0
    return 1 if pause_s >= 0.25 - 1e-6 else 2 if before.text[-1] == "," else 3


@settings(deadline=None)
@given(speech(), st.floats(3, 20), st.floats(0.5, 3))
def test_sentences_hold_all_words_in_order(
    words: list[SpokenWord], longest_s: float, shortest_s: float
) -> None:
    sentences = split_sentences(words, longest_s, shortest_s)
    assert [word for sentence in sentences for word in sentence.words] == words
    for sentence in sentences:
        assert [word for part in split_clauses(sentence, shortest_s) for word in part.words] == [
            *sentence.words
        ]


@settings(deadline=None)
@given(speech(), st.floats(3, 20), st.floats(0.5, 3))
def test_no_sentence_is_short_that_has_a_neighbour(
    words: list[SpokenWord], longest_s: float, shortest_s: float
) -> None:
    sentences = split_sentences(words, longest_s, shortest_s)
    for number, sentence in enumerate(sentences):
        around = [*sentences[max(number - 1, 0) : number], *sentences[number + 1 : number + 2]]
        pauses = [max(sentence.start_s - other.end_s, other.start_s - sentence.end_s) for other in around]
        assert sentence.length_s >= shortest_s - 1e-6 or all(pause > 3 for pause in pauses)
        clauses = split_clauses(sentence, shortest_s)
        assert len(clauses) == 1 or min(clause.length_s for clause in clauses) >= shortest_s - 1e-6


@settings(deadline=None)
@given(speech(), st.floats(3, 20))
def test_the_best_edge_inside_a_long_sentence_is_taken(words: list[SpokenWord], longest_s: float) -> None:
    sentences = split_sentences(words, longest_s, 0.5)
    for before, after in pairwise(sentences):
        cut = kind(before.words[-1], after.words[0])
        if cut == 0:
            continue
        # whatever is better lies too near to the ends of the two parts
        for part in (before, after):
            for first, second in pairwise(part.words):
                inside = first.end_s - part.start_s >= 0.5 and part.end_s - second.start_s >= 0.5
                assert not inside or kind(first, second) >= cut or kind(first, second) == 0 or cut < 3


@settings(deadline=None)
@given(speech())
def test_cuts_inside_phrases_are_named(words: list[SpokenWord]) -> None:
    between = [(before, after) for before, after in pairwise(words)]
    gaps = [(before.end_s, after.start_s) for before, after in between if kind(before, after) < 3]
    good = [start_s for _, start_s in gaps]
    assert cuts_inside_phrases(words, [words[0].start_s, words[-1].end_s, *good], 1e-3) == []
    bad = [
        before.end_s
        for before, after in between
        if kind(before, after) == 3 and not any(low - 0.01 < before.end_s < high + 0.01 for low, high in gaps)
    ]
    far = [s for s in bad if words[0].start_s + 0.01 < s < words[-1].end_s - 0.01]
    assert cuts_inside_phrases(words, far, 1e-4) == sorted(set(far))


def test_a_warning_names_the_first_cuts() -> None:
    assert describe_cuts([]) == ()
    (warning,) = describe_cuts([1.0, 2.0, 3.0, 4.0], 0.5)
    assert "0:01.50, 0:02.50, 0:03.50 and 1 more" in warning


def test_words_that_overlap_are_set_apart() -> None:
    words = (Word(0, 2.0, "It", 0.9), Word(1.0, 0.5, "is", 0.9), Word(0.8, 3.0, "so.", 0.9))
    spoken = Transcript((Segment(0, 3, "It is so.", 0.9, 0.0, words),), "en", 1.0, 3.0).spoken
    assert all(word.start_s <= word.end_s for word in spoken)
    assert all(before.end_s <= after.start_s for before, after in pairwise(spoken))


def test_words_of_languages_without_blanks_have_none() -> None:
    words = (Word(0, 1, "今天", 0.9), Word(1, 2.5, "下雨。", 0.9))
    transcript = Transcript((Segment(0, 2.5, "今天下雨。", 0.9, 0.0, words),), "zh", 1.0, 3.0)
    assert texts(transcript.sentences()) == ["今天下雨。"]


def test_only_certain_words_make_a_certain_text() -> None:
    words = (SpokenWord(0, 1, " It"), SpokenWord(1, 2, " rains.", certain=False))
    assert (SpokenSentence(words).certain_text, SpokenSentence(words).text) == ("It", "It rains.")
    assert SpokenSentence(words).certain == pytest.approx(3 / 10)
