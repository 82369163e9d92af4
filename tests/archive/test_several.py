"""Searches of several archives give one list, the same as a search of one archive with all videos."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vidsum
from tests.archive.made import film, names, use_archive
from tests.archive.test_matches import match
from vidsum.archive.archive import Archive
from vidsum.archive.matches import Match
from vidsum.archive.settings import SearchOptions
from vidsum.archive.several import find_in_all, merge
from vidsum.errors import InputError, UsageError

COLOURS = (("red", "red", "blue"), ("green", "green", "yellow"), ("blue", "green", "blue"), ("yellow", "red"))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Two archives of two films each, and a third one of all four."""
    folder = tmp_path_factory.mktemp("several")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(folder / "home"))
        use_archive(patch)
        films = [film(folder / f"{n}.mp4", colours, seed=n) for n, colours in enumerate(COLOURS)]
        paths = [folder / "first.vidsum", folder / "second.vidsum", folder / "whole.vidsum"]
        for path, held in zip(paths, (films[:2], films[2:], films), strict=True):
            with Archive(path) as archive:
                archive.add(held)
        yield paths


@pytest.mark.parametrize("query", ["red", "green", "blue"])
def test_moments_of_two_archives_are_those_of_an_archive_of_all(parts: list[Path], query: str) -> None:
    first, second, whole = parts

    def facts(found: list[Match]) -> set[tuple[str, float, float, float | None]]:
        return {(found.video, found.start_s, found.end_s, found.present) for found in found}

    apart = vidsum.search_archives([first, second], query, 100, duplicates=True)
    together = vidsum.search_archives([whole], query, 100, duplicates=True)
    assert facts(apart) == facts(together) != set()


def test_moments_are_merged_by_their_probability(parts: list[Path]) -> None:
    found = vidsum.search_archives(parts[:2], "red")
    assert [match.score for match in found] == sorted((match.score for match in found), reverse=True)
    assert {match.archive for match in found} == {str(path) for path in parts[:2]}


def test_a_moment_names_the_archive_that_has_it(parts: list[Path]) -> None:
    held = {path: names(vidsum.search_archives([path], "red", 100)) for path in parts[:2]}
    for moment in vidsum.search_archives(parts[:2], "red", 100):
        assert Path(moment.video).name in held[Path(moment.archive)]


def test_no_video_is_listed_twice_if_two_archives_hold_it(parts: list[Path]) -> None:
    whole, first = (
        vidsum.search_archives(parts[2:], "red", 100, duplicates=True),
        vidsum.search_archives([parts[0], parts[2]], "red", 100, duplicates=True),
    )
    assert sorted(names(first)) == sorted(names(whole))


def test_an_archive_that_is_named_twice_is_searched_once(parts: list[Path]) -> None:
    once = vidsum.search_archives(parts[:1], "red")
    assert vidsum.search_archives([parts[0], parts[0]], "red") == once


def test_number_of_moments_is_the_limit_of_all_archives_together(parts: list[Path]) -> None:
    assert len(vidsum.search_archives(parts[:2], "red", top_k=2)) == 2


def test_likeness_is_not_compared_between_spaces(parts: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    archives = [Archive(path, create=False) for path in parts[:2]]
    monkeypatch.setattr(Archive, "space", property(lambda archive: archive.path.name))
    with pytest.raises(UsageError, match="cannot be compared"):
        find_in_all(archives, None, SearchOptions(like=("a.png",)))


def test_one_missing_archive_ends_the_search(parts: list[Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.vidsum"):
        vidsum.search_archives([*parts[:2], tmp_path / "none.vidsum"], "red")


def test_searching_no_archive_is_refused() -> None:
    with pytest.raises(UsageError, match="no archives"):
        vidsum.search_archives([], "red")


listed = st.lists(
    st.builds(lambda number, score: match(f"{number}.mp4", score, score), st.integers(0, 5), st.floats(0, 1)),
    max_size=8,
)


@given(parts=st.lists(listed, min_size=1, max_size=4), top_k=st.integers(1, 9), per_video=st.integers(1, 3))
def test_merged_moments_are_the_best_of_each_videos_first_archive(
    parts: list[list[Match]], top_k: int, per_video: int
) -> None:
    parts = [[replace(moment, archive=str(n)) for moment in part] for n, part in enumerate(parts)]
    expected = list[float]()
    for video in {moment.video for part in parts for moment in part}:
        scores = [[moment.score for moment in part if moment.video == video] for part in parts]
        expected += sorted(next(held for held in scores if held), reverse=True)[:per_video]
    merged = merge(parts, SearchOptions(top_k=top_k, per_video=per_video))
    assert [moment.score for moment in merged] == sorted(expected, reverse=True)[:top_k]
