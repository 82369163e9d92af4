"""Lines of letters that a crop would cut: subtitles and captions near the lower edge, and screens of text.

Letters are strokes that are thinner than a letter is high, brighter or darker than what is around them, of
one height and one brightness, side by side. No letter is read.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.types import FloatArray, Picture

SHORT_SIDE = 360  # pixels of the short side of the pictures that are searched
_LOWEST: Final = 0.65  # of the height: lines begin below it
_HEIGHTS: Final = (0.022, 0.085)  # least and largest height of a letter, as fractions of the short side
_MIN_CONTRAST: Final = 70.0  # levels between strokes and what is around them
_MIN_LETTERS: Final = 7  # letters of a line
_MIN_LINES: Final = 3  # lines of a screen of text: a title and two points
_MIN_LEVEL_RATIO: Final = 0.75  # between the levels of two letters of a line
_MAX_GAP: Final = 1.3  # between neighbours, in heights of a letter


def has_letters(picture: Picture) -> bool:
    """Return whether a picture [H, W, 3], its short side `SHORT_SIDE` pixels, has a line of letters below, or
    several lines anywhere."""
    import cv2

    grey = np.asarray(cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2GRAY), np.uint8)
    first = round(_LOWEST * len(grey))
    return any(
        _count_lines(_find_letters(levels[first:])) > 0 or _count_lines(_find_letters(levels)) >= _MIN_LINES
        for levels in (grey, np.asarray(255 - grey, np.uint8))
    )


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


def _count_lines(letters: FloatArray) -> int:
    """Return the number of lines: places in which enough letters of one height and level are side by side."""
    lines = list[float]()  # the middles of their heights
    left, right, middles, heights, levels = letters.T
    for _, _, middle, height, level in letters:
        is_similar = (np.abs(heights / height - 1) < 0.6) & (np.abs(middles - middle) < 0.4 * height)
        is_similar &= np.minimum(levels, level) >= _MIN_LEVEL_RATIO * np.maximum(levels, level)
        gaps = left[is_similar][1:] - right[is_similar][:-1]
        ends = np.flatnonzero(np.append(gaps, np.inf) > _MAX_GAP * height)
        is_new = all(abs(middle - other) > height for other in lines)
        if is_new and np.diff(ends, prepend=-1).max() >= _MIN_LETTERS:
            lines.append(float(middle))
    return len(lines)
