"""Queries whose words are spoken."""

import pytest

from vidsum.evidence.quotations import find_quotations

TEXTS = [
    "Printing differs from most of the arts.",
    "The inventor used wood-cutters\u2019 tools,",
    "and the caf\u00e9 closed at noon.",
    "It closed again.",
    "In 1984, on the 20th of May 1984.",
]


SPANS = {
    "differs from most": (0, 0),
    "DIFFERS from the most": (0, 0),
    "the inventor uses woodcutters tools": (1, 1),
    "tools, and the cafe": (1, 2),
    "the cafe closes at noon": (2, 2),
    "It closed again": (3, 3),
    "in nineteen eighty-four": (4, 4),
    "the twentieth of May 1984": (4, 4),
}


@pytest.mark.parametrize(("query", "span"), SPANS.items())
def test_words_are_found_exactly_or_nearly_so(query: str, span: tuple[int, int]) -> None:
    best = find_quotations(query, TEXTS)[0]
    assert (best.first, best.last) == span
    assert 0.75 <= best.likeness <= 1


def test_fewer_or_other_words_are_no_quotation() -> None:
    unlike = ("a man rides a horse", "the arts of most differ printing", "? ! .")
    for query in ("differs from", "closed", "", *unlike):
        assert find_quotations(query, TEXTS) == []
    assert find_quotations("a red car", ["they shared carefully"]) == []  # parts of words


def test_the_exact_one_comes_first_and_each_text_once() -> None:
    texts = ["we went to the sea", "nothing", "we want to the sea", "we went to the sea"]
    quotations = find_quotations("we went to the sea", texts)
    assert [(part.first, part.likeness == 1) for part in quotations] == [(0, True), (3, True), (2, False)]
    assert find_quotations("we went to the sea", []) == []
