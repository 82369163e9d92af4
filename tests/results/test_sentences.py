"""Sentences, clauses and the edges between words, on made-up words."""

from itertools import pairwise

import pytest
from hypothesis import given
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


def test_comma_ahead_of_a_pause_is_a_pause() -> None:
    assert edge_between(SpokenWord(0, 1, " home,"), SpokenWord(1.3, 2, " we")) is Edge.PAUSE


TEN = " ".join(["so"] * 10)


@pytest.mark.parametrize(
    ("spoken", "longest_s", "parts"),
    [
        (f"{TEN} {TEN}, {TEN} |.3 {TEN}", 13, [f"{TEN} {TEN}, {TEN}", TEN]),
        (f"{TEN} {TEN}, {TEN}", 10, [f"{TEN} {TEN},", TEN]),
        (f"{TEN} |.1 {TEN} {TEN} |.2 {TEN}", 13, [f"{TEN} {TEN} {TEN}", TEN]),
    ],
    ids=["pause before comma", "comma", "longest gap"],
)
def test_long_sentence_is_split_at_its_best_edge(spoken: str, longest_s: float, parts: list[str]) -> None:
    assert texts(split_sentences(timed(spoken), longest_s)) == parts


def test_sentence_of_the_longest_length_stays_whole() -> None:
    assert len(split_sentences(timed(f"{TEN} {TEN}"), 10)) == 1


def test_short_sentence_goes_with_its_nearer_neighbour() -> None:
    words = timed(f"{TEN}. |.5 Yes. |.2 {TEN}. |.2 No. |.6 {TEN}.")
    assert texts(split_sentences(words)) == [f"{TEN}.", f"Yes. {TEN}. No.", f"{TEN}."]


def test_short_sentence_far_from_its_neighbours_stays_alone() -> None:
    assert len(split_sentences(timed(f"{TEN}. |3.1 Yes. |3.1 {TEN}."))) == 3


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


LONGEST_AND_SHORTEST = given(speech(), st.floats(3, 20), st.floats(0.5, 3))


@LONGEST_AND_SHORTEST
def test_sentences_hold_all_words_in_order(
    words: list[SpokenWord], longest_s: float, shortest_s: float
) -> None:
    sentences = split_sentences(words, longest_s, shortest_s)
    assert [word for sentence in sentences for word in sentence.words] == words


@LONGEST_AND_SHORTEST
def test_clauses_hold_all_words_in_order(
    words: list[SpokenWord], longest_s: float, shortest_s: float
) -> None:
    for sentence in split_sentences(words, longest_s, shortest_s):
        clauses = split_clauses(sentence, shortest_s)
        assert [word for clause in clauses for word in clause.words] == [*sentence.words]


@LONGEST_AND_SHORTEST
def test_no_sentence_is_short_that_has_a_neighbour(
    words: list[SpokenWord], longest_s: float, shortest_s: float
) -> None:
    sentences = split_sentences(words, longest_s, shortest_s)
    for number, sentence in enumerate(sentences):
        around = [*sentences[max(number - 1, 0) : number], *sentences[number + 1 : number + 2]]
        pauses = [max(sentence.start_s - other.end_s, other.start_s - sentence.end_s) for other in around]
        assert sentence.length_s >= shortest_s - 1e-6 or all(pause > 3 for pause in pauses)


@LONGEST_AND_SHORTEST
def test_no_clause_of_several_is_short(words: list[SpokenWord], longest_s: float, shortest_s: float) -> None:
    for sentence in split_sentences(words, longest_s, shortest_s):
        clauses = split_clauses(sentence, shortest_s)
        assert len(clauses) == 1 or min(clause.length_s for clause in clauses) >= shortest_s - 1e-6


@given(speech(), st.floats(3, 20))
def test_best_edge_inside_a_long_sentence_is_taken(words: list[SpokenWord], longest_s: float) -> None:
    for before, after in pairwise(split_sentences(words, longest_s, 0.5)):
        cut = kind(before.words[-1], after.words[0])
        if cut == 0:
            continue
        # whatever is better lies too near to the ends of the two parts
        for part in (before, after):
            kinds = [kind(first, second) for first, second in pairwise(part.words)]
            if 0 in kinds:  # a short sentence was joined to it after the split
                continue
            for (first, second), other in zip(pairwise(part.words), kinds, strict=True):
                inside = first.end_s - part.start_s >= 0.5 and part.end_s - second.start_s >= 0.5
                assert not inside or other >= cut or cut < 3


def gaps_between(words: list[SpokenWord]) -> list[tuple[float, float]]:
    """The times between words where a phrase ends."""
    return [(before.end_s, after.start_s) for before, after in pairwise(words) if kind(before, after) < 3]


@given(speech())
def test_cuts_where_phrases_end_are_not_named(words: list[SpokenWord]) -> None:
    good = [start_s for _, start_s in gaps_between(words)]
    assert cuts_inside_phrases(words, [words[0].start_s, words[-1].end_s, *good], 1e-3) == []


@given(speech())
def test_cuts_inside_phrases_are_named(words: list[SpokenWord]) -> None:
    gaps = gaps_between(words)
    bad = [
        before.end_s
        for before, after in pairwise(words)
        if kind(before, after) == 3 and not any(low - 0.01 < before.end_s < high + 0.01 for low, high in gaps)
    ]
    far = [s for s in bad if words[0].start_s + 0.01 < s < words[-1].end_s - 0.01]
    assert cuts_inside_phrases(words, far, 1e-4) == sorted(set(far))


def test_warning_names_the_first_cuts() -> None:
    (warning,) = describe_cuts([1.0, 2.0, 3.0, 4.0], 0.5)
    assert "0:01.50, 0:02.50, 0:03.50 and 1 more" in warning


def test_no_cuts_are_no_warning() -> None:
    assert describe_cuts([]) == ()


def test_words_that_overlap_are_set_apart() -> None:
    words = (Word(0, 2.0, "It", 0.9), Word(1.0, 0.5, "is", 0.9), Word(0.8, 3.0, "so.", 0.9))
    spoken = Transcript((Segment(0, 3, "It is so.", 0.9, 0.0, words),), "en", 1.0, 3.0).spoken
    assert all(word.start_s <= word.end_s for word in spoken)
    assert all(before.end_s <= after.start_s for before, after in pairwise(spoken))


def test_words_of_languages_without_blanks_have_none() -> None:
    words = (Word(0, 1, "今天", 0.9), Word(1, 2.5, "下雨。", 0.9))
    transcript = Transcript((Segment(0, 2.5, "今天下雨。", 0.9, 0.0, words),), "zh", 1.0, 3.0)
    assert texts(transcript.sentences()) == ["今天下雨。"]


def test_certain_text_leaves_out_uncertain_words() -> None:
    sentence = SpokenSentence((SpokenWord(0, 1, " It"), SpokenWord(1, 2, " rains.", certain=False)))
    assert (sentence.certain_text, sentence.text) == ("It", "It rains.")


def test_certain_share_of_a_text_is_of_its_letters() -> None:
    sentence = SpokenSentence((SpokenWord(0, 1, " It"), SpokenWord(1, 2, " rains.", certain=False)))
    assert sentence.certain == pytest.approx(3 / 10)
