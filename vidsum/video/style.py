"""The style of a clip: shape, captions in the font that matplotlib ships (PyAV has no libass)."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

import av
import numpy as np
from av.video.reformatter import VideoReformatter
from PIL import Image, ImageDraw, ImageFont

from vidsum.times import Cue
from vidsum.types import FloatArray
from vidsum.video.framing import Framing, plane_array

_FONTS = "mpl-data/fonts/ttf"
_LETTER_WIDTH = 0.66  # width of a letter over the size of the font
_MAX_LINE_WIDTH = 0.92  # maximum width of a line over the width of a picture
_MAX_FONT_SIZE = 0.07  # size of the font over the height of a picture
_BOTTOM = {False: 0.92, True: 0.76}  # of captions, from the top; players draw below in upright pictures


def letters_in_line(width: int, height: int) -> int:
    """Return letters in a line of captions that can be read in pictures of this size, on a phone too."""
    return 42 if width > 1.2 * height else 30 if width > 0.7 * height else 22


def missing_letters(cues: Sequence[Cue]) -> str:
    """Return the letters of captions that the font lacks; they are not drawn."""
    letters = sorted({letter for _, _, text in cues for letter in text if not letter.isspace()})
    return "".join(filter(_is_missing, letters))


@cache
def _is_missing(letter: str) -> bool:
    font = _caption_font(16)
    return not letter.isspace() and bytes(font.getmask(letter)) == bytes(font.getmask("\U0010ffff"))


def _drawn(line: str) -> str:
    """Return a line without the letters that the font lacks, and without the blanks that they leave."""
    letters = "".join(letter for letter in line if not _is_missing(letter))
    return line if letters == line else " ".join(letters.split())


def paint_caption(frame: av.VideoFrame, cues: Sequence[Cue], time_s: float, full: bool) -> None:
    """Draw the caption of a time, if any, into a yuv420p frame; `full` as in `ClipStyle.apply`."""
    number = bisect_right(cues, time_s + 1e-6, key=lambda cue: cue[0]) - 1
    if number < 0 or time_s >= cues[number][1]:
        return
    edge, letters, top = _draw_masks(cues[number][2], frame.width, frame.height)
    frame.make_writable()
    black, white = (0, 255) if full else (16, 235)
    for plane, half in zip(frame.planes, (1, 2, 2), strict=True):
        rows = slice(top // half, top // half + len(edge) // half)
        pixels = plane_array(plane)[rows, : plane.width]
        if half == 1:
            mixed = pixels * (1 - edge) + black * edge
            mixed += (white - mixed) * letters
        else:
            around = edge.reshape(len(edge) // 2, 2, -1, 2).mean(axis=(1, 3))
            mixed = pixels * (1 - around) + 128 * around
        pixels[:] = np.rint(mixed)


@lru_cache(maxsize=1)
def _draw_masks(text: str, width: int, height: int) -> tuple[FloatArray, FloatArray, int]:
    """Return the cover [rows, width] of pixels by edge and letters, and the first row; all even."""
    lines, room = [_drawn(line) for line in text.split("\n")], _MAX_LINE_WIDTH * width
    size = min(_MAX_FONT_SIZE * height, room / letters_in_line(width, height) / _LETTER_WIDTH)
    size *= min(1.0, room / max(1.0, *map(_caption_font(size).getlength, lines)))
    font, stroke = _caption_font(size), max(1, round(size / 9))
    step = sum(font.getmetrics()) + stroke
    rows = min(height, 2 * round(step * len(lines) / 2 + stroke))
    masks = []
    for edge in (stroke, 0):
        image = Image.new("L", (width, rows))
        for number, line in enumerate(lines):
            position = width / 2, stroke + number * step
            ImageDraw.Draw(image).text(position, line, 255, font, "ma", stroke_width=edge)
        masks.append(np.asarray(image, np.float32) / np.float32(255))
    top = int(_BOTTOM[width < 0.9 * height] * height - rows) // 2 * 2
    return masks[0], masks[1], max(0, min(top, height - rows))


@cache
def load_font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    """Return the font that Matplotlib brings along, so that the same picture comes out everywhere."""
    spec = find_spec("matplotlib")
    folder = (spec.submodule_search_locations if spec else None) or [""]
    return ImageFont.truetype(str(Path(folder[0]) / _FONTS / f"DejaVuSans{'-Bold' * bold}.ttf"), size)


def _caption_font(size: float) -> ImageFont.FreeTypeFont:
    return load_font(max(4, round(size)), bold=True)


@dataclass(frozen=True, eq=False)
class ClipStyle:
    """Changes of the pictures; none by default."""

    framing: Framing | None = None
    captions: Sequence[Cue] = ()  # drawn into the pictures, in times of the clip
    _scaler: VideoReformatter = field(default_factory=VideoReformatter)

    @property
    def is_other(self) -> bool:
        return self.framing is not None or bool(self.captions)

    @property
    def size(self) -> tuple[int, int] | None:
        """(width, height) of a reshaped clip."""
        return (self.framing.shape.width, self.framing.shape.height) if self.framing else None

    def apply(self, frame: av.VideoFrame, time_s: float, clip_s: float, full: bool) -> av.VideoFrame:
        """Return the clip's picture at `clip_s` for a yuv420p frame; `full`: its values are 0 to 255."""
        if self.framing:
            frame = self.framing.apply(frame, time_s, self._scaler, full)
        if self.captions:
            paint_caption(frame, self.captions, clip_s, full)
        return frame
