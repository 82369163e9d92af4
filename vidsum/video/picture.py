"""From a decoded frame to the picture that a model or a person sees: resized, RGB, upright."""

from dataclasses import dataclass, field

import av
import numpy as np
from av.video.reformatter import Interpolation, VideoReformatter

from vidsum.types import Picture

# Bilinear with a support that grows as the picture shrinks, as in PIL's and torchvision's antialiased resize.
# Without the other two, pictures of even width come out about 2 grey levels too dark: chroma is rounded down.
# Numbers of libswscale, since PyAV 17 has no names for them.
_ACCURATE_RND, _FULL_CHR_H_INT = 0x40000, 0x2000
_FLAGS = int(Interpolation.BILINEAR) | _ACCURATE_RND | _FULL_CHR_H_INT

_MAX_ASPECT = 10
"""Wider or taller pixels are a fault of the file."""


def has_odd_pixels(aspect: float) -> bool:
    """Whether the width of a pixel over its height is impossible."""
    return not 1 / _MAX_ASPECT <= aspect <= _MAX_ASPECT


@dataclass(frozen=True)
class PictureMaker:
    """Makes pictures of one size; keeps the scaler that FFmpeg sets up for it."""

    width: int
    height: int
    """Size of the upright picture."""
    _scaler: VideoReformatter = field(default_factory=VideoReformatter)

    def from_frame(self, frame: av.VideoFrame, turn_deg: int = 0) -> Picture:
        """The [height, width, 3] RGB picture of a frame that `turn_deg`, clockwise, shows upright.

        Resizes before it turns: few pixels are turned faster than many. YUV is converted with the matrix and
        range that the frame is tagged with; untagged is BT.601, as everywhere in FFmpeg.
        """
        is_lying = turn_deg % 180 != 0
        width, height = (self.height, self.width) if is_lying else (self.width, self.height)
        small = self._scaler.reformat(frame, width, height, "rgb24", interpolation=_FLAGS)
        return np.ascontiguousarray(np.rot90(small.to_ndarray(), -(turn_deg // 90)))

    def from_rgb(self, picture: Picture) -> Picture:
        """A picture resized."""
        picture = np.ascontiguousarray(picture)
        if picture.shape[:2] == (self.height, self.width):
            return picture
        return self.from_frame(av.VideoFrame.from_ndarray(picture, format="rgb24"))
