"""Reading with OpenCV (`--reader opencv`), which turns pictures upright; all colours count as BT.601."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")  # its FFmpeg writes to stderr behind Python's back

import cv2
import numpy as np

from vidsum.types import Picture, VideoInfo
from vidsum.video.damage import CannotReadError, DecodeLog
from vidsum.video.frames import Frame, Sampling, check_plain, sample_stream
from vidsum.video.jumps import Jumps

_MAX_FAILURES = 100  # OpenCV says "no frame" at the end and at damage: at the end for ever


def read_samples(
    info: VideoInfo, samplings: Sequence[Sampling], jumps: Jumps, log: DecodeLog
) -> Iterator[tuple[int, Frame]]:
    """Yield (i, frame) of each sampling i, in time order.

    Raises CannotReadError: OpenCV does not open the file, decodes no frame (AV1) or has no times (raw H.264).
    """
    check_plain(info, jumps, "OpenCV")
    # a relative path with a colon would name a protocol
    capture = cv2.VideoCapture(str(Path(info.path).absolute()), cv2.CAP_FFMPEG)
    try:
        if not capture.isOpened():
            raise CannotReadError("OpenCV does not open it")
        decoded = _decode(capture, info, log)
        yield from sample_stream(decoded, samplings, info, log, lambda maker, rgb: maker.from_rgb(rgb))
    finally:
        capture.release()
    if not log.frames:
        raise CannotReadError(f"OpenCV decodes no frame of its {info.codec} video")


def _decode(capture: cv2.VideoCapture, info: VideoInfo, log: DecodeLog) -> Iterator[tuple[float, Picture]]:
    last_s = -1.0
    failures_in_a_row = 0
    while failures_in_a_row < _MAX_FAILURES:
        is_read, bgr = capture.read()
        if not is_read:
            failures_in_a_row += 1
            continue
        log.errors, failures_in_a_row = log.errors + failures_in_a_row, 0
        time_s = capture.get(cv2.CAP_PROP_POS_MSEC) / 1000
        if time_s == last_s == 0:
            raise CannotReadError("OpenCV gives all its frames the same time")
        log.add_frame(time_s, time_s + 1 / info.fps)
        if time_s > last_s:
            last_s = time_s
            yield time_s, np.asarray(bgr, dtype=np.uint8)[..., ::-1]
