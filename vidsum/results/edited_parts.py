"""The parts of a video that a result holds, and what decisions make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vidsum.results.decisions import PartDecision
from vidsum.results.result import round_number
from vidsum.types import Interval, join_near

Score = Callable[[Interval], float]
"""Gives the score of a span."""
LEAST_S = 0.2  # a shorter rest of a part is left out with it
SHORTEST_S = 0.01  # nothing shorter is taken: it has no frame
_SAME_S = 1e-6
_NOTED_SHARE = 0.9  # of the budget; less is explained


@dataclass(frozen=True)
class Part:
    """A part [start_s, end_s) of the video that is in the result."""

    start_s: float
    end_s: float
    score: float = 0.0
    by_hand: bool = False  # whether somebody took it; others give way to it
    title: str = ""  # of a chapter or a short
    text: str = ""  # what is said in a short
    moment: int | None = None  # its number among the moments of its query, or the shorts; None: it is new

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s

    @property
    def interval(self) -> Interval:
        return self.start_s, self.end_s


@dataclass(frozen=True)
class EditedParts:
    """The parts in time order, none overlapping another, and the limits that they keep."""

    parts: tuple[Part, ...]
    budget_s: float = float("inf")  # maximum length, as it was set
    count: int = 0  # maximum number of highlights that a plan chooses
    left: tuple[Interval, ...] = ()  # spans that somebody left out, in time order

    @property
    def length_s(self) -> float:
        return float(sum(part.length_s for part in self.parts))

    @property
    def limit_s(self) -> float:
        """The budget, or the length of the parts: what somebody takes is in, whatever its length."""
        return max(self.budget_s, self.length_s)

    @property
    def by_hand(self) -> list[Interval]:
        """The parts that somebody took."""
        return [part.interval for part in self.parts if part.by_hand]


def decide(
    state: EditedParts,
    decision: PartDecision,
    duration_s: float,
    score: Score,
    *,
    whole: bool = False,
) -> EditedParts:
    """Return the parts after a decision.

    Edges are edges of the parts before, or of the decision; nothing else moves. What was not taken by hand
    gives way, the lowest score first, until the rest fits the budget; what was taken by hand stays.

    Args:
        state: the parts before.
        decision: its times are limited to the video.
        duration_s: length of the video.
        score: gives the score of a span.
        whole: whether parts are left out as wholes, as moments are.
    """
    if decision["action"] == "plan":
        return _plan_again(state, decision, duration_s, score)
    if decision["action"] == "rename" or decision["action"] == "merge" or decision["action"] == "split":
        return state  # of chapters
    span = limited(decision["start_s"], decision["end_s"], duration_s)
    if decision["action"] == "leave":
        return _leave(state, span, whole=whole)
    if decision["action"] == "take":
        return _fit(_take(state, span, score))
    to = limited(decision["to_start_s"], decision["to_end_s"], duration_s)
    if to[1] - to[0] < SHORTEST_S:
        return state
    return _fit(_take(_leave(state, span, whole=whole), to, score, most_in(state.parts, span)))


def limited(start_s: float, end_s: float, duration_s: float) -> Interval:
    """Return what of a span lies in a video."""
    return round_number(min(max(start_s, 0.0), duration_s)), round_number(min(max(end_s, 0.0), duration_s))


def _take(state: EditedParts, span: Interval, score: Score, moved: Part | None = None) -> EditedParts:
    """Return the parts with a span; a part that was moved there, or that it overlaps, stays its moment."""
    if span[1] - span[0] < SHORTEST_S:
        return state
    joined = [part for part in state.parts if overlap_s(part.interval, span) > _SAME_S]
    start_s = min([span[0], *(part.start_s for part in joined)])
    end_s = max([span[1], *(part.end_s for part in joined)])
    source = moved or most_in(joined, span)
    if source is None or source.moment is None:
        source = Part(start_s, end_s, score((start_s, end_s)))
    new = replace(source, start_s=start_s, end_s=end_s, by_hand=True)
    parts = sorted(
        [*(part for part in state.parts if part not in joined), new], key=lambda part: part.start_s
    )
    return replace(state, parts=tuple(parts), left=tuple(subtract_spans(state.left, [span])))


def most_in(parts: Iterable[Part], span: Interval) -> Part | None:
    """Return the part that overlaps a span most; None: none does."""
    common = [part for part in parts if overlap_s(part.interval, span) > _SAME_S]
    return max(common, key=lambda part: overlap_s(part.interval, span), default=None)


def _leave(state: EditedParts, span: Interval, *, whole: bool) -> EditedParts:
    if span[1] <= span[0]:
        return state
    parts = list[Part]()
    for part in state.parts:
        common_s = overlap_s(part.interval, span)
        if common_s <= _SAME_S:
            parts.append(part)
        elif not (whole and 2 * common_s >= part.length_s):
            rests = subtract_spans([part.interval], [span])
            parts += [
                replace(part, start_s=low_s, end_s=high_s)
                for low_s, high_s in rests
                if high_s - low_s >= LEAST_S
            ]
    left = join_near(sorted([*state.left, span]))
    return replace(state, parts=tuple(parts), left=tuple(left))


def _plan_again(
    state: EditedParts, decision: PartDecision, duration_s: float, score: Callable[[Interval], float]
) -> EditedParts:
    """Return the parts taken by hand, and those of a plan that leave room for them."""
    assert decision["action"] == "plan"
    taken = [part for part in state.parts if part.by_hand]
    spans = dict[Interval, float]()
    for planned in decision["planned"]:
        span = limited(planned["start_s"], planned["end_s"], duration_s)
        if span[1] - span[0] >= LEAST_S:
            spans[span] = planned.get("score", score(span))
    parts, blocked = [*taken], [*state.left, *(part.interval for part in taken)]
    for span in sorted(spans, key=lambda span: -spans[span]):
        rests = [rest for rest in subtract_spans([span], blocked) if rest[1] - rest[0] >= LEAST_S]
        parts += [Part(*rest, spans[span]) for rest in rests]
        blocked.append(span)
    count = decision.get("count", state.count)
    if "count" in decision:
        others = [part for part in parts if not part.by_hand]
        parts = [*taken, *others[: max(0, count - len(taken))]]
    ordered = tuple(sorted(parts, key=lambda part: part.start_s))
    budget_s = decision.get("budget_s", state.budget_s)
    return _fit(replace(state, parts=ordered, budget_s=budget_s, count=count))


def _fit(state: EditedParts) -> EditedParts:
    """Return parts that fit the budget, if those taken by hand do."""
    parts = list(state.parts)
    others = sorted((part for part in parts if not part.by_hand), key=lambda part: part.score)
    for part in others:
        if sum(part.length_s for part in parts) <= state.budget_s + _SAME_S:
            break
        parts.remove(part)
    return replace(state, parts=tuple(parts))


def note_of(used_s: float, budget_s: float) -> str:
    """Return why less than nine tenths of a budget are used after decisions; empty where they are."""
    return "chosen by hand" if used_s < _NOTED_SHARE * budget_s else ""


def overlap_s(span: Interval, other: Interval) -> float:
    """Return the seconds that two spans share; negative where they are apart."""
    return min(span[1], other[1]) - max(span[0], other[0])


def subtract_spans(spans: Iterable[Interval], holes: Sequence[Interval]) -> list[Interval]:
    """Return what is left of spans without the holes, in order of time."""
    rests = sorted(spans)
    for low_s, high_s in holes:
        rests = [
            rest
            for start_s, end_s in rests
            for rest in ((start_s, min(end_s, low_s)), (max(start_s, high_s), end_s))
            if rest[1] > rest[0]
        ]
    return rests


def parse_intervals(spans: Sequence[Mapping[str, float]]) -> tuple[Interval, ...]:
    """Return spans from the data of a document."""
    return tuple((float(span["start_s"]), float(span["end_s"])) for span in spans)
