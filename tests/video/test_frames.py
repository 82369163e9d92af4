"""The frame on screen at each sample, by the definition; sizes of pictures, against torchvision."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.media import frames_on_screen, video_info
from vidsum.errors import UsageError
from vidsum.video.damage import DecodeLog
from vidsum.video.frames import Exact, Sampling, ShortSide, n_samples, pixel_size, sample_stream

frame_times = st.lists(st.integers(1, 4000), max_size=60).map(
    lambda gaps: [0.0, *(np.cumsum(gaps) / 1000).tolist()]
)
rates = st.floats(0.1, 60.0)


def has_tie(times_s: list[float], fps: float) -> bool:
    """Whether a frame lies within rounding of the tolerance's edge, where either answer is right."""
    samples = [(time_s - 0.0006) * fps for time_s in times_s]
    return any(abs(sample - round(sample)) < 1e-6 for sample in samples)


@given(frame_times, st.lists(rates, min_size=1, max_size=3), st.floats(0.001, 3.0))
def test_sample_stream_frames(times_s: list[float], all_fps: list[float], last_s: float) -> None:
    duration_s = times_s[-1] + last_s
    info = video_info(duration_s=duration_s, fps=len(times_s) / duration_s, width=4, height=4)
    log = DecodeLog(frames=len(times_s), end_s=info.duration_s)
    samplings = [Sampling(fps) for fps in all_fps]
    stream = list(
        sample_stream(
            ((time_s, number) for number, time_s in enumerate(times_s)),
            samplings,
            info,
            log,
            lambda _, number: np.full((1, 1, 3), number, dtype=np.uint8),
        )
    )
    shown_s = [frame.pts_s for _, frame in stream]
    assert shown_s == sorted(shown_s)
    for i, fps in enumerate(all_fps):
        if has_tie([*times_s, duration_s], fps):
            continue
        got = [frame for number, frame in stream if number == i]
        assert [frame.image[0, 0, 0] for frame in got] == frames_on_screen(times_s, fps, duration_s)
        assert [frame.index for frame in got] == list(range(n_samples(fps, info.duration_s)))
        assert [frame.time_s for frame in got] == [k / fps for k in range(len(got))]


def test_n_samples() -> None:
    cases = {(2.0, 10.0): 20, (2.0, 10.01): 21, (2.0, 0.05): 1, (1.0, 0.9999): 1, (30.0, 3.003): 91}
    cases[0.5, 2.0001] = 1
    assert {case: n_samples(*case) for case in cases} == cases
    assert pixel_size(None, 640, 360) == (640, 360)
    assert pixel_size(Exact(48, 27), 640, 360) == (48, 27)
    for fps in (0.0, -1.0, math.inf, math.nan, 1e300, 1001.0):
        with pytest.raises(UsageError, match="sampling rate"):
            Sampling(fps)
    for size in (ShortSide(0), Exact(0, 5), Exact(5, -1)):
        with pytest.raises(UsageError, match="pixel"):
            Sampling(2.0, size)


@given(st.integers(1, 600), st.integers(1, 200), st.integers(1, 200))
def test_pixel_size_is_that_of_torchvision(pixels: int, width: int, height: int) -> None:
    from torchvision.transforms.v2.functional import resize

    if max(width, height) * pixels / min(width, height) < 2000:
        wanted = resize(torch.zeros(1, height, width), [pixels]).shape
        got_width, got_height = pixel_size(ShortSide(pixels), width, height)
        assert (got_height, got_width) == tuple(wanted[1:])
