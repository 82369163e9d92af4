"""Captions that are in the pictures of a film already: lines of letters in the middle, which soon change.

Phones have them at any height but the top; signs and slides stay, and names are at a side. No letter is read.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.crop.lettering import bright_lines
from vidsum.types import Picture

EVERY_S: Final = 1.0  # between the pictures that are compared
_LATER: Final = 3  # pictures between a line and what follows it
_HIGHEST: Final = 0.4  # of the height: lines begin below it
_CENTRED: Final = 0.06  # of the width: most from the middle of a line to the middle of the picture
_LETTER: Final = 0.8  # of the brightest level of a line: a pixel of a letter
_CHANGED: Final = 16.0  # least mean change in levels of the letters of a line that is another one
_SHARE, _LEAST = 0.2, 3  # least share, and number, of the pictures with such a line


def has_captions(pictures: Sequence[Picture]) -> bool:
    """Return whether pictures [H, W, 3], one a second, show captions; the short side is
    `vidsum.crop.lettering.SHORT_SIDE`. False of less than six pictures.
    """
    import cv2

    greys = [np.asarray(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), np.uint8) for picture in pictures]
    changing = [_has_caption(grey, later) for grey, later in zip(greys, greys[_LATER:], strict=False)]
    return sum(changing) >= max(_SHARE * len(changing), _LEAST)


def _has_caption(grey: npt.NDArray[np.uint8], later: npt.NDArray[np.uint8]) -> bool:
    """Return whether a picture has a line in the middle whose letters are not there later."""
    high, wide = grey.shape
    change = np.abs(grey.astype(np.int16) - later)
    for levels in grey, np.asarray(255 - grey, np.uint8):
        for left, top, right, bottom in bright_lines(levels).tolist():
            is_centred = abs((left + right) / 2 - wide / 2) < _CENTRED * wide
            if is_centred and top > _HIGHEST * high:
                box = np.s_[top:bottom, left:right]
                are_letters = levels[box] > _LETTER * levels[box].max()  # what is behind them may move
                if change[box][are_letters].mean() > _CHANGED:
                    return True
    return False
