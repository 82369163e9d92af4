"""Choose the hardware that decodes a video."""

from functools import lru_cache

import av
from av.codec.hwaccel import hwdevices_available

from vidsum.errors import InputError
from vidsum.types import VideoInfo
from vidsum.video.open import open_source, video_stream

_ORDER = ("cuda", "videotoolbox", "d3d11va", "vaapi", "qsv")
"""Kinds that `auto` tries, in order, if this FFmpeg was built with them."""


def choose_hardware(video: VideoInfo, wanted: str) -> str | None:
    """Choose the hardware that decodes a video: `wanted`, or the first that can for `auto`; else None."""
    kinds = [kind for kind in _ORDER if kind in hwdevices_available()] if wanted == "auto" else [wanted]
    return next((kind for kind in kinds if _decodes(video, kind)), None)


@lru_cache(maxsize=64)
def _decodes(video: VideoInfo, kind: str) -> bool:
    """Return whether it decodes the first picture of a video; drivers raise errors of many kinds."""
    try:
        with open_source(video, kind) as container:
            return next(container.decode(video_stream(container, video)), None) is not None
    except (av.FFmpegError, InputError, NotImplementedError, RuntimeError, ValueError):
        return False
