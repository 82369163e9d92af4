"""Strokes of letters in a frame, their motion, and the numbers of the rules by which frames are chosen."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.types import FloatArray
from vidsum.video.frames import Frame

Mask = npt.NDArray[np.uint8]  # [h, w] of 0 and 1
Cells = npt.NDArray[np.bool_]  # [rows, columns]


@dataclass(frozen=True)
class ChoiceRules:
    """Numbers of the rules; docs/algorithms/screen_text.md."""

    long_side: int = 640  # of the pictures in which strokes are found
    stroke_width: int = 15  # pixels; wider ones are none
    min_contrast: float = 30.0  # levels between a stroke and what is around it
    cell: int = 16  # pixels
    min_new: float = 0.06  # of a cell's pixels: strokes that are new, and were there half a second ago
    min_stable: float = 0.8  # of a cell's strokes
    cut: float = 25.0  # mean change in levels from one frame to the next that begins a shot
    still: float = 4.0  # mean change in a picture that stands still
    other: float = 12.0  # mean change since the last reading in another picture
    shot_gap_s: float = 2.0  # least time between readings of shots
    moving_s: float = 3.0  # least time between readings of moving strokes; it doubles where nothing is read
    max_wait_s: float = 48.0
    min_moving_s: float = 1.5  # strokes that move for less belong to a fade
    scrolled: float = 0.6  # of the picture's height or width: strokes that moved as far together are read
    most_unlike: float = 3.0  # times as many strokes come as go, or go as come, where they move together
    min_response: float = 0.1  # of the phase correlation, from which strokes move together
    edge: float = 0.01  # of the picture's sides: what scrolls and is as near to one is cut by it
    min_row: int = 3  # neighbouring cells with new strokes, as of a line; in a still picture, one is enough
    share: float = 0.2  # of a film's length that readings may take on one core
    saved_s: float = 4.0  # of this time at most, and at the start
    reading_s: float = 0.2  # cost of a reading, and of each line
    line_s: float = 0.06
    empty_s: float = 1.0  # cost of a reading without lines, after which others will hardly find any
    min_correlation: float = 0.5  # of the levels in the box of a line, where it is still there
    min_deviation: float = 2.0  # of levels in a box that is not empty
    bridged_s: float = 6.0  # a line that moves may be lost this long between two readings
    sure: float = 0.9  # confidence from which a reading with another letter is another text


RULES: Final = ChoiceRules()


@dataclass(frozen=True, eq=False)
class StrokePicture:
    """The grey levels of a frame, and its strokes."""

    time_s: float
    grey: Mask
    strokes: Mask
    near: Mask  # the strokes, and the pixels next to them

    @classmethod
    def of(cls, frame: Frame) -> "StrokePicture":
        import cv2

        height, width = frame.image.shape[:2]
        scale = min(1.0, RULES.long_side / max(height, width))
        size = max(1, round(scale * width)), max(1, round(scale * height))
        small = cv2.resize(frame.image, size, interpolation=cv2.INTER_AREA)
        grey = np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY), np.uint8)
        kernel = np.ones((RULES.stroke_width, RULES.stroke_width), np.uint8)
        bright = cv2.morphologyEx(grey, cv2.MORPH_TOPHAT, kernel)
        dark = cv2.morphologyEx(grey, cv2.MORPH_BLACKHAT, kernel)
        strokes = np.asarray(np.maximum(bright, dark) >= RULES.min_contrast, np.uint8)
        return cls(frame.time_s, grey, strokes, np.asarray(cv2.dilate(strokes, np.ones((3, 3), np.uint8))))

    def change(self, other: "StrokePicture") -> float:
        """Return the mean difference of the levels."""
        return float(np.abs(self.grey.astype(np.int16) - other.grey).mean())

    def shift(self, other: "StrokePicture") -> FloatArray:
        """Return how far strokes have moved since another frame, as [x, y] fractions of the picture.

        It is 0 where they do not move together.
        """
        import cv2

        gone, come = other.strokes & (1 - self.near), self.strokes & (1 - other.near)
        n_pixels = int(gone.sum()), int(come.sum())
        if min(n_pixels) < max(RULES.min_new * RULES.cell**2, max(n_pixels) / RULES.most_unlike):
            return np.zeros(2, np.float32)
        height, width = self.strokes.shape
        window = cv2.createHanningWindow((width, height), cv2.CV_32F)
        before, now = (np.asarray(mask, np.float32) for mask in (gone, come))
        (x, y), response = cv2.phaseCorrelate(before, now, window)
        is_common = response >= RULES.min_response
        return np.array([x / width, y / height] if is_common else [0, 0], np.float32)


def find_new_cells(sample: StrokePicture, last: StrokePicture, known: Mask) -> tuple[Cells, Cells]:
    """Return the cells in which strokes are new and most stand still, and all those with new strokes."""
    import cv2

    fresh = 1 - np.asarray(cv2.dilate(known, np.ones((3, 3), np.uint8)), np.uint8)
    stable = sample.strokes & last.near
    strokes, still, new = (_sum_cells(mask) for mask in (sample.strokes, stable, sample.strokes & fresh))
    least = RULES.min_new * RULES.cell**2
    is_still = (_sum_cells(stable & fresh) >= least) & (still >= RULES.min_stable * strokes)
    return is_still, new >= least


def has_row(cells: Cells, length: int) -> bool:
    """Return whether enough neighbours in a row are set."""
    padded = np.pad(cells, ((0, 0), (1, 1))).astype(np.int8).ravel()
    starts, ends = (np.flatnonzero(np.diff(padded) == step) for step in (1, -1))
    return bool((ends - starts).max(initial=0) >= length)


def _sum_cells(mask: Mask) -> npt.NDArray[np.int64]:
    cell = RULES.cell
    height, width = (max(1, -(-side // cell)) * cell for side in mask.shape)
    padded = np.pad(mask, ((0, height - mask.shape[0]), (0, width - mask.shape[1])))
    return np.asarray(padded.reshape(height // cell, cell, width // cell, cell).sum(axis=(1, 3)), np.int64)
