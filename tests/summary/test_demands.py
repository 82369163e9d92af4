"""Demands on a choice of units: no exchange of one unit for another would meet more of them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.summary.test_objective import random_objective
from tests.summary.test_optimise import exclude
from vidsum.summary.demands import Demands, meet_demands
from vidsum.summary.objective import Objective
from vidsum.summary.optimise import maximise
from vidsum.types import IntArray

N_UNITS, N_QUARTERS, N_SCENES = 8, 6, 5


@dataclass(frozen=True)
class Problem:
    """Units, ten frames each, with five frames between them, that may exclude each other."""

    objective: Objective
    demands: Demands
    sizes: IntArray
    room: int
    pairs: set[tuple[int, int]]

    def solve(self) -> list[int]:
        excluded = exclude(self.pairs)
        chosen = maximise(self.objective, self.sizes, self.room, excluded)
        return meet_demands(self.objective, self.demands, self.sizes, self.room, excluded, chosen)

    def exchanges(self, chosen: list[int]) -> Iterator[tuple[int, list[int]]]:
        """Each unit that may give way, with a choice that has another in its place."""
        for unit in chosen:
            others = [other for other in chosen if other != unit]
            for other in {*range(N_UNITS)} - {*chosen}:
                choice = [*others, other]
                is_allowed = not any((a, b) in self.pairs for a in choice for b in choice)
                if is_allowed and self.sizes[choice].sum() <= self.room:
                    yield unit, choice


@st.composite
def problems(draw: st.DrawFn, mean_scenes: float = 1) -> Problem:
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    places = np.sort(rng.integers(0, N_QUARTERS, N_UNITS))
    quarters = np.abs(places[:, None] - np.arange(N_QUARTERS)) <= 1
    scene = rng.integers(0, N_SCENES, N_UNITS)
    more = rng.random((N_UNITS, N_SCENES)) < (mean_scenes - 1) / N_SCENES
    starts = 15 * np.arange(N_UNITS)
    demands = Demands(
        np.stack([starts, starts + 10], axis=1),
        quarters,
        (scene[:, None] == np.arange(N_SCENES)) | more,
        rng.uniform(0.1, 1, N_SCENES).astype(np.float32),
        rng.random(N_QUARTERS) < draw(st.sampled_from([0, 0.3])),
        rng.random(N_SCENES) < draw(st.sampled_from([0, 0.3])),
    )
    numbers = st.integers(0, N_UNITS - 1)
    pairs = {(a, b) for a, b in draw(st.sets(st.tuples(numbers, numbers), max_size=4)) if a != b}
    sizes = np.full(N_UNITS, 10)
    return Problem(
        random_objective(draw(st.integers(0, 9999)), N_UNITS),
        demands,
        sizes,
        draw(st.integers(10, 60)),
        pairs | {(b, a) for a, b in pairs},
    )


def n_missing(problem: Problem, chosen: list[int]) -> int:
    demands = problem.demands
    return sum(
        not demands.has_quarters[place] and not any(demands.quarters[unit, place] for unit in chosen)
        for place in range(N_QUARTERS)
    )


def scenes_of(problem: Problem, chosen: list[int]) -> list[int]:
    return [int(problem.demands.scenes[unit].argmax()) for unit in chosen]


@given(problems())
def test_no_quarter_is_left_out_that_another_unit_would_fill(problem: Problem) -> None:
    chosen = problem.solve()
    for _, choice in problem.exchanges(chosen):
        assert len(chosen) < 3 or n_missing(problem, choice) >= n_missing(problem, chosen)


@given(problems())
def test_no_scene_is_repeated_where_another_may_be_shown(problem: Problem) -> None:
    chosen, has = problem.solve(), np.flatnonzero(problem.demands.has_scenes).tolist()
    scenes = [*scenes_of(problem, chosen), *has]
    for unit, choice in problem.exchanges(chosen):
        (scene,), other = scenes_of(problem, [unit]), scenes_of(problem, choice)[-1]
        importance = problem.demands.importance
        is_better = other not in scenes and importance[other] >= importance[scene] / 2
        if scenes.count(scene) > 1 and n_missing(problem, choice) <= n_missing(problem, chosen):
            assert not is_better


@given(problems())
def test_exchanges_obey_the_room_and_the_exclusions(problem: Problem) -> None:
    chosen = problem.solve()
    assert len(set(chosen)) == len(chosen)
    assert problem.sizes[chosen].sum() <= problem.room
    assert not any((a, b) in problem.pairs for a in chosen for b in chosen)


@given(problems(mean_scenes=2.5))
def test_units_of_several_scenes_do_not_change_places_for_ever(problem: Problem) -> None:
    chosen = problem.solve()
    left_out = int(problem.demands.left_out(chosen).sum())
    first = maximise(problem.objective, problem.sizes, problem.room, exclude(problem.pairs))
    filled = n_missing(problem, chosen) < n_missing(problem, first)
    assert filled or left_out <= problem.demands.left_out(first).sum()


def test_units_of_a_scene_that_touch_are_no_repetition() -> None:
    scenes = np.ones((2, 1), np.bool_)
    nothing = np.zeros((2, 0), np.bool_)
    known = np.zeros(0, np.bool_), np.zeros(1, np.bool_)
    touch, apart = (
        Demands(np.array([[0, 10], [start, start + 10]]), nothing, scenes, np.ones(1, np.float32), *known)
        for start in (10, 11)
    )
    assert not touch.repeated([0, 1])
    assert {*apart.repeated([0, 1])} == {0, 1}
