"""Choose the hardware that decodes a video."""

from functools import lru_cache

import av
from av.codec.hwaccel import hwdevices_available

from vidsum.errors import InputError
from vidsum.types import VideoInfo
from vidsum.video.open import open_source, video_stream

_ORDER = ("cuda", "videotoolbox", "d3d11va", "vaapi", "qsv")
"""What `auto` tries, if this FFmpeg was built with it."""


def choose_hardware(video: VideoInfo, wanted: str) -> str | None:
    """Return the hardware that decodes a video: what is wanted, or of `auto` the first that does; None for
    none.
    """
    kinds = [kind for kind in _ORDER if kind in hwdevices_available()] if wanted == "auto" else [wanted]
    return next((kind for kind in kinds if _decodes(video, kind)), None)


@lru_cache(maxsize=64)
def _decodes(video: VideoInfo, kind: str) -> bool:
    """Return whether it gives the first picture of a video. Drivers fail in ways of their own, which all mean
    no.
    """
    try:
        with open_source(video, kind) as container:
            return next(container.decode(video_stream(container, video)), None) is not None
    except (av.FFmpegError, InputError, NotImplementedError, RuntimeError, ValueError):
        return False
