"""The sound of clips in a reel: whether it can be decoded, and where somebody speaks."""

from collections.abc import Sequence

from vidsum.pipelines.voice_pauses import PAUSE_S, voices_in
from vidsum.types import Interval, VideoInfo, intersect
from vidsum.video.audio import open_sound
from vidsum.video.mixing import RATE as MIX_RATE
from vidsum.video.timing import read_jumps


def decode_all_sound(video: VideoInfo) -> None:
    """Decode the sound of a clip as its film will, so that a fault of the decoder ends a worker process."""
    with open_sound(video, read_jumps(video), stereo_rate=MIX_RATE) as source:
        first = 0
        while source is not None and not source.is_over:
            source.read(first, MIX_RATE)
            first += MIX_RATE


def speech_in(video: VideoInfo, part: Interval, said: Sequence[Interval] | None) -> tuple[Interval, ...]:
    """Return the spans of a part in which somebody speaks: by its transcript, else by a voice detector."""
    return tuple(intersect(voices_in(video, part, PAUSE_S) if said is None else said, part))
