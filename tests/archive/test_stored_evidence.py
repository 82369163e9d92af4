"""Videos that a search of texts or sounds looks at: the likeliest by their records, then by words."""

from types import SimpleNamespace
from typing import Any

import pytest

from vidsum.archive import stored_evidence as module
from vidsum.archive.stored_evidence import _find_candidates

QUERY: Any = SimpleNamespace(text="a dog")


@pytest.fixture(autouse=True)
def records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Videos 1 to 5, whose records are their ranks; video 4 has none. There are two candidates at least."""
    rows = [(1, 0.1), (2, 0.9), (3, 0.5), (4, None), (5, 0.7)]
    monkeypatch.setattr(module, "stream_rows", lambda *_: rows)
    monkeypatch.setitem(module.CLASSES, "speech", SimpleNamespace(rank=lambda records, query: records))
    monkeypatch.setattr(module, "_N_CANDIDATES", 2)


def candidates(top_k: int = 1, videos: set[int] | None = None, *with_words: int) -> list[int]:
    connection: Any = SimpleNamespace(find_words=lambda kind, words: with_words)
    return [*_find_candidates(connection, "speech", QUERY, top_k, videos or {1, 2, 3, 4, 5})]


def test_candidates_are_the_likeliest_videos() -> None:
    assert candidates(top_k=2) == [2, 5]


@pytest.mark.parametrize(("top_k", "expected"), [(1, [2, 5]), (3, [2, 5, 3])])
def test_there_are_as_many_candidates_as_moments_are_wanted(top_k: int, expected: list[int]) -> None:
    assert candidates(top_k) == expected


def test_videos_that_are_filtered_out_are_no_candidates() -> None:
    assert candidates(1, {1, 3}) == [3, 1]


def test_videos_with_the_words_of_the_query_are_candidates_too() -> None:
    assert candidates(1, None, 1, 4) == [2, 5, 1]
