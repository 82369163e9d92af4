"""The three networks that read text: where lines are, which way up they stand, and their letters.

They are the networks of PP-OCR (Cui et al., "PaddleOCR 3.0", 2025) in the form that RapidOCR publishes, and
take their pictures as blue, green and red (BGR). docs/algorithms/screen_text.md has the rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.features.onnx_backend import open_session
from vidsum.features.text_boxes import FoundBox, find_bands, find_boxes, is_pale, meet, multiple, sort_boxes
from vidsum.io.packages import load_onnxruntime
from vidsum.types import FloatArray, Picture

_MIN_SIDE: Final = 736  # pixels of the shorter side, to which small pictures are enlarged for the detector
_MAX_PIXELS: Final = 1_300_000  # of the detector's input
_MAY_BE_TEXT: Final = 0.2  # probability of a pixel, at half the size, from which its row may have text
_MIN_FAINT: Final = 0.7  # mean probability in the box of a faint line: texture with more contrast has less
_CONTRAST, _PARTS = 4.0, (8, 8)  # limit and grid of the equalization (CLAHE, Zuiderveld 1994)
_HEIGHT: Final = 48  # of a line before the other two networks
_TURNED_WIDTH: Final = 192  # of the classifier's input
_MIN_WIDTH, _WIDTH_STEP, _MAX_WIDTH = 320, 64, 3200  # of the recognizer's input
_BATCH_WIDTH: Final = 640  # of all lines of a batch together, beyond the first


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
    return open_session(path, plans_memory=False)


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
    """The network that finds the pixels of lines (DB, Liao et al. 2020)."""

    session: Any

    def find(self, picture: Picture, clear: Picture) -> list[FoundBox]:
        """Return the lines of a BGR picture [H, W, 3] in reading order; `clear` has more contrast.

        A look at `clear` in half the size, a fourth of the work, tells in which rows there may be text, and
        finds lines that are too faint in the picture itself.
        """
        import cv2

        height, width = picture.shape[:2]
        wide, high = input_size(width, height)
        rough = self._probability(cv2.resize(clear, (multiple(wide / 2), multiple(high / 2))))
        may_be_text = np.asarray((rough > _MAY_BE_TEXT).any(axis=1))
        boxes = self._find_in(cv2.resize(picture, (wide, high)), may_be_text, picture)
        clear_boxes = [box for box in boxes if not is_pale(picture, box)]
        faint = [
            box
            for box in find_boxes(rough, width, height)
            if box.score >= _MIN_FAINT and not any(meet(box, other) for other in clear_boxes)
        ]
        if faint:
            tall = np.arange(len(rough)) * height / len(rough)
            rows = [(tall >= box.corners[:, 1].min()) & (tall <= box.corners[:, 1].max()) for box in faint]
            seen = self._find_in(cv2.resize(clear, (wide, high)), np.any(rows, axis=0), picture)
            faint = [box._replace(is_faint=True) for box in seen if any(meet(box, other) for other in faint)]
            boxes = [box for box in boxes if not any(meet(box, other) for other in faint)] + faint
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


def add_contrast(picture: Picture) -> Picture:
    """Return the grey levels of a BGR picture, spread out within parts of it, as BGR."""
    import cv2

    grey = cv2.createCLAHE(_CONTRAST, _PARTS).apply(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY))
    return np.asarray(cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), np.uint8)


def input_size(width: int, height: int) -> tuple[int, int]:
    """Return width and height of the detector's input for a picture."""
    scale = max(1.0, _MIN_SIDE / min(width, height))
    scale = min(scale, (_MAX_PIXELS / (width * height)) ** 0.5)
    return multiple(int(width * scale)), multiple(int(height * scale))


def _scaled(line: Picture, width: int) -> FloatArray:
    """Return a line as [48, width, 3], with grey to the right where it is shorter."""
    import cv2

    used = min(width, max(1, int(np.ceil(_HEIGHT * line.shape[1] / line.shape[0]))))
    padded = np.full((_HEIGHT, width, 3), 127.5, np.float32)
    padded[:, :used] = cv2.resize(line, (used, _HEIGHT))
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
