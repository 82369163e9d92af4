"""The sound of clips in a reel: whether it can be decoded, and where somebody speaks."""

from collections.abc import Sequence
from itertools import islice
from math import ceil
from typing import Final

from vidsum.errors import InputError
from vidsum.io.packages import has_extra
from vidsum.speech.silence import voice_spans
from vidsum.speech.voice import RATE
from vidsum.types import Interval, VideoInfo, intersect, join_near
from vidsum.video.audio import open_sound
from vidsum.video.damage import DecodeLog
from vidsum.video.listen import probe_sound, read_sound
from vidsum.video.mixing import FADE_S
from vidsum.video.mixing import RATE as MIX_RATE
from vidsum.video.timing import read_jumps

_PAUSE_S: Final = 0.5  # a shorter pause is speech, for cuts and for the music under it
_BREATH_S: Final = 0.2  # a shorter pause is within words
_BLOCK_S: Final = 30.0  # of sound in memory


def decode_all_sound(video: VideoInfo) -> None:
    """Decode the sound of a clip as its film will, so that a fault of the decoder ends a worker process."""
    with open_sound(video, read_jumps(video), stereo_rate=MIX_RATE) as source:
        first = 0
        while source is not None and not source.is_over:
            source.read(first, MIX_RATE)
            first += MIX_RATE


def uncut_speech(video: VideoInfo) -> tuple[list[Interval], list[Interval]]:
    """Return the spans of a clip in which an edge of a part, or its fade, cuts speech; those with words."""
    words = _voices(video, (0.0, video.duration_s), _BREATH_S)
    speech = join_near(words, _PAUSE_S)
    return [(low - FADE_S, high + FADE_S) for low, high in speech], words


def speech_in(video: VideoInfo, part: Interval, said: Sequence[Interval] | None) -> tuple[Interval, ...]:
    """Return the spans of a part in which somebody speaks: by its transcript, else by a voice detector."""
    return tuple(intersect(_voices(video, part, _PAUSE_S) if said is None else said, part))


def _voices(video: VideoInfo, part: Interval, pause_s: float) -> list[Interval]:
    """Return the spans of a part with a voice, across shorter pauses; none without sound or the detector."""
    if not (video.has_audio and has_extra("speech")):
        return []
    start_s, length_s = part[0], part[1] - part[0]
    block_s = min(length_s, _BLOCK_S)
    blocks = read_sound(probe_sound(video.path, video), RATE, block_s, DecodeLog(), start_s)
    try:
        sound = islice(blocks, ceil(length_s / block_s))
        return [(low + start_s, high + start_s) for low, high in voice_spans(sound, pause_s)]
    except InputError:  # its sound cannot be decoded
        return []
    finally:
        blocks.close()
