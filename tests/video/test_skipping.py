"""Skipped frames: the samples must be those of decoding all, bit by bit."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import deep
from tests.media import GOOD_VIDEOS, frames_on_screen, make_video, number_picture
from tests.video.clips import packets_of
from tests.video.conftest import Made
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.video.damage import DecodeLog
from vidsum.video.frames import Exact, Frame, Sampling
from vidsum.video.probe import probe
from vidsum.video.read import read_frames
from vidsum.video.skipping import FrameSkipper

DENSE: dict[str, dict[str, Any]] = {
    "pyramid": {"codec_options": {"x264-params": "bframes=8:b-pyramid=normal:b-adapt=0"}},
    "open groups": {"codec_options": {"x264-params": "bframes=3:open-gop=1:keyint=12"}},
    "interlaced": {"codec_options": {"x264-params": "tff=1:bframes=3:b-adapt=0"}},
    "hevc": {
        "codec": "libx265",
        "codec_options": {"x265-params": "log-level=0:bframes=8:b-adapt=0:no-open-gop=1"},
    },
    "hevc, open groups": {"codec": "libx265", "codec_options": {"x265-params": "log-level=0:bframes=4"}},
    "uneven": {"times_s": np.cumsum(np.random.default_rng(3).choice([0.02, 0.04, 0.2], 120)).tolist()},
    "transport stream": {"codec_options": {"x264-params": "bframes=5:b-adapt=0"}, "suffix": ".ts"},
}


def dense_video(kind: str, folder: Path) -> Path:
    options = {"n_frames": 120, **DENSE[kind]}
    return make_video(folder / f"film{options.pop('suffix', '.mkv')}", **options).path


def samples(path: Path, fps: tuple[float | None, ...], strict: bool) -> list[tuple[int, int, float, bytes]]:
    with read_frames(probe(path), [Sampling(rate, Exact(32, 24)) for rate in fps], strict=strict) as frames:
        return [(i, frame.index, frame.pts_s, frame.image.tobytes()) for i, frame in frames]


RATES: list[tuple[float | None, ...]] = [(0.5,), (2.0,), (7.3,), (1.0, 3.0), (2.0, None)]


def test_time_of_a_packet_counts_from_the_first_picture() -> None:
    rate = Fraction(25)
    stream: Any = SimpleNamespace(
        codec_context=SimpleNamespace(name="h264"), time_base=Fraction(1, 1000), average_rate=rate
    )
    skipper = FrameSkipper(stream, [Sampling(2.0, None)], 1.5, DecodeLog())
    packet = SimpleNamespace(pts=2000, is_discard=False, size=3)
    assert skipper._time_s(packet) == 0.5
    assert skipper._time_s(SimpleNamespace(pts=2000, is_discard=True, size=3)) is None


@pytest.mark.parametrize("rates", [RATES[1:4:2], deep(RATES)], ids=["two", "all"])
@pytest.mark.parametrize("kind", [*GOOD_VIDEOS, *DENSE])
def test_skipping_keeps_samples(
    kind: str, rates: list[tuple[float | None, ...]], made: Made, tmp_path: Path
) -> None:
    path = dense_video(kind, tmp_path) if kind in DENSE else made(kind).path
    for fps in rates:
        assert samples(path, fps, strict=False) == samples(path, fps, strict=True), fps


@pytest.mark.parametrize("codec", ["mpeg2video", "mpeg4"])
def test_skipping_keeps_samples_of_older_codecs(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "film.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt, stream.max_b_frames = 64, 48, "yuv420p", 2
        for number in range(120):
            frame = av.VideoFrame.from_ndarray(number_picture(number, 64, 48), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    assert n_decoded(path, 2.0) < 60
    assert samples(path, (2.0,), strict=False) == samples(path, (2.0,), strict=True)


def n_decoded(path: Path, fps: float | None, *guests: Sampling, fast: bool = False) -> int:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        skipper = FrameSkipper(stream, [Sampling(fps), *guests], 0.0, DecodeLog(), fast=fast)
        return sum(len(packet.decode()) for packet in skipper.mark(container.demux(stream)))


def test_guests_show_what_is_decoded_for_others(tmp_path: Path) -> None:
    path = few_b_frames(tmp_path / "film.mp4", 3)
    guest = Sampling(5.0, Exact(32, 24), is_guest=True)
    with read_frames(probe(path), [Sampling(1.0, Exact(32, 24)), guest]) as frames:
        samples_of = list(frames)
    alone = samples(path, (1.0,), strict=False)
    of_host = [(i, frame.index, frame.pts_s, frame.image.tobytes()) for i, frame in samples_of if i == 0]
    assert of_host == alone
    times = np.array([(frame.time_s, frame.pts_s) for i, frame in samples_of if i == 1])
    np.testing.assert_allclose(times[:, 0], np.arange(len(times)) / 5)
    lags = times[:, 0] - times[:, 1]
    assert lags.min() > -0.001
    assert 0.04 < lags.max() < 0.17  # of four pictures, not all are decoded
    assert n_decoded(path, 1.0, guest) == n_decoded(path, 1.0) < n_decoded(path, 5.0)


def few_b_frames(path: Path, b_frames: int) -> Path:
    """120 frames in groups of twelve, with as many B-frames between others."""
    options = {"x264-params": f"bframes={b_frames}:b-adapt=0:scenecut=0"}
    return make_video(path, n_frames=120, codec_options=options).path


def test_skipping_decodes_only_references_and_samples(tmp_path: Path) -> None:
    path = few_b_frames(tmp_path / "film.mp4", 1)
    assert n_decoded(path, None) == 120
    assert 70 <= n_decoded(path, 2.0) <= 75  # of each group seven are references; half of the samples are not


def test_fast_decodes_only_key_frames(tmp_path: Path) -> None:
    path = few_b_frames(tmp_path / "film.mp4", 3)
    assert n_decoded(path, 2.0, fast=True) == 10 < n_decoded(path, 2.0) < 90 < n_decoded(path, None)


MOST_REORDERED = 16


@st.composite
def packet_orders(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Times of frames in ticks of a millisecond, and their order in the file, as codecs may have it."""
    gaps = draw(st.lists(st.integers(1, 400), min_size=1, max_size=80))
    times = np.cumsum([0, *gaps]).tolist()
    keys = [number + draw(st.integers(0, MOST_REORDERED)) for number in range(len(times))]
    return times, sorted(range(len(times)), key=lambda number: keys[number])


@given(packet_orders(), st.floats(0.2, 40.0))
def test_skipping_decodes_all_samples(file: tuple[list[int], list[int]], fps: float) -> None:
    times, order = file
    decoder = SimpleNamespace(name="h264", skip_frame="")
    stream: Any = SimpleNamespace(
        codec_context=decoder, time_base=Fraction(1, 1000), average_rate=Fraction(25, 1)
    )
    decoded = list[int]()

    def packets() -> Iterator[Any]:
        for number in order:
            yield SimpleNamespace(pts=times[number], size=1, is_discard=False, number=number)

    log = DecodeLog()
    skipper = FrameSkipper(stream, [Sampling(fps)], 0.0, log)
    packet: Any
    for packet in skipper.mark(packets()):
        if decoder.skip_frame != "NONREF":
            decoded.append(packet.number)
    duration_s = times[-1] / 1000 + 0.04
    assert set(frames_on_screen([time / 1000 for time in times], fps, duration_s)) <= set(decoded)
    skipper.count(float("inf"))
    assert log.frames == len(times) - len(decoded)


@pytest.mark.parametrize("kind", [kind for kind in DENSE if kind != "hevc, open groups"])
def test_fast_takes_key_frames(kind: str, tmp_path: Path) -> None:
    path = dense_video(kind, tmp_path)
    with read_frames(probe(path), [Sampling(None)]) as frames:
        whole = {frame.pts_s: frame.image for _, frame in frames}
    stamps_s = [float(packet.pts * packet.time_base) for packet in packets_of(path) if packet.is_keyframe]
    keys = [stamp_s - stamps_s[0] for stamp_s in stamps_s]
    fast = read_all(path, fast=True)
    assert len(fast) == len(read_all(path, fast=False))
    for frame in fast:
        assert frame.pts_s == pytest.approx(max(key for key in keys if key <= frame.time_s + 1e-3), abs=1e-6)
        np.testing.assert_array_equal(frame.image, whole[frame.pts_s])


def read_all(path: Path, *, fast: bool) -> list[Frame]:
    with read_frames(probe(path), [Sampling(2.0)], fast=fast) as reader:
        frames = [frame for _, frame in reader]
    assert reader.warnings == ()
    assert reader.end_s == reader.info.duration_s
    return frames


@pytest.mark.parametrize("fps", [(5.5,), (25.0,), (2.0, 25.0)], ids=str)
def test_fast_decodes_all_where_samples_are_dense(fps: tuple[float, ...], tmp_path: Path) -> None:
    path, samplings = tmp_path / "film.mp4", [Sampling(rate) for rate in fps]
    make_video(path, n_frames=60, codec_options={"x264-params": "bframes=3:b-adapt=0"})
    whole, fast = (
        [(i, frame.pts_s) for i, frame in read_frames(probe(path), samplings, fast=fast)]
        for fast in (False, True)
    )
    assert fast == whole


def test_fast_reads_a_varying_rate_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "film.mkv"
    make_video(path, times_s=[*np.arange(0, 4, 0.2), *np.arange(4, 5, 0.02)])
    read_all(path, fast=True)


def test_fast_is_refused_with_another_reader(made: Made) -> None:
    with pytest.raises(UsageError, match=r"fast is of the reader pyav"):
        read_frames(probe(made("plain").path), [Sampling(2.0)], reader="opencv", fast=True)


def test_fast_is_refused_with_strict() -> None:
    with pytest.raises(UsageError, match=r"fast and strict exclude each other"):
        Extraction(fast=True, strict=True)
