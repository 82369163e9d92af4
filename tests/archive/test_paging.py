"""Answers of a bounded size: where a list is cut, and what is shortened."""

from dataclasses import dataclass

import pytest

from vidsum.archive import paging
from vidsum.archive.paging import round_facts, to_page
from vidsum.archive.tool_answers import TimeSpan, VideosAnswer

NAMES = [f"{number}.mp4" for number in range(10)]


def pages(entries: list[str]) -> list[VideosAnswer]:
    """All pages of a list."""
    made, offset = list[VideosAnswer](), 0
    while True:
        made.append(page := to_page(VideosAnswer(), "videos", entries, offset))
        if page.next_offset is None:
            return made
        assert page.next_offset > offset
        offset = page.next_offset


def test_short_list_is_one_page() -> None:
    (page,) = pages(NAMES)
    assert (page.videos, page.total) == (NAMES, 10)


def test_page_begins_at_its_offset_and_counts_the_whole_list() -> None:
    page = to_page(VideosAnswer(), "videos", NAMES, 7)
    assert (page.videos, page.total, page.next_offset) == (NAMES[7:], 10, None)


def test_pages_of_a_long_list_have_each_entry_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "MAX_BYTES", 1_200)
    made = pages(NAMES)
    assert len(made) > 1
    assert [name for page in made for name in page.videos] == NAMES


def test_entry_that_is_larger_than_a_page_is_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "MAX_BYTES", 1_200)
    assert [page.videos for page in pages(["x" * 5_000, "b"])] == [["x" * 5_000], ["b"]]


def test_entries_that_were_left_out_before_count_in_the_offset() -> None:
    page = to_page(VideosAnswer(), "videos", NAMES[4:], 4, first=4)
    assert (page.videos, page.total) == (NAMES[4:], 10)


def test_first_ten_warnings_are_given_and_long_ones_are_cut() -> None:
    answer = VideosAnswer(warnings=("x" * 2_000, *map(str, range(20))))
    warnings = to_page(answer, "videos", [], 0).warnings
    assert (len(warnings), len(warnings[0])) == (10, 1_004)


def test_times_are_rounded_to_milliseconds_and_texts_cut() -> None:
    rounded = round_facts(TimeSpan(1.23456, 2.0, "x" * 2_000))
    assert (rounded.start_s, rounded.text[-4:], len(rounded.text)) == (1.235, " ...", 1_004)


def test_other_texts_are_not_cut() -> None:
    @dataclass(frozen=True)
    class Named:
        title: str

    assert round_facts(Named("x" * 2_000)).title == "x" * 2_000
