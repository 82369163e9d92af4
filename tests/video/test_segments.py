"""Segments on the frames of a video: their ticks, and edges that frames keep."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.media import make_video, video_info
from vidsum.types import VideoInfo
from vidsum.video.damage import DecodeLog
from vidsum.video.jumps import Jumps
from vidsum.video.open import open_video, video_stream
from vidsum.video.probe import probe
from vidsum.video.segments import STAYS_S, clip_time_base, in_ticks, segment_frames, snap_to_frames

MILLISECOND = Fraction(1, 1000)


def base_of_a_clip(n_ticks: int, **facts: Any) -> Fraction:
    """The tick of a clip of a video at 25 frames/s, whose first frame stays some ticks of 1/12800 s."""
    rates = dict.fromkeys(("base_rate", "guessed_rate", "average_rate"), Fraction(25))
    stream: Any = SimpleNamespace(**{"time_base": Fraction(1, 12_800), **rates, **facts})
    info = video_info("film.mp4", duration_s=3.0, fps=25.0)
    first: Any = SimpleNamespace(tick=0, end_tick=n_ticks)
    return clip_time_base(info, stream, first)


def test_tick_of_a_clip_is_a_frame_where_the_first_one_stays_that_long() -> None:
    assert base_of_a_clip(512) == Fraction(1, 25)


def test_tick_of_a_clip_is_the_sources_where_its_first_frame_stays_longer() -> None:
    assert base_of_a_clip(1024) == Fraction(1, 12_800)


def test_tick_of_a_clip_is_the_sources_where_a_declared_rate_is_another() -> None:
    other = dict.fromkeys(("base_rate", "guessed_rate", "average_rate"), Fraction(50))
    assert base_of_a_clip(512, **other) == Fraction(1, 12_800)


def test_odd_tick_of_a_source_is_no_tick_of_a_clip() -> None:
    base = base_of_a_clip(1024, time_base=Fraction(1001, 30_000))
    assert base.numerator == 1


@pytest.mark.parametrize(
    ("start_s", "tick"),
    [(0.04, 40), (0.0404, 40), (0.0406, 41), (0.0396, 40)],
    ids=["at it", "just behind it", "behind it", "just ahead of it"],
)
def test_frame_up_to_half_a_millisecond_ahead_of_an_edge_is_behind_it(start_s: float, tick: int) -> None:
    assert in_ticks([(start_s, 1.0)], MILLISECOND) == [(tick, 1000)]


def test_segment_is_at_least_a_tick_long() -> None:
    assert in_ticks([(0.04, 0.0401)], Fraction(1, 25)) == [(1, 2)]


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> VideoInfo:
    """Three seconds at 25 frames/s."""
    return probe(make_video(tmp_path_factory.mktemp("film") / "film.mp4", n_frames=75).path)


@pytest.fixture(scope="module")
def slides(tmp_path_factory: pytest.TempPathFactory) -> VideoInfo:
    """Ten seconds at a frame a second."""
    return probe(make_video(tmp_path_factory.mktemp("slides") / "slides.mp4", n_frames=10, fps=1).path)


@pytest.mark.parametrize(
    ("segment", "snapped"),
    [((0.5, 1.0), (0.48, 1.0)), ((0.52, 1.01), (0.52, 1.04)), ((2.9, 3.0), (2.88, 3.0))],
)
def test_edges_snap_outwards_to_frames(
    segment: tuple[float, float], snapped: tuple[float, float], film: VideoInfo
) -> None:
    assert snap_to_frames(film, [segment]) == [pytest.approx(snapped, abs=1e-6)]


@pytest.mark.parametrize(
    ("start_s", "snapped_s"), [(2.5, 2.5), (2.9, 3 - float(STAYS_S))], ids=["stays", "would not stay"]
)
def test_segment_begins_where_its_first_slide_stays_long_enough(
    start_s: float, snapped_s: float, slides: VideoInfo
) -> None:
    assert snap_to_frames(slides, [(start_s, 5.0)]) == [pytest.approx((snapped_s, 5.0))]


@pytest.mark.parametrize(("end_s", "snapped_s"), [(4.2, 4.2), (4.8, 5.0), (9.9, 10.0)])
def test_segment_ends_with_a_slide_that_would_not_stay_away_long(
    end_s: float, snapped_s: float, slides: VideoInfo
) -> None:
    assert snap_to_frames(slides, [(1.0, end_s)]) == [pytest.approx((1.0, snapped_s))]


@settings(max_examples=25, deadline=None)
@given(start_s=st.floats(0, 9), length_s=st.floats(0.05, 3))
def test_frames_keep_snapped_edges(start_s: float, length_s: float, slides: VideoInfo) -> None:
    (snapped,) = snap_to_frames(slides, [(start_s, min(start_s + length_s, 10.0))])
    with open_video(slides.path) as container:
        stream = video_stream(container, slides)
        ticks = in_ticks([snapped], stream.time_base)
        frames = list(segment_frames(container, stream, ticks, Jumps(), DecodeLog()))
    edges_s = (float(tick * stream.time_base) for tick in (frames[0].tick, frames[-1].end_tick))
    assert tuple(edges_s) == pytest.approx(snapped, abs=0.001)
