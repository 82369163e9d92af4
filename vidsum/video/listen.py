"""The sound of any file that FFmpeg reads, streamed as mono samples: what a speech recognizer hears."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av

from vidsum.errors import InputError
from vidsum.types import FloatArray, VideoInfo
from vidsum.video.audio import open_sound
from vidsum.video.damage import DecodeLog
from vidsum.video.jumps import Jumps
from vidsum.video.probe import probe
from vidsum.video.pyav_reader import open_media
from vidsum.video.timing import jumps_of


@dataclass(frozen=True)
class SoundInfo:
    """A file that has sound."""

    path: Path
    duration_s: float
    """By its header, which may be wrong; 0 where it does not say."""
    video: VideoInfo | None
    """The video that the sound belongs to, if there is one: its first picture is time 0."""


def probe_sound(path: str | os.PathLike[str], video: VideoInfo | None = None) -> SoundInfo:
    """What is known of a file with sound, a video where it was probed; only the first picture is decoded.

    Raises InputError: the file cannot be read, or has no sound that FFmpeg can decode.
    """
    with open_media(path, "audio or video") as container:
        if container.format.name == "tty":
            raise InputError(f"{path}: is text, not audio or video")
        if not container.streams.audio:
            raise InputError(f"{path}: has no sound")
        if container.streams.audio[0].codec_context is None:
            raise InputError(f"{path}: FFmpeg has no decoder for its sound")
        duration_s = (container.duration or 0) / av.time_base
    try:
        video = video or probe(path)
    except InputError:  # sound alone, perhaps with a cover
        return SoundInfo(Path(path), duration_s, None)
    return SoundInfo(Path(path), max(duration_s, video.duration_s), video)


def read_sound(sound: SoundInfo, rate: int, block_s: float, log: DecodeLog) -> Iterator[FloatArray]:
    """Blocks [N] of mono samples at `rate`, one after the other from time 0 on; silence fills the last.

    What cannot be decoded is silence, and counted in `log`.

    Raises InputError: none of the sound can be decoded.
    """
    source = sound.video or sound.path
    jumps = jumps_of(sound.video) if sound.video else Jumps()
    with open_sound(source, jumps, rate) as heard:
        if heard is None:
            raise InputError(f"{sound.path}: none of its sound can be decoded")
        count, first = round(block_s * rate), 0
        while not heard.is_over:
            yield heard.read(first, count)[0]
            first += count
        log.errors += heard.log.errors
