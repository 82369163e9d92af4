"""Queries as people give them."""

import inspect
import io
import sys
from pathlib import Path

import numpy as np
import pytest

import vidsum
from vidsum.errors import InputError, UsageError
from vidsum.features.settings import CLIP_FAMILY
from vidsum.grounding.settings import Retrieval
from vidsum.pipelines.queries import (
    find_unread,
    is_negated,
    mark_negated,
    query_warnings,
    read_queries,
    unreadable_queries,
)
from vidsum.results.moments import Grounding, Moment, QueryMoments, shorten
from vidsum.results.settings import Evidence


def test_read_queries_order(tmp_path: Path) -> None:
    file = tmp_path / "queries.txt"
    file.write_bytes("\ufeffa dog\r\n\r\n   a  cat \nin the snow".encode())
    assert read_queries(["a bird"], file).texts == ("a bird", "a dog", "a cat", "in the snow")


def test_stdin_is_read_for_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("a café\n".encode()), "ascii"))
    assert read_queries([], "-").texts == ("a café",)


def test_no_query_is_an_error() -> None:
    with pytest.raises(UsageError, match="no query") as caught:
        read_queries([])
    assert "query=" in str(caught.value.hint)


@pytest.mark.parametrize("queries", [[], [""]])
def test_a_missing_query_has_a_hint_that_works_in_python(queries: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        vidsum.ground("film.mp4", queries)
    (keyword,) = eval(f"dict({caught.value.hint})")
    assert keyword in inspect.signature(vidsum.ground).parameters


@pytest.mark.parametrize("text", ["", "  ", "\n", "?!…", "\x00", "🎉"])
def test_query_without_text(text: str) -> None:
    with pytest.raises(UsageError, match="query 2: holds no text"):
        read_queries(["a dog", text])
    read = read_queries(["a dog", text, "a cat"], skip=True)
    assert (read.texts, ["query 2" in str(fault) for fault in read.refused]) == (("a dog", "a cat"), [True])
    with pytest.raises(UsageError, match="query 1: holds no text"):
        read_queries([text], skip=True)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"])
def test_query_encodings(tmp_path: Path, encoding: str) -> None:
    text = "# my queries\r\na dog\r\n\r\na caf\xe9\r\n"
    (tmp_path / "queries.txt").write_text(text, encoding=encoding)
    assert read_queries([], tmp_path / "queries.txt").texts == ("a dog", "a caf\xe9")


@pytest.mark.parametrize(
    ("content", "kind", "fault"),
    [
        (b"a dog\n\n---\n", UsageError, "line 3: holds no text"),
        (b"a caf\xe9\n", InputError, r"is not UTF-8 text \(byte 5\)"),
        *((content, InputError, "holds no query") for content in (b"", b"\n \n", "\ufeff".encode())),
        (b'{"qid": 1, "query": "a dog"}\n', InputError, r"looks like JSON(.|\n)*jq -r \.query"),
    ],
)
def test_queries_file_errors(tmp_path: Path, content: bytes, kind: type[Exception], fault: str) -> None:
    (tmp_path / "queries.txt").write_bytes(content)
    with pytest.raises(kind, match=rf"queries\.txt: {fault}"):
        read_queries(["a dog"], tmp_path / "queries.txt")


def test_queries_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="query 1: is not UTF-8"):
        read_queries([b"caf\xe9".decode("utf-8", "surrogateescape")])
    for path, reason in ((tmp_path / "none.txt", "no such file"), (tmp_path, "is a directory")):
        with pytest.raises(InputError, match=reason):
            read_queries([], path)


def test_query_control_characters() -> None:
    assert read_queries(["a\x00dog\x1b[31m runs", "a\tcat"]).texts == ("a dog [31m runs", "a cat")


def test_queries_of_other_languages_are_noted() -> None:
    texts = [f"ein Hund Nummer {number}" for number in range(5000)]
    (note,) = query_warnings(texts)
    assert "4997 more" in note
    assert "not English, read by multilingual E5: pictures have no match probability" in note
    assert len(note) < 300
    assert query_warnings(["un perro no corre"], language="en") == ()
    *_, note = query_warnings(["un perro no corre"], space="clip")
    assert "the space vse reads others" in note


@pytest.mark.parametrize("space", CLIP_FAMILY)
def test_a_space_that_was_never_measured_says_so(space: str) -> None:
    (note,) = query_warnings(["a dog", "a cat"], space=space)
    assert note == f"the space {space} was never measured: check its answers"
    assert query_warnings(["a dog"]) == ()


@pytest.mark.parametrize("space", CLIP_FAMILY)
def test_a_german_query_is_unread_in_an_english_space(space: str) -> None:
    texts = ["ein Hund im Schnee", "a dog in the snow"]
    assert find_unread(texts, space) == ([] if space == "siglip2-b16-256" else texts[:1])
    assert find_unread(texts, space, "en") == []


def test_query_accents() -> None:
    assert read_queries(["cafe\u0301"]).texts == read_queries(["café"]).texts


def test_long_query() -> None:
    text = " ".join(["a dog"] * 4000)
    assert read_queries([text]).texts == (text,)
    assert len(shorten(text)) == 40
    assert shorten("a dog") == "a dog"


def split(text: str) -> list[str]:
    """Tokens as WordPiece has them, of words that are in no dictionary."""
    pieces = {
        "asdkjh": "as ##d ##k ##j ##h",
        "perro": "per ##ro",
        "zzzz": "z ##zz ##z",
        "tupper": "tu ##pper",
    }
    return ["[CLS]", *" ".join(pieces.get(word, word) for word in text.lower().split()).split(), "[SEP]"]


@pytest.mark.parametrize("text", ["asdkjh zzzz", "un perro", "ein Hund im Schnee", "狗", "12345"])
def test_unreadable_queries(text: str) -> None:
    assert unreadable_queries([text, "a dog"], split) == [text]


@pytest.mark.parametrize(
    "text", ["asdkjh sits", "tupper", "Un Tupper", "los angeles", "UN", "a zzzz", "x", "3"]
)
def test_readable_queries(text: str) -> None:
    assert unreadable_queries([text], split) == []


@pytest.mark.parametrize(
    "text", ["not a dog", "no dogs", "a video without a dog", "a dog -snow", "isn't red"]
)
def test_negation_is_noticed(text: str) -> None:
    assert is_negated(text)


@pytest.mark.parametrize("text", ["a knot", "a well-known man", "a T - shirt", "nota bene"])
def test_parts_of_words_are_no_negation(text: str) -> None:
    assert not is_negated(text)


def test_negation_is_noticed_in_english_alone() -> None:
    assert not is_negated("un perro no corre")
    assert is_negated("un perro no corre", language="en")
    assert is_negated("un perro no corre", space="siglip2-b16-256")  # which reads all languages alike


@pytest.mark.parametrize(("evidence", "negated"), [("picture", True), ("sound", True), ("speech", False)])
def test_words_answer_a_negation(evidence: Evidence, negated: bool) -> None:
    answer = QueryMoments("not a dog", (Moment(0, 1, 1, evidence),), np.zeros(0))
    assert [marked.negated for marked in mark_negated([answer], "auto", "vse")] == [negated]


def test_negated_queries_are_in_one_message() -> None:
    queries = [QueryMoments(text, (), np.zeros(0), negated=text != "b") for text in "abc"]
    grounding = Grounding(
        tuple(queries), np.zeros(0), 1.0, 10.0, "similarity", "vse", warnings=("'film.mp4' has no sound",)
    )
    first, second = grounding.messages
    assert first == "'film.mp4' has no sound"
    assert second.startswith("'a', 'c': negation is not understood")
    assert Grounding.from_dict(grounding.to_dict()).messages == grounding.messages
    part = read_queries(["b"]).select(grounding)
    assert part is not None
    assert part.messages == grounding.warnings


def test_negation_with_speech() -> None:
    with pytest.raises(UsageError, match="without"):
        Retrieval(without=("a dog",), evidence="both")


def test_selected_queries_keep_warnings() -> None:
    queries = tuple(QueryMoments(text, (), np.zeros(0)) for text in "abcde")
    warnings = ("'a', 'b', 'c' and 2 more: no word is known", "'film.mp4' has no sound")
    grounding = Grounding(queries, np.zeros(0), 1.0, 10.0, "similarity", "vse", warnings=warnings)
    part = read_queries(["e"]).select(grounding)
    assert part is not None
    assert ([answer.query for answer in part.queries], part.warnings) == (["e"], warnings)
    assert read_queries(["f"]).select(grounding) is None
