"""Which moments of a search are returned, and in which files."""

from types import SimpleNamespace
from typing import Any

import pytest

from vidsum.archive.matches import Match, filter_files, select_best, to_matches
from vidsum.archive.search import Hit
from vidsum.archive.settings import SearchOptions


def match(video: str, present: float | None, score: float) -> Match:
    return Match(video, 0.0, 1.0, present, score)


FILES = {1: ["a.mp4", "copy.mp4"], 2: ["b.mp4"]}


def matches_of(**options: Any) -> list[Match]:
    """A hit in two identical files, with a near-identical moment in a third."""
    search: Any = SimpleNamespace(options=SearchOptions(**options))
    return to_matches(Hit(1, 2.0, 4.0, 0.9, None, also=(2,)), FILES, search)


def test_moment_of_identical_files_is_in_the_first_of_them() -> None:
    (moment,) = matches_of()
    assert moment.video == "a.mp4"


def test_files_with_the_same_moment_are_listed_as_others() -> None:
    (moment,) = matches_of()
    assert moment.also == ("copy.mp4", "b.mp4")


def test_moment_of_identical_files_is_in_each_on_demand() -> None:
    assert [moment.video for moment in matches_of(duplicates=True)] == ["a.mp4", "copy.mp4"]


def test_picture_like_an_example_has_no_probability() -> None:
    (moment,) = matches_of(like=("a.jpg",))
    assert (moment.present, moment.score) == (None, 0.9)


@pytest.mark.parametrize(
    ("options", "videos"),
    [
        ({}, [1, 2]),
        ({"path": ("a*",)}, [1]),
        ({"path": ("./b.mp4",)}, [2]),
        ({"after": "1970-01-11"}, [2]),
    ],
    ids=["no filter", "path", "path below here", "date"],
)
def test_files_that_pass_the_filters_are_searched(options: dict[str, Any], videos: list[int]) -> None:
    files = [file_of(1, b"/x/a.mp4", days=2), file_of(2, b"/x/b.mp4", days=20)]
    assert [*filter_files(files, SearchOptions(**options))] == videos


def test_files_that_are_gone_are_not_searched() -> None:
    assert filter_files([file_of(1, b"/x/a.mp4", days=2, gone_s=3.0)], SearchOptions()) == {}


def file_of(video: int, path: bytes, days: int, gone_s: float | None = None) -> Any:
    return SimpleNamespace(video=video, path=path, mtime_ns=days * 86_400 * 10**9, gone_s=gone_s)


def test_few_moments_of_a_video_are_returned() -> None:
    moments = [match("a.mp4", 0.9, score) for score in (3.0, 2.0, 1.0)]
    assert select_best(moments, SearchOptions(per_video=2)) == moments[:2]


def test_unlikely_moments_of_a_likely_video_are_left_out() -> None:
    likely, unlikely = match("a.mp4", 0.9, 0.9), match("a.mp4", 0.2, 0.2)
    assert select_best([likely, unlikely], SearchOptions(min_present=0.5)) == [likely]


def test_moments_without_a_probability_are_not_unlikely() -> None:
    alike = match("a.mp4", None, 0.1)
    assert select_best([alike], SearchOptions(min_present=0.5)) == [alike]


def test_moments_are_in_the_order_of_their_scores() -> None:
    second, first = match("a.mp4", 0.9, 0.9), match("b.mp4", 0.5, 1.5)
    assert select_best([second, first], SearchOptions()) == [first, second]
