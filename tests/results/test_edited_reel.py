"""Decisions about reels: the film has what is left, in the order that was decided, and nothing is lost."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.program import check_schema
from vidsum.errors import InputError
from vidsum.results.edits import apply_decisions, original_of, placed_segments, subject_sha256
from vidsum.results.reel import Canvas, Reel, ReelSegment, ReelSource, title_days

LENGTH_S = 8.0
DAYS = ("2024-07-13T23:30:00+02:00", "2024-07-13T08:00:00+02:00", None, "2024-07-14T09:00:00+02:00")


def reel(**changes: Any) -> Reel:
    """Five segments of three clips and a photograph, of two days."""
    sources = tuple(
        ReelSource(
            f"{number}.mp4",
            "photograph" if number == 2 else "video",
            9,
            f"{number}" * 64,
            day,
            0.0 if number == 2 else LENGTH_S,
        )
        for number, day in enumerate(DAYS)
    )
    spans = ((0, 1.0, 3.0), (0, 5.0, 7.0), (1, 0.0, 2.0), (2, 0.0, 3.0), (3, 2.0, 6.0))
    segments = tuple(ReelSegment(*span, "time", 0.5, speech=((span[1], span[2]),)) for span in spans)
    provenance = {"vidsum": "0", "reel": {}, "inputs": [{"bytes": 9, "sha256": "0" * 64}] * 4}
    made = Reel(
        title_days(segments, sources), sources, Canvas(160, 90, 25.0), 13.0, 27.0, provenance=provenance
    )
    return replace(made, **changes)


def leave_out(segment: int) -> Any:
    return {"action": "leave_out", "segment": segment}


def take_back(segment: int) -> Any:
    return {"action": "take_back", "segment": segment}


def reorder(segment: int, place: int) -> Any:
    return {"action": "reorder", "segment": segment, "place": place}


def set_ends(segment: int, start_s: float, end_s: float) -> Any:
    return {"action": "set_ends", "segment": segment, "start_s": start_s, "end_s": end_s}


def add(source: int, start_s: float, end_s: float) -> Any:
    return {"action": "add", "source": source, "start_s": start_s, "end_s": end_s}


NUMBERS = st.integers(0, 4)
TIMES = st.integers(0, 100).map(lambda number: number / 10)
DECISION = st.one_of(
    st.builds(leave_out, NUMBERS),
    st.builds(take_back, NUMBERS),
    st.builds(reorder, NUMBERS, st.integers(0, 9)),
    st.builds(set_ends, NUMBERS, TIMES, TIMES),
    st.builds(add, st.integers(0, 3), TIMES, TIMES),
)
DECISIONS = st.lists(DECISION, max_size=12)


def expected(decisions: list[Any]) -> list[list[Any]]:
    """Number, start and end of what is in the film, by lists that are changed in place."""
    order, out, sources = [*range(5)], set(), [0, 0, 1, 2, 3]
    ends = {number: [part.start_s, part.end_s] for number, part in enumerate(reel().segments)}
    for decision in decisions:
        number = decision.get("segment")
        if decision["action"] == "add":
            source, start_s, end_s = decision["source"], decision["start_s"], min(decision["end_s"], LENGTH_S)
            if source == 2:
                start_s, end_s = 0, decision["end_s"] - start_s
            if end_s - start_s >= 0.2:
                later = [
                    at
                    for at, other in enumerate(order)
                    if [sources[other], ends[other][0]] > [source, start_s]
                ]
                order.insert(min(later, default=len(order)), len(sources))
                ends[len(sources)] = [start_s, end_s]
                sources.append(source)
        elif decision["action"] == "leave_out":
            out.add(number)
        elif decision["action"] == "take_back":
            out.discard(number)
        elif decision["action"] == "reorder":
            order.remove(number)
            order[decision["place"] : decision["place"]] = [number]
        else:
            start_s, end_s = decision["start_s"], min(decision["end_s"], LENGTH_S)
            if sources[number] == 2:
                start_s, end_s = 0, decision["end_s"] - start_s
            if end_s - start_s >= 0.2:
                ends[number] = [start_s, end_s]
    return [[sources[number], *ends[number]] for number in order if number not in out]


@given(DECISIONS)
def test_the_document_lists_what_is_left_in_the_new_order(decisions: list[Any]) -> None:
    edited = apply_decisions(reel(), decisions)
    wanted = expected(decisions)
    document = edited.to_dict()
    assert [[part["source"], part["start_s"], part["end_s"]] for part in document["segments"]] == [
        [source, pytest.approx(start_s), pytest.approx(end_s)] for source, start_s, end_s in wanted
    ]
    numbers = [part.number for part in placed_segments(reel(), decisions)]
    assert sorted(numbers) == [*range(len(numbers))]
    assert edited.duration_s <= edited.budget_s
    for part in edited.segments:
        assert all(part.start_s <= low_s < high_s <= part.end_s for low_s, high_s in part.speech)
    if wanted:
        check_schema(document, "reel")


@given(DECISIONS, DECISIONS)
def test_earlier_decisions_in_the_reel_do_not_count(first: list[Any], second: list[Any]) -> None:
    once = apply_decisions(reel(), first)
    assert apply_decisions(once, second) == apply_decisions(reel(), second)
    assert original_of(once) == reel()
    again = Reel.from_dict(json.loads(json.dumps(once.to_dict())))
    assert original_of(again).segments == reel().segments
    assert subject_sha256(again) == subject_sha256(reel())


def titles(*decisions: Any) -> list[str]:
    return [segment.title for segment in apply_decisions(reel(), decisions).segments]


def test_titles_are_where_days_begin_in_the_new_order() -> None:
    assert titles(leave_out(4)) == ["13 July 2024", "", "", ""]
    assert titles(leave_out(0)) == ["13 July 2024", "", "", "14 July 2024"]
    assert titles(reorder(4, 1)) == ["13 July 2024", "14 July 2024", "13 July 2024", "", ""]
    plain = replace(reel(), segments=tuple(replace(part, title="") for part in reel().segments))
    assert {part.title for part in apply_decisions(plain, [reorder(4, 1)]).segments} == {""}


def test_what_is_added_is_before_later_sources_and_says_so() -> None:
    edited = apply_decisions(reel(), [add(1, 4, 6), leave_out(2), set_ends(5, 4, 7)])
    assert [(part.source, part.start_s) for part in edited.segments] == [
        (0, 1),
        (0, 5),
        (1, 4),
        (2, 0),
        (3, 2),
    ]
    added = edited.segments[2]
    assert (added.end_s, added.reason, added.score, added.speech) == (7, "hand", 0, ())


def test_a_shorter_film_says_why() -> None:
    assert (reel().budget_note, apply_decisions(reel(), [leave_out(4)]).budget_note) == ("", "chosen by hand")
    longer = apply_decisions(reel(), [set_ends(4, 0, 8)])
    assert (longer.budget_s, longer.budget_note) == (17, "")


@pytest.mark.parametrize(
    "decision",
    [
        leave_out(5),
        add(4, 0, 1),
        {"action": "take", "start_s": 0, "end_s": 1},
        {"action": "plan", "planned": []},
    ],
)
def test_decisions_that_are_not_about_this_reel(decision: Any) -> None:
    with pytest.raises(InputError, match="not a decision about"):
        apply_decisions(reel(), [decision])


@pytest.mark.parametrize(
    "before", [{}, {"segments": [{"source": 9, "start_s": 0, "end_s": 1}]}, {"segments": 3}]
)
def test_made_up_edit_in_a_reel(before: Any) -> None:
    facts = {"decisions": [], "before": {"budget_s": 1, "budget_note": "", **before}}
    with pytest.raises(InputError, match="does not hold what was edited"):
        original_of(reel(provenance={"vidsum": "0", "edit": facts}))


def test_another_reel_has_other_decisions() -> None:
    assert subject_sha256(reel(segments=reel().segments[1:])) != subject_sha256(reel())
    assert subject_sha256(reel(sources=reel().sources[::-1])) != subject_sha256(reel())
