"""Letters that stand one above the other: columns of boxes are found, and their letters laid side by side."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.types import Picture

Rectangle = tuple[float, float, float, float]  # left, top, right, bottom in pixels

MIN_LETTERS: Final = 3
_MIN_HEIGHT: Final = 0.35  # of the highest letter: less is a dot or an accent, which belongs to the next one
_MAX_OFFSET: Final = 0.4  # between the middles of boxes, as a fraction of the wider one's width
_MAX_GAP: Final = 1.5  # between boxes: a letter between them may have been overlooked
_MAX_LETTER_GAP: Final = 0.8  # between letters, as a fraction of the highest one's height
_BESIDE: Final = 2.0  # widths of a column to its sides in which the labels of a list have their texts


def find_columns(pieces: Sequence[Rectangle], others: Sequence[Rectangle]) -> list[list[int]]:
    """Return which of the boxes of one letter, or of several above each other, form columns.

    A column with other text beside it, as the labels of a list have, is none.
    """
    columns = list[list[int]]()
    for number in sorted(range(len(pieces)), key=lambda n: pieces[n][1]):
        column = next((part for part in columns if _continues(pieces[part[-1]], pieces[number])), None)
        if column is None:
            columns.append([number])
        else:
            column.append(number)
    return [
        column
        for column in columns
        if _is_long(around := enclose([pieces[n] for n in column]))
        and not any(_is_beside(around, other) for other in others)
    ]


def enclose(boxes: Sequence[Rectangle]) -> Rectangle:
    """Return the rectangle around boxes."""
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _continues(above: Rectangle, below: Rectangle) -> bool:
    width = max(box[2] - box[0] for box in (above, below))
    middles = [(box[0] + box[2]) / 2 for box in (above, below)]
    gap = below[1] - above[3]
    return abs(middles[1] - middles[0]) <= _MAX_OFFSET * width and -width / 2 < gap <= _MAX_GAP * width


def _is_long(around: Rectangle) -> bool:
    return around[3] - around[1] >= (MIN_LETTERS - 0.5) * (around[2] - around[0])


def _is_beside(around: Rectangle, other: Rectangle) -> bool:
    left, top, right, bottom = around
    reach = _BESIDE * (right - left)
    is_level = top < (other[1] + other[3]) / 2 < bottom
    return is_level and left - reach < other[2] and other[0] < right + reach


def cut_column(picture: Picture, around: Rectangle) -> Picture:
    """Return what a picture shows in a column and as far above and below it as a letter is high."""
    left, top, right, bottom = around
    reach = right - left
    height, width = picture.shape[:2]
    rows = slice(max(0, int(top - reach)), min(height, int(bottom + reach)))
    return picture[rows, max(0, int(left)) : min(width, int(right) + 1)]


def lay_flat(line: Picture) -> Picture | None:
    """Return the letters of a tall BGR line [h, w, 3] side by side; None where it is no stack of letters."""
    import cv2

    grey = cv2.cvtColor(np.ascontiguousarray(line), cv2.COLOR_BGR2GRAY)
    _, bright = cv2.threshold(grey, 0, 1, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    ink = np.asarray(1 - bright if bright.mean() > 0.5 else bright, np.uint8)
    spans = _middle_run(_join_dots(_spans(np.asarray(ink.any(axis=1)))), line.shape[0] / 2)
    if len(spans) < MIN_LETTERS:
        return None
    height = max(bottom - top for top, bottom in spans)
    paper = np.median(line[ink == 0].reshape(-1, 3), axis=0).astype(np.uint8)
    return np.concatenate([_cell(line, ink, span, height, paper) for span in spans], axis=1)


def _spans(is_ink: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the runs of rows with ink, as [start, end)."""
    edges = np.flatnonzero(np.diff(np.pad(is_ink, 1).astype(np.int8))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _join_dots(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    least = _MIN_HEIGHT * max((end - start for start, end in spans), default=0)
    joined, dot = list[tuple[int, int]](), None
    for start, end in spans:
        if end - start < least:
            dot = start if dot is None else dot
            continue
        joined.append((start if dot is None else dot, end))
        dot = None
    return joined


def _middle_run(spans: Sequence[tuple[int, int]], middle: float) -> list[tuple[int, int]]:
    """Return the letters without a large gap between them that are at the middle of a column."""
    reach = _MAX_LETTER_GAP * max((end - start for start, end in spans), default=0)
    runs = list[list[tuple[int, int]]]()
    for span in spans:
        if runs and span[0] - runs[-1][-1][1] <= reach:
            runs[-1].append(span)
        else:
            runs.append([span])
    return next((run for run in runs if run[0][0] <= middle < run[-1][1]), [])


def _cell(
    line: Picture,
    ink: npt.NDArray[np.uint8],
    span: tuple[int, int],
    height: int,
    paper: npt.NDArray[np.uint8],
) -> Picture:
    """Return a letter on its ground, at the bottom of a cell as high as the highest letter."""
    columns = np.flatnonzero(ink[span[0] : span[1]].any(axis=0))
    letter = line[span[0] : span[1], columns[0] : columns[-1] + 1]
    above, side = height // 3, height // 8
    cell = np.empty((height + 2 * above, letter.shape[1] + 2 * side, 3), np.uint8)
    cell[:] = paper
    bottom = height + above
    cell[bottom - letter.shape[0] : bottom, side : side + letter.shape[1]] = letter
    return cell
