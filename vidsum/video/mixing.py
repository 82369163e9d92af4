"""The sound of a reel: parts of many files at one level, with music under them.

It is mixed once into a temporary file that has no name, since its loudness is measured several times: the
sound of an hour would take 1.4 GB of memory.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

import numpy as np

from vidsum.errors import InputError
from vidsum.types import FloatArray, Interval, Progress, VideoInfo, intersect
from vidsum.video.audio import SoundSource, open_sound
from vidsum.video.jumps import Jumps
from vidsum.video.loudness import measure_loudness
from vidsum.video.timing import read_jumps

RATE, LAYOUT, N_CHANNELS = 48_000, "stereo", 2
TARGET_LUFS: Final = -16.0  # of the film, and of each part as far as its gain may go
_MUSIC_LUFS: Final = -22.0
_DUCK_DB: Final = -12.0  # of the music where somebody speaks
_GAIN_DB: Final = (-24.0, 12.0)  # of a part: more would lift the noise of a silent place
FADE_S: Final = 0.2  # at both ends of a part
_DUCK_S: Final = 0.3  # in which the music goes down and up
_MUSIC_END_S: Final = 2.0  # in which the music ends
_SILENT: Final = 1e-3  # level at the end of a file that is not repeated
_BYTES: Final = 4 * N_CHANNELS  # of a sample


@dataclass(frozen=True, eq=False)
class SoundPart:
    """The sound of [start_s, end_s) of a video, at [first, end) samples of the film; no video: silence."""

    video: VideoInfo | None
    start_s: float
    first: int
    end: int
    speech: tuple[Interval, ...] = ()  # in the video

    @property
    def length(self) -> int:
        return self.end - self.first

    @property
    def film_speech(self) -> list[Interval]:
        """Speech in the part, in seconds of the film."""
        first_s, end_s = self.first / RATE, self.end / RATE
        moved = ((first_s + low - self.start_s, first_s + high - self.start_s) for low, high in self.speech)
        return intersect(moved, (first_s, end_s))


class MixedSound:
    """A sound in a file, as `SoundTrack` reads it."""

    rate, layout, n_channels = RATE, LAYOUT, N_CHANNELS

    def __init__(self, file: IO[bytes], length: int) -> None:
        self._file, self._length = file, length

    def read(self, first: int, count: int) -> FloatArray:
        """Return samples [first, first + count) as [channels, count]; silence beyond the end."""
        samples = np.zeros((N_CHANNELS, count), np.float32)
        self._file.seek(max(first, 0) * _BYTES)
        stored = np.frombuffer(self._file.read(count * _BYTES), np.float32).reshape(-1, N_CHANNELS)
        samples[:, : len(stored)] = stored.T
        return samples

    def blocks(self) -> Iterator[FloatArray]:
        """Yield all of it, a second at a time."""
        for first in range(0, self._length, RATE):
            yield self.read(first, min(RATE, self._length - first))


@contextmanager
def mix_sound(
    parts: Sequence[SoundPart],
    music: str | None,
    folder: Path,
    warnings: list[str],
    progress: Progress | None,
) -> Iterator[MixedSound | None]:
    """Mix the parts of a film, which follow each other; None where there is no sound at all.

    The file lies in `folder`, where the film is written. `warnings` get damage of sources. Raises InputError:
    the music cannot be read.
    """
    if not music and not any(part.video and part.video.has_audio for part in parts):
        yield None
        return
    speech = [span for part in parts for span in part.film_speech]
    with ExitStack() as stack:
        file = stack.enter_context(TemporaryFile(dir=folder))
        score = stack.enter_context(_open_music(music)) if music else None
        for number, part in enumerate(parts):
            if progress:
                progress("mixing sound", number, len(parts))
            samples = _sound_of(part, warnings)
            if score:
                samples += score.read(part.length) * _under_speech(part, speech, parts[-1].end)
            file.write(np.ascontiguousarray(samples.T, np.float32).tobytes())
        file.flush()
        yield MixedSound(file, parts[-1].end)


def _sound_of(part: SoundPart, warnings: list[str]) -> FloatArray:
    """Return [channels, samples] of a part at its level, with fades; silence without sound."""
    silence = np.zeros((N_CHANNELS, part.length), np.float32)
    if part.video is None or not part.video.has_audio:
        return silence
    with open_sound(part.video, read_jumps(part.video), stereo_rate=RATE) as source:
        if source is None:
            return silence
        samples = source.read(round(part.start_s * RATE), part.length)
        if source.log.errors:
            name = Path(part.video.path).name
            warnings.append(f"{name}: damaged packets of sound, silent in the film: {source.log.errors}")
    loudness = measure_loudness([samples], RATE, LAYOUT)
    if not loudness.is_silent:
        gain_db = min(max(TARGET_LUFS - loudness.lufs, _GAIN_DB[0]), _GAIN_DB[1])
        samples *= np.float32(10 ** (gain_db / 20))
    ramp = np.linspace(0, 1, min(round(FADE_S * RATE), part.length // 2), dtype=np.float32)
    samples[:, : len(ramp)] *= ramp
    samples[:, part.length - len(ramp) :] *= ramp[::-1]
    return samples


def _under_speech(part: SoundPart, speech: Sequence[Interval], film_end: int) -> FloatArray:
    """Return [samples] the gain of the music: lower where somebody speaks, none at the film's end.

    `speech` is of all parts, in seconds of the film: the music goes down and up across joins.
    """
    times_s = np.arange(part.first, part.end) / RATE
    gain_db = np.zeros(part.length)
    for low, high in speech:
        if low - _DUCK_S < part.end / RATE and high + _DUCK_S > part.first / RATE:
            ramp = [low - _DUCK_S, low, high, high + _DUCK_S]
            gain_db = np.minimum(gain_db, np.interp(times_s, ramp, [0, _DUCK_DB, _DUCK_DB, 0]))
    ending = np.clip((film_end / RATE - times_s) / _MUSIC_END_S, 0, 1)
    return np.asarray(10 ** (gain_db / 20) * ending, np.float32)


class _Music:
    """The blocks of a sound without end, read in pieces of any length."""

    def __init__(self, blocks: Iterator[FloatArray]) -> None:
        self._blocks, self._rest = blocks, np.zeros((N_CHANNELS, 0), np.float32)

    def read(self, count: int) -> FloatArray:
        made, missing = [self._rest[:, :0]], count
        while missing > 0:
            if not self._rest.shape[1]:
                self._rest = next(self._blocks)
            made.append(self._rest[:, :missing])
            self._rest = self._rest[:, missing:]
            missing -= made[-1].shape[1]
        return np.hstack(made)


@contextmanager
def _open_music(path: str) -> Iterator[_Music]:
    length = 0

    def read_all(source: SoundSource) -> Iterator[FloatArray]:
        nonlocal length
        first = 0
        while not source.is_over:
            yield (block := source.read(first, RATE))
            loud = np.flatnonzero(np.abs(block).max(axis=0) > _SILENT)
            length = first + int(loud[-1]) + 1 if len(loud) else length
            first += RATE

    with open_sound(Path(path), Jumps(), stereo_rate=RATE) as source:
        if source is None:
            raise InputError("has no sound that can be decoded", subject=path)
        loudness = measure_loudness(read_all(source), RATE, LAYOUT)
    if loudness.is_silent or not length:
        raise InputError("is silent", subject=path)
    with closing(_repeat(path, length, 10 ** ((_MUSIC_LUFS - loudness.lufs) / 20))) as blocks:
        yield _Music(blocks)


def _repeat(path: str, length: int, gain: float) -> Generator[FloatArray, None, None]:
    """Yield the blocks of a file's first samples at a level, again and again.

    The file is opened each time: in some, such as WAV, there is no way back to the start.
    """
    while True:
        with open_sound(Path(path), Jumps(), stereo_rate=RATE) as source:
            assert source is not None
            for first in range(0, length, RATE):
                yield source.read(first, min(RATE, length - first)) * np.float32(gain)


def sample_at(tick: int, rate: Fraction) -> int:
    """Return the sample at a frame of the film."""
    return round(tick * RATE / rate)
