"""A few pictures as a moving one: GIF, WebP or MP4."""

import io
from collections.abc import Sequence
from itertools import pairwise

import av
from PIL import Image

from vidsum.settings import PreviewFormat
from vidsum.types import Picture
from vidsum.video.encoders import choose_encoder

_GIF_TICK_MS = 10


def animated(pictures: Sequence[Picture], format: PreviewFormat, fps: int) -> bytes:
    """A file that shows pictures one after the other, without sound; GIF and WebP begin again at the end.

    Args:
        pictures: [height, width, 3] RGB, one at least, all of one size; of even sides for MP4.
        format: of the file.
        fps: pictures in a second. GIF has times of whole hundredths of a second: it is kept on the average.
    """
    if format == "mp4":
        return _mp4(pictures, fps)
    tick_ms = _GIF_TICK_MS if format == "gif" else 1
    edges_ms = [tick_ms * round(1000 * number / (fps * tick_ms)) for number in range(len(pictures) + 1)]
    first, *others = (Image.fromarray(picture) for picture in pictures)
    durations_ms = [end - start for start, end in pairwise(edges_ms)]
    content = io.BytesIO()
    first.save(content, format, save_all=True, append_images=others, duration=durations_ms, loop=0)
    return content.getvalue()


def _mp4(pictures: Sequence[Picture], fps: int) -> bytes:
    """H.264 that browsers play; the same pictures give the same bytes."""
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
