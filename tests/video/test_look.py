"""Captions in pictures."""

from pathlib import Path

import av
import numpy as np
import pytest

from tests.media import make_video
from vidsum.video.probe import probe
from vidsum.video.reframe import plane_array
from vidsum.video.style import CaptionPainter, ClipStyle, letters_in_line, missing_letters
from vidsum.video.write import write_segments

CUES = [(1.0, 2.0, "Hello there,"), (3.0, 4.0, "and again:\nwith two lines")]


def grey(width: int, height: int) -> av.VideoFrame:
    frame = av.VideoFrame(width, height, "yuv420p")
    for plane in frame.planes:
        plane_array(plane)[:] = 90
    return frame


def draw(width: int, height: int, time_s: float) -> np.ndarray:
    frame = grey(width, height)
    CaptionPainter(CUES, (width, height)).paint(frame, time_s, full=False)
    return plane_array(frame.planes[0])[:, :width].copy()


@pytest.mark.parametrize("size", [(540, 960), (1280, 720), (540, 540), (2, 2), (16, 40)])
def test_caption_painter_times(size: tuple[int, int]) -> None:
    for time_s in (0.0, 0.99, 2.0, 2.5, 4.0, 9.0):
        assert np.all(draw(*size, time_s) == 90)
    assert np.any(draw(*size, 1.0) != 90)


@pytest.mark.parametrize(
    ("size", "lowest"), [((540, 960), 0.77), ((1280, 720), 0.93), ((540, 676), 0.77), ((720, 720), 0.93)]
)
def test_caption_painter_place(size: tuple[int, int], lowest: float) -> None:
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
    CaptionPainter([(0.0, 1.0, "W" * 60)], (540, 960)).paint(frame, 0.5, full=True)
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
