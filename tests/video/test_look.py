"""Captions in pictures, and the loudness of clips."""

from pathlib import Path

import av
import numpy as np
import pytest
from scipy.signal import lfilter

from tests.media import make_video
from vidsum.video.audio import open_sound
from vidsum.video.jumps import Jumps
from vidsum.video.loudness import AmplifiedSound, find_gain
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


def test_caption_painter_long_line() -> None:
    frame = grey(540, 960)
    CaptionPainter([(0.0, 1.0, "W" * 60)], (540, 960)).paint(frame, 0.5, full=True)
    columns = np.flatnonzero((plane_array(frame.planes[0])[:, :540] != 90).any(axis=0))
    assert 0 < columns.min() < columns.max() < 539


def test_letters_in_line() -> None:
    assert letters_in_line(1920, 1080) > letters_in_line(1080, 1080) > letters_in_line(1080, 1920)


def test_missing_letters() -> None:
    assert missing_letters([(0, 1, "Größe, été: Ω ж 1.5 %\n今")]) == "今"


def test_captions_leave_decoded_frames_unchanged(tmp_path: Path) -> None:
    """Others are made of it: what is draw into it would stay when the caption is over."""
    made = make_video(tmp_path / "film.mp4", n_frames=50, width=128, height=96)
    target = tmp_path / "clip.mp4"
    look = ClipStyle(captions=[(0.4, 0.8, "Hello")])
    for clip, style in ((tmp_path / "plain.mp4", ClipStyle()), (target, look)):
        write_segments(probe(made.path), [(0.0, 2.0)], clip, crf=1, style=style)
    with av.open(str(target)) as first, av.open(str(tmp_path / "plain.mp4")) as second:
        pairs = zip(first.decode(video=0), second.decode(video=0), strict=True)
        changed = [np.abs(a.to_ndarray()[:96].astype(int) - b.to_ndarray()[:96]).max() > 60 for a, b in pairs]
    assert np.flatnonzero(changed).tolist() == list(range(10, 20))


def lufs_of(path: Path) -> float:
    """ITU-R BS.1770 by its own coefficients, for sound of even loudness: no gates."""
    with av.open(str(path)) as container:
        resampler = av.AudioResampler("fltp", "stereo", 48_000)
        parts = [part.to_ndarray() for f in container.decode(audio=0) for part in resampler.resample(f)]
    x = np.concatenate(parts, axis=1).astype(np.float64)[:, 24_000:-24_000]
    x = lfilter(
        [1.53512485958697, -2.69169618940638, 1.19839281085285], [1, -1.69065929318241, 0.73248077421585], x
    )
    x = lfilter([1, -2, 1], [1, -1.99004745483398, 0.99007225036621], x)
    return float(-0.691 + 10 * np.log10((x**2).mean(axis=1).sum()))


def test_loudness_of_a_clip(tmp_path: Path) -> None:
    made = make_video(tmp_path / "film.mp4", n_frames=125, sound=True)
    info, target = probe(made.path), tmp_path / "clip.mp4"
    for wanted in (-14.0, -30.0):
        style = ClipStyle(loudness_lufs=wanted)
        assert write_segments(info, [(0.0, 2.0), (3.0, 5.0)], target, style=style).warnings == ()
        assert lufs_of(target) == pytest.approx(wanted, abs=0.5)


@pytest.mark.parametrize("length_s", [0.1, 0.36])
def test_gain_of_short_sound(tmp_path: Path, length_s: float) -> None:
    info = probe(make_video(tmp_path / "film.mp4", n_frames=125, sound=True).path)
    gain_db, usual_db = (find_gain(info, [(1.0, 1.0 + s)], Jumps(), -14.0) for s in (length_s, 2.0))
    assert gain_db == pytest.approx(usual_db, abs=1.0)


def test_amplified_sound_peaks() -> None:
    class Sound:
        rate, n_channels, layout = 48_000, 1, "mono"

        def read(self, first: int, count: int) -> np.ndarray:
            return np.linspace(-1, 1, count, dtype=np.float32)[None]

    plain, loud = Sound().read(0, 999), AmplifiedSound(Sound(), 12.0).read(0, 999)
    assert np.abs(loud).max() < 10 ** (-1.4 / 20)
    assert np.all(np.diff(loud[0]) >= 0)
    quiet = np.abs(plain) < 0.1
    assert loud[quiet] == pytest.approx(plain[quiet] * 10**0.6, rel=1e-5)


def test_loudness_of_silence(tmp_path: Path) -> None:
    made = make_video(tmp_path / "film.mp4", n_frames=100, sound=True, sound_s=1.0)
    info = probe(made.path)
    assert find_gain(info, [(2.0, 4.0)], Jumps(), -14.0) is None
    written = write_segments(info, [(2.0, 4.0)], tmp_path / "clip.mp4", style=ClipStyle(loudness_lufs=-14.0))
    assert "is silent here" in written.warnings[0]
    with open_sound(probe(tmp_path / "clip.mp4"), Jumps()) as sound:
        assert sound is not None
        assert np.abs(sound.read(0, 40_000)).max() < 1e-3
