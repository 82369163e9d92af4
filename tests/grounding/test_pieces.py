"""Pieces of words against the package tokenizers, which has its own code for the unigram model."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace

from vidsum.grounding.pieces import Pieces

LETTERS = "ab\u00df\u72d7\U0001f600 \u2581"
UNKNOWN = 1
SCORES = st.floats(-20, -0.5, width=32)
VOCABULARIES = st.dictionaries(st.text("ab\u00df\u72d7\u2581", min_size=1, max_size=4), SCORES, max_size=20)


def made(vocabulary: list[tuple[str, float]]) -> Pieces:
    text = [piece.encode() for piece, _ in vocabulary]
    ends = np.cumsum([0, *map(len, text)]).astype(np.uint32)
    return Pieces(b"".join(text), ends, np.array([score for _, score in vocabulary], np.float32), UNKNOWN)


@given(VOCABULARIES, st.lists(st.text(LETTERS, max_size=12), min_size=1, max_size=4))
def test_pieces_are_those_of_tokenizers(vocabulary: dict[str, float], texts: list[str]) -> None:
    pieces = made([("<s>", 0.0), ("<unk>", 0.0), *vocabulary.items()])
    tokenizer = Tokenizer(Unigram(list(pieces), unk_id=UNKNOWN))
    tokenizer.pre_tokenizer = Metaspace()
    expected = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    known = dict(enumerate(dict(pieces).values()))

    def score(ids: list[int]) -> float:
        return sum(min(known.values()) - 10 if number == UNKNOWN else known[number] for number in ids)

    for found, ids in zip(pieces.encode(texts), expected, strict=True):
        assert found == ids or abs(score(found) - score(ids)) < 1e-9  # of a tie, either may be the answer


def test_letters_of_no_piece_that_follow_are_one() -> None:
    pieces = made([("<s>", 0.0), ("<unk>", 0.0), ("\u2581", -1.0), ("a", -2.0)])
    assert pieces.encode(["a", "xyz a", "axx"]) == [[2, 3], [2, UNKNOWN, 2, 3], [2, 3, UNKNOWN]]
