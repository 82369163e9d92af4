"""Pictures as H.264 players accept them: 8-bit 4:2:0, upright, with an even number of rows and columns."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import av
import numpy as np
import numpy.typing as npt
from av.video.reformatter import ColorRange, Colorspace

from vidsum.video.pyav_reader import DecodedFrame

Plane: TypeAlias = npt.NDArray[np.uint8]

BT709 = 1
"""H.264's number of the BT.709 matrix, primaries and transfer curve."""


@dataclass(frozen=True)
class StoredPictures:
    """How the pictures of a source are stored; those of a clip follow from it."""

    width: int
    height: int
    turn_deg: int
    """Clockwise turn that shows them upright."""
    is_rgb: bool
    full_range: bool
    """Whether values run from 0 to 255, not from 16 to 235."""

    @classmethod
    def of(cls, decoded: DecodedFrame) -> "StoredPictures":
        """The form of the video that has this frame."""
        frame = decoded.frame
        name = frame.format.name
        is_full = frame.color_range == ColorRange.JPEG or (
            name.startswith(("yuvj", "gray", "ya")) and frame.color_range != ColorRange.MPEG
        )
        is_rgb = frame.format.is_rgb or name == "pal8"
        return cls(frame.width, frame.height, decoded.turn_deg, is_rgb, is_full and not is_rgb)

    @property
    def clip_size(self) -> tuple[int, int]:
        """(width, height) of the upright pictures of a clip: odd sides grown by one pixel."""
        width, height = self.width + self.width % 2, self.height + self.height % 2
        return (width, height) if self.turn_deg % 180 == 0 else (height, width)


def upright_yuv420p(frame: av.VideoFrame, stored: StoredPictures) -> av.VideoFrame:
    """A decoded frame as yuv420p of `stored.clip_size`.

    The last column or row of an odd size is repeated, so that nothing is rescaled or lost. YUV values stay as
    they are, whatever their range and matrix; those of more than 8 bits are rounded. RGB becomes BT.709 of
    limited range.
    """
    value_range = ColorRange.JPEG if stored.full_range else ColorRange.MPEG
    frame = frame.reformat(
        width=stored.width,
        height=stored.height,
        format="yuv420p",
        dst_colorspace=Colorspace.ITU709 if stored.is_rgb else None,
        src_color_range=ColorRange.JPEG if stored.is_rgb else value_range,
        dst_color_range=value_range,
    )
    if stored.turn_deg == 0 and (stored.width, stored.height) == stored.clip_size:
        return frame
    planes = [_pixels(plane)[:, : plane.width] for plane in frame.planes]
    planes[0] = np.pad(planes[0], ((0, stored.height % 2), (0, stored.width % 2)), mode="edge")
    upright = av.VideoFrame(*stored.clip_size, "yuv420p")
    for target, values in zip(upright.planes, planes, strict=True):
        _pixels(target)[:, : target.width] = np.rot90(values, -(stored.turn_deg // 90))
    return upright


def _pixels(plane: Any) -> Plane:
    """The memory of a plane as [rows, bytes in a line]; a line may be longer than the picture is wide."""
    return np.frombuffer(plane, dtype=np.uint8).reshape(-1, plane.line_size)[: plane.height]
