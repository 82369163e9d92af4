"""The three networks that read text: where lines are, which way up they stand, and their letters.

They are those of PP-OCR (Cui et al., "PaddleOCR 3.0", 2025) in the form that RapidOCR publishes, and take
their pictures as blue, green and red (BGR). docs/algorithms/screen_text.md has the rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.device import n_threads
from vidsum.io.packages import load_onnxruntime
from vidsum.types import FloatArray, Picture

Quad = npt.NDArray[np.float32]  # [4, 2]: the corners of a line in pixels, from its top left one clockwise

_MIN_SIDE: Final = 736  # pixels of the shorter side, to which small pictures are enlarged for the detector
_MAX_PIXELS: Final = 1_300_000  # of the detector's input
_MULTIPLE: Final = 32  # of the sides of the detector's input
_IS_TEXT: Final = 0.3  # probability of a pixel in a line
_MIN_LINE: Final = 0.5  # mean probability in the box of a line
_MAY_BE_TEXT: Final = (
    0.2  # probability of a pixel of a picture of half the size from which its row may have text
)
_MARGIN: Final = 48  # pixels of the detector's input around such rows
_MOST_ROWS: Final = 0.75  # of a picture; where there are more, it is looked at as a whole
_MAX_ROWS, _SHARED_ROWS = 416, 96  # of a part that the detector looks at, and of two parts together
_MIN_FAINT: Final = 0.7  # mean probability in the box of a faint line: texture with more contrast has less
_PALE: Final = 40.0  # levels between letters and their ground
_CONTRAST, _PARTS = 4.0, (8, 8)  # limit and grid of the equalization (CLAHE, Zuiderveld 1994)
_MIN_CURVED, _MIN_CURVED_SIDE = 0.65, 24  # of a curved line: mean within its outline, pixels of its box
_GROWTH: Final = (
    1.6  # the detector marks the cores of lines: area times this over length is added on each side
)
_MAX_BOXES: Final = 1000
_MIN_CORE, _MIN_BOX, _MIN_CROP = 3, 5, 3  # pixels of the shorter side: of the core, of the box, of the crop
_SAME_ROW: Final = 10  # pixels between the tops of boxes that stand in a row
_HEIGHT: Final = 48  # of a line before the other two networks
_TURNED_WIDTH: Final = 192  # of the classifier's input
_MIN_WIDTH, _WIDTH_STEP, _MAX_WIDTH = 320, 64, 3200  # of the recognizer's input
_BATCH_WIDTH: Final = 640  # of all lines of a batch together, beyond the first
_TALL: Final = 1.5  # height over width from which a line runs downwards


class FoundBox(NamedTuple):
    """A line where the detector sees one."""

    corners: Quad
    score: float  # mean probability in [0, 1] that its pixels are of text
    is_faint: bool = False  # whether it is seen only in a picture with more contrast
    is_curved: bool = False  # whether the line fills little of its box, as a curved one


class Letter(NamedTuple):
    """A letter that was read, and where."""

    text: str
    confidence: float
    place: float  # of its middle, as a fraction of the width of the line


def open_text_network(path: Path) -> Any:
    """Return a network ready to run.

    The layout that onnxruntime plans for each new size, and blocks that go back to the system one by one,
    would take three times the memory.
    """
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads()
    options.enable_mem_pattern = False
    # threads that wait in a loop take their time from the decoder's
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _run(session: Any, batch: FloatArray) -> FloatArray:
    """Return the output for pictures [N, H, W, 3] of levels."""
    levels = np.ascontiguousarray((batch / 127.5 - 1).transpose(0, 3, 1, 2), np.float32)
    output: FloatArray = session.run(None, {session.get_inputs()[0].name: levels}, _giving_back())[0]
    return output


@cache
def _giving_back() -> Any:
    """Return options with which a network gives its memory back after each run."""
    options = load_onnxruntime().RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    return options


@dataclass(frozen=True, eq=False)
class TextDetector:
    """The network that tells the pixels of lines (DB, Liao et al. 2020)."""

    session: Any

    def find(self, picture: Picture, clear: Picture) -> list[FoundBox]:
        """Return the lines of a BGR picture [H, W, 3] in reading order; `clear` has more contrast.

        A look at `clear` in half the size, a fourth of the work, tells in which rows there may be text, and
        finds lines that are too faint in the picture itself.
        """
        import cv2

        height, width = picture.shape[:2]
        wide, high = input_size(width, height)
        rough = self._probability(cv2.resize(clear, (_multiple(wide / 2), _multiple(high / 2))))
        may_be_text = np.asarray((rough > _MAY_BE_TEXT).any(axis=1))
        boxes = self._find_in(cv2.resize(picture, (wide, high)), may_be_text, picture)
        clear_boxes = [box for box in boxes if not _is_pale(picture, box)]
        faint = [
            box
            for box in find_boxes(rough, width, height)
            if box.score >= _MIN_FAINT and not any(_meet(box, other) for other in clear_boxes)
        ]
        if faint:
            tall = np.arange(len(rough)) * height / len(rough)
            rows = [(tall >= box.corners[:, 1].min()) & (tall <= box.corners[:, 1].max()) for box in faint]
            seen = self._find_in(cv2.resize(clear, (wide, high)), np.any(rows, axis=0), picture)
            faint = [box._replace(is_faint=True) for box in seen if any(_meet(box, other) for other in faint)]
            boxes = [box for box in boxes if not any(_meet(box, other) for other in faint)] + faint
        return sort_boxes(boxes)

    def _find_in(
        self, resized: npt.NDArray[Any], may_be_text: npt.NDArray[np.bool_], picture: Picture
    ) -> list[FoundBox]:
        """Return the boxes, in pixels of `picture`, in the rows of a rough look that may have text."""
        probability = np.zeros(resized.shape[:2], np.float32)
        for top, bottom in find_bands(may_be_text, len(resized)):
            seen = self._probability(resized[top:bottom])
            probability[top:bottom] = np.maximum(probability[top:bottom], seen)
        return find_boxes(probability, picture.shape[1], picture.shape[0])

    def _probability(self, picture: Any) -> FloatArray:
        probability: FloatArray = _run(self.session, np.asarray(picture, np.float32)[None])[0, 0]
        return probability


def find_bands(may_be_text: npt.NDArray[np.bool_], high: int) -> list[tuple[int, int]]:
    """Return the rows [top, bottom) of the detector's input in which to look, from those of a rough look."""
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


def add_contrast(picture: Picture) -> Picture:
    """Return the grey levels of a BGR picture, spread out within parts of it, as BGR."""
    import cv2

    grey = cv2.createCLAHE(_CONTRAST, _PARTS).apply(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY))
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), np.uint8)


def input_size(width: int, height: int) -> tuple[int, int]:
    """Return width and height of the detector's input for a picture."""
    scale = max(1.0, _MIN_SIDE / min(width, height))
    scale = min(scale, (_MAX_PIXELS / (width * height)) ** 0.5)
    return _multiple(int(width * scale)), _multiple(int(height * scale))


def _multiple(side: float) -> int:
    return max(_MULTIPLE, round(side / _MULTIPLE) * _MULTIPLE)


def stretch(line: Picture) -> Picture:
    """Return a line with all levels from black to white."""
    low, high = np.percentile(line, (1, 99))
    levels = (line.astype(np.float32) - low) * (255 / max(high - low, 1.0))
    return np.asarray(np.clip(levels, 0, 255), np.uint8)


def _is_pale(picture: Picture, box: FoundBox) -> bool:
    """Return whether letters differ so little from their ground that a box may cut them."""
    (left, top), (right, bottom) = box.corners.min(axis=0).astype(int), box.corners.max(axis=0).astype(int)
    low, high = np.percentile(picture[top : bottom + 1, left : right + 1], (1, 99))
    return bool(high - low < _PALE)


def _meet(box: FoundBox, other: FoundBox) -> bool:
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


def _scaled(line: Picture, width: int) -> FloatArray:
    """Return a line as [48, width, 3], with grey to the right where it is shorter."""
    import cv2

    own = min(width, max(1, int(np.ceil(_HEIGHT * line.shape[1] / line.shape[0]))))
    padded = np.full((_HEIGHT, width, 3), 127.5, np.float32)
    padded[:, :own] = cv2.resize(line, (own, _HEIGHT))
    return padded


@dataclass(frozen=True, eq=False)
class AngleClassifier:
    """The network that tells whether a line stands on its head."""

    session: Any

    def turned(self, lines: Sequence[Picture]) -> list[float]:
        """Return the probability for each BGR line [h, w, 3] that it is turned by 180 degrees."""
        return [float(_run(self.session, _scaled(line, _TURNED_WIDTH)[None])[0, 1]) for line in lines]


@dataclass(frozen=True, eq=False)
class TextRecognizer:
    """The network that reads the letters of a line (CTC, Graves et al. 2006)."""

    session: Any

    @cached_property
    def letters(self) -> list[str]:
        """The alphabet by the network's classes; the first is none."""
        stored = self.session.get_modelmeta().custom_metadata_map["character"]
        return ["", *stored.splitlines(), " "]

    def read(self, lines: Sequence[Picture]) -> list[list[Letter]]:
        """Return the letters of BGR lines [h, w, 3].

        Lines of about the same width are a batch. What is read in a line depends on no other line.
        """
        widths = [_padded_width(line) for line in lines]
        read = list[list[Letter]]([] for _ in lines)
        for width in sorted(set(widths)):
            numbers = [number for number, other in enumerate(widths) if other == width]
            size = max(1, _BATCH_WIDTH // width)
            for start in range(0, len(numbers), size):
                part = numbers[start : start + size]
                outputs = _run(self.session, np.stack([_scaled(lines[n], width) for n in part]))
                for number, output in zip(part, outputs, strict=True):
                    covered = min(1.0, _HEIGHT * lines[number].shape[1] / lines[number].shape[0] / width)
                    read[number] = self._decode(output, covered)
        return read

    def _decode(self, output: FloatArray, covered: float) -> list[Letter]:
        """Return the letters of [columns, classes]: the likeliest class of each column, repetitions once."""
        classes, sure = output.argmax(axis=1), output.max(axis=1)
        is_new = np.diff(classes, prepend=0) != 0
        columns = np.flatnonzero(is_new & (classes > 0)).tolist()
        n_columns = max(len(output) * covered, 1e-6)
        return [
            Letter(self.letters[classes[n]], float(sure[n]), min((n + 0.5) / n_columns, 1.0)) for n in columns
        ]


def _padded_width(line: Picture) -> int:
    width = int(np.ceil(_HEIGHT * line.shape[1] / line.shape[0]))
    return min(_MAX_WIDTH, max(_MIN_WIDTH, -(-width // _WIDTH_STEP) * _WIDTH_STEP))
