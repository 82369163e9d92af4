"""Edited transcripts, aligned with what was spoken."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.results.transcript import Word
from vidsum.speech.script import ScriptToken, align_script, tokens_of


def speak(*texts: str) -> list[Word]:
    return [Word(float(at), at + 0.5, text, 0.9) for at, text in enumerate(texts)]


def align(script: str, said: str) -> list[tuple[int, int]]:
    return align_script(script.split("\n"), speak(*said.split())).runs


@pytest.mark.parametrize(("text", "tokens"), [
    ("It's a well-known, 3,000 (?)", ["its", "a", "well", "known", "3", "000"]),
    ("[applause] Ja \u2013 \ufb01ne! [music]", ["ja", "fine"]),
    ("\u6211\u4eec\u8bf4 ok\u3002", ["\u6211", "\u4eec", "\u8bf4", "ok"]),
    ("Stra\u00dfe STRASSE", ["strasse", "strasse"]),
    ("\u2014 ...", []),
])  # fmt: skip
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokens_of(text) == tokens


@pytest.mark.parametrize(("script", "said", "runs"), [
    ("a b c d", "a b c d", [(0, 4)]),
    ("A, b. C d!", "a b c d", [(0, 4)]),
    ("a d", "a b c d", [(0, 1), (3, 4)]),
    ("c d\na b", "a b c d", [(2, 4), (0, 2)]),
    ("a b\n\nd", "a b c d", [(0, 2), (3, 4)]),
    ("the small", "the big the small", [(2, 4)]),  # not the first `the`
    ("very good", "very very good", [(1, 3)]),
    ("x y\nx y z", "x y z x y", [(3, 5), (0, 3)]),  # no word is used twice
    ("a b\na b", "a b c", [(0, 2), (0, 2)]),  # a line that was copied is said again
    ("d c b a", "a b c d", [(3, 4), (2, 3), (1, 2), (0, 1)]),
    ("b", "a b - c", [(1, 2)]),
    ("b c", "a b - c d", [(1, 4)]),
    ("b d", "a b - c d", [(1, 2), (4, 5)]),
])  # fmt: skip
def test_words_that_stay(script: str, said: str, runs: list[tuple[int, int]]) -> None:
    assert align(script, said) == runs


def test_words_that_were_never_said_are_named() -> None:
    aligned = align_script(["a kiwi", "", "c mango"], speak("a", "b", "c"))
    assert aligned.unsaid == (ScriptToken("kiwi", 1), ScriptToken("mango", 3))
    assert aligned.runs == []


def test_a_part_of_a_word_is_no_word() -> None:
    aligned = align_script(["a known", "fact"], speak("a", "well-known", "fact"))
    assert aligned.broken == ((1, 1),)
    assert align_script(["a well known"], speak("a", "well-known", "fact")).runs == [(0, 2)]


def test_words_without_blanks() -> None:
    words = speak("\u6211\u4eec", "\u8bf4", "\u4e2d\u6587")
    assert align_script(["\u6211\u4eec\u4e2d\u6587\u3002"], words).runs == [(0, 1), (2, 3)]


LINES = st.lists(st.integers(1, 6), min_size=1, max_size=8)


@given(LINES, st.data())
def test_any_deletions_and_moves_leave_exactly_the_other_words(
    lengths: list[int], data: st.DataObject
) -> None:
    """Each word is said once: there is one way to read a script."""
    numbers = iter(range(sum(lengths)))
    lines = [[next(numbers) for _ in range(length)] for length in lengths]
    kept = [[n for n in line if data.draw(st.booleans())] for line in data.draw(st.permutations(lines))]
    script = [" ".join(f"w{n}" for n in line) for line in kept]
    said = [f"w{n}" for n in range(sum(lengths))]
    aligned = align_script(script, speak(*said))
    assert [*aligned.words] == [*chain(*kept)]


@given(LINES, st.data())
def test_words_that_are_said_often_leave_the_same_text(lengths: list[int], data: st.DataObject) -> None:
    lines = [data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n)) for n in lengths]
    said = [*chain(*lines)]
    kept = [[text for text in line if data.draw(st.booleans())] for line in data.draw(st.permutations(lines))]
    aligned = align_script([" ".join(line) for line in kept], speak(*said))
    assert [said[number] for number in aligned.words] == [*chain(*kept)]


@given(LINES, st.data())
def test_deletion_of_a_run_of_words_keeps_the_order(lengths: list[int], data: st.DataObject) -> None:
    """With many deletions among repeated words, moving lines may cost less."""
    lines = [data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n)) for n in lengths]
    low, high = sorted(data.draw(st.tuples(*[st.integers(0, sum(lengths))] * 2)))
    numbers = iter(range(sum(lengths)))
    kept = [[text for text in line if not low <= next(numbers) < high] for line in lines]
    aligned = align_script([" ".join(line) for line in kept], speak(*chain(*lines)))
    assert [*aligned.words] == sorted({*aligned.words})
