"""Time of the knapsack on 5,000 shots, beside the plain dynamic programme over all of them.

python -m docs.benchmarks.knapsack
"""

import time
from collections.abc import Callable

import numpy as np

from vidsum.summary.knapsack import knapsack, values_of

FPS = 30
N_SHOTS = 5000


def plain(values: np.ndarray, weights: np.ndarray, capacity: int) -> int:
    """The best value by the dynamic programme over all shots, without the choice itself."""
    best = np.zeros(capacity + 1, np.int64)
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        np.maximum(best[weight:], best[: capacity + 1 - weight] + value, out=best[weight:])
    return int(best[-1])


def seconds(function: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    """Print a row for each kind of instance and budget."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(20, 140, N_SHOTS)
    kinds = {
        "scores unrelated to length": rng.random(N_SHOTS),
        "all scores equal": np.ones(N_SHOTS),
        "scores grow with length": (lengths + 10) / 150,
    }
    print(f"{N_SHOTS} shots, {lengths.sum() / FPS / 3600:.1f} h of video at {FPS} frames/s")
    print(f"{'instance':<28}{'budget':>8}{'ours s':>10}{'plain s':>10}{'plain/ours':>12}")
    for kind, scores in kinds.items():
        values = values_of(scores)
        for minutes in (18, 60, 120):
            capacity = minutes * 60 * FPS
            ours = min(seconds(lambda: knapsack(values, lengths, capacity)) for _ in range(3))  # noqa: B023
            other = seconds(lambda: plain(values, lengths, capacity))  # noqa: B023
            row = f"{kind:<28}{minutes:>4} min{ours:>10.4f}{other:>10.3f}{other / ours:>12.1f}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
