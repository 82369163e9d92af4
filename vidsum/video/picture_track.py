"""The pictures of a clip: 8-bit 4:2:0, upright, with an even number of rows and columns."""

from dataclasses import dataclass
from fractions import Fraction

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter

from vidsum.types import VideoInfo
from vidsum.video.decode import DecodedFrame
from vidsum.video.frames import has_odd_pixels
from vidsum.video.framing import plane_array
from vidsum.video.h264 import H264Track
from vidsum.video.style import ClipStyle

MAX_SIDE = 16_384  # widest and highest pictures that libx264 takes, in pixels
BT709 = 1  # H.264's number of the BT.709 matrix, primaries and transfer curve


class PictureTrack:
    """Track of upright frames with the pixel shape and colours of the source."""

    def __init__(
        self,
        container: av.container.OutputContainer,
        source: av.VideoStream,
        first: DecodedFrame,
        info: VideoInfo,
        time_base: Fraction,
        crf: int,
        style: ClipStyle = ClipStyle(),
    ) -> None:
        """Add a track for frames of `source`, such as `first`, at whole `time_base`s, of quality `crf`."""
        self._style, self._time_base = style, time_base
        self._scaler = VideoReformatter()  # kept: FFmpeg takes milliseconds to set one up
        self._stored = _StoredPictures.of(first)
        rate = Fraction(info.fps).limit_denominator(1001)
        size = style.size or self._stored.clip_size
        self._track = H264Track(container, rate, size, time_base, crf)
        encoder = self._track.encoder
        if info.is_vfr:  # with B-frames, MP4 would take a frame's duration from another
            encoder.max_b_frames = 0
        encoder.sample_aspect_ratio = self._pixel_shape(source)
        self._tag_colours(encoder, source.codec_context)

    def _pixel_shape(self, source: av.VideoStream) -> Fraction:
        shape = source.sample_aspect_ratio or Fraction(1)
        if has_odd_pixels(float(shape)) or self._style.framing:
            return Fraction(1)
        return shape if self._stored.turn_deg % 180 == 0 else 1 / shape

    def _tag_colours(self, encoder: av.VideoCodecContext, decoder: av.VideoCodecContext) -> None:
        encoder.color_range = ColorRange.JPEG if self._stored.full_range else ColorRange.MPEG
        if self._stored.is_rgb:
            encoder.colorspace = encoder.color_primaries = encoder.color_trc = BT709
        else:
            encoder.colorspace = decoder.colorspace
            encoder.color_primaries, encoder.color_trc = decoder.color_primaries, decoder.color_trc

    def write(self, decoded: DecodedFrame, tick: int, *, starts_segment: bool) -> None:
        """Encode a frame; the first of a segment becomes a key frame, so that players can jump to it."""
        frame = _upright_yuv420p(decoded.frame, self._stored, self._scaler)
        if self._style.is_other:
            full = self._stored.full_range
            frame = self._style.apply(frame, decoded.time_s, float(tick * self._time_base), full)
        self._track.encode(frame, tick, starts_segment=starts_segment)

    def finish(self, end_tick: int) -> None:
        """Write what the encoder still holds; the last frame stays on screen until `end_tick`."""
        self._track.finish(end_tick)


@dataclass(frozen=True)
class _StoredPictures:
    """The form of a source's pictures; the form of a clip's pictures follows from it."""

    width: int
    height: int
    turn_deg: int  # clockwise turn that shows them upright
    is_rgb: bool
    full_range: bool  # whether values run from 0 to 255, not from 16 to 235

    @classmethod
    def of(cls, decoded: DecodedFrame) -> "_StoredPictures":
        """Derive the form from a frame."""
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


def _upright_yuv420p(
    frame: av.VideoFrame, stored: _StoredPictures, scaler: VideoReformatter
) -> av.VideoFrame:
    """Convert a decoded frame to yuv420p of `stored.clip_size`.

    The last column or row of an odd size is repeated, so that nothing is rescaled or lost. YUV values keep
    range and matrix, in 8 bits. RGB becomes BT.709 of limited range.
    """
    value_range = ColorRange.JPEG if stored.full_range else ColorRange.MPEG
    frame = scaler.reformat(
        frame,
        width=stored.width,
        height=stored.height,
        format="yuv420p",
        dst_colorspace=Colorspace.ITU709 if stored.is_rgb else None,
        src_color_range=ColorRange.JPEG if stored.is_rgb else value_range,
        dst_color_range=value_range,
    )
    if stored.turn_deg == 0 and (stored.width, stored.height) == stored.clip_size:
        return frame
    planes = [plane_array(plane)[:, : plane.width] for plane in frame.planes]
    planes[0] = np.pad(planes[0], ((0, stored.height % 2), (0, stored.width % 2)), mode="edge")
    upright = av.VideoFrame(*stored.clip_size, "yuv420p")
    for target, values in zip(upright.planes, planes, strict=True):
        plane_array(target)[:, : target.width] = np.rot90(values, -(stored.turn_deg // 90))
    return upright
