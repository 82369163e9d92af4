"""Captions in pictures."""

from pathlib import Path

import av
import numpy as np
import pytest

from tests.media import make_video
from vidsum.video.framing import plane_array
from vidsum.video.probe import probe
from vidsum.video.style import ClipStyle, letters_in_line, missing_letters, paint_caption
from vidsum.video.write import write_segments

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


SIZES = [(540, 960), (1280, 720), (540, 540), (2, 2), (16, 40)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("time_s", [0.0, 0.99, 2.0, 2.5, 4.0, 9.0])
def test_no_caption_outside_its_time(size: tuple[int, int], time_s: float) -> None:
    assert np.all(draw(*size, time_s) == 90)


@pytest.mark.parametrize("size", SIZES)
def test_caption_appears_at_its_start(size: tuple[int, int]) -> None:
    assert np.any(draw(*size, 1.0) != 90)


PLACES = pytest.mark.parametrize(
    ("size", "lowest"), [((540, 960), 0.77), ((1280, 720), 0.93), ((540, 676), 0.77), ((720, 720), 0.93)]
)


@PLACES
def test_caption_is_in_the_lower_half_inside_the_margins(size: tuple[int, int], lowest: float) -> None:
    width, height = size
    rows, columns = np.nonzero(draw(width, height, 3.5) != 90)
    assert 0.5 * height < rows.min() < rows.max() < lowest * height
    assert columns.min() > 0.03 * width
    assert columns.max() < 0.97 * width


@PLACES
def test_caption_is_centred(size: tuple[int, int], lowest: float) -> None:
    columns = np.nonzero(draw(*size, 3.5) != 90)[1]
    assert abs(columns.min() + columns.max() - size[0]) < 6


@PLACES
def test_caption_is_white_on_black(size: tuple[int, int], lowest: float) -> None:
    luma = draw(*size, 3.5)
    assert (luma.max(), luma.min()) == (235, 16)


@PLACES
def test_caption_is_large_enough_to_read(size: tuple[int, int], lowest: float) -> None:
    width, height = size
    rows = np.nonzero(draw(width, height, 3.5) != 90)[0]
    assert (rows.max() - rows.min()) / 2 > 0.03 * min(height, 1.2 * width)


def test_wide_pictures_have_longer_caption_lines() -> None:
    assert letters_in_line(1920, 1080) > letters_in_line(1080, 1080) > letters_in_line(1080, 1920)


def test_letters_without_a_glyph_are_missing() -> None:
    assert missing_letters([(0, 1, "Größe, été: Ω ж 1.5 %\n今")]) == "今"


def test_letters_without_a_glyph_are_not_drawn() -> None:
    texts = "a swarm has left", "a swarm \U0001f41d has left\U0001f41d"
    plain, other = (grey(540, 960) for _ in texts)
    for frame, text in zip((plain, other), texts, strict=True):
        paint_caption(frame, [(0.0, 1.0, text)], 0.5, full=True)
    np.testing.assert_array_equal(plane_array(plain.planes[0]), plane_array(other.planes[0]))


def test_caption_without_spaces_stays_inside_the_picture() -> None:
    frame = grey(540, 960)
    paint_caption(frame, [(0.0, 1.0, "W" * 60)], 0.5, full=True)
    columns = np.flatnonzero((plane_array(frame.planes[0])[:, :540] != 90).any(axis=0))
    assert 0 < columns.min() < columns.max() < 539


def test_clip_shows_a_caption_in_exactly_its_frames(tmp_path: Path) -> None:
    made = make_video(tmp_path / "film.mp4", n_frames=50, width=128, height=96)
    plain, captioned = tmp_path / "plain.mp4", tmp_path / "clip.mp4"
    write_segments(probe(made.path), [(0.0, 2.0)], plain, crf=1)
    style = ClipStyle(captions=[(0.4, 0.8, "Hello")])
    write_segments(probe(made.path), [(0.0, 2.0)], captioned, crf=1, style=style)
    with av.open(str(captioned)) as first, av.open(str(plain)) as second:
        pairs = zip(first.decode(video=0), second.decode(video=0), strict=True)
        changed = [np.abs(a.to_ndarray()[:96].astype(int) - b.to_ndarray()[:96]).max() > 60 for a, b in pairs]
    assert np.flatnonzero(changed).tolist() == list(range(10, 20))
