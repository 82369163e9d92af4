"""Decisions of people about results: whatever they are, limits, order and edges hold."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.program import check_schema
from vidsum.errors import InputError, UsageError
from vidsum.results.decisions import (
    Decision,
    check_decisions,
    decisions_path,
    read_decisions,
    write_decisions,
)
from vidsum.results.edited_parts import LEAST_S, subtract_spans
from vidsum.results.edits import apply_decisions, edit_groups, editable, original_of
from vidsum.results.moments import Grounding, Highlights, Moment, QueryMoments
from vidsum.results.shots import Shots
from vidsum.results.summary import ScoredShot, Summary, Trim

LENGTH_S = 60.0
TIMES = np.arange(0, LENGTH_S, 0.5)
CURVE = np.abs(np.sin(TIMES / 7)).astype(np.float32)
EDGES = [0.0, 3.2, 9.04, 14.0, 15.5, 24.28, 31.0, 40.0, 47.76, LENGTH_S]
SEGMENTS = ((3.2, 6.2), (10.0, 13.0), (15.5, 18.5), (31.0, 35.0))


def summary(**changes: Any) -> Summary:
    spans = pairwise(EDGES)
    shots = [
        ScoredShot(start, end, 0.5, any(low < end and start < high for low, high in SEGMENTS))
        for start, end in spans
    ]
    made = Summary(
        SEGMENTS, tuple(shots), CURVE, TIMES, 14.0, LENGTH_S, 25.0, "ridge", "kts", provenance={"vidsum": "0"}
    )
    return replace(made, **changes)


def highlights() -> Highlights:
    moments = (Moment(31.0, 35.0, 0.4), Moment(3.2, 6.2, 0.3), Moment(15.5, 18.5, 0.2))
    provenance = {"vidsum": "0", "extractor": "x", "highlights": {"top_k": 5, "clip_s": 2.0}}
    return Highlights(CURVE, TIMES, 0.5, moments, LENGTH_S, "ridge", provenance=provenance)


def take(start_s: float, end_s: float) -> Decision:
    return {"action": "take", "start_s": start_s, "end_s": end_s}


def leave(start_s: float, end_s: float) -> Decision:
    return {"action": "leave", "start_s": start_s, "end_s": end_s}


def move(start_s: float, end_s: float, to_start_s: float, to_end_s: float) -> Decision:
    return {
        "action": "move",
        "start_s": start_s,
        "end_s": end_s,
        "to_start_s": to_start_s,
        "to_end_s": to_end_s,
    }


def plan(budget_s: float, *spans: tuple[float, float]) -> Decision:
    planned = [{"start_s": start_s, "end_s": end_s} for start_s, end_s in spans]
    return {"action": "plan", "budget_s": budget_s, "planned": planned}  # type: ignore[typeddict-item]


def segments(*decisions: Decision) -> tuple[tuple[float, float], ...]:
    return apply_decisions(summary(), decisions).segments


CENTS = st.integers(0, 7000).map(lambda number: number / 100)  # beyond the end, too
PAIRS = st.tuples(CENTS, CENTS)
SPANS = PAIRS | st.sampled_from(SEGMENTS)
DECISIONS = st.lists(
    st.one_of(
        st.builds(lambda span: take(*span), SPANS),
        st.builds(lambda span: leave(*span), SPANS),
        st.builds(lambda span, to: move(*span, *to), SPANS, PAIRS),
        st.builds(lambda budget_s, spans: plan(budget_s, *spans), CENTS, st.lists(PAIRS, max_size=8)),
    ),
    max_size=12,
)


def edges_in(decisions: list[Decision]) -> set[float]:
    """The times that may be edges: of the summary, of the film, of the decisions."""
    known = {edge_s for segment in SEGMENTS for edge_s in segment} | {0.0, LENGTH_S}
    for decision in decisions:
        spans: list[Any] = [decision, *decision.get("planned", ())]  # type: ignore[list-item]
        known |= {span[name] for span in spans for name in span if name.endswith(("start_s", "end_s"))}
    return known


def check_document(edited: Summary | Highlights | Trim) -> None:
    document = edited.to_dict()
    if document.get("segments", True):
        check_schema(document, edited.kind)


def test_parts_that_fit_the_budget_stay() -> None:
    assert segments(take(40, 40.5)) == (*SEGMENTS, (40, 40.5))


def test_take_joins_what_it_overlaps_only() -> None:
    assert segments(take(5, 9.04))[0] == (3.2, 9.04)
    (state,) = edit_groups(summary(), [plan(60, *SEGMENTS), take(6.2, 9.04)])
    assert [part.interval for part in state.parts][:2] == [(3.2, 6.2), (6.2, 9.04)]
    assert state.by_hand == [(6.2, 9.04)]
    assert segments(plan(60, *SEGMENTS), take(6.2, 9.04))[0] == (3.2, 9.04)  # no cut is there


def test_weakest_parts_give_way_to_the_budget() -> None:
    scores = [CURVE[(start <= TIMES) & (end > TIMES)].mean() for start, end in SEGMENTS]
    weakest = SEGMENTS[int(np.argmin(scores))]
    assert set(segments(take(40, 43))) == {*SEGMENTS, (40, 43)} - {weakest}


def test_taken_by_hand_is_longer_than_the_budget() -> None:
    edited = apply_decisions(summary(), [take(31, 60)])
    assert edited.segments == ((31, 60),)
    assert (edited.budget_s, edited.budget_note) == (29, "")
    assert apply_decisions(summary(), [take(31, 60), leave(31, 60)]).budget_s == 14


def test_a_part_that_keep_asked_for_does_not_give_way() -> None:
    weakest = min(SEGMENTS, key=lambda segment: CURVE[(segment[0] <= TIMES) & (segment[1] > TIMES)].mean())
    made = summary(provenance={"vidsum": "0", "summary": {"keep": [[*weakest]]}})
    assert {weakest, (40, 43)} <= {*apply_decisions(made, [take(40, 43)]).segments}


def summary_with_keep(keep: Any) -> Summary:
    return summary(provenance={"vidsum": "0", "summary": {"keep": keep}})


def test_what_surrounds_a_kept_range_gives_way() -> None:
    made = summary_with_keep([[32.0, 33.5]])
    assert edit_groups(made, [])[0].by_hand == [(32.0, 33.5)]
    assert (31.0, 35.0) in apply_decisions(made, [leave(3.2, 6.2)]).segments
    edited = apply_decisions(made, [take(45, 57)])
    assert edited.segments == ((32.0, 33.5), (45, 57))
    check_document(edited)


@pytest.mark.parametrize(
    "facts", [{"keep": [3]}, {"keep": [[1, 2, 3]]}, {"keep": [["a", "b"]]}, {"keep": 3}, "keep"]
)
def test_kept_ranges_that_are_no_pairs_of_times_are_refused(facts: Any) -> None:
    made = summary(provenance={"vidsum": "0", "summary": facts})
    with pytest.raises(InputError, match="does not hold what was edited"):
        edit_groups(made, [])


def test_leave_out_a_part_of_a_segment() -> None:
    assert segments(leave(4, 5))[:2] == ((3.2, 4), (5, 6.2))
    assert segments(leave(3.2 + LEAST_S / 2, 6.2)) == SEGMENTS[1:]


def test_a_shot_of_a_few_frames_is_taken() -> None:
    short = (40.0, 40.08)
    assert short in segments(take(*short))
    assert edit_groups(summary(), [take(*short), move(*short, 40.0, 40.04)])[0].by_hand == [(40.0, 40.04)]
    assert segments(take(40.0, 40.0)) == SEGMENTS


def test_moved_end_of_a_segment_leaves_out_the_rest() -> None:
    assert segments(move(3.2, 6.2, 3.2, 5.5))[0] == (3.2, 5.5)
    assert edit_groups(summary(), [move(3.2, 6.2, 3.2, 5.5)])[0].left == ((5.5, 6.2),)
    assert segments(move(3.2, 6.2, 5, 5)) == SEGMENTS


def test_what_was_edited_is_in_the_document() -> None:
    edited = apply_decisions(summary(), [leave(3, 7)])
    facts = edited.provenance["edit"]
    assert facts["decisions"] == [leave(3, 7)]
    assert facts["before"]["segments"][0] == {"start_s": 3.2, "end_s": 6.2}
    assert [shot.selected for shot in edited.shots][:3] == [False, False, True]
    assert (edited.budget_note, summary().budget_note) == ("chosen by hand", "")


def test_plan_with_a_part_that_ends_before_it_begins() -> None:
    assert segments(plan(60, (10.5, 11.2), (11.1, 11.0), (11.1, 11.1))) == ((10.5, 11.2),)


def test_highlights_are_left_out_as_wholes() -> None:
    edited = apply_decisions(highlights(), [leave(31.5, 35), take(47.76, 52)])
    assert {moment.interval for moment in edited.moments} == {(3.2, 6.2), (15.5, 18.5), (47.76, 52)}
    assert [moment.score for moment in edited.moments] == sorted(
        (moment.score for moment in edited.moments), reverse=True
    )
    check_document(edited)
    assert original_of(edited) == highlights()


def test_plan_of_highlights_has_their_number() -> None:
    planned = [
        {"start_s": float(time), "end_s": time + 2.0, "score": 1 / (1 + time)} for time in range(0, 20, 4)
    ]
    decision: Any = {"action": "plan", "count": 3, "planned": planned}
    edited = apply_decisions(highlights(), [take(31, 35), decision])
    assert {moment.interval for moment in edited.moments} == {(31, 35), (0, 2), (4, 6)}


def grounding() -> Grounding:
    speech = Moment(8.0, 12.0, 2.0, "speech", 0.8)
    queries = (
        QueryMoments("a dog", (Moment(30.0, 33.0, 3.0, present=0.9), speech), np.zeros(0, np.float32), 0.9),
        QueryMoments("snow", (Moment(1.0, 3.0, 1.0),), np.zeros(0, np.float32), 0.4),
    )
    return Grounding(
        queries,
        np.zeros(0),
        2.0,
        LENGTH_S,
        "similarity",
        "vse",
        ("picture", "speech"),
        provenance={"vidsum": "0"},
    )


WRONG_AND_NEW: list[Any] = [leave(30, 33), {**take(40, 42), "query": 1}]


def test_moments_before_a_decision_come_back_with_their_evidence() -> None:
    assert original_of(apply_decisions(grounding(), WRONG_AND_NEW)) == grounding()


def test_moment_that_was_marked_wrong_goes() -> None:
    edited = apply_decisions(grounding(), WRONG_AND_NEW)
    assert edited.queries[0].moments == (Moment(8.0, 12.0, 2.0, "speech", 0.8),)


def test_moment_that_was_added_comes_first_in_its_query() -> None:
    edited = apply_decisions(grounding(), WRONG_AND_NEW)
    assert [moment.interval for moment in edited.queries[1].moments] == [(40, 42), (1, 3)]


def test_moment_that_was_moved_keeps_its_score_and_evidence() -> None:
    moved = apply_decisions(grounding(), [move(8, 12, 9, 12)])
    assert moved.queries[0].moments[1] == Moment(9.0, 12.0, 2.0, "speech", 0.8)


@pytest.mark.parametrize(
    "wrong", [{**take(1, 2), "query": 2}, plan(3)], ids=["unknown query", "of a summary"]
)
def test_decision_of_another_kind_is_no_decision_about_moments(wrong: Any) -> None:
    with pytest.raises(InputError, match="not a decision about moments"):
        apply_decisions(grounding(), [wrong])


def grounding_with(*moments: Moment) -> Grounding:
    query = QueryMoments("a dog", moments, np.zeros(0, np.float32), 0.9)
    return replace(grounding(), queries=(query,), evidence=("picture",))


def test_a_moved_moment_stays_itself_among_equal_scores() -> None:
    first, same, other = Moment(5, 8, 3, present=0.9), Moment(10, 13, 2, present=0.6), Moment(30, 33, 2)
    edited = apply_decisions(grounding_with(first, same, other), [move(10, 13, 10, 14)])
    assert edited.queries[0].moments == (first, replace(same, end_s=14), other)


def test_a_moment_that_is_moved_away_in_steps_stays_itself() -> None:
    same = Moment(10, 13, 2, "speech", 0.6)
    steps = [move(10, 13, 12, 16), move(12, 16, 15, 19), move(15, 19, 40, 42)]
    (moment,) = apply_decisions(grounding_with(same), steps).queries[0].moments
    assert moment == Moment(40, 42, 2, "speech", 0.6)


@pytest.mark.parametrize(
    "decision",
    [
        *({}, {"action": "take"}, {"action": "erase", "start_s": 0, "end_s": 1}, [], None, 3),
        {"action": "take", "start_s": -1, "end_s": 1},
        {"action": "take", "start_s": "0", "end_s": 1},
        {"action": "take", "start_s": float("nan"), "end_s": 1},
        {"action": "take", "start_s": 0, "end_s": 1, "path": "/etc/passwd"},
        {"action": "plan", "planned": [{"start_s": 0}]},
    ],
)
def test_decision_of_no_known_form_is_refused(decision: Any) -> None:
    with pytest.raises(InputError, match="not a decision"):
        check_decisions([decision])


def test_results_that_cannot_be_edited() -> None:
    with pytest.raises(UsageError, match="shots cannot be edited"):
        editable(Shots(np.array([0.0, 3.0, 10.0]), "kts"))


def test_made_up_edit_in_a_result() -> None:
    facts = {"decisions": [], "before": {"importance": {"timestamps_s": [], "scores": []}}}
    with pytest.raises(InputError, match="does not hold what was edited"):
        original_of(summary(provenance={"vidsum": "0", "edit": facts}))


def test_decisions_are_read_back_from_their_file(tmp_path: Any) -> None:
    path = decisions_path(tmp_path / "film_summary.json")
    assert path.name == "film_summary.edits"
    assert read_decisions(path) == {"decisions": [], "undone": []}
    write_decisions(path, {"decisions": [take(1, 2), plan(3, (4, 5))], "undone": [leave(1, 2)]})
    assert read_decisions(path) == {"decisions": [take(1, 2), plan(3, (4, 5))], "undone": [leave(1, 2)]}
    check_schema(json.loads(path.read_text()), "edits")


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", "my notes", '{"schema": "vidsum.edits/1", "decisions": 3}']
)
def test_file_that_is_no_file_of_decisions_stays(tmp_path: Any, content: str) -> None:
    path = tmp_path / "film_summary.edits"
    path.write_text(content)
    with pytest.raises(InputError):
        read_decisions(path)
    with pytest.raises(Exception, match="was not written by vidsum edit"):
        write_decisions(path, {"decisions": [], "undone": []})
    assert path.read_text() == content


@given(DECISIONS)
def test_order_edges_and_budget_after_any_decisions(decisions: list[Decision]) -> None:
    edited, state = apply_decisions(summary(), decisions), edit_groups(summary(), decisions)[0]
    times = [edge_s for segment in edited.segments for edge_s in segment]
    assert times == sorted(times)
    assert all(end_s > start_s for start_s, end_s in edited.segments)
    assert set(times) <= edges_in(decisions)
    assert edited.duration_s <= edited.budget_s
    budgets = [14.0, *(each["budget_s"] for each in decisions if each["action"] == "plan")]
    taken_s = sum(end_s - start_s for start_s, end_s in state.by_hand)
    assert edited.duration_s <= max(budgets[-1], taken_s, sum(e - s for s, e in SEGMENTS)) + 1e-6
    check_document(edited)


@given(DECISIONS, DECISIONS)
def test_earlier_decisions_in_the_result_do_not_count(first: list[Decision], second: list[Decision]) -> None:
    once = apply_decisions(summary(), first)
    assert apply_decisions(once, second) == apply_decisions(summary(), second)
    assert apply_decisions(once, []) == summary()
    again = Summary.from_dict(json.loads(json.dumps(once.to_dict())))
    assert again.segments == once.segments
    assert original_of(again).segments == SEGMENTS
    assert original_of(again).shots == summary().shots


@given(DECISIONS)
def test_plan_keeps_what_was_decided(decisions: list[Decision]) -> None:
    before = edit_groups(summary(), decisions)[0]
    everything = plan(30.0, (0.0, LENGTH_S))
    after = edit_groups(summary(), [*decisions, everything])[0]
    assert [span for span in before.by_hand if span not in after.by_hand] == []
    for low_s, high_s in before.left:
        inside = [part for part in after.parts if min(part.end_s, high_s) - max(part.start_s, low_s) > 1e-6]
        assert all(part.by_hand for part in inside)


@given(st.lists(PAIRS.map(sorted), max_size=4), DECISIONS)
def test_kept_ranges_change_no_segment_by_themselves(keep: list[Any], decisions: list[Decision]) -> None:
    made = summary_with_keep(keep)
    far = leave(60, 60)
    assert apply_decisions(made, [far]).segments == SEGMENTS
    (state,) = edit_groups(made, [])
    kept = [(start_s, end_s) for start_s, end_s in keep if start_s < end_s]
    for part in state.parts:
        rests = subtract_spans([part.interval], kept)
        assert part.by_hand or rests == [part.interval]
        assert not part.by_hand or all(end_s - start_s < LEAST_S for start_s, end_s in rests)
    edited = apply_decisions(made, decisions)
    assert edited.duration_s <= edited.budget_s
    check_document(edited)


@given(DECISIONS)
def test_highlights_do_not_overlap_after_any_decisions(decisions: list[Decision]) -> None:
    edited = apply_decisions(highlights(), decisions)
    spans = sorted(moment.interval for moment in edited.moments)
    times = [edge_s for span in spans for edge_s in span]
    assert times == sorted(times)
    assert set(times) <= edges_in(decisions)
    check_document(edited)
