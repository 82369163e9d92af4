"""Decisions about a trimmed film: parts that are put back or cut, with their reasons."""

import pytest
from hypothesis import given

from tests.results.test_edits import DECISIONS, LENGTH_S, check_document, edges_in, leave, move, take
from vidsum.results.decisions import Decision
from vidsum.results.edits import apply_decisions, original_of
from vidsum.results.summary import Removal, Trim


def trim() -> Trim:
    removed = (Removal(0, 2, "silence"), Removal(20, 21, "filler", "um"), Removal(50, 60, "silence"))
    provenance = {"vidsum": "0"}
    return Trim(((2.0, 20.0), (21.0, 50.0)), removed, "loudness", -40.0, LENGTH_S, provenance=provenance)


def test_gap_has_the_reason_of_the_removal_in_its_middle() -> None:
    removed = apply_decisions(trim(), [take(20, 20.3)]).removed
    assert removed[1] == Removal(20.3, 21, "filler", "um")


def test_removed_part_that_is_put_back_is_no_longer_removed() -> None:
    edited = apply_decisions(trim(), [take(20, 21)])
    assert edited.segments == ((2, 50),)
    assert edited.removed == (Removal(0, 2, "silence"), Removal(50, 60, "silence"))
    check_document(edited)


CUT_WORDS: Decision = {"action": "leave", "start_s": 30, "end_s": 31.5, "text": "you know"}


def test_words_that_are_cut_are_removed_with_their_text() -> None:
    edited = apply_decisions(trim(), [CUT_WORDS])
    assert edited.segments == ((2, 20), (21, 30), (31.5, 50))
    assert edited.removed[2] == Removal(30, 31.5, "deleted", "you know")


def test_trimmed_film_before_decisions_comes_back() -> None:
    assert original_of(apply_decisions(trim(), [CUT_WORDS])) == trim()


def cut(start_s: float, end_s: float, text: str) -> Decision:
    return {"action": "leave", "start_s": start_s, "end_s": end_s, "text": text}


@pytest.mark.parametrize(
    ("decisions", "text"),
    [
        ([cut(30, 31, "hello"), take(30, 31), cut(30, 31, "hello")], "hello"),
        ([cut(30, 31, "hello"), move(21, 30, 21, 31), cut(30, 31, "hello")], "hello"),
        ([cut(30, 31, "hello"), cut(30, 32, "hello world")], "hello world"),
        ([cut(31, 32, "world"), cut(30, 31, "hello")], "hello world"),
        ([cut(30, 31, "hello"), leave(29, 33)], "hello"),
        ([cut(30, 31, "hello"), take(30.499, 30.505)], "hello"),  # too short to be put back
        ([take(20, 21), cut(20, 21, "um")], "um"),
    ],
)
def test_words_that_are_cut_again_are_there_once(decisions: list[Decision], text: str) -> None:
    removed = apply_decisions(trim(), decisions).removed
    assert [part.text for part in removed if part.reason == "deleted"] == [text]


@given(DECISIONS)
def test_kept_and_removed_parts_are_the_whole_film_after_any_decisions(decisions: list[Decision]) -> None:
    possible = [decision for decision in decisions if decision["action"] != "plan"]
    edited = apply_decisions(trim(), possible)
    spans = sorted([*edited.segments, *((part.start_s, part.end_s) for part in edited.removed)])
    assert [start_s for start_s, _ in spans[1:]] == [end_s for _, end_s in spans[:-1]]  # all of the film
    assert (spans[0][0], spans[-1][1]) == (0, LENGTH_S)
    assert {edge_s for span in edited.segments for edge_s in span} <= edges_in(possible) | {2, 20, 21, 50}
    check_document(edited)
