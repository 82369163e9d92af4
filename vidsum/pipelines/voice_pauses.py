"""Where somebody speaks in a film, by a voice detector, for films without a transcript."""

import contextlib
from collections.abc import Sequence
from itertools import islice
from math import ceil
from typing import Final

import numpy as np

from vidsum.errors import InputError
from vidsum.io.cache import cached_rows
from vidsum.io.packages import has_extra, installed_version
from vidsum.pipelines.plan import Input, report_step
from vidsum.speech.silence import voice_spans
from vidsum.speech.voice import RATE
from vidsum.summary.settings import BASELINES, Selection
from vidsum.summary.window_kinds import FLASH_S
from vidsum.types import Interval, Progress, TimeArray, VideoInfo, intersect, join_near
from vidsum.version import __version__
from vidsum.video.damage import DecodeLog
from vidsum.video.listen import probe_sound, read_sound
from vidsum.video.probe import start_offset_s

PAUSE_S: Final = 0.5  # a shorter pause is speech, for cuts and for the music under it
_BREATH_S: Final = 0.2  # a shorter pause is within words
_BLOCK_S: Final = 30.0  # of sound in memory


def needs_voices(selection: Selection, video: VideoInfo | None) -> bool:
    """Return whether the cuts of a summary without a transcript depend on where somebody speaks."""
    chooses = selection.max_segment_s is not None and selection.model not in BASELINES
    return chooses and selection.snap != "none" and video is not None and has_voices(video)


def has_voices(video: VideoInfo) -> bool:
    """Return whether a video has sound, and the detector of voices is installed."""
    return video.has_audio and has_extra("speech")


def find_voices(video_input: Input, progress: Progress | None = None) -> list[Interval]:
    """Return (start_s, end_s) where somebody speaks in a video, across pauses of less than a breath."""
    video = video_input.video
    assert video is not None
    whole = (0.0, video.duration_s)

    def listen() -> TimeArray:
        report_step(progress, "listening for pauses")
        # sound may be longer than the pictures
        return np.array(intersect(voices_in(video, whole, _BREATH_S), whole), np.float64).reshape(-1, 2)

    provenance = {
        "vidsum": __version__,
        "video": video_input.file,
        "start_s": start_offset_s(video),  # times count from the first picture of the chosen track
        "duration_s": video.duration_s,
        "detector": installed_version("faster-whisper"),
        "pause_s": _BREATH_S,
    }
    is_cached = video_input.extraction.cache
    spans = video_input.once(
        provenance, lambda: cached_rows("voices", provenance, listen) if is_cached else listen()
    )
    return [(float(start_s), float(end_s)) for start_s, end_s in spans]


def voices_in(video: VideoInfo, part: Interval, pause_s: float) -> list[Interval]:
    """Return the spans of a part with a voice, across shorter pauses; none without sound or the detector."""
    if not has_voices(video):
        return []
    start_s, length_s = part[0], part[1] - part[0]
    block_s = min(length_s, _BLOCK_S)
    try:
        blocks = read_sound(probe_sound(video.path, video), RATE, block_s, DecodeLog(), start_s)
        with contextlib.closing(blocks):
            sound = islice(blocks, ceil(length_s / block_s))
            return [(low + start_s, high + start_s) for low, high in voice_spans(sound, pause_s)]
    except InputError:  # its sound cannot be decoded
        return []


def end_at_cuts(voices: Sequence[Interval], cuts_s: TimeArray) -> list[Interval]:
    """Return voices that begin and end at a cut that is less than `FLASH_S` away: no shot may flash up."""
    ended = list[Interval]()
    for low, high in voices:
        inside = cuts_s[(cuts_s > low) & (cuts_s < high)]
        start_s = float(inside[inside < low + FLASH_S].max(initial=low))
        end_s = float(inside[inside > high - FLASH_S].min(initial=high))
        if start_s < end_s:
            ended.append((start_s, end_s))
    return ended


def uncut_speech(voices: Sequence[Interval], fade_s: float = 0.0) -> tuple[list[Interval], ...]:
    """Return the spans in which a cut, or a fade around it, cuts speech; and those in which it cuts words.

    Nothing where nobody speaks.
    """
    speech = join_near(voices, PAUSE_S)
    return ([(low - fade_s, high + fade_s) for low, high in speech], [*voices]) if voices else ()
