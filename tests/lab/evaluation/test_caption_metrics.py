"""Measures of captions against examples worked by hand, slow direct counts, and AutoAD's example."""

import math
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.lab.evaluation.caption_metrics import Tokens, bleu, cider_d, rouge_l, tokenize

WORDS = st.lists(st.sampled_from("abcd"), max_size=7).map(tuple)
ITEMS = st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=3)), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ('A man, in a "red" T-shirt, runs!', "a man in a red t-shirt runs"),
        ("The man's dog doesn't bark . . .", "the man 's dog does n't bark"),
        ("He can't; they cannot -- they're gonna go.", "he ca n't they can not they 're gon na go"),
        (
            "At 9:30 a.m. Dr. Who pays $1,000.50 (half)",
            "at 9:30 a.m. dr. who pays $ 1,000.50 -lrb- half -rrb-",
        ),
        ("1/2 of 50% & a 3-year-old’s “toy”?!", "1/2 of 50 % & a 3-year-old 's toy ?!"),
        ("Ein Café in Zürich", "ein café in zürich"),
        ("...", ""),
        ("", ""),
    ],
)
def test_sentences_are_split_as_the_penn_treebank_is(sentence: str, tokens: str) -> None:
    assert tokenize(sentence) == tuple(tokens.split())


@given(st.text(max_size=40))
def test_any_text_has_tokens_without_spaces(text: str) -> None:
    assert all(token and not token.isspace() for token in tokenize(text))


REFERENCES = [[tokenize("a b")], [tokenize("c d")]]
"""Each n-gram is in one of two: idf is log 2."""


@pytest.mark.parametrize(
    ("captions", "first", "second"),
    [
        (["a b", "c x"], 10 * (1 + 1) / 4, 10 * (1 / 2) / 4),
        (["a a", "c d"], 10 / math.sqrt(8) / 4, 10 * (1 + 1) / 4),
    ],
    ids=["one of two words, x being as rare as d", "a word that is repeated counts once"],
)
def test_cider_of_worked_examples(captions: list[str], first: float, second: float) -> None:
    """A caption of two words has n-grams of one and two words, but none of three and four."""
    scores = cider_d([tokenize(caption) for caption in captions], REFERENCES)
    assert scores.tolist() == pytest.approx([first, second])


def test_cider_d_punishes_another_length() -> None:
    references = [[("a",)], [("z",)]]
    long = ("a", *"bcdefg")  # no bigram in place of none: six more
    caption = [long, ("z",)]
    alike = 1 / math.sqrt(7)
    assert cider_d(caption, references)[0] == pytest.approx(10 * alike / 4 * math.exp(-(6**2) / 72))


def test_cider_of_words_that_all_references_have_is_zero() -> None:
    assert cider_d([("a", "b")] * 3, [[("a", "b")]] * 3).tolist() == [0.0] * 3


def test_cider_of_a_single_reference_is_zero() -> None:
    assert cider_d([("a",)], [[("a",)]]).tolist() == [0.0]


def test_bleu_counts_a_word_as_often_as_a_reference_has_it() -> None:
    """Papineni et al. 2002, Example 2: the word occurs at most twice in a reference."""
    the = tokenize("the the the the the the the")
    references = [[tokenize("The cat is on the mat."), tokenize("There is a cat on the mat.")]]
    values = {name: measure.value for name, measure in bleu([the], references).items()}
    assert values == {"BLEU-1": pytest.approx(2 / 7), "BLEU-2": 0, "BLEU-3": 0, "BLEU-4": 0}


def test_bleu_punishes_a_short_caption() -> None:
    short = bleu([("the", "cat")], [[("the", "cat", "sat", "down")]])
    assert short["BLEU-2"].value == pytest.approx(math.exp(1 - 4 / 2))


def test_bleu_takes_the_shorter_of_references_that_are_equally_far() -> None:
    assert bleu([("a", "b")], [[("a", "b", "c"), ("a",)]])["BLEU-1"].value == pytest.approx(1.0)


def test_bleu_of_an_empty_caption_is_zero() -> None:
    assert bleu([()], [[("a",)]])["BLEU-1"].value == 0.0


@given(ITEMS)
def test_bleu_1_is_a_direct_count(items: list[tuple[Tokens, list[Tokens]]]) -> None:
    captions, references = [caption for caption, _ in items], [own for _, own in items]
    right = sum(
        min(caption.count(word), max(each.count(word) for each in own))
        for caption, own in items
        for word in set(caption)
    )
    length = sum(map(len, captions))
    closest = sum(
        min((abs(length - len(caption)), length) for length in map(len, own))[1] for caption, own in items
    )
    expected = right / length * min(1.0, math.exp(1 - closest / length)) if right else 0.0
    assert bleu(captions, references)["BLEU-1"].value == pytest.approx(expected)


def test_rouge_l_of_words_in_order() -> None:
    """Lin 2004: these sentences share three words in order."""
    f = rouge_l([tokenize("police kill the gunman")], [[tokenize("police killed the gunman")]])
    assert f.tolist() == pytest.approx([3 / 4])


def test_rouge_l_takes_the_best_precision_and_the_best_recall() -> None:
    mixed = rouge_l([("a", "b")], [[("a", "x", "y", "z"), ("a", "b", "c", "d", "e", "f", "g", "h")]])
    precision, recall = 2 / 2, 1 / 4
    assert mixed.tolist() == pytest.approx([2.44 * precision * recall / (recall + 1.44 * precision)])


@pytest.mark.parametrize(("caption", "reference"), [((), ("a",)), (("a",), ())])
def test_rouge_l_of_an_empty_text_is_zero(caption: Tokens, reference: Tokens) -> None:
    assert rouge_l([caption], [[reference]]).tolist() == [0.0]


@given(WORDS, WORDS)
def test_rouge_l_is_that_of_a_direct_recursion(caption: Tokens, reference: Tokens) -> None:
    @cache
    def common(i: int, j: int) -> int:
        if not (i and j):
            return 0
        if caption[i - 1] == reference[j - 1]:
            return common(i - 1, j - 1) + 1
        return max(common(i - 1, j), common(i, j - 1))

    shared = common(len(caption), len(reference))
    expected = 2.44 * shared / (len(caption) + 1.44 * len(reference)) if shared else 0.0
    assert rouge_l([caption], [[reference]])[0] == pytest.approx(expected)


def split_items(items: list[tuple[Tokens, list[Tokens]]]) -> tuple[list[Tokens], list[list[Tokens]]]:
    return [caption for caption, _ in items], [references for _, references in items]


@given(ITEMS)
def test_cider_is_between_0_and_10(items: list[tuple[Tokens, list[Tokens]]]) -> None:
    captions, references = split_items(items)
    scores = cider_d(captions, references)
    assert 0 <= scores.min() <= scores.max() <= 10 + 1e-9


@given(ITEMS)
def test_bleu_is_between_0_and_1(items: list[tuple[Tokens, list[Tokens]]]) -> None:
    captions, references = split_items(items)
    assert all(0 <= measure.value <= 1 for measure in bleu(captions, references).values())


@given(ITEMS)
def test_rouge_l_is_between_0_and_1(items: list[tuple[Tokens, list[Tokens]]]) -> None:
    captions, references = split_items(items)
    scores = rouge_l(captions, references)
    assert 0 <= scores.min() <= scores.max() <= 1 + 1e-9
