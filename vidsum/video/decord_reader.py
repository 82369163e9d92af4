"""Reading with decord (`--reader decord`), but not MPEG-TS, fragmented MP4 and HEVC, where it errs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import decord
import numpy as np

from vidsum.types import Picture, TimeArray, VideoInfo
from vidsum.video.damage import CannotReadError, DecodeLog
from vidsum.video.frames import (
    TOLERANCE_S,
    Frame,
    PictureMaker,
    Sampling,
    check_plain,
    pixel_size,
    sample_stream,
)
from vidsum.video.jumps import Jumps
from vidsum.video.open import open_video, video_stream

decord.logging.set_level(decord.logging.QUIET)  # its FFmpeg writes to stderr behind Python's back

_MIN_WIDTH = 96  # decord 0.6.0 fails on some pictures narrower than this (16, 24, 48 and 72 pixels)


def read_samples(
    info: VideoInfo, samplings: Sequence[Sampling], jumps: Jumps, log: DecodeLog
) -> Iterator[tuple[int, Frame]]:
    """Yield (i, frame) of each sampling i, in time order. Raises CannotReadError: decord cannot."""
    check_plain(info, jumps, "decord")
    if not _gives_right_frames(info):
        raise CannotReadError(f"decord reads {info.codec} in {info.container} files wrongly")
    sizes = {pixel_size(s.size, info.display_width, info.display_height) for s in samplings}
    full_size = info.display_width, info.display_height
    width, height = min(sizes) if len(sizes) == 1 and min(sizes)[0] >= _MIN_WIDTH else full_size
    try:
        # a relative path with a colon would name a protocol
        video = decord.VideoReader(str(Path(info.path).absolute()), width=width, height=height)
        times_s = _frame_times(video, log)
        if abs(times_s[0]) > TOLERANCE_S:
            raise CannotReadError(f"decord's first frame is at {times_s[0]:g} s")  # an edit list hides it
        numbered = zip(times_s.tolist(), range(len(times_s)), strict=True)

        def picture(maker: PictureMaker, number: int) -> Picture:
            # in a batch of one, since decord 0.6.0 gives turned pictures four channels otherwise
            return maker.from_rgb(video.get_batch([number]).asnumpy()[0])

        yield from sample_stream(numbered, samplings, info, log, picture)
    except (decord.DECORDError, RuntimeError) as error:  # the latter if it does not open the file
        raise CannotReadError("decord fails on it") from error


def _gives_right_frames(info: VideoInfo) -> bool:
    if info.codec == "hevc":  # seeks to key frames that are shown after frames they precede
        return False
    if info.container in ("matroska", "webm"):
        return True
    with open_video(info.path) as container:
        return video_stream(container, info).frames > 0


def _frame_times(video: decord.VideoReader, log: DecodeLog) -> TimeArray:
    """Return [N] When each frame goes on screen; decord counts from the first one and rounds to 32 bits."""
    spans: TimeArray = np.asarray(video.get_frame_timestamp(range(len(video))), dtype=np.float64)
    for start_s, end_s in spans.tolist():
        log.add_frame(start_s, end_s)
    return spans[:, 0]
