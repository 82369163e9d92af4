"""Time stamps that start again, wrap or leap: the rule itself, and reading and writing such files."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.media import make_video, read_number
from tests.video.clips import FlashBeep, make_flash_beep, numbers_by_pyav, worst_offsets_s
from vidsum.errors import UsageError
from vidsum.types import TimeArray
from vidsum.video import jumps as jumps_module
from vidsum.video import timing as timing_module
from vidsum.video.copy import copy_segments
from vidsum.video.frames import Frame, Sampling
from vidsum.video.jumps import BACK_S, MAX_FRAME_S, Jumps, PacketShifter, Stamps, find_jumps, shift_times
from vidsum.video.probe import probe
from vidsum.video.read import read_frames, read_frames_at
from vidsum.video.write import write_segments

STEP_S = 0.04
TICK = Fraction(1, 90_000)


@dataclass(frozen=True)
class Part:
    """Frames whose time stamps rise: the first time stamp, and the steps to the next."""

    start_s: float
    steps_s: tuple[float, ...]
    delay: int
    """Frames by which decoding is ahead of showing."""

    @property
    def on_screen_s(self) -> TimeArray:
        return self.start_s + np.cumsum([0.0, *self.steps_s])

    def stamps(self) -> tuple[TimeArray, TimeArray]:
        """(dts, pts) in the order stored: each frame behind the `delay` that are shown before it."""
        times_s = self.on_screen_s
        order = np.arange(len(times_s))
        if self.delay:  # P B B P B B ...
            order = np.argsort([i - self.delay - 0.5 if i % (self.delay + 1) == 0 else i for i in order])
        ahead = times_s[0] - STEP_S * np.arange(self.delay, 0, -1)
        return np.concatenate([ahead, times_s])[: len(times_s)], times_s[order]

    @property
    def lasts_s(self) -> float:
        """How long its pictures are shown, gaps left out."""
        return sum(step for step in self.steps_s if step <= MAX_FRAME_S) + len(self.steps_s) * STEP_S + STEP_S


steps = st.one_of(st.just(STEP_S), st.floats(0.01, 60.0), st.floats(MAX_FRAME_S + 1, 1e9))
parts_of_files = st.lists(
    st.builds(
        Part, st.floats(0, 1000), st.lists(steps, min_size=6, max_size=30).map(tuple), st.sampled_from([0, 2])
    ),
    min_size=1,
    max_size=5,
)


def joined(parts: list[Part]) -> tuple[Stamps, list[Part]]:
    """Join parts; a part starts before the end of its predecessor."""
    placed = [parts[0]]
    for part in parts[1:]:
        latest = placed[-1].stamps()[0][-1] - BACK_S - 1
        placed.append(Part(min(part.start_s, latest), part.steps_s, part.delay))
    dts, pts = (np.concatenate(kind) for kind in zip(*(part.stamps() for part in placed), strict=True))
    return Stamps(dts, pts, np.zeros(len(pts))), placed


@pytest.mark.parametrize(
    ("name", "leap_s", "is_left_out"),
    [
        ("a.ts", 3000.0, True),
        ("a.ts", 12.0, True),
        ("a.ts", 8.0, False),
        ("a.mkv", 900.0, True),
        ("a.mkv", 500.0, False),
        ("a.mp4", 900.0, False),  # whose index says how long the frame lasts
    ],
)
def test_gap_is_left_out_from_a_length_on(
    name: str, leap_s: float, is_left_out: bool, tmp_path: Path
) -> None:
    times = [i / 25 + (leap_s if i >= 30 else 0) for i in range(60)]
    info = probe(make_video(tmp_path / name, times_s=times).path)
    assert info.duration_s == pytest.approx(2.4 + (0 if is_left_out else leap_s), abs=0.05)


@given(parts_of_files)
@settings(deadline=None)
def test_time_line_of_joined_parts_rises_without_gaps(parts: list[Part]) -> None:
    stamps, placed = joined(parts)
    jumps = find_jumps(stamps, None, np.empty(0, int), float(placed[0].start_s), STEP_S)
    times_s = shift_times(stamps.pts_s, jumps.pictures)
    first, rising = 0, []
    for part in placed:  # in the order of showing, part by part
        n_frames = len(part.on_screen_s)
        order = np.argsort(stamps.pts_s[first : first + n_frames])
        rising += times_s[first : first + n_frames][order].tolist()
        first += n_frames
    assert all(a < b for a, b in pairwise(rising))
    longest = max((step for part in placed for step in part.steps_s if step <= MAX_FRAME_S), default=STEP_S)
    n_gaps = sum(step > MAX_FRAME_S for part in placed for step in part.steps_s)
    assert rising[-1] - rising[0] <= sum(part.lasts_s for part in placed) + longest * (n_gaps + len(placed))


@given(parts_of_files, st.data())
@settings(deadline=None)
def test_packets_that_are_never_shown_make_no_jump(parts: list[Part], data: st.DataObject) -> None:
    stamps, placed = joined(parts)
    start_s, count = float(placed[0].start_s), len(stamps.pts_s)
    alone = find_jumps(stamps, None, np.empty(0, int), start_s, STEP_S)
    at = data.draw(st.lists(st.integers(0, count), max_size=5))
    dts, pts, lengths = (
        np.insert(column, at, start_s - 5.0) for column in (stamps.dts_s, stamps.pts_s, stamps.length_s)
    )
    is_shown = np.insert(np.ones(count, bool), at, values=False)
    no_sound = Stamps(np.empty(0), np.empty(0), np.empty(0)), np.empty(0, bool)
    rows = (Stamps(dts, pts, lengths), is_shown)
    jumps = timing_module.find_shown_jumps(rows, no_sound, np.empty(0, int), start_s, STEP_S, MAX_FRAME_S)
    assert (jumps.restarts_s, jumps.gaps) == (alone.restarts_s, alone.gaps)
    shifted = shift_times(pts, jumps.pictures)[is_shown]
    assert (shifted == shift_times(stamps.pts_s, alone.pictures)).all()


@given(
    st.floats(-1000, 1e6),
    st.lists(st.floats(0.001, MAX_FRAME_S - 1), max_size=40).map(tuple),
    st.sampled_from([0, 2]),
)
@settings(deadline=None)
def test_rising_time_stamps_stay_as_they_are(start_s: float, steps_s: tuple[float, ...], delay: int) -> None:
    dts, pts = Part(start_s, steps_s, delay).stamps()
    jumps = find_jumps(Stamps(dts, pts, np.zeros(len(pts))), None, np.empty(0, int), start_s, STEP_S)
    assert jumps == Jumps()
    assert (shift_times(pts, jumps.pictures) == pts).all()


@given(parts_of_files)
@settings(deadline=None)
def test_packet_shifter_matches_shift_times(parts: list[Part]) -> None:
    stamps, placed = joined(parts)
    jumps = find_jumps(stamps, None, np.empty(0, int), float(placed[0].start_s), STEP_S)
    shifter, times_s = PacketShifter(jumps.pictures), []
    for pts_s in stamps.pts_s.tolist():
        packet = SimpleNamespace(size=1, pts=round(pts_s / TICK), dts=None, time_base=TICK)
        shifter.shift(packet)
        times_s.append(float(packet.pts * TICK))
    assert times_s == pytest.approx(shift_times(stamps.pts_s, jumps.pictures).tolist(), abs=2 * float(TICK))


@pytest.mark.parametrize("wrong_s", [100.0, -100.0, 1e6, -1e6])
@pytest.mark.parametrize("n_wrong", [1, 3])
def test_a_few_wrong_time_stamps_move_nothing_else(wrong_s: float, n_wrong: int) -> None:
    times = np.arange(100) * STEP_S + 2e6
    wrong = times.copy()
    wrong[50 : 50 + n_wrong] += wrong_s
    jumps = find_jumps(Stamps(wrong, wrong, np.zeros(100)), None, np.empty(0, int), float(times[0]), STEP_S)
    mended = shift_times(wrong, jumps.pictures)
    assert (np.diff(mended) > 0).all()
    assert mended[-1] == pytest.approx(times[-1], abs=4 * STEP_S)


def test_sound_stored_behind_a_jump_belongs_to_the_part_before() -> None:
    part = np.arange(100) * STEP_S
    pictures, sound = np.tile(part, 3), np.tile(part, 3)
    # the last sound of each part is stored after the first pictures of the next
    at = np.clip(np.arange(300) + 5, 0, 300)
    zeros = np.zeros(300)
    jumps = find_jumps(Stamps(pictures, pictures, zeros), Stamps(sound, sound, zeros), at, 0.0, STEP_S)
    assert shift_times(sound, jumps.sound) == pytest.approx(np.arange(300) * STEP_S)


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds behind themselves, as recordings are joined byte by byte."""
    path = tmp_path_factory.mktemp("twice") / "aa.ts"
    make_video(path, n_frames=50, start_s=3.0, sound=True)
    path.write_bytes(path.read_bytes() * 2)
    return path


def all_frames(
    path: Path, reader: str = "pyav", fps: float | None = None
) -> tuple[list[Frame], tuple[str, ...]]:
    with read_frames(probe(path), [Sampling(fps)], reader=reader) as frames:
        return [frame for _, frame in frames], frames.warnings


def test_joined_recordings_are_read_one_behind_the_other(reader: str, twice: Path) -> None:
    frames, _ = all_frames(twice, reader)
    assert [read_number(frame.image) for frame in frames] == [*range(50), *range(50)]
    assert [frame.pts_s for frame in frames] == pytest.approx([i / 25 for i in range(100)], abs=1e-4)


def test_joined_recordings_warn_once(reader: str, twice: Path) -> None:
    _, warnings = all_frames(twice, reader)
    assert sum("start again once" in warning for warning in warnings) == 1


def test_joined_recordings_are_as_long_as_their_parts(twice: Path) -> None:
    info = probe(twice)
    assert (info.n_frames, info.duration_s) == (100, pytest.approx(4.0, abs=0.001))


def test_joined_recordings_are_no_damage(twice: Path) -> None:
    with read_frames(probe(twice), [Sampling(2.0)], strict=True) as frames:
        assert len(list(frames)) == 8


def test_stills_of_joined_recordings_are_of_their_part(twice: Path) -> None:
    stills = read_frames_at(probe(twice), [3.0, 0.4, 2.0])
    assert [read_number(still.image) for still in stills] == [25, 10, 0]


def test_joined_recordings_are_not_copied(twice: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="jump") as caught:
        copy_segments(probe(twice), [(0.0, 1.0)], tmp_path / "clip.mp4")
    assert "copy" in str(caught.value.hint)


def test_time_stamps_that_wrap_go_on(tmp_path: Path) -> None:
    wrap_s = 2**33 / 90_000
    path = make_video(tmp_path / "wrap.ts", n_frames=100, start_s=wrap_s - 3.0).path
    frames, warnings = all_frames(path, fps=1.0)
    assert probe(path).duration_s == pytest.approx(4.0, abs=0.001)
    assert [read_number(frame.image) for frame in frames] == [0, 25, 50, 75]
    assert not warnings


def test_clip_across_a_jump_is_in_step(tmp_path: Path) -> None:
    made = make_flash_beep(tmp_path / "a.ts", duration_s=4.0, start_s=7.0)
    path = tmp_path / "aa.ts"
    path.write_bytes(made.path.read_bytes() * 2)
    segments = [(0.9, 1.5), (3.5, 5.4), (6.9, 7.4)]
    written = write_segments(probe(path), segments, tmp_path / "clip.mp4")
    assert written.segments == tuple(pytest.approx(segment, abs=0.021) for segment in segments)
    whole = FlashBeep(path, made.fps, 0.0, 8.0)
    # AAC ends a part with silence that fills its last packet: there, at 4.0 s, sound may be 50 ms off
    assert max(worst_offsets_s(whole, written.path, written.segments)) < 0.05


def test_length_of_a_large_joined_file_counts_every_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # longer than the end that is read as well
    video = make_video(tmp_path / "a.ts", n_frames=160, fps=10, gop=10, sound=True)
    path = tmp_path / "aaaa.ts"
    path.write_bytes(video.path.read_bytes() * 4)
    monkeypatch.setattr(timing_module, "_WHOLE_SCAN_BYTES", 0)
    monkeypatch.setattr(timing_module, "_HEAD_SCAN_BYTES", video.path.stat().st_size // 2)
    info = probe(path)
    assert (info.n_frames, info.duration_s) == (640, pytest.approx(64.0, abs=0.01))


GAPS = {"a.mkv": 1e9, "a.ts": 20_000.0, "a.mp4": 20_000.0}


@pytest.fixture(scope="module", params=GAPS)
def gap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """Sixty frames whose time stamps leap at 1.2 s, and the seconds of the leap."""
    leap_s = GAPS[request.param]
    times = [i / 25 + (leap_s if i >= 30 else 0) for i in range(60)]
    return make_video(tmp_path_factory.mktemp("gap") / request.param, times_s=times).path, leap_s


def test_gap_is_not_part_of_the_length(gap: tuple[Path, float]) -> None:
    info = probe(gap[0])
    assert (info.n_frames, info.duration_s) == (60, pytest.approx(2.4, abs=0.05))


def test_samples_leave_a_gap_out(gap: tuple[Path, float], reader: str) -> None:
    frames, _ = all_frames(gap[0], reader, fps=5.0)
    assert [read_number(frame.image) for frame in frames] == list(range(0, 60, 5))


def test_gap_that_is_left_out_warns(gap: tuple[Path, float], reader: str) -> None:
    path, leap_s = gap
    _, warnings = all_frames(path, reader, fps=5.0)
    assert any("left out" in warning and f"{leap_s:.0f} s at 1.20 s" in warning for warning in warnings)


def test_clip_across_a_gap_has_every_frame(gap: tuple[Path, float], tmp_path: Path) -> None:
    written = write_segments(probe(gap[0]), [(0.8, 1.6)], tmp_path / "clip.mp4")
    assert numbers_by_pyav(written.path) == list(range(20, 40))


def test_still_behind_a_gap_is_counted_without_it(gap: tuple[Path, float]) -> None:
    assert read_number(read_frames_at(probe(gap[0]), [2.0])[0].image) == 50


def test_subtitle_longer_than_the_film_is_no_jump(tmp_path: Path) -> None:
    video = make_video(tmp_path / "film.mkv", n_frames=50, sound=True).path
    titles = tmp_path / "titles.srt"
    titles.write_text("1\n00:00:00,000 --> 00:00:30,000\nhello\n")
    path = tmp_path / "with_titles.mkv"
    with av.open(str(video)) as film, av.open(str(titles)) as words, av.open(str(path), "w") as both:
        streams = {
            stream: both.add_stream_from_template(stream) for stream in (*film.streams, *words.streams)
        }
        packets = [packet for file in (film, words) for packet in file.demux() if packet.size]
        for packet in packets:
            packet.stream = streams[packet.stream]
        both.mux(sorted(packets, key=lambda packet: (packet.dts or 0) * packet.time_base))
    assert probe(path).duration_s == pytest.approx(2.0, abs=0.03)
    assert not all_frames(path)[1]


def test_slides_that_stay_for_minutes_are_no_gap(tmp_path: Path) -> None:
    path = make_video(tmp_path / "slides.mkv", times_s=[60.0 * i for i in range(10)] + [3000.0]).path
    frames, warnings = all_frames(path, fps=1 / 60)
    assert [read_number(frame.image) for frame in frames] == [*range(10), *[9] * 40, 10]
    assert not warnings


def test_silent_gap_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jumps_module, "MAX_FRAME_S", 5.0)
    silent = make_video(tmp_path / "silent.mkv", times_s=[0.0, 1.0, 20.0]).path
    assert probe(silent).duration_s < 5


def test_gap_with_sound_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jumps_module, "MAX_FRAME_S", 5.0)
    audible = make_video(tmp_path / "audible.mkv", times_s=[0.0, 1.0, 20.0], sound=True).path
    assert probe(audible).duration_s == pytest.approx(20.04, abs=0.01)
