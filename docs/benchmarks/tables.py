"""Intervals and tables that the scripts share."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from vidsum.types import TimeArray

DRAWS = 2000


def mean(rows: TimeArray) -> TimeArray:
    """[...] of rows [..., N], over the last axis but none of the others."""
    return np.asarray(rows.mean(axis=-1))


def bootstrap(
    rows: npt.ArrayLike, statistic: Callable[[TimeArray], TimeArray] = mean, seed: int = 0
) -> tuple[float, float]:
    """The 95 per cent interval of a statistic of what was drawn, such as films: rows [N] or [N, K].

    The statistic gets draws [D, N], or [D, N, K], and returns [D].
    """
    values = np.asarray(rows, np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(values), (DRAWS, len(values)))
    low, high = np.percentile(statistic(values[drawn]), [2.5, 97.5])
    return float(low), float(high)


def with_interval(value: float, interval: Sequence[float], digits: int = 2) -> str:
    """A cell such as `0.71 [0.59, 0.82]`."""
    low, high = interval
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table in Markdown, each row as soon as it is there."""
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
