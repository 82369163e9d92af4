"""Subtitle tracks of a video file: the one that fits its sound, and the cues in it."""

import os
from dataclasses import dataclass
from shlex import quote
from typing import Any

import av
from av.stream import Disposition

from vidsum.errors import InputError, Mention
from vidsum.times import Cue, plain_cue
from vidsum.types import TrackChoice
from vidsum.video.open import open_media
from vidsum.video.tracks import choose_track, codec_name, language_code

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class SubtitleTrack:
    """A track of text."""

    number: int  # among the subtitle tracks of the file, from 1
    language: str | None  # code of two letters; None where the file does not say


def sound_language(path: PathLike, audio_track: TrackChoice = None) -> str | None:
    """Return the code of the language of the sound; None without sound, and where the file does not say."""
    with open_media(path) as container:
        return _sound_language(container, path, audio_track)


def choose_subtitle_track(path: PathLike, audio_track: TrackChoice = None) -> SubtitleTrack:
    """Return the track of text in the language of the sound, not of forced subtitles alone.

    Where sound or tracks name no language, it is the first track, before it one with the flag `default`.
    Raises InputError: there is none, or all are pictures, forced or in other languages.
    """
    with open_media(path) as container:
        spoken = _sound_language(container, path, audio_track)
        tracks = list(enumerate(container.streams.subtitles, 1))
        if not tracks:
            raise InputError("has no subtitle track", hint=Mention("subtitles", "FILE"), subject=path)
        of_text = [(number, track) for number, track in tracks if _is_text(track)]
        if not of_text:
            kinds = ", ".join(dict.fromkeys(codec_name(track) for _, track in tracks))
            fault = f"its subtitles are pictures, not text ({kinds})"
            raise InputError(fault, hint=Mention("subtitles", "none"), subject=path)
        whole = [(number, track) for number, track in of_text if not track.disposition & Disposition.forced]
        fitting = [(number, track) for number, track in whole if _may_be_in(track, spoken)]
        if not fitting:
            listed = ", ".join(f"{number} {_label(track)}" for number, track in of_text)
            fault = f"has no whole subtitle track in the language of its sound ({spoken or 'unknown'})"
            command = f"ffmpeg -i {quote(os.fspath(path))} -map 0:s:{of_text[0][0] - 1} subtitles.srt"
            raise InputError(f"{fault}; it has {listed}", hint=command, subject=path)
        number, chosen = max(fitting, key=lambda pair: _score(pair[1], spoken))
        return SubtitleTrack(number, language_code(chosen.language))


def read_subtitle_track(path: PathLike, number: int) -> list[Cue]:
    """Return the cues of a track in order of time, as plain text in one line; times are the file's.

    Cues that cannot be decoded are left out. Raises InputError: the file cannot be opened.
    """
    cues = list[Cue]()
    with open_media(path) as container:
        track = container.streams.subtitles[number - 1]
        for packet in container.demux(track):
            if packet.pts is None or not packet.duration:
                continue
            try:
                rects = packet.decode()
            except av.FFmpegError:
                continue
            lines = (bytes(getattr(rect, "dialogue", b"")).decode("utf-8", "replace") for rect in rects)
            if text := plain_cue(" ".join(lines)):
                start_s = float(packet.pts * packet.time_base)
                cues.append((start_s, start_s + float(packet.duration * packet.time_base), text))
    return sorted(cues)


def _sound_language(
    container: av.container.InputContainer, path: PathLike, audio_track: TrackChoice
) -> str | None:
    sound = choose_track(container, path, "audio", audio_track) if container.streams.audio else None
    return language_code(sound.language) if sound else None


def _is_text(track: Any) -> bool:
    return track.codec_context is not None and track.codec_context.codec.text_sub


def _may_be_in(track: Any, spoken: str | None) -> bool:
    """Return whether nothing says that a track is in another language than the sound."""
    return spoken is None or language_code(track.language) in (None, spoken)


def _label(track: Any) -> str:
    return f"{track.language or 'und'}{' (forced)' if track.disposition & Disposition.forced else ''}"


def _score(track: Any, spoken: str | None) -> tuple[bool, bool, bool]:
    """Rate a track: of the language that is spoken, then without notes on sounds, then the default one."""
    flags = track.disposition
    is_known = spoken is not None and language_code(track.language) == spoken
    return is_known, not flags & Disposition.hearing_impaired, bool(flags & Disposition.default)
