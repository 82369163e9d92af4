"""Text in pictures: lines are found, set upright and read, or left unread where that gives no words.

The networks are PP-OCR's. docs/algorithms/screen_text.md has the rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np

from vidsum import checkpoints
from vidsum.checkpoints import registry
from vidsum.device import cached_model, returning_blocks
from vidsum.features.text_boxes import FoundBox, Quad, cut_line, is_tall, stretch
from vidsum.features.text_networks import (
    AngleClassifier,
    TextDetector,
    TextRecognizer,
    add_contrast,
    open_text_network,
)
from vidsum.features.text_stacks import Rectangle, cut_column, enclose, find_columns, lay_flat
from vidsum.features.text_words import (
    SURE,
    Reading,
    is_foreign,
    rounded,
    split_words,
    to_box,
    without_notes,
    without_unsure,
)
from vidsum.io.packages import require_extra
from vidsum.results.screen_text import ScreenLine
from vidsum.types import Picture, Progress

CHECKPOINT: Final = "pp_ocr"
_USER: Final = "text on the screen"
_MIN_CONFIDENCE: Final = 0.7  # of a line: texture that is read as text has less
_MIN_SINGLE_CONFIDENCE: Final = 0.95  # of a line of one character, most of which are no text
_TURNED: Final = 0.9  # probability from which a line stands on its head
_MAYBE_TURNED: Final = 0.1  # where most lines of the picture do
_BETTER: Final = 0.05  # confidence by which a mirrored reading is surer
_MIN_STACK: Final = 2.0  # height over width of a line whose letters may stand one above the other
_MIN_UNREAD_SCORE, _MIN_UNREAD_ASPECT = 0.65, 2.0  # of a box that has text, though it gives no words


@dataclass(frozen=True, eq=False)
class LineView:
    """A line as it may have to be seen to be read."""

    number: int  # of its box
    picture: Picture
    corners: Quad
    is_upright: bool = True


@dataclass(frozen=True, eq=False)
class TextReader:
    """Networks that find and read lines."""

    detector: TextDetector
    classifier: AngleClassifier
    recognizer: TextRecognizer

    @returning_blocks()  # the C library would keep up to 60 MB more of them, which differs from run to run
    def read(self, picture: Picture) -> list[ScreenLine]:
        """Return the lines of an RGB picture [H, W, 3] in reading order, with times 0.

        A line that is seen but cannot be read has an empty text.
        """
        picture = np.ascontiguousarray(picture[..., ::-1])
        boxes = self.detector.find(picture, add_contrast(picture))
        lines = [cut_line(picture, box.corners) for box in boxes]
        views = [
            _view(number, stretch(line) if box.is_faint else line, box.corners)
            for number, (line, box) in enumerate(zip(lines, boxes, strict=True))
            if not box.is_curved
        ]
        readings = self._read_views(views, len(boxes))
        height, width = picture.shape[:2]
        read = [_to_line(box, reading, width, height) for box, reading in zip(boxes, readings, strict=True)]
        return self._join_stacks(picture, boxes, read)

    def _join_stacks(
        self, picture: Picture, boxes: Sequence[FoundBox], lines: Sequence[ScreenLine | None]
    ) -> list[ScreenLine]:
        """Read columns of letters from top to bottom; their boxes have parts of words, or of letters."""
        height, width = picture.shape[:2]
        is_piece = [_may_be_stacked(box, line) for box, line in zip(boxes, lines, strict=True)]
        numbers = [number for number, is_part in enumerate(is_piece) if is_part]
        others = [_rectangle(boxes[n].corners) for n, line in enumerate(lines) if line and not is_piece[n]]
        joined = list(lines)
        for column in find_columns([_rectangle(boxes[n].corners) for n in numbers], others):
            members = [numbers[n] for n in column]
            around = enclose([_rectangle(boxes[n].corners) for n in members])
            flat = lay_flat(cut_column(picture, around))
            if len(members) == 1 and _has_text(joined[members[0]]):
                continue  # a line that runs downwards
            letters = self.recognizer.read([flat])[0] if flat is not None else []
            left, top, right, bottom = around
            corners = np.array([[left, top], [left, bottom], [right, bottom], [right, top]], np.float32)
            reading = Reading(letters, corners, is_upright=False)
            score = max(boxes[n].score for n in members)
            word = _to_line(
                FoundBox(corners, score), reading if reading.text.isalpha() else None, width, height
            )
            for number in members:
                joined[number] = None
            joined[members[0]] = word
        return [line for line in joined if line is not None]

    def _read_views(self, views: Sequence[LineView], n_boxes: int) -> list[Reading | None]:
        """Return the best reading of each box; None where its line is mirrored, or not viewed."""
        turned = self.classifier.turned([view.picture for view in views])
        sure = [probability > _TURNED for probability in turned if not _MAYBE_TURNED < probability <= _TURNED]
        least = _MAYBE_TURNED if 2 * sum(sure) > len(sure) else _TURNED
        chosen = [
            _turn(view) if probability > least else view
            for view, probability in zip(views, turned, strict=True)
        ]
        readings = self._recognize(chosen)
        triples = zip(views, chosen, readings, strict=True)
        others = [other for triple in triples for other in _others(*triple)]
        best: list[Reading | None] = [None] * n_boxes
        for view, reading in zip(chosen, readings, strict=True):
            best[view.number] = reading
        for other, reading in zip(others, self._recognize(others), strict=True):
            current = best[other.number]
            if current is not None and reading.confidence > current.confidence:
                best[other.number] = reading
        mirrored = [view for view in chosen if _may_be_mirrored(best[view.number])]
        flipped = [LineView(view.number, _flip(view.picture), view.corners) for view in mirrored]
        for view, reading in zip(flipped, self._recognize(flipped), strict=True):
            current = best[view.number]
            if current and reading.confidence > max(SURE, current.confidence + _BETTER):
                best[view.number] = None
        return best

    def _recognize(self, views: Sequence[LineView]) -> list[Reading]:
        read = self.recognizer.read([view.picture for view in views])
        return [
            Reading(letters, view.corners, view.is_upright) for letters, view in zip(read, views, strict=True)
        ]


def _view(number: int, line: Picture, corners: Quad) -> LineView:
    """Return a line that runs downwards as one that runs to the right, any other as it is."""
    if not is_tall(line):
        return LineView(number, line, corners)
    return LineView(number, np.rot90(line), np.roll(corners, -1, axis=0), is_upright=False)


def _turn(view: LineView) -> LineView:
    """Return a line turned by 180 degrees."""
    corners = np.roll(view.corners, 2, axis=0)
    return LineView(view.number, np.rot90(view.picture, 2), corners, is_upright=False)


def _flip(line: Picture) -> Picture:
    return np.ascontiguousarray(line[:, ::-1])


def _others(first: LineView, chosen: LineView, reading: Reading) -> list[LineView]:
    """Return further views of a line that may be read better; `first` is neither turned nor upright."""
    others = list[LineView]()
    if first.is_upright:
        is_doubtful = _MIN_CONFIDENCE <= reading.confidence < SURE and len(reading.letters) > 1
        if not chosen.is_upright:
            others.append(first)
        elif is_doubtful:
            others.append(_turn(first))
        return others
    line, corners = np.rot90(first.picture, -1), np.roll(first.corners, 1, axis=0)
    if line.shape[0] < _MIN_STACK * line.shape[1]:
        others.append(LineView(first.number, line, corners))  # one letter, as I
    return others


def _may_be_stacked(box: FoundBox, line: ScreenLine | None) -> bool:
    """Return whether a box has one letter, or several one above the other."""
    left, top, right, bottom = _rectangle(box.corners)
    if line is not None and len(line.text) == 1:
        return line.text.isalpha()
    return bottom - top > right - left and (line is None or not line.text or line.confidence < 1)


def _may_be_mirrored(reading: Reading | None) -> bool:
    return reading is not None and len(reading.letters) > 1 and _MIN_CONFIDENCE <= reading.confidence < SURE


def _to_line(box: FoundBox, reading: Reading | None, width: int, height: int) -> ScreenLine | None:
    """Return a line without times; with an empty text if it is not legible, None if there may be no text."""
    sides = [float(np.linalg.norm(box.corners[0] - box.corners[n])) for n in (1, 3)]
    place = to_box(box.corners, width, height)
    if reading is not None:
        reading = without_notes(reading)
        is_plain = reading.is_upright and not box.is_faint
        if not is_plain:
            reading = without_unsure(reading, width, height)
        words = split_words(reading, width, height)
        line = ScreenLine(0.0, 0.0, reading.text, rounded(reading.confidence), place, words)
        is_sure = line.confidence >= SURE and len(line.text) > 1
        if is_legible(line) and (is_sure or (is_plain and not any(map(is_foreign, line.text)))):
            return line
    is_line = box.score >= _MIN_UNREAD_SCORE and max(sides) >= _MIN_UNREAD_ASPECT * min(sides)
    is_seen = box.is_curved or is_line
    return ScreenLine(0.0, 0.0, "", rounded(box.score), place) if is_seen else None


def is_legible(line: ScreenLine) -> bool:
    letters = sum(map(str.isalnum, line.text))
    return letters > 0 and line.confidence >= (_MIN_CONFIDENCE if letters > 1 else _MIN_SINGLE_CONFIDENCE)


def _rectangle(corners: Quad) -> Rectangle:
    (left, top), (right, bottom) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return left, top, right, bottom


def _has_text(line: ScreenLine | None) -> bool:
    return line is not None and bool(line.text)


def reader_facts() -> tuple[str, str]:
    """Return the networks with the version of their package, and a digest of them; nothing is fetched.

    Raises PackageError: the extra `ocr` is not installed.
    """
    require_extra("ocr", _USER)
    hashes = ",".join(file.sha256 for file in registry.get(CHECKPOINT).files)
    return CHECKPOINT, sha256(hashes.encode()).hexdigest()


def load_reader(progress: Progress | None = None) -> TextReader:
    """Return the reader, loaded once; its networks are fetched first where they are missing.

    Raises PackageError: the extra `ocr` is not installed. WeightsError: the networks cannot be fetched.
    """
    require_extra("ocr", _USER)
    return _load(checkpoints.path_of(CHECKPOINT, progress))


@cached_model(maxsize=1)
def _load(folder: Path) -> TextReader:
    detector, classifier, recognizer = (
        open_text_network(folder / file.name) for file in registry.get(CHECKPOINT).files
    )
    return TextReader(TextDetector(detector), AngleClassifier(classifier), TextRecognizer(recognizer))
