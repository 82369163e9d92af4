"""Read the sound of a file for a recognizer, and say which of several tracks is read."""

import os
from collections.abc import Generator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import av
import numpy as np

from vidsum.errors import InputError
from vidsum.types import FloatArray, TrackChoice, VideoInfo
from vidsum.video.audio import open_sound
from vidsum.video.damage import DecodeLog
from vidsum.video.jumps import Jumps
from vidsum.video.open import open_media
from vidsum.video.probe import probe, start_offset_s
from vidsum.video.timing import read_jumps
from vidsum.video.tracks import TrackKind, choose_track, describe_choice, list_tracks, track_number

_MIN_AHEAD_S = 0.2  # files begin with up to .1 s of sound alone; no word is this short
_SILENCE_PEAK = 1e-3  # peaks of silence, -60 dB: a recorder's track without input holds at most dither


@dataclass(frozen=True)
class SoundInfo:
    path: Path
    duration_s: float  # by its header, which may be wrong; 0 where it does not say
    video: VideoInfo | None  # that the sound belongs to, if any: its first picture is time 0
    track: int | None = None  # number of the audio track that is read; None where the file has no other

    @property
    def ahead_s(self) -> float:
        return lead_in_s(start_offset_s(self.video))


def lead_in_s(offset_s: float) -> float:
    """Return how long speech may precede a first picture at this offset; 0 where no word fits in."""
    return offset_s if offset_s >= _MIN_AHEAD_S else 0.0


def probe_sound(
    path: str | os.PathLike[str], video: VideoInfo | None = None, track: TrackChoice = None
) -> SoundInfo:
    """Probe a file with sound, or take a probed video. Raises InputError: no sound that can be decoded."""
    with open_media(path, "audio or video") as container:
        if container.format.name == "tty":
            raise InputError("is text, not audio or video", subject=path)
        if not container.streams.audio:
            raise InputError("has no sound", subject=path)
        sound = choose_track(container, path, "audio", video.audio_track if video else track)
        if sound.codec_context is None:
            raise InputError("FFmpeg has no decoder for its sound", subject=path)
        number = track_number(container, sound)
        duration_s = (container.duration or 0) / av.time_base
    try:
        video = video or probe(path, audio_track=number)
    except InputError:  # sound alone, perhaps with a cover
        return SoundInfo(Path(path), duration_s, None, number)
    return SoundInfo(Path(path), max(duration_s, video.duration_s), video, number)


def read_sound(
    sound: SoundInfo, rate: int, block_s: float, log: DecodeLog, from_s: float = 0.0
) -> Generator[FloatArray, None, None]:
    """Yield blocks [N] of mono samples at `rate` from a time on; silence fills the last.

    Undecodable sound is silence, counted in `log`. Raises InputError: none of the sound can be decoded.
    """
    source = sound.video or sound.path
    jumps = read_jumps(sound.video) if sound.video else Jumps()
    with open_sound(source, jumps, rate, sound.track) as samples:
        if samples is None:
            raise InputError("none of its sound can be decoded", subject=sound.path)
        count, first = round(block_s * rate), round(from_s * rate)
        while not samples.is_over:
            yield samples.read(first, count)[0]
            first += count
        log.errors += samples.log.errors
        log.cancelled_s += samples.log.cancelled_s


def describe_used(path: str | os.PathLike[str], kind: TrackKind, number: int | None) -> tuple[str, ...]:
    """Return a message on a track that is used in place of others, or is silent; none for None."""
    if number is None:
        return ()
    with open_media(path) as container:
        message = describe_choice(container, kind, number)
    if kind == "audio" and (loud := find_loud_track(path, number)):
        return (f"audio track {number} is silent; track {loud} is not",)
    return (message,)


def find_loud_track(path: str | os.PathLike[str], number: int) -> int | None:
    """Return an audio track that is not silent, where track `number` is; None where it is not, or all are."""
    status, name = Path(path).stat(), os.fspath(path)
    state = (status.st_size, status.st_mtime_ns)
    if not _is_silent(name, number, state):
        return None
    with open_media(path) as container:
        numbers = range(1, len(list_tracks(container, "audio")) + 1)
    return next((other for other in numbers if not _is_silent(name, other, state)), None)


@lru_cache(maxsize=64)
def _is_silent(path: str, number: int, state: tuple[int, int]) -> bool:
    with open_sound(Path(path), Jumps(), track=number) as sound:
        first = 0
        while sound is not None and not sound.is_over:
            if np.abs(sound.read(first, sound.rate)).max() > _SILENCE_PEAK:
                return False
            first += sound.rate
    return True
