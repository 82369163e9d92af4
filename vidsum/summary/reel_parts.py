"""The parts of many clips and photographs that a reel may take, and the choice among them.

All inputs are one film, of which the objective of summaries (`vidsum.summary.objective`) chooses parts. Time
counts by inputs, not by footage: every input and every part of a day weighs the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Final

import numpy as np

from vidsum.grounding.scenes import look_cosine
from vidsum.models.scaling import LEAST_IMPORTANCE, logit, unit_rows
from vidsum.results.edited_parts import LEAST_S
from vidsum.results.features import Features
from vidsum.results.reel import Why
from vidsum.results.shots import Shots
from vidsum.summary.constraints import ENOUGH, VideoFrames, cut_edges, frames_at, to_frames
from vidsum.summary.content import content_of, likeness, scenes_in
from vidsum.summary.objective import WEIGHTS, Objective, representation, unit_values
from vidsum.summary.optimise import maximise
from vidsum.summary.reel_exclusion import Exclusion, ReelPart
from vidsum.summary.settings import SHORTEST_S
from vidsum.summary.speech_units import SpokenParts
from vidsum.summary.units import SPOKEN, WORTHLESS, Unit, WindowFinder, allowed_cuts, frame_sums, shot_windows
from vidsum.types import BoolArray, FloatArray, IntArray, Interval, TimeArray

_PER_SHOT, _PER_CLIP = 6, 36  # windows that compete with those of other inputs
_MOST_PARTS: Final = 1500  # of all inputs together: time grows with their square
_LOOKS: Final = 8  # pictures that stand for an input
_QUARTERS: Final = 4  # parts of a day, by its inputs
_TICKS: Final = 1000  # a second
_ALIKE: Final = 0.8, 0.9  # cosines of parts that are alike, where too few are different


@dataclass(frozen=True, eq=False)
class ReelInput:
    """An input as the choice sees it."""

    parts: tuple[ReelPart, ...]
    looks: FloatArray  # [K, D] features that stand for it
    importance: float = 0.0  # of the whole, in deviations, against the other inputs
    day: str = ""


@dataclass(frozen=True)
class ChosenPart:
    """A part that is in the reel, and why."""

    source: int
    start_s: float
    end_s: float
    reason: Why
    score: float  # what the objective loses without it


def photograph_input(feature: FloatArray, length_s: float) -> ReelInput:
    """Return a photograph, whose feature is [D], as an input of one part."""
    return ReelInput((ReelPart(0.0, length_s, 0.0, 1, 0.0, feature),), feature[None])


def clip_input(
    features: Features,
    shots: Shots,
    worth: FloatArray,
    slope: float,
    *,
    speech: SpokenParts,
    uncut: Sequence[Interval],
    voices: Sequence[Sequence[Interval]],
    longest_s: float,
) -> ReelInput:
    """Return a clip with the parts of it that are worth the most: windows of its shots, and its speech.

    Args:
        worth: [T] importance in [0, 1], less where pictures are bad.
        slope: of people's scores on the logit of the importance.
        uncut: spans in which no part begins or ends, unless they leave no place.
        voices: spans that do the same, the first that leave a place with `uncut`.
        longest_s: of a window.
    """
    video = to_frames(features, shots, features.duration_s, (), ())
    n_frames = len(video.required)
    sampled = np.minimum(frames_at(features.timestamps, video.fps), n_frames - 1)
    sums = frame_sums(worth, sampled, video.edges)
    cuts = [allowed_cuts((*uncut, *spans), video.fps, n_frames) for spans in (*voices, ())]
    units = _windows(video, sums, cuts, speech.is_said(video), longest_s)
    certain = dict.fromkeys(units, 0.0)
    certain |= {Unit(*unit.frames(video), SPOKEN): unit.certain for unit in speech.units}
    mean = _expected(float(worth.mean()), slope)
    made = list[ReelPart]()
    for unit, spoken in certain.items():
        first, last = np.searchsorted(sampled, (unit.start, unit.end)).tolist()
        rows = features.array[min(first, len(sampled) - 1) : max(last, first + 1)]
        made.append(
            ReelPart(
                unit.start / video.fps,
                min(unit.end / video.fps, features.duration_s),
                _expected(float(sums[unit.end] - sums[unit.start]) / unit.size, slope) - mean,
                1 + int(((video.edges > unit.start) & (video.edges < unit.end)).sum()),
                spoken,
                rows.mean(axis=0),
            )
        )
    places = np.linspace(0, len(features.array) - 1, min(_LOOKS, len(features.array))).astype(np.int64)
    return ReelInput(tuple(made), features.array[places])


def best_part(source: ReelInput) -> Interval:
    """Return the part of an input whose value in the objective is highest."""
    parts = source.parts
    values = unit_values(
        np.array([part.length_s for part in parts]),
        np.array([part.importance for part in parts]),
        [part.n_shots for part in parts],
        [part.spoken for part in parts],
    )
    best = parts[int(values.argmax())]
    return best.start_s, best.end_s


def _windows(
    video: VideoFrames, sums: TimeArray, places: Sequence[IntArray], said: BoolArray, longest_s: float
) -> list[Unit]:
    """Return the best windows of a clip, of each shot and of all; edges are at the first `places` that do."""
    shortest = min(max(round(SHORTEST_S * video.fps), 1), len(said))
    longest = max(int(longest_s * video.fps), shortest)
    silent = replace(video, edges=cut_edges(video.edges, video.required, said), dropped=said)
    units, anywhere = list[Unit](), np.arange(len(sums))
    least = WORTHLESS * float(np.diff(sums).max())
    for spots, size in *((spots, shortest) for spots in places), (anywhere, shortest), (anywhere, 1):
        units = units or shot_windows(silent, WindowFinder(sums, spots, size, least), longest)
    units.sort(key=lambda unit: -(sums[unit.end] - sums[unit.start]) / unit.size)
    taken = dict[int, int]()
    best = list[Unit]()
    for unit in units:
        taken[unit.cell] = taken.get(unit.cell, 0) + 1
        if taken[unit.cell] <= _PER_SHOT and len(best) < _PER_CLIP:
            best.append(unit)
    return best


def _expected(worth: float, slope: float) -> float:
    return slope * float(logit(np.array(worth), LEAST_IMPORTANCE))


def choose_parts(
    inputs: Sequence[ReelInput], extractor: str, budget_s: float, most_s: float | None
) -> list[ChosenPart]:
    """Return the parts of a reel, in the order of its inputs.

    Args:
        inputs: in the order of the film.
        extractor: of the features.
        budget_s: maximum length of the reel; the result may be empty if no part fits.
        most_s: of the silent parts of an input together.

    Where the choice without a budget fits, it is the reel: more budget does not make it shorter.
    """
    spoken_s = max(budget_s / 2, 2 * SHORTEST_S) if len(inputs) > 1 else inf
    everything_s = 1 + sum(_usable_s(source, most_s) for source in inputs)  # lengths are rounded up
    parts, fitting = (_parts_within(inputs, limit_s, spoken_s) for limit_s in (everything_s, budget_s))
    if not fitting:
        return []
    everything = _candidates(inputs, parts, extractor)
    limited = everything if len(fitting) == len(parts) else _candidates(inputs, fitting, extractor)
    reel = list[ChosenPart]()
    for cosine in (look_cosine(extractor), *_ALIKE):
        made = _choose(everything, everything_s, cosine, most_s or inf, spoken_s)
        if _length(made) > budget_s:
            made = _choose(limited, budget_s, cosine, most_s or inf, spoken_s)
        reel = max(reel, made, key=_length)
        if _length(reel) >= ENOUGH * budget_s:
            break
    return reel


def _length(parts: Sequence[ChosenPart]) -> float:
    return sum(part.end_s - part.start_s for part in parts)


def _usable_s(source: ReelInput, most_s: float | None) -> float:
    """Return the length of what a reel may take of an input, at most.

    A photograph is one part, which may be longer than `most_s` of a clip.
    """
    silent = [part for part in source.parts if not part.spoken]
    extent_s = max((part.end_s for part in silent), default=0.0)
    longest_s = max((part.length_s for part in silent), default=0.0)
    spoken_s = sum(part.length_s for part in source.parts if part.spoken)
    return spoken_s + (extent_s if most_s is None else min(extent_s, max(most_s, longest_s)))


def _parts_within(
    inputs: Sequence[ReelInput], budget_s: float, spoken_s: float
) -> list[tuple[int, ReelPart]]:
    """Return the parts of inputs, with the numbers of these, that fit a budget; speech also `spoken_s`.

    Those of less than `LEAST_S` would be a flash: none is there.
    """
    longest_s = min(budget_s, spoken_s)
    return [
        (number, part)
        for number, source in enumerate(inputs)
        for part in source.parts
        if LEAST_S <= part.length_s <= (longest_s if part.spoken else budget_s)
    ]


def _choose(
    known: "_Candidates", budget_s: float, cosine: float, most_s: float, spoken_s: float
) -> list[ChosenPart]:
    """Return the parts for a budget; for the limits, see `Exclusion`."""
    sizes = np.array([ceil(round(part.length_s * _TICKS, 3)) for part in known.parts], np.int64)
    room = int(budget_s * _TICKS + 1e-6)
    exclusion = Exclusion(known.parts, known.sources, known.cosines >= cosine, most_s, spoken_s)
    objective = known.objective(budget_s)
    numbers = maximise(objective, sizes, room, exclusion.excluded)
    numbers.sort(key=lambda number: (known.sources[number], known.parts[number].start_s))
    return [
        ChosenPart(int(known.sources[number]), part.start_s, part.end_s, reason, score)
        for number, (reason, score) in zip(numbers, known.reasons(objective, numbers), strict=True)
        for part in [known.parts[number]]
    ]


def _bounded(parts: Sequence[tuple[int, ReelPart]]) -> list[tuple[int, ReelPart]]:
    """Return parts of inputs, the best of each, at most `_MOST_PARTS` or a part of each input.

    All inputs have the same limit. A part counts behind better ones of its input that it overlaps, so that
    those that stay are from all of the input.
    """
    if len(parts) <= _MOST_PARTS:
        return [*parts]
    by_input = dict[int, list[ReelPart]]()
    for number, part in parts:
        by_input.setdefault(number, []).append(part)
    counts = np.array([len(group) for group in by_input.values()])
    fitting = (n for n in range(int(counts.max()), 1, -1) if np.minimum(counts, n).sum() <= _MOST_PARTS)
    most = next(fitting, 1)
    return [(number, part) for number, group in by_input.items() for part in _spread(group)[:most]]


def _spread(parts: Sequence[ReelPart]) -> list[ReelPart]:
    """Return parts of an input, the best first, each behind all that overlap fewer of the better ones."""
    worth = [part.importance + WEIGHTS.speech * part.spoken for part in parts]
    order = np.argsort(-np.array(worth), kind="stable")
    starts, ends = np.array([(part.start_s, part.end_s) for part in parts])[order].T
    overlaps = (starts[:, None] < ends) & (starts < ends[:, None])
    ranks = np.tril(overlaps, -1).sum(axis=1)
    return [parts[order[place]] for place in np.argsort(ranks, kind="stable")]


@dataclass(frozen=True, eq=False)
class _Candidates:
    """N parts that compete, and what the objective knows of them whatever the budget."""

    parts: list[ReelPart]
    sources: IntArray  # [N] numbers of their inputs
    cosines: FloatArray  # [N, N] of their features
    values: TimeArray  # [N]
    looks: FloatArray  # [N, M] likeness to each look of the inputs, times its share
    times: BoolArray  # [N, Q] of which times they are
    scenes: FloatArray  # [N, K] weights of scenes, times how much they show of them

    def objective(self, budget_s: float) -> Objective:
        """Return the objective for a budget."""
        shows = representation(self.looks, self.times, self.scenes, budget_s)
        return Objective(self.values, shows, np.zeros(shows.shape[1], np.float32))

    def reasons(self, objective: Objective, chosen: Sequence[int]) -> list[tuple[Why, float]]:
        """Return the reason of each chosen part, and what the others lose without it.

        The reason is the term by which a part exceeds the mean of the chosen ones most: what holds for all
        of them explains nothing. A term to which the part adds nothing is no reason.
        """
        if not chosen:
            return []
        gains = [
            self._gains(objective, number, [other for other in chosen if other != number])
            for number in chosen
        ]
        means = {name: sum(gain[name] for gain in gains) / len(gains) for name in gains[0]}
        made = list[tuple[Why, float]]()
        for gain in gains:
            added = {name: value for name, value in gain.items() if value > 0}
            above = {name: (round(value - means[name], 3), value) for name, value in added.items()}
            made.append((max(above, key=above.__getitem__, default="importance"), sum(gain.values())))
        return made

    def _gains(self, objective: Objective, number: int, others: Sequence[int]) -> dict[Why, float]:
        """Return what a part adds to others, by term."""
        added = np.maximum(objective.shows[number] - objective.represented(others), 0)
        first, part = self.looks.shape[1], self.parts[number]
        is_time = slice(first, first + self.times.shape[1])
        spoken = part.length_s * part.spoken * WEIGHTS.speech
        return {
            "importance": float(objective.values[number]) - spoken,
            "picture": float(added.sum() - added[is_time].sum()),
            "time": float(added[is_time].sum()),
            "speech": spoken,
        }


def _candidates(
    inputs: Sequence[ReelInput], parts: Sequence[tuple[int, ReelPart]], extractor: str
) -> _Candidates:
    """Return parts of inputs, at most `_MOST_PARTS`, with what is known of them."""
    parts = _bounded(parts)
    sources, mine = np.array([number for number, _ in parts], np.int64), [part for _, part in parts]
    n_parts, looks = len(mine), np.concatenate([source.looks for source in inputs])
    rows = unit_rows(np.stack([*(part.look for part in mine), *looks]).astype(np.float32))
    features = Features(
        rows, np.arange(len(rows), dtype=np.float64), 1.0, 1.0, float(len(rows)), 1.0, extractor
    )
    spans = [slice(place, place + 1) for place in range(len(rows))]
    content = content_of(features, spans, np.full(len(rows), -1))
    shares = np.concatenate([np.full(len(source.looks), 1 / len(source.looks)) for source in inputs])
    alike = likeness(content, spans[:n_parts], np.arange(n_parts, len(rows)))
    above = np.array([inputs[number].importance + part.importance for number, part in parts])
    return _Candidates(
        mine,
        sources,
        rows[:n_parts] @ rows[:n_parts].T,
        unit_values(
            np.array([part.length_s for part in mine]),
            above,
            [part.n_shots for part in mine],
            np.array([part.spoken for part in mine]),
        ),
        alike * (shares / len(inputs)).astype(np.float32),
        _times(inputs)[sources],
        scenes_in(content, spans[:n_parts], 1) * WEIGHTS.scene,
    )


def _times(inputs: Sequence[ReelInput]) -> BoolArray:
    """Return [I, Q] the times that inputs show: the part of its day, and itself; both weigh the same."""
    days = [source.day for source in inputs]
    of_days = np.zeros((len(inputs), _QUARTERS * len(set(days))), np.bool_)
    for number, day in enumerate(dict.fromkeys(days)):
        members = [place for place, other in enumerate(days) if other == day]
        for rank, member in enumerate(members):
            first = rank * _QUARTERS // len(members)
            last = max((rank + 1) * _QUARTERS // len(members), first + 1)
            of_days[member, number * _QUARTERS + first : number * _QUARTERS + last] = True
    repeats = ceil(len(inputs) / of_days.shape[1])
    return np.hstack([np.repeat(of_days, repeats, axis=1), np.eye(len(inputs), dtype=np.bool_)])
