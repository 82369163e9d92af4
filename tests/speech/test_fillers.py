"""Filler words and false starts in the words of a transcript."""

import pytest

from vidsum.results.transcript import Word
from vidsum.speech.fillers import find_hesitations, prompt_for


def words_of(text: str) -> list[Word]:
    """One word every half second; an underscore is a second of silence."""
    at, words = 0.0, list[Word]()
    for part in text.split():
        if part != "_":
            words.append(Word(at, at + 0.4, part, 0.9))
        at += 1.0 if part == "_" else 0.5
    return words


def cleaned(text: str, language: str = "en", *more: str) -> str:
    words = words_of(text)
    gone = {n for part in find_hesitations(words, language, more) for n in range(part.first, part.end)}
    return " ".join(word.text for number, word in enumerate(words) if number not in gone)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Um, so this is, uh, it.", "so this is, it."),
        ("It is, uh, it is important.", "it is important."),
        ("We should, we should, um, begin.", "we should, begin."),
        ("I, I, I think so.", "I think so."),
        ("Open the th- the door.", "Open the door."),
        ("and then we, and then we, and then we left", "and then we left"),
        ("I want I want to go", "I want to go"),
        ("went to the to the store", "went to the store"),
    ],
)
def test_fillers_repetitions_and_broken_words_are_cut(said: str, meant: str) -> None:
    assert cleaned(said) == meant


@pytest.mark.parametrize(
    "said",
    [
        "It was very, very good.",
        "No, no, no, no.",
        "again and again and again and again",
        "went from door to door to sell them",
        "leaning from side to side to reach it",
        "day after day after day",
        "That is all it is. It is late.",
        "He had had enough of it.",
        "Who are you? You know.",
        "we go _ _ we go",
        "summer is here",
        "ask what you can do for your country",
        "a well-known co-worker",
    ],
)
def test_repetitions_that_are_meant_stay(said: str) -> None:
    assert cleaned(said) == said.replace("_ ", "")


def test_hesitations_have_their_reason_and_range_of_words() -> None:
    filler, start = find_hesitations(words_of("Well, um, er, this it is, uh, it is"), "en")
    assert (filler.reason, filler.first, filler.end) == ("filler", 1, 3)
    assert (start.reason, start.first, start.end) == ("false start", 4, 7)


def test_own_fillers_are_cut_whatever_their_case() -> None:
    assert cleaned("It is, you know, like, new.", "en", "you know", "Like") == "It is, new."


@pytest.mark.parametrize(
    ("said", "language", "meant"),
    [
        ("Das ist, äh, gut.", "de", "Das ist, gut."),
        ("Um elf.", "de", "Um elf."),
        ("Um, so.", "xx", "Um, so."),
    ],
)
def test_fillers_depend_on_the_language(said: str, language: str, meant: str) -> None:
    assert cleaned(said, language) == meant


def test_prompt_has_the_fillers_of_its_language() -> None:
    assert "um" in (prompt_for("en") or "").lower()


def test_unknown_language_has_no_prompt() -> None:
    assert prompt_for("xx") is None


def test_no_words_have_no_hesitations() -> None:
    assert find_hesitations([], "en", ["", "you know"]) == []
