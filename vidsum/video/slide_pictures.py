"""See slides in pictures, four a second: paper and text that stand still, and text that gives way.

A picture is split into cells of 10 x 10 pixels. docs/algorithms/kts.md has the rules.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from vidsum.types import FloatArray, Picture

WIDTH, HEIGHT = 160, 90  # pixels of a picture
TICK_S = 0.25  # least time between two pictures
SPAN_TICKS = 2  # a cell stands still if it has done so for so many ticks
_CELL = 10
_WINDOW = 9  # pictures: a slide stands still in the first three and in the last three
_MAX_MOVED = 2.0  # mean change in levels of a cell that stands still
_MAX_PAPER, _MIN_TEXT = 0.3, 1.0  # mean deviation in levels of a cell of paper, and of one with text
_LEAST_STILL, _LEAST_PAPER, _LEAST_TEXT = 0.6, 0.2, 3
"""Least fractions of the cells of a slide that stand still, and that are paper; number of cells with text."""
_MIN_OTHER: Final = (0.25, 0.75)
"""Change of a cell whose text has gone, as a fraction of its deviation and in levels, whichever is more."""


@dataclass(eq=False)
class _Tick:
    """A picture: its cells, and how they differ from those before."""

    time_s: float
    cells: FloatArray  # [C, pixels]
    moved: FloatArray  # [C] mean change
    deviation: FloatArray  # [C] mean deviation
    is_slide: bool = False


class SlideMeter:
    """Meter of slides in pictures that come in order."""

    def __init__(self) -> None:
        self._ticks = deque[_Tick](maxlen=_WINDOW)

    def reset(self) -> None:
        self._ticks.clear()

    def add(self, time_s: float, grey: Picture) -> tuple[float, float, float]:
        """Add a picture [HEIGHT, WIDTH]; return three numbers.

        1 if the last pictures are a slide, else 0; the fraction of the text of a slide that has given way to
        another slide in the last two seconds, else 0; and how many seconds ago.
        """
        rows, columns = HEIGHT // _CELL, WIDTH // _CELL
        blocks = grey.astype(np.float32).reshape(rows, _CELL, columns, _CELL)
        cells = blocks.swapaxes(1, 2).reshape(rows * columns, _CELL**2)
        last = self._ticks[-1].cells if self._ticks else cells
        deviation = _mean(cells - cells.mean(axis=1, keepdims=True))
        tick = _Tick(time_s, cells, _mean(cells - last), deviation)
        self._ticks.append(tick)
        ticks = list(self._ticks)
        if len(ticks) <= SPAN_TICKS:
            return 0.0, 0.0, 0.0
        still = _is_still(ticks)
        is_paper, is_text = still & (deviation < _MAX_PAPER), still & (deviation >= _MIN_TEXT)
        tick.is_slide = (
            still.mean() >= _LEAST_STILL and is_paper.mean() >= _LEAST_PAPER and is_text.sum() >= _LEAST_TEXT
        )
        if len(ticks) < _WINDOW or not (tick.is_slide and ticks[SPAN_TICKS].is_slide):
            return float(tick.is_slide), 0.0, 0.0
        return float(tick.is_slide), *_find_change(ticks)


def _find_change(ticks: list[_Tick]) -> tuple[float, float]:
    """Return the fraction of the first slide's text that is not in the last, and how long ago it went."""
    first, last = SPAN_TICKS, len(ticks) - 1 - SPAN_TICKS
    before, after = ticks[first], ticks[last]
    still = _is_still(ticks[: first + 1]) & _is_still(ticks)
    least = np.maximum(_MIN_OTHER[0] * before.deviation, _MIN_OTHER[1])
    has_changed = still & (_mean(after.cells - before.cells) > least)
    is_text = still & (before.deviation >= _MIN_TEXT)
    if not is_text.any() or not (is_text & has_changed).any():
        return 0.0, 0.0
    moved = np.cumsum([tick.moved[has_changed].sum() for tick in ticks[first + 1 : last + 1]])
    middle = first + 1 + int(np.searchsorted(moved, moved[-1] / 2))
    return float(has_changed[is_text].mean()), ticks[-1].time_s - ticks[middle].time_s


def _is_still(ticks: list[_Tick]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return [C] whether each cell stands still in the last of some pictures."""
    is_still: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
        np.max([tick.moved for tick in ticks[-SPAN_TICKS:]], axis=0) < _MAX_MOVED
    )
    return is_still


def _mean(difference: FloatArray) -> FloatArray:
    return np.asarray(np.abs(difference).mean(axis=1), np.float32)
