"""The choice of a track, by FFmpeg's rule or by the user."""

import re
import shutil
import subprocess
from pathlib import Path

import av
import pytest
from av.stream import Disposition

from tests.media import Track, make_tracks, read_number
from vidsum.errors import InputError, UsageError
from vidsum.features.settings import Extraction
from vidsum.types import VideoInfo
from vidsum.video import listen
from vidsum.video.copy import copy_segments
from vidsum.video.frames import Sampling
from vidsum.video.listen import describe_used
from vidsum.video.probe import probe
from vidsum.video.read import read_frames
from vidsum.video.write import write_segments

SMALL, LARGE, DEFAULT = (64, 48), (128, 96), Disposition.default
FILES: dict[str, tuple[list[Track], tuple[int | None, int | None]]] = {
    "one_of_each.mkv": ([Track(SMALL), Track(2)], (None, None)),
    "default_second.mkv": ([Track(LARGE), Track(SMALL, DEFAULT), Track(2), Track(1, DEFAULT)], (2, 2)),
    "default_second.mp4": ([Track(SMALL), Track(1), Track(1, DEFAULT)], (None, 2)),
    "larger_without_flags.mkv": ([Track(SMALL), Track(LARGE), Track(1), Track(6), Track(2)], (2, 2)),
    "all_default.mkv": ([Track(SMALL, DEFAULT), Track(LARGE, DEFAULT), Track(2, DEFAULT)] * 2, (2, 1)),
    "equals.mkv": ([Track(SMALL), Track(SMALL), Track(2, Disposition.visual_impaired), Track(2)], (1, 1)),
    "comment.mkv": ([Track(SMALL), Track(2, Disposition.comment), Track(2, DEFAULT)], (None, 2)),
    "two.ts": ([Track(SMALL), Track(LARGE), Track(1), Track(2)], (2, 2)),
}


@pytest.mark.parametrize("name", FILES)
def test_tracks_are_those_of_ffmpeg(tmp_path: Path, name: str) -> None:
    tracks, expected = FILES[name]
    path = make_tracks(tmp_path / name, *tracks)
    info = probe(path)
    assert (info.video_track, info.audio_track) == expected
    if shutil.which("ffmpeg"):
        run = ["ffmpeg", "-i", path, "-t", "0.1", "-f", "null", "-"]
        log = subprocess.run(run, capture_output=True, text=True, check=True).stderr
        kinds = [
            [n for n, track in enumerate(tracks) if isinstance(track.size, kind)] for kind in (tuple, int)
        ]
        mapped = [int(number) for number in re.findall(r"Stream #0:(\d+) -> ", log)]
        assert mapped == [kind[(number or 1) - 1] for kind, number in zip(kinds, expected, strict=True)]


def number_of(info: VideoInfo, reader: str = "pyav") -> int:
    """The number on the first picture that a reader gives."""
    with read_frames(info, [Sampling(1.0)], reader=reader) as frames:
        return read_number(next(frames)[1].image)


@pytest.mark.parametrize("reader", ["pyav", "opencv"])
def test_video_track_choice(tmp_path: Path, reader: str) -> None:
    path = make_tracks(tmp_path / "two.mkv", Track(SMALL, value=5), Track(SMALL, DEFAULT, value=300))
    assert number_of(probe(path), reader) == 300
    assert number_of(probe(path, video_track=1), reader) == 5
    write_segments(probe(path, video_track=1), [(0, 1)], tmp_path / "clip.mp4")
    copy_segments(probe(path), [(0, 1)], tmp_path / "copy.mp4")
    assert [number_of(probe(tmp_path / name)) for name in ("clip.mp4", "copy.mp4")] == [5, 300]


LANGUAGES = [Track(SMALL), Track(1, language="eng"), Track(2, language="ger"), Track(1)]


@pytest.mark.parametrize(("choice", "number"), [(3, 3), ("EN", 1), ("eng", 1), ("deu", 2), ("de-AT", 2)])
def test_audio_track_choice(tmp_path: Path, choice: str | int, number: int) -> None:
    path = make_tracks(tmp_path / "film.mkv", *LANGUAGES)
    assert probe(path, audio_track=choice).audio_track == number
    with pytest.raises(InputError, match="no audio track fra; it has 1 eng, 2 ger, 3 und"):
        probe(path, audio_track="fra")
    with pytest.raises(InputError, match="no video track 2; it has 1 und"):
        probe(path, video_track=2)
    with pytest.raises(UsageError, match="no track"):
        Extraction(audio_track=0)


def test_tracks_with_cover(tmp_path: Path) -> None:
    cover = Track((512, 512), Disposition.attached_pic)
    info = probe(make_tracks(tmp_path / "film.mp4", cover, Track(SMALL, value=7), Track(1)))
    assert (info.width, info.video_track, number_of(info)) == (64, None, 7)


def test_silent_track_warns(tmp_path: Path) -> None:
    path = make_tracks(tmp_path / "obs.mkv", Track(SMALL), Track(2, DEFAULT), Track(2, value=0.3))
    (message,) = write_segments(probe(path), [(0, 1)], tmp_path / "clip.mp4").warnings
    assert "audio track 1 is silent" in message
    assert "track 2 is not" in message
    (message,) = copy_segments(probe(path, audio_track=2), [(0, 2)], tmp_path / "copy.mp4").warnings
    assert "used audio track 2 of 2 (und); others: 1 und" in message
    assert not listen._is_silent(str(tmp_path / "copy.mp4"), 1, (0, 0))
    assert listen._is_silent(str(tmp_path / "clip.mp4"), 1, (0, 0))
    assert describe_used(path, "audio", None) == ()


def test_track_duration(tmp_path: Path) -> None:
    for name, n_frames in (("long", 120), ("short", 20)):
        make_tracks(tmp_path / f"{name}.mkv", Track(SMALL), n_frames=n_frames)
    path = tmp_path / "both.mkv"
    with av.open(path, "w") as target:
        sources = [av.open(tmp_path / f"{name}.mkv") for name in ("long", "short")]
        streams = [target.add_stream_from_template(source.streams.video[0]) for source in sources]
        for source, stream in zip(sources, streams, strict=True):
            for packet in source.demux(video=0):
                if packet.size:
                    packet.stream = stream
                    target.mux(packet)
            source.close()
    assert [round(probe(path, video_track=track).duration_s, 1) for track in (1, 2)] == [12.0, 2.0]
