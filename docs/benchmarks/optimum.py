"""Compare the choice of units with the optimum, on small films where every choice is tried.

    python -m docs.benchmarks.optimum [--films 200]

Films are made up: seven shots of 2 to 6 s, of four looks, with random importance; the budget is a third.
Units are the windows of 2 to 2.7 s that a summary chooses from.
"""

from itertools import pairwise

import numpy as np

from docs.benchmarks import argument_parser
from vidsum.results.features import Features
from vidsum.summary.choose_units import WindowLimits, exclusion
from vidsum.summary.constraints import VideoFrames
from vidsum.summary.content import content_of
from vidsum.summary.film import Film, objective_of
from vidsum.summary.objective import Objective
from vidsum.summary.optimise import Excluded, maximise
from vidsum.summary.units import WindowFinder, shot_windows
from vidsum.types import IntArray

FPS, N_SHOTS = 10.0, 7


def best_choice(objective: Objective, sizes: IntArray, room: int, excluded: Excluded) -> float:
    """The highest value of any choice that fits: every choice is tried."""
    best, waiting = 0.0, [(list[int](), np.arange(len(sizes)))]
    while waiting:
        chosen, others = waiting.pop()
        best = max(best, objective.value(chosen))
        left = room - int(sizes[chosen].sum())
        fits = others[sizes[others] <= left]
        for place, unit in enumerate(fits.tolist()):
            later = fits[place + 1 :]
            waiting.append(([*chosen, unit], later[~np.isin(later, excluded(chosen, unit))]))
    return best


def small_film(seed: int) -> Film:
    """A film with random shots, looks and importance."""
    rng = np.random.default_rng(seed)
    edges = np.round(np.cumsum([0, *rng.uniform(2, 6, N_SHOTS)]) * FPS).astype(np.int64)
    n_frames = int(edges[-1])
    sampled = np.arange(0, n_frames, int(FPS / 2))
    firsts = np.append(np.searchsorted(sampled, edges[:-1]), len(sampled)).tolist()
    shots = [slice(*span) for span in pairwise(firsts)]
    rows = np.repeat(rng.normal(size=(4, 32))[rng.integers(0, 4, N_SHOTS)], np.diff(firsts), axis=0)
    features = Features.from_array(rows + 0.3 * rng.normal(size=rows.shape), video_fps=FPS)
    none = np.zeros(n_frames, np.bool_)
    video = VideoFrames(edges, none, none.copy(), n_frames // 3, FPS)
    importance = np.repeat(rng.uniform(0.1, 1, N_SHOTS), np.diff(edges))
    sums = np.concatenate([[0.0], np.cumsum(importance)])
    content = content_of(features, shots, np.full(len(sampled), -1))
    return Film(video, sums, sums, [np.arange(n_frames + 1)], sampled, content)


def share_of_optimum(seed: int) -> float:
    """The value of the choice over the best value of all choices."""
    film, limits = small_film(seed), WindowLimits(20, 27, 20)
    units = shot_windows(film.video, WindowFinder(film.worth, film.places, limits.shortest), limits.longest)
    objective = objective_of(film, dict.fromkeys(units, 0.0))
    sizes = np.array([unit.size for unit in units], np.int64)
    excluded = exclusion(units, limits)
    chosen = maximise(objective, sizes, film.room, excluded)
    return objective.value(chosen) / best_choice(objective, sizes, film.room, excluded)


def main() -> None:
    """Print how often the best choice is found, and how far the others are from it."""
    parser = argument_parser(__doc__, small="--films 5")
    parser.add_argument("--films", type=int, default=200)
    shares = np.array([share_of_optimum(seed) for seed in range(parser.parse_args().films)])
    exact, mean, least = (shares > 1 - 1e-6).mean(), shares.mean(), shares.min()
    print(f"{len(shares)} films: the best choice in {exact:.0%}; mean {mean:.4f} of it, least {least:.3f}")


if __name__ == "__main__":
    main()
