"""Lines of letters that a crop would cut: subtitles and captions near the lower edge, and screens of text.

Letters are strokes that are thinner than a letter is high, brighter or darker than what is around them, of
one height and one brightness, side by side. No letter is read.
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.types import FloatArray, IntArray, Picture

SHORT_SIDE = 360  # pixels of the short side of the pictures that are searched
_LOWEST: Final = 0.65  # of the height: lines begin below it
_HEIGHTS: Final = (0.022, 0.085)  # least and largest height of a letter, as fractions of the short side
_MIN_CONTRAST: Final = 70.0  # levels between strokes and what is around them
_MIN_LETTERS: Final = 7  # letters of a line
_MIN_LINES: Final = 3  # lines of a screen of text: a title and two points
_MIN_LEVEL_RATIO: Final = 0.75  # between the levels of two letters of a line
_MAX_GAP: Final = 1.3  # between neighbours, in heights of a letter
_CAPTION_S: Final = 7.0  # the longest that a caption stays (docs/transcribe.md)
_SAME: Final = 8.0  # mean change in levels of a line that stays


@dataclass(frozen=True, eq=False)
class Letters:
    """Lines of letters in a picture."""

    below: IntArray  # [N, 4] left, top, right and bottom of lines near the lower edge, in pixels
    count: int  # of the lines anywhere, bright or dark


def find_letters(grey: npt.NDArray[np.uint8]) -> Letters:
    """Return the lines of letters of a grey picture [H, W], its short side `SHORT_SIDE` pixels."""
    first, below, count = round(_LOWEST * len(grey)), list[IntArray](), 0
    for levels in grey, np.asarray(255 - grey, np.uint8):
        below.append(bright_lines(levels[first:]) + np.array([0, first, 0, first]))
        count = max(count, len(bright_lines(levels)))
    return Letters(np.concatenate(below), count)


def bright_lines(grey: npt.NDArray[np.uint8]) -> IntArray:
    """Return the lines of bright letters [N, 4] of a grey picture: left, top, right and bottom, in pixels."""
    return _find_lines(_find_letters(grey))


class LetterWatch:
    """The letters of the pictures of a shot.

    A channel's strip or a name below a speaker stays as it is for longer than a caption; a crop may cut it.
    """

    def __init__(self) -> None:
        self._count = 0  # most lines of a picture
        self._had_captions = False
        self._recent = deque[tuple[float, npt.NDArray[np.uint8]]]()
        # since when, where, and how they look
        self._lines = list[tuple[float, IntArray, npt.NDArray[np.uint8]]]()

    @property
    def has_captions(self) -> bool:
        """Whether there are lines near the lower edge, of which none is known to stay."""
        return self._had_captions or bool(self._lines)

    def has_screen(self, *, is_still: bool) -> bool:
        """Return whether there is a screen of text: several lines, or one in pictures that stand still."""
        return self._count >= (1 if is_still else _MIN_LINES)

    def add(self, time_s: float, picture: Picture) -> None:
        """Look at a picture [H, W, 3], its short side `SHORT_SIDE` pixels; times rise."""
        import cv2

        grey = np.asarray(cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2GRAY), np.uint8)
        known, self._lines = self._lines, []
        for since_s, box, look in known:
            if not _is_same(look, _cut(grey, box)):
                self._had_captions = True
            elif time_s - since_s <= _CAPTION_S:
                self._lines.append((since_s, box, look))
        letters = find_letters(grey)
        self._count = max(self._count, letters.count)
        boxes = [box for _, box, _ in self._lines]
        for box in letters.below:
            since_s = self._since(time_s, grey, box)
            if time_s - since_s <= _CAPTION_S and not any(np.array_equal(box, other) for other in boxes):
                self._lines.append((since_s, box, _cut(grey, box)))
        self._recent.append((time_s, grey))
        while time_s - self._recent[0][0] > _CAPTION_S + 1:
            self._recent.popleft()

    def _since(self, time_s: float, grey: npt.NDArray[np.uint8], box: IntArray) -> float:
        """Return since when the pictures are the same in a box."""
        for earlier_s, other in reversed(self._recent):
            if not _is_same(_cut(grey, box), _cut(other, box)):
                break
            time_s = earlier_s
        return time_s


def _cut(grey: npt.NDArray[np.uint8], box: IntArray) -> npt.NDArray[np.uint8]:
    left, top, right, bottom = box.tolist()
    return grey[top:bottom, left:right]


def _is_same(look: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> bool:
    return float(np.abs(look.astype(np.int16) - other).mean()) <= _SAME


def _find_letters(grey: npt.NDArray[np.uint8]) -> FloatArray:
    """Return the bright parts of a picture [H, W] that may be letters, from the left, [N, 5]: left, right,
    middle of the height, height, level."""
    import cv2

    least, largest = (fraction * SHORT_SIDE for fraction in _HEIGHTS)
    side = 2 * round(largest / 4) + 1
    strokes = cv2.morphologyEx(grey, cv2.MORPH_TOPHAT, np.ones((side, side), np.uint8))
    mask = (strokes >= _MIN_CONTRAST).astype(np.uint8)
    count, labels, boxes, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    sums = np.bincount(labels.ravel(), weights=grey.ravel(), minlength=count)
    left, top, width, height, area = boxes[1:].T.astype(float)
    levels, fill = sums[1:] / area, area / (width * height)
    is_letter = (height >= least) & (height <= largest) & (width <= 2.5 * height)
    chosen = np.flatnonzero(is_letter & (fill > 0.2) & (fill < 0.95))
    parts = np.stack([left, left + width, top + height / 2, height, levels], axis=1)
    return np.asarray(parts[chosen[np.argsort(left[chosen])]])


def _find_lines(letters: FloatArray) -> IntArray:
    """Return lines, [N, 4]: left, top, right and bottom of runs of enough letters of one height and level."""
    lines, boxes = list[float](), list[tuple[int, int, int, int]]()  # the middles of their heights, and boxes
    left, right, middles, heights, levels = letters.T
    for _, _, middle, height, level in letters:
        is_similar = (np.abs(heights / height - 1) < 0.6) & (np.abs(middles - middle) < 0.4 * height)
        is_similar &= np.minimum(levels, level) >= _MIN_LEVEL_RATIO * np.maximum(levels, level)
        gaps = left[is_similar][1:] - right[is_similar][:-1]
        ends = np.flatnonzero(np.append(gaps, np.inf) > _MAX_GAP * height)
        counts = np.diff(ends, prepend=-1)
        is_new = all(abs(middle - other) > height for other in lines)
        if is_new and counts.max() >= _MIN_LETTERS:
            lines.append(float(middle))
            last = int(ends[counts.argmax()])
            first = last + 1 - int(counts.max())
            top, bottom = max(middle - height / 2, 0), middle + height / 2
            across = left[is_similar][first], right[is_similar][last]
            boxes.append((int(across[0]), int(top), int(np.ceil(across[1])), int(np.ceil(bottom))))
    return np.array(boxes, np.int64).reshape(-1, 4)
