"""Queries that are not understood, and what must not be seen."""

import numpy as np
import pytest

from vidsum.errors import UsageError
from vidsum.grounding import presence
from vidsum.grounding.settings import Retrieval
from vidsum.pipelines.queries import query_warnings, unreadable_queries


def split(text: str) -> list[str]:
    """Tokens as WordPiece has them, of words that are in no dictionary."""
    pieces = {
        "asdkjh": "as ##d ##k ##j ##h",
        "perro": "per ##ro",
        "zzzz": "z ##zz ##z",
        "tupper": "tu ##pper",
    }
    return ["[CLS]", *" ".join(pieces.get(word, word) for word in text.lower().split()).split(), "[SEP]"]


@pytest.mark.parametrize("text", ["asdkjh zzzz", "un perro", "ein Hund im Schnee", "狗"])
def test_what_no_model_reads_is_found(text: str) -> None:
    assert unreadable_queries([text, "a dog"], split) == [text]


@pytest.mark.parametrize(
    "text", ["asdkjh sits", "tupper", "Un Tupper", "los angeles", "UN", "a zzzz", "x", "3"]
)
def test_what_has_a_known_word_is_read(text: str) -> None:
    assert unreadable_queries([text], split) == []


@pytest.mark.parametrize(
    "text", ["not a dog", "no dogs", "a video without a dog", "a dog -snow", "isn't red"]
)
def test_negation_gets_a_hint(text: str) -> None:
    (note,) = query_warnings(["a dog", text])
    assert text in note
    assert "--not" in note
    assert query_warnings(["a knot", "a well-known man", "a T - shirt", "nota bene"]) == ()


def test_what_must_not_be_seen_takes_from_the_match(monkeypatch: pytest.MonkeyPatch) -> None:
    z = np.array(
        [[9.0, 9, 9, 0, 0, 0, 6, 6, 6], [-9, -9, -9, 9, 9, 9, -9, -9, -9], [9, 9, 9, 9, 9, 9, -9, -9, -9]]
    )
    monkeypatch.setattr(presence, "evidence_curves", lambda video, vectors: z[: len(vectors)])
    queries, without = np.zeros((2, 3), np.float32), np.zeros((1, 3), np.float32)
    found = presence.probabilities("vse", None, queries, without)  # type: ignore[arg-type]
    assert found is not None
    first, second = found
    likely = 1 / (1 + np.exp(-(presence.SLOPE * 6 + presence.OFFSET)))
    assert first == pytest.approx(likely, abs=0.01)
    assert second < first / 3


def test_what_is_said_cannot_be_left_out() -> None:
    with pytest.raises(UsageError, match="--not"):
        Retrieval(without=("a dog",), evidence="both")
