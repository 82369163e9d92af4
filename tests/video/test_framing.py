"""Crops, and captions in pictures."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.reformatter import VideoReformatter
from hypothesis import given
from hypothesis import strategies as st

from tests.media import colour_picture, make_video, video_info
from vidsum.video.framing import MIN_SIDE, CropPath, Framing, Shape, plane_array
from vidsum.video.probe import probe
from vidsum.video.style import ClipStyle, letters_in_line, missing_letters, paint_caption
from vidsum.video.write import write_segments


@given(st.integers(1, 4000), st.integers(1, 4000), st.sampled_from(["9:16", "1:1", "4:5"]))
def test_shape(width: int, height: int, aspect: str) -> None:
    ratio = Fraction(*map(int, aspect.split(":")))
    shape = Shape.of(video_info(width=width, height=height), ratio)
    assert shape.width % 2 == shape.height % 2 == 0
    assert min(shape.width, shape.height) >= MIN_SIDE
    assert shape.width / shape.height == pytest.approx(float(ratio), rel=0.005)
    assert 0 < shape.share <= 1
    assert shape.is_upright == (Fraction(width, height) <= ratio)
    assert shape.whole[0] <= shape.width
    assert shape.whole[1] <= shape.height
    assert shape.width in shape.whole[:1] or shape.height in shape.whole[1:]


def columns(width: int, height: int) -> av.VideoFrame:
    """A frame in yuv420p whose brightness tells the place, from 0 to 200, along its longer side."""
    ramp = np.linspace(20, 220, max(width, height))
    grey = np.tile(ramp, (height, 1)) if width >= height else np.tile(ramp[:, None], (1, width))
    return av.VideoFrame.from_ndarray(np.repeat(grey[..., None], 3, 2).astype(np.uint8), "rgb24").reformat(
        format="yuv420p"
    )


@pytest.mark.parametrize(("size", "aspect"), [((320, 180), "9:16"), ((180, 322), "1:1"), ((321, 181), "4:5")])
def test_framing_crop(size: tuple[int, int], aspect: str) -> None:
    width, height = (side + side % 2 for side in size)
    shape = Shape.of(video_info(width=size[0], height=size[1]), Fraction(*map(int, aspect.split(":"))))
    frame, scaler = columns(width, height), VideoReformatter()
    for place in (0.0, 0.5, 1.0):
        framing = Framing(shape, [CropPath(0.0, np.array([0.0]), np.array([place]))])
        crop = framing.apply(frame, 0.0, scaler, False)
        assert (crop.width, crop.height) == (shape.width, shape.height)
        grey = crop.to_ndarray(format="rgb24").mean(axis=2)
        line = grey.mean(axis=0) if not shape.is_upright else grey.mean(axis=1)
        first = 20 + 200 * place * (1 - shape.share)
        assert line[2] == pytest.approx(first, abs=6)
        assert line[-3] == pytest.approx(first + 200 * shape.share, abs=6)


def test_framing_whole_picture() -> None:
    shape = Shape.of(video_info(width=320, height=180), Fraction(9, 16))
    framing = Framing(shape, [CropPath(0.0, np.array([0.0]), None)])
    picture = framing.apply(columns(320, 180), 0.0, VideoReformatter(), False)
    luma = plane_array(picture.planes[0])[:, : picture.width]
    inside = np.flatnonzero(luma[:, 300] > 30)
    assert len(inside) == pytest.approx(shape.whole[1], abs=2)
    assert abs((inside[0] + inside[-1]) / 2 - shape.height / 2) < 3
    assert np.all(luma[: inside[0]] == 16)
    assert np.all(plane_array(picture.planes[1])[: inside[0] // 2 - 1, : picture.width // 2] == 128)
    shots = [
        CropPath(0.0, np.array([0.0, 2.0]), np.array([0.0, 0.2])),
        CropPath(2.0, np.array([2.0]), np.array([1.0])),
    ]
    framing = Framing(shape, shots)
    assert [framing.position_at(time_s) for time_s in (-1.0, 1.0, 1.96, 2.0, 9.0)] == pytest.approx(
        [0, 0.1, 0.196, 1, 1]
    )
    assert Framing(shape).position_at(1.0) == 0.5


@pytest.mark.parametrize("changes", [
    {},
    {"rotation_deg": 90},
    {"sample_aspect_ratio": Fraction(4, 3)},
    {"times_s": (0.0, 0.1, 0.15, 0.4, 0.41, 0.6, 0.7, 0.8, 0.9, 1.3)},
    {"width": 71, "height": 47, "pix_fmt": "yuv444p"},
    {"width": 1, "height": 1, "codec": "ffv1", "pix_fmt": "yuv444p", "paint": colour_picture},
])  # fmt: skip
def test_write_framed_clips(tmp_path: Path, changes: dict[str, Any]) -> None:
    is_small = "codec" in changes
    made = make_video(tmp_path / f"odd.{'mkv' if is_small else 'mp4'}", n_frames=10, **changes)
    info = probe(made.path)
    shape = Shape.of(info, Fraction(9, 16))
    framing = Framing(shape, [CropPath(0.0, np.array([0.0]), np.array([1.0]))])
    target = tmp_path / "clip.mp4"
    assert write_segments(info, [(0.0, 9.0)], target, style=ClipStyle(framing)).n_frames >= 9
    clip = probe(target)
    assert (clip.display_width, clip.display_height, clip.rotation_deg) == (540, 960, 0)


CUES = [(1.0, 2.0, "Hello there,"), (3.0, 4.0, "and again:\nwith two lines")]


def grey(width: int, height: int) -> av.VideoFrame:
    frame = av.VideoFrame(width, height, "yuv420p")
    for plane in frame.planes:
        plane_array(plane)[:] = 90
    return frame


def draw(width: int, height: int, time_s: float) -> np.ndarray:
    frame = grey(width, height)
    paint_caption(frame, CUES, time_s, full=False)
    return plane_array(frame.planes[0])[:, :width].copy()


@pytest.mark.parametrize("size", [(540, 960), (1280, 720), (540, 540), (2, 2), (16, 40)])
def test_paint_caption_times(size: tuple[int, int]) -> None:
    for time_s in (0.0, 0.99, 2.0, 2.5, 4.0, 9.0):
        assert np.all(draw(*size, time_s) == 90)
    assert np.any(draw(*size, 1.0) != 90)


@pytest.mark.parametrize(
    ("size", "lowest"), [((540, 960), 0.77), ((1280, 720), 0.93), ((540, 676), 0.77), ((720, 720), 0.93)]
)
def test_paint_caption_place(size: tuple[int, int], lowest: float) -> None:
    width, height = size
    luma = draw(width, height, 3.5)
    rows, columns = np.nonzero(luma != 90)
    assert 0.5 * height < rows.min() < rows.max() < lowest * height
    assert columns.min() > 0.03 * width
    assert columns.max() < 0.97 * width
    assert abs(columns.min() + columns.max() - width) < 6
    assert (luma.max(), luma.min()) == (235, 16)
    assert (rows.max() - rows.min()) / 2 > 0.03 * min(height, 1.2 * width)


def test_letters_of_captions(tmp_path: Path) -> None:
    assert letters_in_line(1920, 1080) > letters_in_line(1080, 1080) > letters_in_line(1080, 1920)
    assert missing_letters([(0, 1, "Größe, été: Ω ж 1.5 %\n今")]) == "今"
    frame = grey(540, 960)
    paint_caption(frame, [(0.0, 1.0, "W" * 60)], 0.5, full=True)
    columns = np.flatnonzero((plane_array(frame.planes[0])[:, :540] != 90).any(axis=0))
    assert 0 < columns.min() < columns.max() < 539
    made = make_video(tmp_path / "film.mp4", n_frames=50, width=128, height=96)
    target = tmp_path / "clip.mp4"
    look = ClipStyle(captions=[(0.4, 0.8, "Hello")])
    for clip, style in ((tmp_path / "plain.mp4", ClipStyle()), (target, look)):
        write_segments(probe(made.path), [(0.0, 2.0)], clip, crf=1, style=style)
    with av.open(str(target)) as first, av.open(str(tmp_path / "plain.mp4")) as second:
        pairs = zip(first.decode(video=0), second.decode(video=0), strict=True)
        changed = [np.abs(a.to_ndarray()[:96].astype(int) - b.to_ndarray()[:96]).max() > 60 for a, b in pairs]
    assert np.flatnonzero(changed).tolist() == list(range(10, 20))
