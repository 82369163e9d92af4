"""Pictures against exact ones: YUV converted by the standards' formulas, resized by PIL."""

from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from tests.media import colour_picture, make_video
from tests.video.clips import decode_all
from vidsum.video.frames import PictureMaker

KR_KB = {None: (0.299, 0.114), 5: (0.299, 0.114), 1: (0.2126, 0.0722)}
"""Weights of red and blue in luma: BT.601, which untagged video counts as, and BT.709."""

Exact = npt.NDArray[np.float64]


def rgb_by_formula(frame: av.VideoFrame, colorspace: int | None) -> Exact:
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
    rgb: Exact = np.clip(np.stack([r, g, b], axis=2) * 255, 0, 255)
    return rgb


@pytest.mark.parametrize("colorspace", [None, 5, 1])
@pytest.mark.parametrize("pix_fmt", ["yuv420p", "yuv444p", "yuvj420p", "yuvj444p"])
@pytest.mark.parametrize("size", [(320, 240), (224, 224), (171, 128), (48, 27)])
def test_picture_colours_and_size(
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


@pytest.mark.parametrize("turn_deg", [0, 90, 180, 270])
def test_picture_rotation(turn_deg: int) -> None:
    stored = colour_picture(0, 120, 80)
    frame = av.VideoFrame.from_ndarray(stored, format="rgb24")
    upright = np.ascontiguousarray(np.rot90(stored, -turn_deg // 90))
    size = (30, 40)
    wanted = np.asarray(Image.fromarray(upright).resize(size, Image.Resampling.BILINEAR)).astype(float)
    picture = PictureMaker(*size).from_frame(frame, turn_deg)
    assert picture.shape == (40, 30, 3)
    assert np.abs(picture - wanted).mean() < 1.0


def test_picture_of_the_right_size() -> None:
    picture = colour_picture(0, 40, 30)
    assert PictureMaker(40, 30).from_rgb(picture) is picture
