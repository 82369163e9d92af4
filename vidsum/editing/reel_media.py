"""Media of the page of a reel: pictures, originals, and parts encoded for the browser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, BinaryIO, Final

from vidsum.editing.film_view import PICTURE_QUALITY, PICTURE_SIDE
from vidsum.editing.result_session import open_unchanged, state_of
from vidsum.errors import InputError, MissingError
from vidsum.outputs.pages import is_playable
from vidsum.outputs.reel_film import encode_reel, source_video
from vidsum.results.reel import Canvas, Reel, ReelSegment, ReelSource
from vidsum.types import VideoInfo
from vidsum.video.photographs import photograph_jpeg
from vidsum.video.probe import start_offset_s
from vidsum.video.read import read_jpegs

_SHOWN_SIDE, _SHOWN_QUALITY = 1280, 85  # of photographs in the player
_ENCODED_SIDE: Final = 640  # of parts that are encoded
_ENCODED_S: Final = 30.0  # the longest one
_MOST_ENCODED, _MOST_PICTURES = 40, 2000  # in memory: parts, and pictures at all times that the ends had


class ReelMedia:
    """The sources of a reel. Pictures and encoded parts are made when they are asked for, and kept.

    All methods raise MissingError: there is no such source, of this kind. InputError: it is not there any
    more, or is another file.
    """

    def __init__(self, sources: Sequence[ReelSource], device: str) -> None:
        self._sources, self._device = sources, device
        self._states = [state_of(Path(source.path)) for source in sources]
        self._videos = dict[int, VideoInfo | None]()
        self._pictures, self._encoded = dict[tuple[int, float], bytes](), dict[ReelSegment, bytes]()
        self._reading, self._encoding = Lock(), Lock()

    def video(self, number: int) -> VideoInfo | None:
        """Return a source as a video; None: it is a photograph."""
        if number >= len(self._sources):
            raise MissingError("no such source")
        if number not in self._videos:
            self._videos[number] = source_video(self._sources[number])
        return self._videos[number]

    def describe_video(self, number: int) -> dict[str, Any]:
        """Return when its first picture comes in the time of players, and whether browsers play it."""
        video = self._video_of(number)
        return {"offset_s": start_offset_s(video), "is_playable": is_playable(video)}

    def picture(self, number: int, time_s: float) -> bytes:
        """Return a small JPEG of a source: of a video at a time from its first picture."""
        with self._reading:
            if (number, time_s) not in self._pictures:
                _make_room(self._pictures, _MOST_PICTURES)
                video, path = self.video(number), self._sources[number].path
                self._pictures[number, time_s] = (
                    read_jpegs(video, [time_s], PICTURE_SIDE, PICTURE_QUALITY)[0]
                    if video
                    else photograph_jpeg(path, PICTURE_SIDE, PICTURE_QUALITY)
                )
            return self._pictures[number, time_s]

    def photograph(self, number: int) -> bytes:
        """Return a JPEG of a photograph as large as the player shows it."""
        if self.video(number):
            raise MissingError("no such photograph")
        return photograph_jpeg(self._sources[number].path, _SHOWN_SIDE, _SHOWN_QUALITY)

    def open_video(self, number: int) -> tuple[BinaryIO, VideoInfo, int]:
        """Return an open video, facts about it, and its time. Raises ForeignFileError: it has changed."""
        video = self._video_of(number)
        file, mtime_ns = open_unchanged(Path(video.path), self._states[number])
        return file, video, mtime_ns

    def encoded_part(self, made: Reel, number: int, start_s: float, end_s: float) -> bytes:
        """Return a part of a source as a small MP4 that looks as in the film, of 30 s at most."""
        if not 0 <= start_s < end_s:
            raise InputError("a part must end after it begins")
        self._video_of(number)
        segment = ReelSegment(number, start_s, min(end_s, start_s + _ENCODED_S), "hand", 0.0)
        with self._encoding:
            if segment not in self._encoded:
                _make_room(self._encoded, _MOST_ENCODED)
                self._encoded[segment] = self._encode(made, segment)
            return self._encoded[segment]

    def _video_of(self, number: int) -> VideoInfo:
        video = self.video(number)
        if video is None:
            raise MissingError("no such video")
        return video

    def _encode(self, made: Reel, segment: ReelSegment) -> bytes:
        alone = replace(made, segments=(segment,), canvas=_smaller(made.canvas), music=None)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "part.mp4"
            encode_reel(alone, path, self._device, None)
            return path.read_bytes()


def _make_room(made: dict[Any, bytes], most: int) -> None:
    """Remove the oldest entries, so that one more is at most `most`."""
    while len(made) >= most:
        del made[next(iter(made))]


def _smaller(canvas: Canvas) -> Canvas:
    scale = min(1.0, _ENCODED_SIDE / max(canvas.width, canvas.height))
    width, height = (max(2, 2 * round(scale * side / 2)) for side in (canvas.width, canvas.height))
    return replace(canvas, width=width, height=height)
