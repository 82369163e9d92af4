"""Media and videos that tests of timelines make."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from vidsum.results.media import Media


def media(
    rate: Fraction | int,
    *,
    n_frames: int = 300_000,
    is_conformed: bool = False,
    time_code: str | None = None,
    n_channels: int = 2,
    path: Path = Path("/films/film.mp4"),
) -> Media:
    rate = Fraction(rate)
    size, sound = (640, 360), (n_channels, 48_000)
    return Media(path, rate, is_conformed, float(rate), n_frames, *size, *sound, time_code)


def save_with_time_code(path: Path, rate: Fraction, code: str) -> None:
    """A grey .mov of ten frames with a time code, as cameras write it."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=rate)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.metadata["timecode"] = code
        for _ in range(10):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((48, 64, 3), 99, np.uint8))))
        container.mux(stream.encode(None))
