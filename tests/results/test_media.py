"""Frame rates, frame numbers and time codes of timelines."""

from bisect import bisect_right
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.media import make_video
from tests.results.made import media, save_with_time_code
from tests.video.clips import numbers_by_pyav
from vidsum.results.media import read_media, timeline_rate
from vidsum.video.probe import probe
from vidsum.video.write import write_segments

RATES = [*(Fraction(n, 1001) for n in (24_000, 30_000, 60_000)), *map(Fraction, (24, 25, 30, 50, 60))]


@pytest.mark.parametrize("rate", RATES)
def test_rate_of_editors_stays(rate: Fraction) -> None:
    assert timeline_rate(float(rate)) == (rate, True)
    assert timeline_rate(round(float(rate), 3)) == (rate, True)  # as 23.976, which 24 is not


@pytest.mark.parametrize(
    ("fps", "rate"),
    [(5, 25), (12, 24), (15, 30), (10, 30), (20, 60), (12.5, 25), (100, 50), (120, 60), (48, 24), (28, 30)],
)
def test_other_rate_becomes_one_of_editors(fps: float, rate: int) -> None:
    assert timeline_rate(fps) == (rate, False)


@given(st.sampled_from(RATES), st.integers(0, 200_000), st.integers(1, 5000))
def test_times_of_frames_are_these_frames(rate: Fraction, first: int, length: int) -> None:
    times = (round(float(frame / rate), 6) for frame in (first, first + length))
    assert media(rate).frames(*times) == (first, first + length)


@pytest.mark.parametrize(
    ("start_s", "end_s", "frames"), [(0.01, 0.02, (1, 2)), (0.3, 9, (8, 10)), (5, 9, (9, 10))]
)
def test_any_times_are_a_frame_or_more_of_the_film(
    start_s: float, end_s: float, frames: tuple[int, int]
) -> None:
    assert media(25, n_frames=10).frames(start_s, end_s) == frames


def test_frames_of_a_slower_film_are_of_the_timeline() -> None:
    slow = media(5, n_frames=50).at(Fraction(25))
    assert slow.frames(3 / 5, 8 / 5) == (15, 40)
    assert slow.frames(0.41, 9.9) == (15, 250)  # no picture begins before .6 s, none after 9.8 s


def test_mlt_shows_frames_of_a_slower_film_early() -> None:
    slow = media(5, n_frames=50).at(Fraction(25)).by_mlt()
    assert slow.frames(3 / 5, 8 / 5) == (13, 38)  # of 25 / 5, MLT shows each two frames early


def test_mlt_shows_frames_of_a_film_of_the_same_rate_in_time() -> None:
    assert media(25).by_mlt() == media(25)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of a screen, whose pictures stay for seconds."""
    return make_video(tmp_path_factory.mktemp("screen") / "screen.mp4", times_s=SCREEN_S, fps=25).path


SCREEN_S = [0, 0.5, 0.54, 0.58, 4.7, 4.74, 9.0, 9.3, 9.34, 9.38, 16.0]


@pytest.mark.parametrize(
    "span",
    [
        (0.0, 1.0),
        (0.9, 4.0),
        (2.5, 3.5),
        (4.9, 5.2),
        (5.2, 9.0),
        (8.95, 9.7),
        (5.0, 5.1),
        (8.9, 8.95),
        (9.5, 20),
    ],
)
def test_cut_of_a_screen_recording_shows_what_its_mp4_shows(
    recording: Path, tmp_path: Path, span: tuple[float, float]
) -> None:
    info = probe(recording)
    written = write_segments(info, [span], tmp_path / "clip.mp4")
    film = read_media(info)
    first, end = film.frames(*span)
    pictures = [bisect_right(SCREEN_S, frame / film.fps + 1e-6) - 1 for frame in range(first, end)]
    assert list(dict.fromkeys(pictures)) == list(dict.fromkeys(numbers_by_pyav(tmp_path / "clip.mp4")))
    assert (end - first) / film.fps == pytest.approx(written.duration_s, abs=0.35)


@given(st.sampled_from(RATES), st.booleans(), st.integers(0, 2_000_000))
def test_time_code_of_a_number_is_read_as_that_number(rate: Fraction, drops: bool, number: int) -> None:
    film = media(rate, time_code="00:00:00;00" if drops else "00:00:00:00")
    number %= film.number_of(film.time_code_of(0)) + 23 * 3600 * round(rate)
    assert film.number_of(film.time_code_of(number)) == number


@pytest.mark.parametrize("code", ["00:01:00;00", "00:00:60;00", "00:60:00;00", "00:00:00;30", "1:00:00;00"])
def test_time_code_that_no_frame_has_is_refused(code: str) -> None:
    with pytest.raises(ValueError, match=code):
        media(RATES[1], time_code="00:00:00;00").number_of(code)


@pytest.mark.parametrize(
    ("rate", "code", "drops"),
    [
        (RATES[1], None, True),
        (RATES[2], None, True),
        (RATES[0], None, False),
        (Fraction(30), None, False),
        (RATES[1], "01:00:00:00", False),
        (RATES[1], "01:00:00;00", True),
    ],
)
def test_time_code_drops_frames_by_its_sign_or_the_rate(
    rate: Fraction, code: str | None, drops: bool
) -> None:
    assert media(rate, time_code=code).is_drop_frame is drops


@pytest.mark.parametrize("code", ["01:00:00;00", "10:20:30:04"])
def test_time_code_of_a_camera_is_read(tmp_path: Path, code: str) -> None:
    save_with_time_code(tmp_path / "coded.mov", RATES[1], code)
    film = read_media(probe(tmp_path / "coded.mov"))
    assert (film.time_code, film.rate, film.n_channels) == (code, RATES[1], 0)


def test_film_without_a_time_code_has_none(tmp_path: Path) -> None:
    make_video(tmp_path / "film.mov", fps=RATES[1], sound=True)
    film = read_media(probe(tmp_path / "film.mov"))
    assert (film.time_code, film.rate, film.n_channels) == (None, RATES[1], 1)


def test_film_of_a_variable_rate_is_conformed(tmp_path: Path) -> None:
    times = [frame / 30 + (0.012 if frame % 3 == 1 else 0) for frame in range(90)]
    make_video(tmp_path / "phone.mp4", times_s=times)
    film = read_media(probe(tmp_path / "phone.mp4"))
    assert (film.is_conformed, film.rate, film.n_frames, film.n_channels) == (True, 30, 90, 0)


@pytest.mark.parametrize(
    ("facts", "size"), [({"rotation_deg": 90}, (48, 64)), ({"sample_aspect_ratio": Fraction(4, 3)}, (86, 48))]
)
def test_size_of_a_film_is_as_it_is_seen(tmp_path: Path, facts: Any, size: tuple[int, int]) -> None:
    make_video(tmp_path / "film.mp4", width=64, height=48, **facts)
    film = read_media(probe(tmp_path / "film.mp4"))
    assert (film.width, film.height) == size
