"""What sentences of people say of a word, by which the benchmark of descriptions judges it."""

import pytest

from docs.benchmarks.words import marking, stems, truth_of
from vidsum.description import words

NUMBERS = {(word.kind, word.text): number for number, word in enumerate(words.read_words())}


@pytest.mark.parametrize(
    ("word", "is_true"),
    [
        (("thing", "a dog"), True),
        (("thing", "an animal"), True),  # above the dog
        (("activity", "running"), True),
        (("place", "in the snow"), True),
        (("thing", "a cat"), False),
    ],
)
def test_word_is_true_if_sentences_name_it_or_a_word_below_it(word: tuple[str, str], is_true: bool) -> None:
    truth = truth_of([["Two puppies run through deep snow."]], 1)
    assert bool(truth[0, NUMBERS[word]]) == is_true


def test_word_is_true_if_enough_sentences_name_it() -> None:
    said = ["A dog runs.", "A dog sits.", "It sleeps."]
    assert [bool(truth_of([said], least)[0, NUMBERS["thing", "a dog"]]) for least in (2, 3)] == [True, False]


def test_endings_do_not_tell_words_apart() -> None:
    assert stems("A man rides his bikes") == stems("Men riding the bike his")


def test_marks_are_those_of_the_context_alone() -> None:
    with marking(frozenset({"snow"})):
        marked = {word.text for word in words.read_words() if word.is_doubtful}
    assert marked == {"snow"}
    assert "water" in {word.text for word in words.read_words() if word.is_doubtful}
