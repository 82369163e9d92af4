"""The sound of a video as a small file of its own."""

import math
import os
from fractions import Fraction

from vidsum.errors import InputError
from vidsum.io.outputs import atomic_write
from vidsum.types import VideoInfo
from vidsum.video.audio import SoundTrack, open_sound
from vidsum.video.timing import read_jumps
from vidsum.video.write import open_mp4, translate_ffmpeg_errors

_RATE = 32_000  # samples a second


def write_sound(info: VideoInfo, target: str | os.PathLike[str], bits_per_s: int) -> None:
    """Write the sound as mono AAC in an MP4, from the first picture to the last.

    Raises InputError: the video has no sound that can be decoded, or it cannot be read. OutputError: the
    target cannot be written.
    """
    with (
        translate_ffmpeg_errors(f"{info.path}: the sound cannot be encoded by AAC"),
        open_sound(info, read_jumps(info), _RATE) as sound,
        atomic_write(target) as part,
    ):
        if sound is None:
            raise InputError(f"{info.path}: has no sound")
        with open_mp4(part, None) as output:
            track = SoundTrack(sound, output, bits_per_s)
            track.start_segment(Fraction(0), Fraction(0))
            for second in range(math.floor(info.duration_s)):  # bounded memory
                track.follow(Fraction(second))
            track.finish(Fraction(info.duration_s))
