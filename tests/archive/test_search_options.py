"""Options of a search: those that exclude each other, and the texts that they hold."""

from typing import Any

import pytest

from vidsum.archive.settings import SearchOptions
from vidsum.errors import UsageError


def test_example_picture_excludes_a_least_probability_alone() -> None:
    assert SearchOptions(like=("a.jpg",)).like
    assert SearchOptions(min_present=0.5).min_present
    with pytest.raises(UsageError, match="like has no match probability"):
        SearchOptions(like=("a.jpg",), min_present=0.5)


@pytest.mark.parametrize(
    "condition", [{"like": ("a.jpg",)}, {"also": ("red",)}, {"without": ("red",)}, {"then": ("red",)}]
)
def test_condition_that_only_pictures_meet_excludes_other_evidence(condition: dict[str, Any]) -> None:
    SearchOptions(evidence="picture", **condition)
    with pytest.raises(UsageError, match="search the picture only"):
        SearchOptions(evidence="speech", **condition)


@pytest.mark.parametrize("name", ["also", "without", "then"])
def test_condition_without_words_is_refused(name: str) -> None:
    options: dict[str, Any] = {name: ("a dog", "?!")}
    with pytest.raises(UsageError, match=f"{name}: holds no text"):
        SearchOptions(**options)


def test_date_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="soon"):
        SearchOptions(after="soon")


def test_kinds_of_evidence_are_all_or_the_one_that_is_named() -> None:
    assert SearchOptions().includes("speech")
    assert SearchOptions(evidence="speech").includes("speech")
    assert not SearchOptions(evidence="speech").includes("picture")


def test_texts_of_a_search_are_in_the_order_of_their_vectors() -> None:
    options = SearchOptions(then=("d",), also=("b",), without=("c",))
    assert options.list_texts("a") == ["a", "b", "c", "d"]
    assert options.list_texts(None) == ["b", "c", "d"]
