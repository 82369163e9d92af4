"""Decisions about chapters: no gap between them, none too short, three at least."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.media import video_info
from tests.results.test_edits import CENTS, LENGTH_S, PAIRS, move
from vidsum.results.edits import apply_decisions, edit_groups, original_of
from vidsum.results.shots import MIN_CHAPTER_S, Chapter, Chapters


def chapters() -> Chapters:
    edges = (0.0, 15.0, 27.5, 40.0, 60.0)
    parts = tuple(Chapter(*span, f"Part {number}") for number, span in enumerate(pairwise(edges), 1))
    digest = "0" * 64
    facts = {"prices": {"speech": 1.0}, "map_sha256": digest}
    provenance = {"vidsum": "0", "extractor": "x", "chapters": facts}
    video = video_info("film.mp4", duration_s=LENGTH_S)
    return Chapters(parts, "speech", LENGTH_S, video=video, provenance=provenance)


DECIDED: list[Any] = [
    {"action": "rename", "start_s": 16, "title": " New \n na\x1bme "},
    {"action": "merge", "start_s": 30},
    move(0, 15, 0, 12.5),
]


def test_chapters_are_renamed_merged_and_moved_in_turn() -> None:
    edited = apply_decisions(chapters(), DECIDED)
    titles = [(part.start_s, part.end_s, part.title) for part in edited.chapters]
    assert titles == [(0, 12.5, "Part 1"), (12.5, 40, "New name"), (40, 60, "Part 4")]


def test_chapters_before_decisions_come_back() -> None:
    assert original_of(apply_decisions(chapters(), DECIDED)) == chapters()


def test_merge_leaves_three_chapters_at_least() -> None:
    again = apply_decisions(chapters(), [*DECIDED, {"action": "merge", "start_s": 50}])
    assert again.chapters == apply_decisions(chapters(), DECIDED).chapters


def split(start_s: float, title: str) -> Any:
    return {"action": "split", "start_s": start_s, "title": title}


def rename(start_s: float, title: str) -> Any:
    return {"action": "rename", "start_s": start_s, "title": title}


@pytest.mark.parametrize(
    ("at_s", "starts_s"), [(50, [0, 15, 27.5, 40, 50]), (55, [0, 15, 27.5, 40]), (40, [0, 15, 27.5, 40])]
)
def test_chapter_is_split_at_the_time_of_the_decision(at_s: float, starts_s: list[float]) -> None:
    edited = apply_decisions(chapters(), [split(at_s, " New \n na\x1bme ")])
    assert [part.start_s for part in edited.chapters] == starts_s
    titles = [part.title for part in edited.chapters]
    assert titles == ["Part 1", "Part 2", "Part 3", "Part 4", "New name"][: len(starts_s)]
    assert original_of(edited) == chapters()


@pytest.mark.parametrize(
    ("decision", "by_hand"),
    [
        (rename(16, "New"), [False, True, False, False]),
        (split(50, "New"), [False, False, False, True, True]),
        ({"action": "merge", "start_s": 16}, [True, False, False]),
        (move(15, 27.5, 15, 25), [False, True, True, False]),
        (move(15, 27.5, 17, 27.5), [True, True, False, False]),
    ],
    ids=["rename", "split", "merge", "move the end", "move the start"],
)
def test_chapters_that_a_decision_changes_are_by_hand(decision: Any, by_hand: list[bool]) -> None:
    (state,) = edit_groups(chapters(), [decision])
    assert [part.by_hand for part in state.parts] == by_hand


@pytest.mark.parametrize(
    ("decision", "title"),
    [(rename(16, " \n"), "Part 2"), (split(21, " "), "Part 2"), (rename(50, "Last"), "Part 2")],
    ids=["renamed to nothing", "split without a title", "another is renamed"],
)
def test_chapter_keeps_its_title(decision: Any, title: str) -> None:
    named = apply_decisions(chapters(), [decision]).chapters
    assert next(part.title for part in named if part.start_s == 15) == title


CHAPTERS = st.lists(
    st.one_of(
        st.builds(lambda time: {"action": "merge", "start_s": time}, CENTS),
        st.builds(rename, CENTS, st.text(min_size=1)),
        st.builds(split, CENTS, st.text(min_size=1)),
        st.builds(lambda span, to: move(*span, *to), PAIRS, PAIRS),
    ),
    max_size=12,
)


@given(st.integers(0, 6000))
def test_merge_undoes_a_split(cents: int) -> None:
    at_s = cents / 100
    edited = apply_decisions(chapters(), [split(at_s, "New")])
    is_split = len(edited.chapters) == 5
    ends = [edge_s for part in chapters().chapters for edge_s in (part.start_s, part.end_s)]
    assert is_split == all(abs(at_s - edge_s) >= MIN_CHAPTER_S for edge_s in ends)
    merged = apply_decisions(chapters(), [split(at_s, "New"), {"action": "merge", "start_s": at_s}])
    if is_split:
        assert merged.chapters == chapters().chapters


@given(CHAPTERS)
def test_chapters_have_no_gap_after_any_decisions(decisions: list[Any]) -> None:
    edited = apply_decisions(chapters(), decisions)
    edges = [part.start_s for part in edited.chapters] + [edited.chapters[-1].end_s]
    assert (edges[0], edges[-1]) == (0, LENGTH_S)
    assert all(after - before >= MIN_CHAPTER_S - 1e-6 for before, after in pairwise(edges))
    assert [part.end_s for part in edited.chapters] == edges[1:]
    assert len(edited.chapters) >= 3
    assert all(part.title for part in edited.chapters)
