"""Lines of letters near the lower edge of a picture: subtitles and captions, which a crop would cut.

Letters are strokes that are thinner than a letter is high, brighter or darker than what is around them, of
one height and one brightness, side by side. No letter is read.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.types import FloatArray, Picture

SHORT_SIDE = 360  # pixels of the short side of the pictures that are searched
_LOWEST: Final = 0.65  # of the height: lines begin below it
_HEIGHTS: Final = (0.022, 0.085)  # least and largest height of a letter, as fractions of the short side
_MIN_CONTRAST: Final = 70.0  # levels between strokes and what is around them
_MIN_LETTERS: Final = 7  # letters of a line
_MIN_LEVEL_RATIO: Final = 0.75  # between the levels of two letters of a line
_MAX_GAP: Final = 1.3  # between neighbours, in heights of a letter


class _Letters(NamedTuple):
    """Boxes of parts that may be letters, each [N]."""

    left: FloatArray
    right: FloatArray
    middle: FloatArray
    height: FloatArray
    level: FloatArray


def has_letters_below(picture: Picture) -> bool:
    """Return whether a picture [H, W, 3], its short side `SHORT_SIDE` pixels, has a line of letters below."""
    import cv2

    first = round(_LOWEST * len(picture))
    grey = cv2.cvtColor(np.ascontiguousarray(picture[first:]), cv2.COLOR_RGB2GRAY)
    return any(_has_line(_find_letters(np.asarray(levels))) for levels in (grey, 255 - grey))


def _find_letters(grey: npt.NDArray[np.uint8]) -> _Letters:
    """Return the bright parts of a picture [H, W] that have the size and the fill of letters."""
    import cv2

    least, largest = (fraction * SHORT_SIDE for fraction in _HEIGHTS)
    side = 2 * round(largest / 4) + 1
    strokes = cv2.morphologyEx(grey, cv2.MORPH_TOPHAT, np.ones((side, side), np.uint8))
    mask = (strokes >= _MIN_CONTRAST).astype(np.uint8)
    count, labels, boxes, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    sums = np.bincount(labels.ravel(), weights=grey.ravel(), minlength=count)
    left, top, width, height, area = boxes[1:].T.astype(float)
    levels, fill = sums[1:] / area, area / (width * height)
    is_letter = (
        (height >= least) & (height <= largest) & (width <= 2.5 * height) & (fill > 0.2) & (fill < 0.95)
    )
    rows = (left, left + width, top + height / 2, height, levels)
    return _Letters(*(row[is_letter] for row in rows))


def _has_line(letters: _Letters) -> bool:
    """Return whether enough letters of one height and level are side by side."""
    for middle, height, level in zip(letters.middle, letters.height, letters.level, strict=True):
        ratio = np.minimum(letters.level, level) / np.maximum(letters.level, level)
        is_similar = (np.abs(letters.height / height - 1) < 0.6) & (ratio >= _MIN_LEVEL_RATIO)
        members = np.flatnonzero(is_similar & (np.abs(letters.middle - middle) < 0.4 * height))
        if len(members) < _MIN_LETTERS:
            continue
        members = members[np.argsort(letters.left[members])]
        gaps = letters.left[members][1:] - letters.right[members][:-1]
        breaks = np.flatnonzero(gaps > _MAX_GAP * height)
        if np.diff([-1, *breaks.tolist(), len(members) - 1]).max() >= _MIN_LETTERS:
            return True
    return False
