"""Boxes of lines: found in a map of probabilities, put in order, and cut out of a picture."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.types import FloatArray, Picture

Quad = npt.NDArray[np.float32]  # [4, 2]: the corners of a line in pixels, from its top left one clockwise
_MULTIPLE: Final = 32  # of the sides of the detector's input
_IS_TEXT: Final = 0.3  # probability of a pixel in a line
_MIN_LINE: Final = 0.5  # mean probability in the box of a line
_MARGIN: Final = 48  # pixels of the detector's input around such rows
_MOST_ROWS: Final = 0.75  # of a picture; where there are more, it is looked at as a whole
_MAX_ROWS, _SHARED_ROWS = 416, 96  # of a part that the detector looks at, and of two parts together
_PALE: Final = 40.0  # levels between letters and their ground
_MIN_CURVED, _MIN_CURVED_SIDE = 0.65, 24  # of a curved line: mean within its outline, pixels of its box
_GROWTH: Final = (
    1.6  # the detector marks the cores of lines: area times this over length is added on each side
)
_MAX_BOXES: Final = 1000
_MIN_CORE, _MIN_BOX, _MIN_CROP = 3, 5, 3  # pixels of the shorter side: of the core, of the box, of the crop
_SAME_ROW: Final = 10  # pixels between the tops of boxes that stand in a row
_TALL: Final = 1.5  # height over width from which a line runs downwards


class FoundBox(NamedTuple):
    """A line where the detector sees one."""

    corners: Quad
    score: float  # mean probability in [0, 1] that its pixels are of text
    is_faint: bool = False  # whether it is seen only in a picture with more contrast
    is_curved: bool = False  # whether the line fills little of its box, as a curved one


def find_bands(may_be_text: npt.NDArray[np.bool_], high: int) -> list[tuple[int, int]]:
    """Return the rows [top, bottom) of the detector's input in which to look, from rows of a rough look."""
    scale = high / len(may_be_text)
    edges = np.flatnonzero(np.diff(np.pad(may_be_text, 1).astype(np.int8))) * scale
    bands = list[tuple[int, int]]()
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        top = max(0, int(start - _MARGIN) // _MULTIPLE * _MULTIPLE)
        bottom = min(high, -(-int(end + _MARGIN) // _MULTIPLE) * _MULTIPLE)
        if bands and top <= bands[-1][1]:
            top = bands.pop()[0]
        bands.append((top, bottom))
    if sum(bottom - top for top, bottom in bands) > _MOST_ROWS * high:
        bands = [(0, high)]
    return [part for band in bands for part in _split_band(*band)]


def _split_band(top: int, bottom: int) -> list[tuple[int, int]]:
    """Return parts of a band that are not too high for the memory, and share some rows."""
    height, step = bottom - top, _MAX_ROWS - _SHARED_ROWS
    if height <= _MAX_ROWS:
        return [(top, bottom)]
    count = -(-(height - _SHARED_ROWS) // step)
    starts = [
        top + round(n * (height - _MAX_ROWS) / (count - 1) / _MULTIPLE) * _MULTIPLE for n in range(count)
    ]
    return [(start, min(start + _MAX_ROWS, bottom)) for start in starts]


def multiple(side: float) -> int:
    return max(_MULTIPLE, round(side / _MULTIPLE) * _MULTIPLE)


def stretch(line: Picture) -> Picture:
    """Return a line with all levels from black to white."""
    low, high = np.percentile(line, (1, 99))
    levels = (line.astype(np.float32) - low) * (255 / max(high - low, 1.0))
    return np.asarray(np.clip(levels, 0, 255), np.uint8)


def is_pale(picture: Picture, box: FoundBox) -> bool:
    """Return whether letters differ so little from their ground that a box may cut them."""
    (left, top), (right, bottom) = box.corners.min(axis=0).astype(int), box.corners.max(axis=0).astype(int)
    low, high = np.percentile(picture[top : bottom + 1, left : right + 1], (1, 99))
    return bool(high - low < _PALE)


def meet(box: FoundBox, other: FoundBox) -> bool:
    low = np.maximum(box.corners.min(axis=0), other.corners.min(axis=0))
    return bool((low < np.minimum(box.corners.max(axis=0), other.corners.max(axis=0))).all())


def find_boxes(probability: FloatArray, width: int, height: int) -> list[FoundBox]:
    """Return the boxes of lines in a map [h, w] of probabilities, in pixels of a picture of another size."""
    import cv2

    mask = cv2.dilate((probability > _IS_TEXT).astype(np.uint8), np.ones((2, 2), np.uint8))
    contours, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    scale = np.array([width / probability.shape[1], height / probability.shape[0]])
    boxes = list[FoundBox]()
    for contour in contours[:_MAX_BOXES]:
        core = cv2.minAreaRect(contour)
        if min(core[1]) < _MIN_CORE:
            continue
        score, is_curved = _mean_inside(probability, cv2.boxPoints(core)), False
        if score < _MIN_LINE:
            score = _mean_inside(probability, contour[:, 0].astype(np.float32))
            is_curved = score >= _MIN_CURVED and min(core[1]) >= _MIN_CURVED_SIDE
            if not is_curved:
                continue
        grown = _grow(cv2.boxPoints(core))
        if min(grown[1]) < _MIN_BOX:
            continue
        corners = _in_order(np.round(cv2.boxPoints(grown) * scale))
        corners = np.clip(corners, 0, (width - 1, height - 1)).astype(np.float32)
        sides = [float(np.linalg.norm(corners[0] - corners[n])) for n in (1, 3)]
        if int(min(sides)) > _MIN_CROP:
            boxes.append(FoundBox(corners, score, is_curved=is_curved))
    return boxes


def _mean_inside(probability: FloatArray, corners: npt.NDArray[Any]) -> float:
    """Return the mean of a map in a quadrilateral."""
    import cv2

    height, width = probability.shape
    low = np.clip(np.floor(corners.min(axis=0)).astype(int), 0, (width - 1, height - 1))
    high = np.clip(np.ceil(corners.max(axis=0)).astype(int), 0, (width - 1, height - 1)) + 1
    inside = np.zeros((high[1] - low[1], high[0] - low[0]), np.uint8)
    cv2.fillPoly(inside, [(corners - low).astype(np.int32)], (1,))
    return float(cv2.mean(probability[low[1] : high[1], low[0] : high[0]], inside)[0])


def _grow(corners: npt.NDArray[Any]) -> Any:
    """Return the rectangle around a core whose sides are moved outwards."""
    import cv2
    import pyclipper

    sides = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
    distance = float(sides[0] * sides[1] * _GROWTH / sides.sum())
    offset = pyclipper.PyclipperOffset()
    offset.AddPath(corners, pyclipper.JT_ROUND, pyclipper.ET_CLOSEDPOLYGON)
    return cv2.minAreaRect(np.concatenate([np.array(path) for path in offset.Execute(distance)]))


def _in_order(corners: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return corners from the top left one clockwise: the two left ones are those with the least x."""
    by_x = corners[np.argsort(corners[:, 0], kind="stable")]
    left, right = (side[np.argsort(side[:, 1], kind="stable")] for side in (by_x[:2], by_x[2:]))
    return np.array([left[0], right[0], right[1], left[1]])


def sort_boxes(boxes: Sequence[FoundBox]) -> list[FoundBox]:
    """Return boxes from top to bottom, those in a row from left to right."""
    ordered = sorted(boxes, key=lambda box: float(box.corners[0, 1]))
    tops = [float(box.corners[0, 1]) for box in ordered]
    breaks = np.cumsum([0, *(after - before >= _SAME_ROW for before, after in pairwise(tops))])
    rows = zip(breaks.tolist(), ordered, strict=False)
    return [box for _, box in sorted(rows, key=lambda pair: (pair[0], float(pair[1].corners[0, 0])))]


def cut_line(picture: Picture, corners: Quad) -> Picture:
    """Return what a picture shows in a quadrilateral as an upright rectangle."""
    import cv2

    top, right, bottom, left = (float(np.linalg.norm(corners[n] - corners[(n + 1) % 4])) for n in range(4))
    width, height = int(max(top, bottom)), int(max(left, right))
    target = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(corners, target)
    crop = cv2.warpPerspective(
        picture, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(crop, np.uint8)


def is_tall(line: Picture) -> bool:
    """Return whether a line runs downwards."""
    return bool(line.shape[0] >= _TALL * line.shape[1])
