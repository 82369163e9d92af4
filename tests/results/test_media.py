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
def test_timeline_rate_of_editors(rate: Fraction) -> None:
    assert timeline_rate(float(rate)) == (rate, True)
    assert timeline_rate(round(float(rate), 3)) == (rate, True)  # as 23.976, which 24 is not


@pytest.mark.parametrize(
    ("fps", "rate"),
    [(5, 25), (12, 24), (15, 30), (10, 30), (20, 60), (12.5, 25), (100, 50), (120, 60), (48, 24), (28, 30)],
)
def test_timeline_rate_of_others(fps: float, rate: int) -> None:
    assert timeline_rate(fps) == (rate, False)


@given(st.sampled_from(RATES), st.integers(0, 200_000), st.integers(1, 5000))
def test_frames_of_exact_times(rate: Fraction, first: int, length: int) -> None:
    times = (round(float(frame / rate), 6) for frame in (first, first + length))
    assert media(rate).frames(*times) == (first, first + length)


def test_frames_of_any_times() -> None:
    short = media(25, n_frames=10)
    assert short.frames(0.01, 0.02) == (1, 2)
    assert short.frames(0.3, 9) == (8, 10)
    assert short.frames(5, 9) == (9, 10)


def test_frames_of_a_conformed_video() -> None:
    slow = media(5, n_frames=50).at(Fraction(25))
    assert slow.frames(3 / 5, 8 / 5) == (15, 40)
    assert slow.frames(0.41, 9.9) == (15, 250)  # no picture begins before .6 s, none after 9.8 s
    assert slow.by_mlt().frames(3 / 5, 8 / 5) == (13, 38)  # of 25 / 5, MLT shows each two frames early
    assert media(25).by_mlt() == media(25)


@pytest.mark.parametrize("span", [
    (0.0, 1.0), (0.9, 4.0), (2.5, 3.5), (4.9, 5.2), (5.2, 9.0), (8.95, 9.7), (5.0, 5.1), (8.9, 8.95),
    (9.5, 20),
])  # fmt: skip
def test_cuts_of_a_screen_recording_show_what_its_mp4_shows(
    tmp_path: Path, span: tuple[float, float]
) -> None:
    times_s = [0, 0.5, 0.54, 0.58, 4.7, 4.74, 9.0, 9.3, 9.34, 9.38, 16.0]  # pictures stay for seconds
    info = probe(make_video(tmp_path / "screen.mp4", times_s=times_s, fps=25).path)
    written = write_segments(info, [span], tmp_path / "clip.mp4")
    film = read_media(info)
    first, end = film.frames(*span)
    pictures = [bisect_right(times_s, frame / film.fps + 1e-6) - 1 for frame in range(first, end)]
    assert list(dict.fromkeys(pictures)) == list(dict.fromkeys(numbers_by_pyav(tmp_path / "clip.mp4")))
    assert (end - first) / film.fps == pytest.approx(written.duration_s, abs=0.35)


@given(st.sampled_from(RATES), st.booleans(), st.integers(0, 2_000_000))
def test_time_code_round_trip(rate: Fraction, drops: bool, number: int) -> None:
    film = media(rate, time_code="00:00:00;00" if drops else "00:00:00:00")
    number %= film.number_of(film.time_code_of(0)) + 23 * 3600 * round(rate)
    assert film.number_of(film.time_code_of(number)) == number


@pytest.mark.parametrize("code", ["00:01:00;00", "00:00:60;00", "00:60:00;00", "00:00:00;30", "1:00:00;00"])
def test_number_of_bad_time_code(code: str) -> None:
    with pytest.raises(ValueError, match=code):
        media(RATES[1], time_code="00:00:00;00").number_of(code)


@pytest.mark.parametrize(("rate", "code", "drops"), [
    (RATES[1], None, True), (RATES[2], None, True), (RATES[0], None, False), (Fraction(30), None, False),
    (RATES[1], "01:00:00:00", False), (RATES[1], "01:00:00;00", True),
])  # fmt: skip
def test_is_drop_frame(rate: Fraction, code: str | None, drops: bool) -> None:
    assert media(rate, time_code=code).is_drop_frame is drops


@pytest.mark.parametrize("code", ["01:00:00;00", "10:20:30:04"])
def test_read_media_time_code(tmp_path: Path, code: str) -> None:
    save_with_time_code(tmp_path / "coded.mov", RATES[1], code)
    coded = read_media(probe(tmp_path / "coded.mov"))
    assert (coded.time_code, coded.rate, coded.n_channels) == (code, RATES[1], 0)
    make_video(tmp_path / "film.mov", fps=RATES[1], sound=True)
    film = read_media(probe(tmp_path / "film.mov"))
    assert (film.time_code, film.rate, film.n_channels) == (None, RATES[1], 1)


def test_read_media_of_a_variable_rate(tmp_path: Path) -> None:
    times = [frame / 30 + (0.012 if frame % 3 == 1 else 0) for frame in range(90)]
    make_video(tmp_path / "phone.mp4", times_s=times)
    film = read_media(probe(tmp_path / "phone.mp4"))
    assert (film.is_conformed, film.rate, film.n_frames, film.n_channels) == (True, 30, 90, 0)


@pytest.mark.parametrize(
    ("facts", "size"), [({"rotation_deg": 90}, (48, 64)), ({"sample_aspect_ratio": Fraction(4, 3)}, (86, 48))]
)
def test_read_media_size(tmp_path: Path, facts: Any, size: tuple[int, int]) -> None:
    make_video(tmp_path / "film.mp4", width=64, height=48, **facts)
    film = read_media(probe(tmp_path / "film.mp4"))
    assert (film.width, film.height) == size
