"""Timelines whose clips are of several videos, read back by OpenTimelineIO's adapters."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.media import make_video, video_info
from tests.results.test_formats import read
from vidsum.errors import InputError, UsageError
from vidsum.outputs.timelines import joint_format, joint_timeline_text, reopen_video
from vidsum.results.cut_list import Cut
from vidsum.video.probe import probe

pytest.importorskip("opentimelineio")


@pytest.fixture(scope="module")
def cuts(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Cut]]:
    """Cuts of three videos: two with the same name, one of another rate and without sound."""
    folder = tmp_path_factory.mktemp("films")
    for name, sound, fps in (("a/film.mp4", True, 25), ("b/film.mp4", True, 25), ("c/other.mp4", False, 10)):
        (folder / name).parent.mkdir()
        make_video(folder / name, n_frames=4 * fps, fps=fps, sound=sound)
    paths = [str(folder / name) for name in ("a/film.mp4", "b/film.mp4", "c/other.mp4", "a/film.mp4")]
    times = ((1, 2), (0.4, 3), (0.4, 1.6), (3, 4))
    return [
        (path, Cut(*time, f"a dog ({rank})"))
        for rank, (path, time) in enumerate(zip(paths, times, strict=True))
    ]


def places(track: Any) -> list[tuple[str, float, float]]:
    """The video, start and end of each clip."""
    spans = [(clip.media_reference.target_url, clip.source_range) for clip in track]
    return [
        (unquote(urlsplit(url).path), span.start_time.to_seconds(), span.end_time_exclusive().to_seconds())
        for url, span in spans
    ]


def test_video_of_a_result_is_the_file_of_the_same_size(tmp_path: Path) -> None:
    known = probe(make_video(tmp_path / "film.mp4", n_frames=5).path)
    moved = tmp_path / "film.mp4"
    assert reopen_video(known).bytes == reopen_video(known, moved).bytes == known.bytes
    with pytest.raises(InputError, match="not the video that the result was made from"):
        reopen_video(replace(known, bytes=known.bytes + 1))


def test_video_that_has_moved_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file") as raised:
        reopen_video(video_info(str(tmp_path / "gone.mp4")))
    assert "if it has moved" in str(raised.value.hint)


@pytest.mark.parametrize("format", ["otio", "xml"])
def test_joint_timeline_has_one_rate(format: str, cuts: list[tuple[str, Cut]], tmp_path: Path) -> None:
    text, warnings = joint_timeline_text(cuts, format, tmp_path / f"dogs.{format}")
    assert len(warnings) == 1
    assert "c/other.mp4" in warnings[0]
    assert "25 frames per second" in warnings[0]
    timeline = read(format, text)
    tracks = list(timeline.video_tracks())
    clips = next(track for track in tracks if len(list(track.find_clips())) == 4)
    assert places(clips.find_clips()) == [(path, cut.start_s, pytest.approx(cut.end_s)) for path, cut in cuts]


def test_an_edl_names_each_video(cuts: list[tuple[str, Cut]], tmp_path: Path) -> None:
    text, _ = joint_timeline_text(cuts, "edl", tmp_path / "dogs.edl")
    events = re.findall(r"^\d+ +AX +(\S+) +C +(\S+) (\S+)", text, re.MULTILINE)
    assert [kind for kind, *_ in events] == ["AA/V", "AA/V", "V", "AA/V"]
    assert events[1][1:] == ("00:00:00:10", "00:00:03:00")
    for format in ("edl", "mlt"):
        text, _ = joint_timeline_text(cuts, format, tmp_path / f"dogs.{format}")
        assert [path in text for path, _ in cuts] == [True] * 4


def test_silent_video_is_a_gap_of_sound(cuts: list[tuple[str, Cut]], tmp_path: Path) -> None:
    text, _ = joint_timeline_text(cuts, "xml", tmp_path / "dogs.xml")
    (sound,) = read("xml", text).audio_tracks()
    assert [type(item).__name__ for item in sound] == ["Clip", "Clip", "Gap", "Clip"]
    assert sound.duration() == read("xml", text).video_tracks()[0].duration()


def test_ending_of_a_joint_timeline_is_its_format() -> None:
    assert joint_format("dogs.EDL") == "edl"


@pytest.mark.parametrize("name", ["dogs.srt", "dogs.csv", "dogs.kodi.edl", "dogs", "dogs.exe"])
def test_format_that_names_no_videos_is_no_joint_timeline(name: str) -> None:
    with pytest.raises(UsageError):
        joint_format(name)


def test_joint_timeline_of_no_moments_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no moments"):
        joint_timeline_text([], "edl", tmp_path / "dogs.edl")
