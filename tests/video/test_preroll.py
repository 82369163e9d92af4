"""Clips of the last seconds of a source, from a key frame on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import av
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.media import MadeVideo
from tests.video.clips import numbers_by_pyav
from vidsum.errors import OutputError
from vidsum.video import live, preroll
from vidsum.video.frames import Sampling
from vidsum.video.live import parse_source, read_live
from vidsum.video.preroll import PreRoll

SAMPLING = Sampling(2.0)


def write_clip(live_film: MadeVideo, path: Path, start_s: float, end_s: float) -> None:
    """Write the clip of an alert from `start_s`, noticed a second later, to `end_s`."""
    tap, clip = PreRoll("film", 2.0, "made by a test"), None
    for frame in read_live(parse_source(str(live_film.path)), [Sampling(10.0)], print, tap):
        if clip is None and frame.time_s >= start_s + 1:
            clip = tap.start(path, start_s)
            clip.until_s = end_s
    tap.close()


@pytest.fixture(scope="module")
def alert_clip(live_film: MadeVideo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clip of an alert from 2.7 to 5 s, noticed at 3.7 s."""
    path = tmp_path_factory.mktemp("alert") / "a.mp4"
    write_clip(live_film, path, 2.7, 5.0)
    return path


def test_alert_clip_begins_at_the_key_frame_before_the_alert(alert_clip: Path) -> None:
    assert numbers_by_pyav(alert_clip)[0] == 25  # every fifth frame is a key frame


def test_alert_clip_has_every_frame_until_its_end(alert_clip: Path) -> None:
    numbers = numbers_by_pyav(alert_clip)
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert 48 <= numbers[-1] <= 53


def test_alert_clip_has_its_comment(alert_clip: Path) -> None:
    with av.open(str(alert_clip)) as container:
        assert container.metadata["comment"] == "made by a test"


def test_sound_of_an_alert_clip_is_as_long_as_its_pictures(alert_clip: Path) -> None:
    with av.open(str(alert_clip)) as container:
        sound_s = sum(frame.samples for frame in container.decode(audio=0)) / 48_000
    assert abs(sound_s - len(numbers_by_pyav(alert_clip)) / 10) < 0.3


def test_alert_clip_that_cannot_be_begun_removes_its_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[Path] = []

    @contextmanager
    def part_of(path: Path) -> Iterator[Path]:
        try:
            yield tmp_path / "part.mp4"
        finally:
            removed.append(path)

    def refuse(*_: object) -> None:
        raise OutputError("has packets that MP4 does not support")

    monkeypatch.setattr(preroll, "atomic_write", part_of)
    monkeypatch.setattr(preroll, "add_copied_stream", refuse)
    with pytest.raises(OutputError) as error:
        preroll.LiveClip(tmp_path / "a.mp4", "film", [SimpleNamespace(index=0)], "")
    assert removed == [tmp_path / "a.mp4"]
    assert error.traceback  # which keeps the clip alive until here


def test_alert_clip_ends_with_the_stream(live_film: MadeVideo, tmp_path: Path) -> None:
    write_clip(live_film, tmp_path / "a.mp4", 4.0, 1000.0)
    assert numbers_by_pyav(tmp_path / "a.mp4") == list(range(40, 70))


def test_pre_roll_of_joined_recordings_forgets_the_first(
    live_film: MadeVideo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LOOK_S", 0.01)
    (tmp_path / "film.ts").write_bytes(live_film.path.read_bytes() * 4)
    tap, source = PreRoll("film", 1.0, ""), parse_source(str(tmp_path / "film.ts"), follow=True, idle_s=0.05)
    sizes = [tap._bytes for _ in read_live(source, [SAMPLING], print, tap)]
    assert max(sizes) < len(live_film.path.read_bytes()) / 2


def test_pre_roll_is_bounded_in_bytes(live_film: MadeVideo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preroll, "_MAX_BYTES", 3000)
    tap = PreRoll("film", 60.0, "")
    for _ in read_live(parse_source(str(live_film.path)), [SAMPLING], print, tap):
        assert tap._bytes <= 3000


@settings(max_examples=10, deadline=None)
@given(length_s=st.floats(0.0, 4.0))
def test_pre_roll_is_bounded_in_seconds(live_film: MadeVideo, length_s: float) -> None:
    tap, most = PreRoll("film", length_s, ""), 0
    for _ in read_live(parse_source(str(live_film.path)), [Sampling(10.0)], print, tap):
        most = max(most, sum(packet.stream.type == "video" for packet in tap._packets))
        assert tap._bytes == sum(packet.size for packet in tap._packets)
    # the length, and up to a group of five pictures before and behind it
    assert most <= 10 * length_s + 12
