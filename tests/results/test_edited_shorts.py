"""Shorts and decisions of people about them: none overlaps another, what is not decided stays as it was."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.media import video_info
from tests.program import check_schema
from tests.results.test_edits import leave, move, take
from vidsum.errors import InputError
from vidsum.results.decisions import Decision
from vidsum.results.edited_parts import LEAST_S
from vidsum.results.edits import apply_decisions, original_of
from vidsum.results.shorts import Short, Shorts

LENGTH_S = 60.0
MADE = (
    Short(20.0, 30.0, 9.0, "The best one", "It is the best one."),
    Short(2.0, 12.0, 5.0, "The second", "It is the second."),
    Short(40.0, 55.0, 3.0, "The third", "It is the third."),
)


def shorts() -> Shorts:
    provenance = {
        "vidsum": "0",
        "extractor": "x",
        "shorts": {"candidates": ["ridge"], "map_sha256": "0" * 64},
    }
    return Shorts(MADE, "speech", LENGTH_S, "a note", video=video_info("talk.mp4"), provenance=provenance)


def rename(start_s: float, title: str) -> Decision:
    return {"action": "rename", "start_s": start_s, "title": title}


def after(*decisions: Any) -> tuple[Short, ...]:
    return apply_decisions(shorts(), decisions).shorts


def test_moved_short_has_its_words_and_its_place() -> None:
    first, *others = after({**move(20, 30, 22, 33), "text": "Other words.", "title": "Other words"})
    assert first == Short(22.0, 33.0, 9.0, "Other words", "Other words.")
    assert tuple(others) == MADE[1:]


def test_moved_short_without_words_stays_as_it_is_called() -> None:
    assert after(move(20, 30, 22, 33))[0] == Short(22.0, 33.0, 9.0, "The best one", "It is the best one.")


def test_short_that_would_overlap_another_is_not_moved() -> None:
    assert after(move(20, 30, 10, 30)) == MADE
    assert after(take(11, 15)) == MADE


def test_those_behind_one_that_is_left_out_move_up() -> None:
    assert after(leave(20, 30)) == MADE[1:]
    assert apply_decisions(shorts(), [leave(20, 30)]).note == "chosen by hand"


def test_less_than_half_of_a_short_is_not_left_out() -> None:
    assert after(leave(26, 34)) == MADE


def test_short_that_is_taken_again_is_as_it_was_made() -> None:
    assert after(leave(20, 30), {**take(20, 30), "title": "Another"}) == MADE
    assert apply_decisions(shorts(), [leave(20, 30), take(20, 30)]).note == "a note"


def test_added_short_is_the_last_one() -> None:
    added = {**take(13, 18), "title": "A  new\none", "text": "New words."}
    assert after(added)[3] == Short(13.0, 18.0, 0.0, "A new one", "New words.")


def test_rename_changes_only_the_title() -> None:
    assert [short.title for short in after(rename(5, "Another"))] == ["The best one", "Another", "The third"]
    assert after(rename(15, "Nothing is here"), rename(5, " \u202e ")) == MADE


@pytest.mark.parametrize("action", ["merge", "split", "plan", "leave_out"])
def test_decisions_of_other_kinds_are_refused(action: str) -> None:
    facts: Any = {"segment": 0} if action == "leave_out" else {"start_s": 3, "title": "x", "planned": []}
    names = {"merge": ("start_s",), "split": ("start_s", "title"), "plan": ("planned",)}
    given_facts = {name: facts[name] for name in names.get(action, ("segment",))}
    with pytest.raises(InputError, match="not a decision about shorts"):
        after({"action": action, **given_facts})


TIME = st.integers(0, 120).map(lambda half: half / 2)
DECISION = st.one_of(
    st.builds(take, TIME, TIME),
    st.builds(leave, TIME, TIME),
    st.builds(move, TIME, TIME, TIME, TIME),
    st.builds(rename, TIME, st.text(min_size=1, max_size=5)),
)


@given(st.lists(DECISION, max_size=8))
def test_none_overlaps_another_and_all_can_be_undone(decisions: list[Decision]) -> None:
    edited = apply_decisions(shorts(), decisions)
    check_schema(edited.to_dict(), "shorts")
    spans = sorted(short.interval for short in edited.shorts)
    assert all(end_s - start_s >= LEAST_S for start_s, end_s in spans)
    assert all(end_s <= start_s for (_, end_s), (start_s, _) in pairwise(spans))
    assert original_of(Shorts.from_dict(edited.to_dict())).to_dict() == shorts().to_dict()
