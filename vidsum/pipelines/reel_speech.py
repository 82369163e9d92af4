"""The sound of clips in a reel: whether it can be decoded, and where somebody speaks."""

from collections.abc import Sequence
from typing import Final

from vidsum.errors import InputError
from vidsum.io.packages import has_extra
from vidsum.speech.silence import voice_spans
from vidsum.speech.voice import RATE
from vidsum.types import Interval, VideoInfo, intersect
from vidsum.video.audio import open_sound
from vidsum.video.damage import DecodeLog
from vidsum.video.listen import probe_sound, read_sound
from vidsum.video.mixing import RATE as MIX_RATE
from vidsum.video.timing import read_jumps

_PAUSE_S: Final = 0.5  # a shorter pause is speech, for the music under it


def decode_all_sound(video: VideoInfo) -> None:
    """Decode the sound of a clip as its film will, so that a fault of the decoder ends a worker process."""
    with open_sound(video, read_jumps(video), stereo_rate=MIX_RATE) as source:
        first = 0
        while source is not None and not source.is_over:
            source.read(first, MIX_RATE)
            first += MIX_RATE


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
