"""The frame on screen at each sample; sizes against torchvision; pictures against the standards' formulas."""

import math
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.media import colour_picture, frames_on_screen, make_video, video_info
from tests.video.clips import decode_all
from vidsum.errors import UsageError
from vidsum.video.damage import DecodeLog
from vidsum.video.frames import (
    Exact,
    PictureMaker,
    Sampling,
    ShortSide,
    in_seconds,
    n_samples,
    pixel_size,
    sample_stream,
)

frame_times = st.lists(st.integers(1, 4000), max_size=60).map(
    lambda gaps: [0.0, *(np.cumsum(gaps) / 1000).tolist()]
)
rates = st.floats(0.1, 60.0)


def has_tie(times_s: list[float], fps: float) -> bool:
    """Whether a frame lies within rounding of the tolerance's edge, where either answer is right."""
    samples = [(time_s - 0.0006) * fps for time_s in times_s]
    return any(abs(sample - round(sample)) < 1e-6 for sample in samples)


@given(frame_times, st.lists(rates, min_size=1, max_size=3), st.floats(0.001, 3.0))
def test_samples_are_the_frames_on_screen_at_their_times(
    times_s: list[float], all_fps: list[float], last_s: float
) -> None:
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


@given(st.integers(-(2**63), 2**63 - 1), st.fractions(Fraction(1, 10**9), 10**6, max_denominator=10**9))
def test_seconds_are_the_number_nearest_to_the_exact_time(ticks: int, base: Fraction) -> None:
    assert in_seconds(ticks, base) == float(ticks * base)


@pytest.mark.parametrize(
    ("fps", "duration_s", "count"),
    [
        (2.0, 10.0, 20),
        (2.0, 10.01, 21),
        (2.0, 0.05, 1),
        (2.0, 0.0005, 1),
        (1.0, 0.9999, 1),
        (30.0, 3.003, 91),
        (0.5, 2.0001, 1),
    ],
)
def test_number_of_samples(fps: float, duration_s: float, count: int) -> None:
    assert n_samples(fps, duration_s) == count


@pytest.mark.parametrize(("size", "expected"), [(None, (640, 360)), (Exact(48, 27), (48, 27))])
def test_pixel_size_is_exact_or_the_videos(size: Exact | None, expected: tuple[int, int]) -> None:
    assert pixel_size(size, 640, 360) == expected


@pytest.mark.parametrize("fps", [0.0, -1.0, math.inf, math.nan, 1e300, 1001.0])
def test_sampling_refuses_an_impossible_rate(fps: float) -> None:
    with pytest.raises(UsageError, match="sampling rate"):
        Sampling(fps)


@pytest.mark.parametrize("size", [ShortSide(0), Exact(0, 5), Exact(5, -1)], ids=str)
def test_sampling_refuses_an_impossible_size(size: ShortSide | Exact) -> None:
    with pytest.raises(UsageError, match="pixel"):
        Sampling(2.0, size)


@given(st.integers(1, 600), st.integers(1, 200), st.integers(1, 200))
def test_short_side_rounds_as_torchvision(pixels: int, width: int, height: int) -> None:
    from torchvision.transforms.v2.functional import resize

    if max(width, height) * pixels / min(width, height) < 2000:
        wanted = resize(torch.zeros(1, height, width), [pixels]).shape
        got_width, got_height = pixel_size(ShortSide(pixels), width, height)
        assert (got_height, got_width) == tuple(wanted[1:])


@pytest.mark.parametrize("turn_deg", [0, 90, 180, 270])
def test_picture_is_turned_upright(turn_deg: int) -> None:
    stored = colour_picture(0, 120, 80)
    frame = av.VideoFrame.from_ndarray(stored, format="rgb24")
    upright = np.ascontiguousarray(np.rot90(stored, -turn_deg // 90))
    size = (30, 40)
    wanted = np.asarray(Image.fromarray(upright).resize(size, Image.Resampling.BILINEAR)).astype(float)
    picture = PictureMaker(*size).from_frame(frame, turn_deg)
    assert picture.shape == (40, 30, 3)
    assert np.abs(picture - wanted).mean() < 1.0


KR_KB = {None: (0.299, 0.114), 5: (0.299, 0.114), 1: (0.2126, 0.0722)}
"""Weights of red and blue in luma: BT.601, which untagged video counts as, and BT.709."""

Rgb = npt.NDArray[np.float64]


def rgb_by_formula(frame: av.VideoFrame, colorspace: int | None) -> Rgb:
    """The frame, [H, W, 3] RGB from 0 to 255; chroma is repeated where it is stored at half size."""
    is_full = frame.format.name.startswith("yuvj")
    y, u, v = (
        np.frombuffer(memoryview(plane), np.uint8)
        .reshape(-1, plane.line_size)[: plane.height, : plane.width]
        .astype(float)
        for plane in frame.planes
    )
    if u.shape != y.shape:
        u, v = (np.repeat(np.repeat(plane, 2, axis=0), 2, axis=1) for plane in (u, v))
    luma = y / 255 if is_full else (y - 16) / 219
    blue, red = ((plane - 128) / (255 if is_full else 224) for plane in (u, v))
    kr, kb = KR_KB[colorspace]
    r, b = luma + 2 * (1 - kr) * red, luma + 2 * (1 - kb) * blue
    g = (luma - kr * r - kb * b) / (1 - kr - kb)
    rgb: Rgb = np.clip(np.stack([r, g, b], axis=2) * 255, 0, 255)
    return rgb


@pytest.mark.parametrize("colorspace", [None, 5, 1])
@pytest.mark.parametrize("pix_fmt", ["yuv420p", "yuv444p", "yuvj420p", "yuvj444p"])
@pytest.mark.parametrize("size", [(320, 240), (224, 224), (171, 128), (48, 27)])
def test_scaled_picture_has_the_colours_of_the_formula(
    colorspace: int | None, pix_fmt: str, size: tuple[int, int], tmp_path: Path
) -> None:
    video = make_video(
        tmp_path / "clip.mp4",
        n_frames=1,
        width=320,
        height=240,
        paint=colour_picture,
        colorspace=colorspace,
        pix_fmt=pix_fmt,
    )
    frame = decode_all(video.path)[0]
    exact = np.round(rgb_by_formula(frame, colorspace)).astype(np.uint8)
    wanted = np.asarray(Image.fromarray(exact).resize(size, Image.Resampling.BILINEAR)).astype(float)
    error = PictureMaker(*size).from_frame(frame) - wanted
    assert np.abs(error).mean() < 1.0
    assert np.abs(error.mean(axis=(0, 1))).max() < 0.5  # no channel is too bright or too dark


def test_picture_of_the_right_size_is_not_copied() -> None:
    picture = colour_picture(0, 40, 30)
    assert PictureMaker(40, 30).from_rgb(picture) is picture
