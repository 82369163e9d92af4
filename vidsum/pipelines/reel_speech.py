"""Where somebody speaks in a part of a reel."""

from collections.abc import Sequence
from typing import Final

from vidsum.errors import InputError
from vidsum.io.packages import has_extra
from vidsum.speech.silence import voice_spans
from vidsum.speech.voice import RATE
from vidsum.types import Interval, VideoInfo, intersect
from vidsum.video.damage import DecodeLog
from vidsum.video.listen import probe_sound, read_sound

_PAUSE_S: Final = 0.5  # a shorter pause is speech, for the music under it


def speech_in(video: VideoInfo, part: Interval, said: Sequence[Interval] | None) -> tuple[Interval, ...]:
    """Return the spans of a part in which somebody speaks: by its transcript, else by a voice detector."""
    start_s, end_s = part
    if said is None and video.has_audio and has_extra("speech"):
        sound, length_s = probe_sound(video.path, video), end_s - start_s
        blocks = read_sound(sound, RATE, length_s, DecodeLog(), start_s)
        try:
            said = [(low + start_s, high + start_s) for low, high in voice_spans([next(blocks)], _PAUSE_S)]
        except InputError:  # its sound cannot be decoded
            said = []
        finally:
            blocks.close()
    return tuple(intersect(said or (), part))
