"""The best windows against plain loops, and the choice of pieces against its definition."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.grounding.scenes import ELSEWHERE
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.summary.best_windows import (
    PARAMS,
    Bounds,
    Candidate,
    CandidateFinder,
    allowed_cuts,
    choose_segments,
    frame_importance,
    segment_size,
)
from vidsum.summary.looks import Looks
from vidsum.summary.selection import select

FPS = 10.0


def sums_of(curve: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(curve)])


@given(st.data())
def test_candidate_is_the_window_of_the_highest_sum(data: st.DataObject) -> None:
    curve = np.array(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=30)), np.float64)
    n = len(curve)
    places = data.draw(st.sets(st.integers(0, n)))
    start, end = sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    shortest, size = sorted(data.draw(st.tuples(st.integers(1, 12), st.integers(1, 12))))
    windows = CandidateFinder(sums_of(curve), np.array(sorted(places), np.int64), shortest)
    found = windows.best(7, (start, end), size)
    allowed = [
        (first, last)
        for first, last in itertools.product(sorted(places), repeat=2)
        if start <= first and last <= end and shortest <= last - first <= size
    ]
    if not allowed:
        assert found is None
        return
    assert found is not None
    assert (found.start, found.end) in allowed
    best = max(curve[first:last].sum() for first, last in allowed)
    assert curve[found.start : found.end].sum() == best
    assert found.score == pytest.approx(best / found.size)
    assert (found.shot, found.cell, found.is_first) == (7, (start, end), True)


SPANS = st.lists(st.tuples(st.floats(-1, 9), st.floats(0.05, 1.5)), max_size=8).map(
    lambda spans: [(start, start + length) for start, length in spans]
)


@given(SPANS)
def test_no_cut_is_allowed_inside_a_word(words: list[tuple[float, float]]) -> None:
    places = allowed_cuts(words, FPS, 100)
    for place in range(1, 100):
        is_inside = any(start + 1e-9 < place / FPS < end - 1e-9 for start, end in words)
        assert place not in places if is_inside else True


@given(SPANS)
def test_cuts_are_allowed_at_the_ends_and_outside_words(words: list[tuple[float, float]]) -> None:
    places = allowed_cuts(words, FPS, 100)
    assert {0, 100} <= set(places.tolist())
    for place in set(range(1, 100)) - set(places.tolist()):
        assert any(start - 1e-6 <= place / FPS <= end + 1e-6 for start, end in words)


@given(st.integers(1, 10**6), st.floats(1, 120), st.integers(1, 200), st.integers(1, 1000))
def test_segment_size_is_within_its_limits(room: int, fps: float, shortest: int, longest: int) -> None:
    shortest, longest = min(shortest, longest, room), min(longest, room)
    shortest = min(shortest, longest)
    size = segment_size(room, fps, shortest, longest, 1000)
    assert shortest <= size <= longest
    assert size <= segment_size(room, fps, shortest, longest, 2)


@pytest.mark.parametrize(("room_s", "size_s"), [(3, 3.0), (5.4, 2.72), (18, 2.6), (36, 4.0), (600, 5.0)])
def test_segment_size_grows_with_the_budget(room_s: float, size_s: float) -> None:
    assert round(segment_size(round(25 * room_s), 25.0, 50, 125, 9) / 25, 2) == size_s


def test_segment_of_a_single_shot_takes_the_whole_budget() -> None:
    assert segment_size(100, 25.0, 50, 125, 1) == 100


def test_budget_longer_than_a_segment_is_shared_evenly() -> None:
    assert segment_size(130, 25.0, 50, 125, 1) == 65


def test_frames_have_the_importance_of_the_sample_nearest_in_their_shot() -> None:
    importance = np.array([0.1, 0.5, 0.9], np.float32)
    curve = frame_importance(importance, np.array([0, 4, 8]), np.array([0, 3, 10, 12]))
    assert curve.tolist() == pytest.approx([0.1] * 3 + [0.5] * 5 + [0.9] * 4)


def test_frames_before_the_first_sample_have_its_importance() -> None:
    importance = np.array([0.1, 0.5, 0.9], np.float32)
    assert frame_importance(importance, np.array([2, 4, 8]), np.array([0, 12]))[0] == pytest.approx(0.1)


def best(windows: CandidateFinder, cell: tuple[int, int]) -> Candidate:
    found = windows.best(0, cell, 10)
    assert found is not None
    return found


STILL = CandidateFinder(sums_of(np.full(100, 0.5)), np.arange(101), 5)
"""A hundred frames of equal importance."""


def test_of_equal_windows_the_middle_one_is_the_candidate() -> None:
    middle = best(STILL, (20, 80))
    assert (middle.start, middle.end) == (45, 55)


def test_segments_of_a_still_picture_are_apart() -> None:
    features = Features.from_array(np.ones((100, 3)), fps=FPS, video_fps=FPS)
    looks, bounds = Looks(features, np.arange(100)), Bounds(30, 10, 100, 100)
    pieces = choose_segments(STILL, [best(STILL, (0, 100))], looks, [], bounds)
    assert sorted((piece.start, piece.end) for piece in pieces) == [(13, 23), (45, 55), (78, 88)]


class AlikeShots:
    """Five shots of ten frames, of which the first and third look alike."""

    def __init__(self) -> None:
        rows = np.repeat(np.eye(5)[[0, 1, 0, 2, 3]], 10, axis=0) + 0.001
        self.looks = Looks(Features.from_array(rows, fps=FPS, video_fps=FPS), np.arange(50))
        curve = np.repeat([0.9, 0.85, 0.89, 0.84, 0.83], 10)
        self.windows = CandidateFinder(sums_of(curve), np.arange(51), 5)
        cells = [(shot, (10 * shot, 10 * shot + 10)) for shot in range(5)]
        self.firsts = [piece for shot, cell in cells if (piece := self.windows.best(shot, cell, 10))]

    def choose(self, firsts: list[Candidate], kept: list[tuple[int, int]], room: int) -> list[int]:
        pieces = choose_segments(self.windows, firsts, self.looks, kept, Bounds(room, 10, 50, 50))
        return [piece.shot for piece in pieces]


def test_shots_of_another_look_come_before_a_repeated_look() -> None:
    shots = AlikeShots()
    assert shots.choose(shots.firsts, [], 30) == [0, 1, 3]


def test_kept_segment_shows_its_look() -> None:
    shots = AlikeShots()
    # the highest of the others is in all the same
    assert shots.choose(shots.firsts[1:], [(0, 10)], 20) == [2, 1]


def test_longest_gap_is_closed_first() -> None:
    curve = np.repeat([0.6] * 5 + [0.9] + [0.6] * 6, 10)  # gaps of 50 and 60 frames around the highest
    features = Features.from_array(np.repeat(np.eye(12), 10, axis=0), fps=FPS, video_fps=FPS)
    windows = CandidateFinder(sums_of(curve), np.arange(121), 5)
    cells = enumerate(itertools.pairwise(range(0, 121, 10)))
    firsts = [piece for shot, cell in cells if (piece := windows.best(shot, cell, 10))]
    bounds = Bounds(20, 10, 40, 120)
    highest, closing, *_ = choose_segments(windows, firsts, Looks(features, np.arange(120)), [], bounds)
    assert (highest.start, highest.end) == (50, 60)
    assert closing.start >= 60


def test_each_slide_is_shown_once() -> None:
    rng = np.random.default_rng(0)
    features = Features.from_array(np.repeat(rng.random((13, 64)), 20, axis=0), video_fps=25)
    worth = rng.random(13).astype(np.float32)
    shots = Shots(np.arange(0, 131, 10.0), "made up")
    chosen = select(features, shots, np.repeat(worth, 20), 0.15 * 130)
    slides = [int(start_s // 10) for start_s, _ in chosen.segments]
    assert len(slides) >= 8
    assert len(set(slides)) == len(slides)
    assert int(worth.argmax()) in slides


def unit(mean: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(mean)
    return mean / length if length > 1e-9 else mean


class Case:
    """Shots of a video with random looks and importance, and F written out."""

    def __init__(self, seed: int, lengths: list[int], size: int, flat: bool = False, dim: int = 4) -> None:
        rng = np.random.default_rng(seed)
        self.edges = np.concatenate([[0], np.cumsum(lengths)])
        n = int(self.edges[-1])
        features = Features.from_array(rng.normal(size=(n, dim)), fps=FPS, video_fps=FPS)
        self.looks, self.n_frames = Looks(features, np.arange(n)), n
        rows = features.array.astype(np.float64)
        self.rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        curve = rng.uniform(0.85 if flat else 0.1, 1, n)
        self.windows = CandidateFinder(sums_of(curve), np.arange(n + 1), 3)
        self.size = size
        cells = enumerate(itertools.pairwise(self.edges.tolist()))
        self.firsts = [piece for cell in cells if (piece := self.windows.best(*cell, size))]

    def look(self, start: int, end: int) -> np.ndarray:
        return unit((self.rows - self.rows.mean(axis=0))[start:end].mean(axis=0))

    def is_new(self, piece: Candidate, shown: list[tuple[int, int]]) -> bool:
        own = unit(self.rows[piece.start : piece.end].mean(axis=0))
        return all(own @ unit(self.rows[start:end].mean(axis=0)) < ELSEWHERE for start, end in shown)

    def alike(self, first: Candidate, start: int, end: int) -> float:
        return max(0.0, float(self.look(first.start, first.end) @ self.look(start, end)))

    def value(self, taken: list[tuple[int, int]], kept: list[tuple[int, int]]) -> float:
        """F of pieces (start, end), where some are kept anyway and only shown."""
        held = sum(float(self.windows.sums[end] - self.windows.sums[start]) for start, end in taken)
        shown = 0.0
        for first in self.firsts:
            alike = sum(self.alike(first, other.start, other.end) for other in self.firsts)
            most = max((self.alike(first, *each) for each in taken + kept), default=0.0)
            shown += first.score * first.size / max(alike, 1) * most
        return held + PARAMS.novelty_weight * shown

    def slow(self, room: int, least: float, kept: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The pieces by the rules, with every gain computed anew in each step."""
        waiting, taken = list(self.firsts), list[tuple[int, int]]()
        highest = max(self.firsts, key=lambda piece: piece.score)

        def order(piece: Candidate) -> tuple[bool, bool, bool, float]:
            before = self.value(taken, kept)
            gain = (self.value([*taken, (piece.start, piece.end)], kept) - before) / piece.size
            is_good = piece.is_first and piece.score >= 0.8 * highest.score
            is_missing = piece.score >= 0.5 * highest.score and self.is_new(piece, taken + kept)
            return piece.is_first and piece.shot == highest.shot and not taken, is_missing, is_good, gain

        while waiting and room >= self.windows.shortest:
            piece = max(waiting, key=order)
            waiting.remove(piece)
            taken.append((piece.start, piece.end))
            room -= piece.size
            (start, end), gap = piece.cell, self.size
            cells = [
                (piece.shot, (start, piece.start - gap), False),
                (piece.shot, (piece.end + gap, end), False),
            ]
            cells += [(other.shot, other.cell, other.is_first) for other in waiting if other.size > room]
            parts = [
                self.windows.best(shot, cell, min(self.size, room), is_first=is_first)
                for shot, cell, is_first in cells
            ]
            waiting = [other for other in waiting if other.size <= room]
            waiting += [part for part in parts if part and part.score >= least]
        return taken


@given(
    st.integers(0, 10**6), st.lists(st.integers(3, 30), min_size=1, max_size=6), st.integers(3, 8), st.data()
)
def test_segments_are_chosen_by_the_rules(
    seed: int, lengths: list[int], size: int, data: st.DataObject
) -> None:
    case = Case(seed, lengths, size)
    room = data.draw(st.integers(min(size, sum(lengths)), sum(lengths)))
    kept = data.draw(st.sampled_from([[], [(0, 2)]]))
    least = data.draw(st.sampled_from([0.0, 0.5]))
    windows = replace(case.windows, min_score=least)
    bounds = Bounds(room, size, case.n_frames, case.n_frames)
    pieces = choose_segments(windows, case.firsts, case.looks, kept, bounds)
    assert [(piece.start, piece.end) for piece in pieces] == case.slow(room, least, kept)
    assert sum(piece.size for piece in pieces) <= room


@pytest.mark.parametrize("seed", range(6))
def test_chosen_segments_are_nearly_the_best_choice(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = Case(seed, rng.integers(3, 8, 9).tolist(), 6, flat=True, dim=64)  # no two look alike
    room = int(rng.integers(12, 25))
    bounds = Bounds(room, 6, case.n_frames, case.n_frames)
    pieces = choose_segments(case.windows, case.firsts, case.looks, [], bounds)
    chosen = [(piece.start, piece.end) for piece in pieces if piece.cell in {p.cell for p in case.firsts}]
    highest = max(case.firsts, key=lambda piece: piece.score)
    others = [piece for piece in case.firsts if piece is not highest]
    best = max(
        case.value([(piece.start, piece.end) for piece in (highest, *some)], [])
        for n in range(len(others) + 1)
        for some in itertools.combinations(others, n)
        if highest.size + sum(piece.size for piece in some) <= room
    )
    filled = (room - 6 - highest.size) / (room - highest.size)  # until a piece did not fit
    value = case.value(chosen, [])
    assert value >= (1 - math.exp(-filled)) * best - 1e-9
    assert value >= 0.85 * best
