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
def test_tracks_are_chosen_by_ffmpegs_rule(tmp_path: Path, name: str) -> None:
    tracks, expected = FILES[name]
    info = probe(make_tracks(tmp_path / name, *tracks))
    assert (info.video_track, info.audio_track) == expected


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="ffmpeg is not installed")
@pytest.mark.parametrize("name", FILES)
def test_ffmpeg_chooses_the_same_tracks(tmp_path: Path, name: str) -> None:
    tracks, expected = FILES[name]
    run = ["ffmpeg", "-i", make_tracks(tmp_path / name, *tracks), "-t", "0.1", "-f", "null", "-"]
    log = subprocess.run(run, capture_output=True, text=True, check=True).stderr
    kinds = [[n for n, track in enumerate(tracks) if isinstance(track.size, kind)] for kind in (tuple, int)]
    mapped = [int(number) for number in re.findall(r"Stream #0:(\d+) -> ", log)]
    assert mapped == [kind[(number or 1) - 1] for kind, number in zip(kinds, expected, strict=True)]


def number_of(info: VideoInfo, reader: str = "pyav") -> int:
    """The number on the first picture that a reader gives."""
    with read_frames(info, [Sampling(1.0)], reader=reader) as frames:
        return read_number(next(frames)[1].image)


@pytest.fixture
def two_videos(tmp_path: Path) -> Path:
    """A file whose first video shows 5, and its second, the default, 300."""
    return make_tracks(tmp_path / "two.mkv", Track(SMALL, value=5), Track(SMALL, DEFAULT, value=300))


@pytest.mark.parametrize("reader", ["pyav", "opencv"])
@pytest.mark.parametrize(("track", "number"), [(None, 300), (1, 5)])
def test_reader_shows_the_chosen_video(two_videos: Path, reader: str, track: int | None, number: int) -> None:
    assert number_of(probe(two_videos, video_track=track), reader) == number


def test_clip_shows_the_chosen_video(two_videos: Path, tmp_path: Path) -> None:
    write_segments(probe(two_videos, video_track=1), [(0, 1)], tmp_path / "clip.mp4")
    assert number_of(probe(tmp_path / "clip.mp4")) == 5


def test_copy_shows_the_default_video(two_videos: Path, tmp_path: Path) -> None:
    copy_segments(probe(two_videos), [(0, 1)], tmp_path / "copy.mp4")
    assert number_of(probe(tmp_path / "copy.mp4")) == 300


LANGUAGES = [Track(SMALL), Track(1, language="eng"), Track(2, language="ger"), Track(1)]


@pytest.mark.parametrize(
    ("choice", "number"), [(3, 3), ("EN", 1), ("eng", 1), ("deu", 2), ("de-AT", 2), ("und", 3)]
)
def test_audio_track_is_chosen_by_number_or_language(tmp_path: Path, choice: str | int, number: int) -> None:
    path = make_tracks(tmp_path / "film.mkv", *LANGUAGES)
    assert probe(path, audio_track=choice).audio_track == number


def test_missing_audio_track_is_refused_with_those_there_are(tmp_path: Path) -> None:
    path = make_tracks(tmp_path / "film.mkv", *LANGUAGES)
    with pytest.raises(InputError, match="no audio track fra; it has 1 eng, 2 ger, 3 und"):
        probe(path, audio_track="fra")


def test_missing_video_track_is_refused_with_those_there_are(tmp_path: Path) -> None:
    path = make_tracks(tmp_path / "film.mkv", *LANGUAGES)
    with pytest.raises(InputError, match="no video track 2; it has 1 und"):
        probe(path, video_track=2)


def test_track_zero_is_refused() -> None:
    with pytest.raises(UsageError, match="no track"):
        Extraction(audio_track=0)


def test_cover_is_no_video_track(tmp_path: Path) -> None:
    cover = Track((512, 512), Disposition.attached_pic)
    info = probe(make_tracks(tmp_path / "film.mp4", cover, Track(SMALL, value=7), Track(1)))
    assert (info.width, info.video_track, number_of(info)) == (64, None, 7)


@pytest.fixture
def silent_first(tmp_path: Path) -> Path:
    """A file whose default sound is silent, as some recorders make it, and whose second track is not."""
    return make_tracks(tmp_path / "obs.mkv", Track(SMALL), Track(2, DEFAULT), Track(2, value=0.3))


def test_silent_track_warns_of_another(silent_first: Path, tmp_path: Path) -> None:
    (message,) = write_segments(probe(silent_first), [(0, 1)], tmp_path / "clip.mp4").warnings
    assert "audio track 1 is silent" in message
    assert "track 2 is not" in message


def test_copy_says_which_track_it_used(silent_first: Path, tmp_path: Path) -> None:
    (message,) = copy_segments(probe(silent_first, audio_track=2), [(0, 2)], tmp_path / "copy.mp4").warnings
    assert "used audio track 2 of 2 (und); others: 1 und" in message


def test_silence_of_the_chosen_track_is_kept(silent_first: Path, tmp_path: Path) -> None:
    write_segments(probe(silent_first), [(0, 1)], tmp_path / "clip.mp4")
    assert listen._is_silent(str(tmp_path / "clip.mp4"), 1, (0, 0))


def test_sound_of_the_chosen_track_is_kept(silent_first: Path, tmp_path: Path) -> None:
    copy_segments(probe(silent_first, audio_track=2), [(0, 2)], tmp_path / "copy.mp4")
    assert not listen._is_silent(str(tmp_path / "copy.mp4"), 1, (0, 0))


def test_no_chosen_track_is_not_described(silent_first: Path) -> None:
    assert describe_used(silent_first, "audio", None) == ()


def test_length_is_of_the_chosen_track(tmp_path: Path) -> None:
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
