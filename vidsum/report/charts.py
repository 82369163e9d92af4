"""Curves and segments as SVG geometry, in a drawing of 1000 x 100 that the page stretches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

WIDTH, HEIGHT = 1000.0, 100.0
_MOST_POINTS = 1000


@dataclass(frozen=True)
class Band:
    """A segment of time as a rectangle of full height."""

    x: float
    width: float
    is_best: bool = False
    """Whether it is the first of a ranking."""
    is_said: bool = False
    """Whether it was found in what is said."""


@dataclass(frozen=True)
class Chart:
    """What happens along the video."""

    label: str
    """In words, for those who do not see it."""
    duration_s: float
    shots: tuple[Band, ...]
    """Every second shot."""
    chosen: tuple[Band, ...]
    line: str
    """An SVG path of the curve; empty without one."""
    said: str = ""
    """The same of what is said."""

    @property
    def area(self) -> str:
        """An SVG path of what is below the curve."""
        return f"{self.line}V{HEIGHT:g}H0Z" if self.line else ""


def chart(
    label: str,
    duration_s: float,
    chosen: Sequence[Mapping[str, Any]],
    curve: tuple[Sequence[float], Sequence[float]] = ((), ()),
    shots: Sequence[Mapping[str, Any]] = (),
    said: Sequence[float] = (),
    *,
    is_ranked: bool = False,
) -> Chart:
    """The chart of a curve (times in seconds, scores), of shots, and of the chosen segments."""
    return Chart(
        label,
        duration_s,
        tuple(_band(shot, duration_s) for shot in shots[1::2]),
        tuple(_band(each, duration_s, is_ranked and each is chosen[0]) for each in chosen),
        _line(*curve, duration_s),
        _line(curve[0], said, duration_s) if said else "",
    )


def _band(segment: Mapping[str, Any], duration_s: float, is_best: bool = False) -> Band:
    start, end = (WIDTH * segment[edge] / duration_s for edge in ("start_s", "end_s"))
    return Band(round(start, 2), round(max(end - start, 1.0), 2), is_best, segment.get("evidence") == "said")


def _line(times_s: Sequence[float], scores: Sequence[float], duration_s: float) -> str:
    """A step for each sample, up to its share of the highest; of many samples, the highest of each group."""
    if not times_s:
        return ""
    group = -(-len(times_s) // _MOST_POINTS)
    starts = times_s[::group]
    heights = [max(scores[first : first + group]) for first in range(0, len(scores), group)]
    top = max(heights) or 1.0
    steps = []
    for (start, end), height in zip(pairwise([*starts, duration_s]), heights, strict=True):
        y = round(HEIGHT * (1 - 0.95 * (max(height, 0.0) / top)), 2)
        steps.append(f"{WIDTH * start / duration_s:.2f} {y:g}H{WIDTH * max(start, end) / duration_s:.2f}")
    return "M" + "L".join(steps)
