"""The canvas of a reel: pictures of any size and shape on one, with the day written into them."""

from dataclasses import dataclass, field
from typing import Final

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter
from PIL import Image, ImageDraw

from vidsum.types import Picture, VideoInfo
from vidsum.video.decode import DecodedFrame
from vidsum.video.frames import PictureMaker
from vidsum.video.framing import Framing
from vidsum.video.photographs import frame_of
from vidsum.video.style import load_font

_ALIKE: Final = 0.02  # shapes that differ by less fill the canvas: a little wider is not seen
_SMALL, _BLUR, _DIM = 48, 2.0, 0.55  # short side and deviation of the blurred copy in pixels; its brightness
_TITLE_SIZE, _MARGIN = 0.065, 0.08  # of the short side of the canvas


@dataclass(eq=False)
class CanvasPainter:
    """Paints the pictures of a source on a canvas of `width` x `height`, both even."""

    width: int
    height: int
    _scaler: VideoReformatter = field(default_factory=VideoReformatter)
    _makers: dict[tuple[int, int], PictureMaker] = field(default_factory=dict)

    def from_frame(self, decoded: DecodedFrame, video: VideoInfo, framing: Framing | None = None) -> Picture:
        """Return the canvas [H, W, 3] with a frame: cropped as `framing` says, else whole."""
        whole = video.display_width, video.display_height
        position = framing.position_at(decoded.time_s) if framing else None
        if position is not None:
            size = self._cover(*whole)
            return self._crop(self._maker(size).from_frame(decoded.frame, decoded.turn_deg), position)
        size = self._inside(*whole)
        return self._place(self._maker(size).from_frame(decoded.frame, decoded.turn_deg))

    def from_picture(self, picture: Picture) -> Picture:
        """Return the canvas with a whole upright RGB picture [h, w, 3]."""
        size = self._inside(picture.shape[1], picture.shape[0])
        if size != (picture.shape[1], picture.shape[0]):
            picture = np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS))
        return self._place(picture)

    def to_frame(self, picture: Picture) -> av.VideoFrame:
        """Return an RGB picture as yuv420p: BT.709 of limited range."""
        return self._scaler.reformat(
            frame_of(picture),
            format="yuv420p",
            dst_colorspace=Colorspace.ITU709,
            src_color_range=ColorRange.JPEG,
            dst_color_range=ColorRange.MPEG,
        )

    def _maker(self, size: tuple[int, int]) -> PictureMaker:
        return self._makers.setdefault(size, PictureMaker(*size))

    def _inside(self, wide: int, high: int) -> tuple[int, int]:
        """Return the size of a whole picture in the canvas."""
        if abs(wide * self.height / (high * self.width) - 1) < _ALIKE:
            return self.width, self.height
        scale = min(self.width / wide, self.height / high)
        return _even(scale * wide, self.width), _even(scale * high, self.height)

    def _cover(self, wide: int, high: int) -> tuple[int, int]:
        """Return the size of a picture that covers the canvas."""
        scale = max(self.width / wide, self.height / high)
        return max(self.width, round(scale * wide)), max(self.height, round(scale * high))

    def _crop(self, picture: Picture, position: float) -> Picture:
        """Return the part of a picture, which covers the canvas, that begins at 0 to 1 of its way."""
        left = round(position * (picture.shape[1] - self.width))
        top = round(position * (picture.shape[0] - self.height))
        return picture[top : top + self.height, left : left + self.width]

    def _place(self, picture: Picture) -> Picture:
        """Return the canvas with a picture in its middle, before a blurred and darker copy of it."""
        high, wide = picture.shape[:2]
        if (wide, high) == (self.width, self.height):
            return picture
        canvas = self._blurred(picture)
        top, left = (self.height - high) // 2, (self.width - wide) // 2
        canvas[top : top + high, left : left + wide] = picture
        return canvas

    def _blurred(self, picture: Picture) -> Picture:
        import cv2

        scale = _SMALL / min(self.width, self.height)
        small = max(1, round(scale * self.width)), max(1, round(scale * self.height))
        high, wide = picture.shape[:2]
        part = min(wide, high * self.width / self.height), min(high, wide * self.height / self.width)
        left, top = round((wide - part[0]) / 2), round((high - part[1]) / 2)
        middle = picture[top : max(high - top, top + 1), left : max(wide - left, left + 1)]
        blurred = cv2.GaussianBlur(cv2.resize(middle, small, interpolation=cv2.INTER_AREA), (0, 0), _BLUR)
        large = cv2.resize(blurred, (self.width, self.height), interpolation=cv2.INTER_CUBIC)
        return np.asarray(large * np.float32(_DIM), np.uint8)


def write_title(picture: Picture, text: str) -> Picture:
    """Return a picture with a line at the bottom left, white with a dark edge."""
    height, width = picture.shape[:2]
    short = min(width, height)
    size = _TITLE_SIZE * short
    room = width - 2 * _MARGIN * short
    size *= min(1.0, room / max(load_font(max(8, round(size)), bold=True).getlength(text), 1.0))
    font, image = load_font(max(8, round(size)), bold=True), Image.fromarray(picture)
    place = _MARGIN * short, height - _MARGIN * short
    edge = max(1, round(size / 12))
    ImageDraw.Draw(image).text(place, text, "white", font, "ls", stroke_width=edge, stroke_fill=(20, 20, 20))
    return np.asarray(image)


def _even(size: float, most: int) -> int:
    return min(most, max(2, 2 * round(size / 2)))
