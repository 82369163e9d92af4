"""How clips and previews are encoded: H.264 by libx264, in the same bytes on every machine."""

import io
from collections.abc import Sequence
from itertools import pairwise

import av
from PIL import Image

from vidsum.types import Picture
from vidsum.video.settings import DEFAULT_CRF, PreviewFormat

ENCODER = "libx264"


def encoder_options(crf: int = DEFAULT_CRF) -> dict[str, str]:
    """Return libx264's options for a quality.

    Macroblock trees make files some 10 % smaller, but different in each run and on each kind of processor.
    """
    fixed = {"profile": "high", "forced-idr": "1", "x264-params": "mbtree=0"}
    return {"preset": "veryfast", "crf": str(crf), **fixed}


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
    content = io.BytesIO()
    with av.open(content, "w", format="mp4", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream(ENCODER, rate=fps, options=encoder_options())
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.thread_count = 1  # the bytes depend on it
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return content.getvalue()
