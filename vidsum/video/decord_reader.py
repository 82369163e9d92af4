"""Reading with decord: `--reader decord`. It jumps to the sampled frames: fast for few frames of an MP4.

It silently gives wrong frames of MPEG-TS, fragmented MP4 and HEVC, so it is not used for those.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import decord
import numpy as np

from vidsum.types import Picture, TimeArray, VideoInfo
from vidsum.video.damage import DecodeLog, end_of_pictures
from vidsum.video.frames import TOLERANCE_S, Frame, Sampling, pick_frames, pixel_size
from vidsum.video.jumps import Jumps
from vidsum.video.picture import PictureMaker
from vidsum.video.pyav_reader import open_video, video_stream
from vidsum.video.sampling import CannotReadError, check_plain

decord.logging.set_level(decord.logging.QUIET)  # its FFmpeg writes to stderr behind Python's back

_BATCH_BYTES = 32 * 2**20
"""Pictures read at once: decord holds them all in memory."""
_MIN_WIDTH = 96
"""decord 0.6.0 fails on some pictures narrower than this (16, 24, 48 and 72 pixels)."""

_Pick = tuple[float, int, int, int]
"""(time_s, sampling, sample, frame)"""


def read_samples(
    info: VideoInfo, samplings: Sequence[Sampling], jumps: Jumps, log: DecodeLog
) -> Iterator[tuple[int, Frame]]:
    """(i, frame) of each sampling i, in time order.

    Raises:
        CannotReadError: decord fails on the video, or is known to get it wrong.
    """
    check_plain(info, jumps, "decord")
    if not _gives_right_frames(info):
        raise CannotReadError(f"decord gets {info.codec} in this kind of {info.container} file wrong")
    sizes = [pixel_size(s.size, info.display_width, info.display_height) for s in samplings]
    is_one_size = len(set(sizes)) == 1 and sizes[0][0] >= _MIN_WIDTH
    width, height = sizes[0] if is_one_size else (info.display_width, info.display_height)
    makers = [PictureMaker(*size) for size in sizes]
    try:
        # a relative path with a colon would name a protocol
        video = decord.VideoReader(str(Path(info.path).absolute()), width=width, height=height)
        times_s = _frame_times(video, log)
        if abs(times_s[0]) > TOLERANCE_S:
            raise CannotReadError(f"decord's first frame is at {times_s[0]:g} s")  # an edit list hides it
        picks = _picks(times_s, samplings, end_of_pictures(info, log))
        for time_s, i, index, number, picture in _pictures(
            video, picks, _BATCH_BYTES // (width * height * 3)
        ):
            yield i, Frame(index, time_s, float(times_s[number]), makers[i].from_rgb(picture))
    except (decord.DECORDError, RuntimeError) as error:  # the latter if it does not open the file
        raise CannotReadError("decord fails on it") from error


def _gives_right_frames(info: VideoInfo) -> bool:
    if info.codec == "hevc":  # seeks to key frames that are shown after frames they precede
        return False
    if info.container in ("matroska", "webm"):
        return True
    with open_video(info.path) as container:
        return video_stream(container, info.path).frames > 0


def _frame_times(video: decord.VideoReader, log: DecodeLog) -> TimeArray:
    """[N] When each frame goes on screen; decord counts from the first one and rounds to 32 bits."""
    spans: TimeArray = np.asarray(video.get_frame_timestamp(range(len(video))), dtype=np.float64)
    for start_s, end_s in spans.tolist():
        log.saw(start_s, end_s)
    return spans[:, 0]


def _picks(times_s: TimeArray, samplings: Sequence[Sampling], end_s: float) -> list[_Pick]:
    picks: list[_Pick] = []
    for i, sampling in enumerate(samplings):
        if sampling.fps is None:
            picks += [(time_s, i, number, number) for number, time_s in enumerate(times_s.tolist())]
        else:
            numbers = pick_frames(times_s, sampling.fps, end_s).tolist()
            picks += [(index / sampling.fps, i, index, number) for index, number in enumerate(numbers)]
    return sorted(picks, key=lambda pick: (pick[3], pick[0], pick[1]))


def _pictures(
    video: decord.VideoReader, picks: Sequence[_Pick], batch: int
) -> Iterator[tuple[float, int, int, int, Picture]]:
    """Each pick with its picture, decoded in batches."""
    step = max(1, batch)
    for first in range(0, len(picks), step):
        part = picks[first : first + step]
        numbers = sorted({number for *_, number in part})
        pictures = dict(zip(numbers, video.get_batch(numbers).asnumpy(), strict=True))
        for time_s, i, index, number in part:
            yield time_s, i, index, number, pictures[number]
