"""Say which track of a file is read where it has several, and whether that one is silent."""

import os
from functools import lru_cache
from pathlib import Path

import av
import numpy as np

from vidsum.video.audio import decode_sound
from vidsum.video.damage import DecodeLog
from vidsum.video.jumps import Jumps
from vidsum.video.open import open_media
from vidsum.video.tracks import TrackKind, describe_choice, list_tracks

_SILENT = 1e-3
"""Peaks of silence, -60 dB: a recorder's track without input holds at most dither."""


def describe_used(path: str | os.PathLike[str], kind: TrackKind, number: int | None) -> tuple[str, ...]:
    """Return a message on a track that is used in place of others; none where `number` is None.

    Sound is decoded until some is heard: all of it only where the track is silent.
    """
    if number is None:
        return ()
    with open_media(path) as container:
        message = describe_choice(container, path, kind, number)
        others = [other for other in range(1, len(list_tracks(container, kind)) + 1) if other != number]
    status = Path(path).stat()
    state = (status.st_size, status.st_mtime_ns)
    if kind == "audio" and _is_silent(os.fspath(path), number, state):
        loud = next((other for other in others if not _is_silent(os.fspath(path), other, state)), None)
        if loud is not None:
            return (
                f"{path}: audio track {number} is silent, {loud} is not: choose it with --audio-track {loud}",
            )
    return (message,)


@lru_cache(maxsize=64)
def _is_silent(path: str, number: int, state: tuple[int, int]) -> bool:
    with open_media(path) as container:
        track = list_tracks(container, "audio")[number - 1]
        if track.codec_context is None:
            return True
        resampler, made_for = av.AudioResampler("fltp"), None
        for frame in decode_sound(container, track, Jumps(), DecodeLog()):
            if made_for != (made_for := (frame.format.name, frame.layout.name, frame.sample_rate)):
                resampler = av.AudioResampler("fltp")
            for part in resampler.resample(frame):
                if np.nan_to_num(np.abs(part.to_ndarray())).max(initial=0.0) > _SILENT:
                    return False
    return True
