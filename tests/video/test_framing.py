"""Crops, and whole pictures between bars."""

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
from vidsum.video.style import ClipStyle
from vidsum.video.write import write_segments

ASPECTS = st.sampled_from(["9:16", "1:1", "4:5"]).map(lambda aspect: Fraction(*map(int, aspect.split(":"))))
SIDES = st.integers(1, 4000)


@pytest.mark.parametrize(
    ("size", "aspect", "expected"),
    [((1920, 1080), "9/16", (608, 1080)), ((1080, 1920), "1/1", (1080, 1080)), ((4, 3), "1/1", (540, 540))],
)
def test_shape_is_as_large_as_the_crop_and_large_enough(
    size: tuple[int, int], aspect: str, expected: tuple[int, int]
) -> None:
    shape = Shape.of(video_info(width=size[0], height=size[1]), Fraction(aspect))
    assert (shape.width, shape.height) == expected


@given(SIDES, SIDES, ASPECTS)
def test_shape_has_the_wanted_aspect(width: int, height: int, aspect: Fraction) -> None:
    shape = Shape.of(video_info(width=width, height=height), aspect)
    assert shape.width / shape.height == pytest.approx(float(aspect), rel=0.005)


@given(SIDES, SIDES, ASPECTS)
def test_shape_is_even_and_large_enough_for_an_encoder(width: int, height: int, aspect: Fraction) -> None:
    shape = Shape.of(video_info(width=width, height=height), aspect)
    assert shape.width % 2 == shape.height % 2 == 0
    assert min(shape.width, shape.height) >= MIN_SIDE


@given(SIDES, SIDES, ASPECTS)
def test_shape_cuts_along_the_longer_side(width: int, height: int, aspect: Fraction) -> None:
    shape = Shape.of(video_info(width=width, height=height), aspect)
    assert shape.is_upright == (Fraction(width, height) <= aspect)
    assert 0 < shape.share <= 1


@given(SIDES, SIDES, ASPECTS)
def test_whole_picture_fills_one_side_of_the_shape(width: int, height: int, aspect: Fraction) -> None:
    shape = Shape.of(video_info(width=width, height=height), aspect)
    assert shape.whole[0] <= shape.width
    assert shape.whole[1] <= shape.height
    assert shape.width in shape.whole[:1] or shape.height in shape.whole[1:]


@pytest.mark.parametrize(
    ("size", "aspect", "whole"),
    [((320, 180), "9/16", (540, 304)), ((180, 320), "1/1", (304, 540)), ((90, 160), "9/16", (540, 960))],
)
def test_whole_picture_keeps_its_shape(size: tuple[int, int], aspect: str, whole: tuple[int, int]) -> None:
    assert Shape.of(video_info(width=size[0], height=size[1]), Fraction(aspect)).whole == whole


def columns(width: int, height: int) -> av.VideoFrame:
    """A frame in yuv420p whose brightness tells the place, from 0 to 200, along its longer side."""
    ramp = np.linspace(20, 220, max(width, height))
    grey = np.tile(ramp, (height, 1)) if width >= height else np.tile(ramp[:, None], (1, width))
    return av.VideoFrame.from_ndarray(np.repeat(grey[..., None], 3, 2).astype(np.uint8), "rgb24").reformat(
        format="yuv420p"
    )


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("size", "aspect"), [
    ((320, 180), Fraction(9, 16)), ((180, 322), Fraction(1)), ((321, 181), Fraction(4, 5)),
])  # fmt: skip
def test_crop_shows_its_place(size: tuple[int, int], aspect: Fraction, place: float) -> None:
    width, height = (side + side % 2 for side in size)
    shape = Shape.of(video_info(width=size[0], height=size[1]), aspect)
    framing = Framing(shape, [CropPath(0.0, np.array([0.0]), np.array([place]))])
    crop = framing.apply(columns(width, height), 0.0, VideoReformatter(), False)
    assert (crop.width, crop.height) == (shape.width, shape.height)
    grey = crop.to_ndarray(format="rgb24").mean(axis=2)
    line = grey.mean(axis=0) if not shape.is_upright else grey.mean(axis=1)
    first = 20 + 200 * place * (1 - shape.share)
    assert line[2] == pytest.approx(first, abs=6)
    assert line[-3] == pytest.approx(first + 200 * shape.share, abs=6)


NINE_BY_SIXTEEN = Shape.of(video_info(width=320, height=180), Fraction(9, 16))


def test_whole_picture_stands_between_black_bars() -> None:
    framing = Framing(NINE_BY_SIXTEEN, [CropPath(0.0, np.array([0.0]), None)])
    picture = framing.apply(columns(320, 180), 0.0, VideoReformatter(), False)
    luma = plane_array(picture.planes[0])[:, : picture.width]
    inside = np.flatnonzero(luma[:, 300] > 30)
    assert len(inside) == pytest.approx(NINE_BY_SIXTEEN.whole[1], abs=2)
    assert abs((inside[0] + inside[-1]) / 2 - NINE_BY_SIXTEEN.height / 2) < 3
    assert np.all(luma[: inside[0]] == 16)
    assert np.all(plane_array(picture.planes[1])[: inside[0] // 2 - 1, : picture.width // 2] == 128)


@pytest.mark.parametrize(("time_s", "position"), [(-1.0, 0), (1.0, 0.1), (1.96, 0.196), (2.0, 1), (9.0, 1)])
def test_crop_moves_within_a_shot_and_jumps_at_a_cut(time_s: float, position: float) -> None:
    shots = [
        CropPath(0.0, np.array([0.0, 2.0]), np.array([0.0, 0.2])),
        CropPath(2.0, np.array([2.0]), np.array([1.0])),
    ]
    assert Framing(NINE_BY_SIXTEEN, shots).position_at(time_s) == pytest.approx(position)


def test_crop_without_paths_is_in_the_middle() -> None:
    assert Framing(NINE_BY_SIXTEEN).position_at(1.0) == 0.5


@pytest.mark.parametrize("changes", [
    {},
    {"rotation_deg": 90},
    {"sample_aspect_ratio": Fraction(4, 3)},
    {"times_s": (0.0, 0.1, 0.15, 0.4, 0.41, 0.6, 0.7, 0.8, 0.9, 1.3)},
    {"width": 71, "height": 47, "pix_fmt": "yuv444p"},
    {"width": 1, "height": 1, "codec": "ffv1", "pix_fmt": "yuv444p", "paint": colour_picture},
], ids=["plain", "turned", "wide pixels", "varying rate", "odd size", "one pixel"])  # fmt: skip
def test_framed_clip_of_any_video_is_upright_and_tall(tmp_path: Path, changes: dict[str, Any]) -> None:
    is_small = "codec" in changes
    made = make_video(tmp_path / f"odd.{'mkv' if is_small else 'mp4'}", n_frames=10, **changes)
    info = probe(made.path)
    shape = Shape.of(info, Fraction(9, 16))
    framing = Framing(shape, [CropPath(0.0, np.array([0.0]), np.array([1.0]))])
    target = tmp_path / "clip.mp4"
    assert write_segments(info, [(0.0, 9.0)], target, style=ClipStyle(framing)).n_frames >= 9
    clip = probe(target)
    assert (clip.display_width, clip.display_height, clip.rotation_deg) == (540, 960, 0)
