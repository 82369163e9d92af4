"""Reading with OpenCV, which says "no frame" at the end and at damage."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.media import video_info
from vidsum.video.damage import CannotReadError, DecodeLog
from vidsum.video.opencv_reader import _decode

INFO = video_info("film.mp4", duration_s=9.0, fps=25.0)
FAILS = None


class Capture:
    """Gives frames at some times in ms; `FAILS` is a failure, and behind the last it fails for ever."""

    def __init__(self, times_ms: Sequence[float | None]) -> None:
        self.times_ms, self.n_reads, self.time_ms = list(times_ms), 0, 0.0

    def read(self) -> tuple[bool, Any]:
        self.n_reads += 1
        time_ms = self.times_ms.pop(0) if self.times_ms else FAILS
        if time_ms is None:
            return False, None
        self.time_ms = time_ms
        return True, np.array([[[1, 2, 3]]], np.uint8)

    def get(self, _: int) -> float:
        return self.time_ms


def decode(*times_ms: float | None) -> tuple[list[float], DecodeLog, Capture]:
    capture: Any = Capture(times_ms)
    log = DecodeLog()
    return [time_s for time_s, _ in _decode(capture, INFO, log)], log, capture


def test_reading_ends_after_a_hundred_failures_in_a_row() -> None:
    assert decode(0, 40)[2].n_reads == 102


def test_reading_goes_on_after_fewer_failures() -> None:
    assert decode(0, *[FAILS] * 99, 40)[0] == [0, 0.04]


def test_failures_before_a_frame_are_errors_and_those_at_the_end_are_not() -> None:
    assert decode(0, FAILS, FAILS, 40)[1].errors == 2


def test_frame_that_goes_back_in_time_is_left_out() -> None:
    assert decode(0, 80, 40, 120)[0] == [0, 0.08, 0.12]


def test_frames_that_are_all_at_time_0_are_refused() -> None:
    with pytest.raises(CannotReadError, match="the same time"):
        decode(0, 0)


def test_colours_of_opencv_are_turned_to_red_green_blue() -> None:
    capture: Any = Capture([0])
    ((_, picture),) = _decode(capture, INFO, DecodeLog())
    assert picture.tolist() == [[[3, 2, 1]]]
