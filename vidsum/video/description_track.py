"""Audio description: a copy of a film with a second sound track into which descriptions are spoken."""

import os
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

import av
import numpy as np
from av.stream import Disposition

from vidsum.errors import Mention, UsageError
from vidsum.types import FloatArray, Progress, VideoInfo
from vidsum.video.audio import SoundSource, SoundTrack, open_sound
from vidsum.video.copy import copy_segments
from vidsum.video.timing import read_jumps
from vidsum.video.write import WrittenVideo

DUCKED_DB, RAMP_S = -12.0, 0.2  # how far the film is lowered under a description, and how fast
RATE = 48_000  # sample rate of the track of a film without sound


Spoken = tuple[float, FloatArray]  # when it begins in the film, and mono samples [N] at the track's rate


class DescribedSound:
    """A film's sound, lowered where a text is spoken, with the text; it is read as a `SoundSource`."""

    def __init__(self, source: SoundSource | None, spoken: Sequence[Spoken]) -> None:
        self.rate = source.rate if source else RATE
        self.n_channels = source.n_channels if source else 1
        self.layout = source.layout if source else "mono"
        self._source, self._spoken = source, spoken

    def read(self, first: int, count: int) -> FloatArray:
        film = np.zeros((self.n_channels, count), np.float32)
        if self._source:
            film = self._source.read(first, count)
        gain, voice = np.ones(count, np.float32), np.zeros(count, np.float32)
        at, ramp = np.arange(first, first + count), RAMP_S * self.rate
        for start_s, samples in self._spoken:
            start = round(start_s * self.rate)
            end = start + len(samples)
            if end + ramp <= first or start - ramp >= first + count:
                continue
            distance = np.maximum(np.maximum(start - at, at - end), 0) / ramp
            low = 10 ** (DUCKED_DB / 20)
            gain = np.minimum(gain, (low + (1 - low) * np.minimum(distance, 1)).astype(np.float32))
            lower, upper = max(start, first), min(end, first + count)
            if lower < upper:
                voice[lower - first : upper - first] += samples[lower - start : upper - start]
        return np.asarray(np.clip(film * gain + voice, -1, 1), np.float32)


def _add_track(sound: DescribedSound, container: av.container.OutputContainer) -> SoundTrack:
    track = SoundTrack(sound, container)
    track.stream.metadata.update(language="eng", title="Audio description")
    track.stream.disposition = Disposition.descriptions | Disposition.visual_impaired
    return track


def sound_rate(info: VideoInfo) -> int:
    """Return samples a second of the track of `write_described`."""
    if info.audio_codec is None:
        return RATE
    with open_sound(info, read_jumps(info)) as source:
        return source.rate if source else RATE


def write_described(
    info: VideoInfo,
    spoken: Sequence[Spoken],
    target: str | os.PathLike[str],
    *,
    comment: str | None = None,
    progress: Progress | None = None,
) -> WrittenVideo:
    """Copy a film with a second sound track, lowered where texts are spoken; errors: `copy_segments`."""
    with open_sound(info, read_jumps(info)) if info.audio_codec else nullcontext() as source:
        sound = DescribedSound(source, spoken)
        try:
            return copy_segments(
                info,
                [(0.0, info.duration_s)],
                target,
                comment=comment,
                progress=progress,
                added=partial(_add_track, sound),
            )
        except UsageError as error:  # about encoding instead, which is no alternative here
            hint = ("leave out ", Mention("speak"), ", or convert the film to MP4")
            raise UsageError(error.text, hint, subject=error.subject) from error
