"""FFmpeg's encoders for clips: their quality and speed, and which can be used here."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import av
from PIL import Image

from vidsum.errors import UsageError, unknown_name_error
from vidsum.types import Picture
from vidsum.video.settings import PreviewFormat

_X26_SPEEDS = "ultrafast superfast veryfast faster fast medium slow slower veryslow"
_X26_PRESETS = tuple(_X26_SPEEDS.split())
_NVENC_PRESETS = tuple(f"p{number}" for number in range(1, 8))


@dataclass(frozen=True)
class VideoEncoder:
    """An encoder of FFmpeg, with its quality and speed options."""

    name: str
    codec: str
    crf: int  # default quality; 1 is best
    max_crf: int
    presets: tuple[str, ...]  # from fast to slow, or from slow to fast where they are numbers
    preset: str  # default preset
    quality: str  # the name of its option for the quality
    fixed: Mapping[str, str]  # its other options

    def options(self, crf: int | None, preset: str | None) -> dict[str, str]:
        """Return FFmpeg's options for a quality and a preset. Raises UsageError: it does not have these."""
        if crf is not None and not 1 <= crf <= self.max_crf:
            raise UsageError(f"crf of {self.name} must be between 1 and {self.max_crf}, not {crf}")
        if preset is not None and preset not in self.presets:
            raise unknown_name_error(f"{self.name} preset", preset, self.presets)
        quality = str(self.crf if crf is None else crf)
        return {"preset": preset or self.preset, self.quality: quality, **self.fixed}


_X264 = {"profile": "high", "forced-idr": "1", "x264-params": "mbtree=0"}
"""Macroblock trees make files some 10 % smaller, but different in each run and on each kind of processor."""
_X265 = {"forced-idr": "1", "x265-params": "log-level=error"}
_NVENC = {"rc": "vbr", "b": "0", "forced-idr": "1"}
_SVT = {"svtav1-params": "enable-force-key-frames=1"}

ENCODERS = {
    encoder.name: encoder
    for encoder in (
        VideoEncoder("libx264", "h264", 20, 51, _X26_PRESETS, "veryfast", "crf", _X264),
        VideoEncoder("libx265", "hevc", 24, 51, _X26_PRESETS, "veryfast", "crf", _X265),
        VideoEncoder("libsvtav1", "av1", 30, 63, tuple(map(str, range(11))), "9", "crf", _SVT),
        VideoEncoder("h264_nvenc", "h264", 23, 51, _NVENC_PRESETS, "p4", "cq", _NVENC),
        VideoEncoder("hevc_nvenc", "hevc", 26, 51, _NVENC_PRESETS, "p4", "cq", _NVENC),
        VideoEncoder("av1_nvenc", "av1", 32, 63, _NVENC_PRESETS, "p4", "cq", _NVENC),
    )
}  # by name; the first of a codec runs on any machine


@dataclass(frozen=True)
class EncoderChoice:
    """An encoder that can be used, with its options."""

    encoder: VideoEncoder
    options: dict[str, str]
    warnings: tuple[str, ...] = ()


def choose_encoder(
    codec: str, name: str | None, crf: int | None, preset: str | None, size: tuple[int, int]
) -> EncoderChoice:
    """Choose an encoder of a codec (h264, hevc, av1), or that of the CPU where it cannot be used.

    `name` is None for that of the CPU, `auto` for one of a GPU; None takes the encoder's own quality (`crf`,
    1 is best) and speed (`preset`). Raises UsageError: it is unknown, of another codec, or does not take
    these.
    """
    software, hardware = (encoder for encoder in ENCODERS.values() if encoder.codec == codec)
    if name is not None and name not in ("auto", *ENCODERS):
        raise unknown_name_error("encoder", name, ("auto", *ENCODERS))
    wanted = software if name is None else hardware if name == "auto" else ENCODERS[name]
    if wanted.codec != codec:
        raise UsageError(f"{name} is an encoder of {wanted.codec}", hint=f"--codec {wanted.codec}")
    chosen, warnings = wanted, tuple[str, ...]()
    if wanted is hardware and not can_encode(wanted.name, size):
        chosen, warnings = software, (f"{wanted.name} cannot be used here: encoded with {software.name}",)
    if (chosen is not wanted or name == "auto") and preset in (*software.presets, *hardware.presets):
        preset = preset if preset in chosen.presets else None  # it is that of the other one
    return EncoderChoice(chosen, chosen.options(crf, preset), warnings)


def can_encode(name: str, size: tuple[int, int]) -> bool:
    """Return whether an encoder works here for pictures of (width, height)."""
    try:
        encoder = av.CodecContext.create(name, "w")
    except (av.FFmpegError, ValueError):  # not in this build
        return False
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height = size
    encoder.pix_fmt, encoder.time_base, encoder.framerate = "yuv420p", Fraction(1, 25), Fraction(25)
    try:
        encoder.open()
    except av.FFmpegError:
        return False
    return True


_GIF_TICK_MS = 10


def encode_preview(pictures: Sequence[Picture], format: PreviewFormat, fps: int) -> bytes:
    """Return an animation of pictures [height, width, 3] RGB of one size; MP4 needs even sides, GIF loops."""
    if format == "mp4":
        return _encode_mp4(pictures, fps)
    tick_ms = _GIF_TICK_MS if format == "gif" else 1
    edges_ms = [tick_ms * round(1000 * number / (fps * tick_ms)) for number in range(len(pictures) + 1)]
    first, *others = (Image.fromarray(picture) for picture in pictures)
    durations_ms = [end - start for start, end in pairwise(edges_ms)]
    content = io.BytesIO()
    first.save(content, format, save_all=True, append_images=others, duration=durations_ms, loop=0)
    return content.getvalue()


def _encode_mp4(pictures: Sequence[Picture], fps: int) -> bytes:
    """Encode H.264 that browsers play; the same pictures give the same bytes."""
    height, width = pictures[0].shape[:2]
    choice = choose_encoder("h264", None, None, None, (width, height))
    content = io.BytesIO()
    with av.open(content, "w", format="mp4", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream(choice.encoder.name, rate=fps, options=choice.options)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.thread_count = 1  # the bytes depend on it
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return content.getvalue()
