"""The loudness of the sound of a clip, by EBU R 128: measured, and brought to a target by FFmpeg's loudnorm.

In two passes: the first measures, the second is one gain for all of the sound. Where peaks would be too high,
a limiter at 192 kHz follows, and trials correct what it takes, and the peaks that coding adds. loudnorm's own
limiter is not used: it moves the level from sentence to sentence, and ended up to 2 LU too quiet.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import av
import numpy as np
from av.filter import Graph

from vidsum.types import FloatArray
from vidsum.video.aac import code_and_decode

TOLERANCE_LU: Final = 0.5
PEAK_DB: Final = -1.0  # dBTP, of the true peaks of what is written
_LIMIT_DB, _LOWEST_DB = -1.5, -9.0  # of the limiter, at first and at least
_SILENT_LUFS = -70.0  # the gate of EBU R 128: nothing counts that is as quiet
_LOWEST_LUFS, _HIGHEST_LUFS = -70.0, -5.0  # loudness that loudnorm takes
_LOUDEST_LUFS = -0.1  # measured, that loudnorm takes: no more than 0, which it takes for unknown
_LINEAR = "measured_TP=-99:measured_thresh=-60:measured_LRA=1:LRA=20:TP=0:linear=true"
"""Values with which loudnorm is one gain, whatever the peaks."""
_LIMITER = "attack=5:release=20:level=disabled:latency=1"
_TRUE_PEAK_RATE = 192_000  # at which peaks between the samples are seen
_GOOD_LU, _SPARE_DB, _MAX_TRIALS = 0.3, 0.2, 6  # when corrections end
_MAX_LOWERINGS = 4
_DAMPING, _STEP_DB = 0.6, 0.1  # of the limit: the peaks that coding adds vary

Blocks = Iterable[FloatArray]  # [channels, samples] each


@dataclass(frozen=True)
class Loudness:
    """The loudness of a sound."""

    lufs: float  # integrated; `_SILENT_LUFS` of silence, and of less than .4 s
    range_lu: float
    peak_db: float  # true peak, in dB of full scale

    @property
    def is_silent(self) -> bool:
        return self.lufs <= _SILENT_LUFS


@dataclass(frozen=True)
class Normalisation:
    """The second pass of loudnorm."""

    target_lufs: float
    measured: Loudness
    aim_lufs: float  # of loudnorm: the target, corrected where limiting or coding change the loudness
    limit_db: float = _LIMIT_DB  # of peaks
    made: Loudness | None = None  # by this plan, after coding

    @property
    def excess_lu(self) -> float:
        """How much louder the sound is than loudnorm takes; its gain is the difference of two levels."""
        return max(self.measured.lufs - _LOUDEST_LUFS, 0.0)

    def describe(self) -> tuple[str, ...]:
        """Return a warning where the sound is not at the target."""
        if self.made is None or abs(self.made.lufs - self.target_lufs) <= TOLERANCE_LU:
            return ()
        return (f"its loudness is {self.made.lufs:.1f} LUFS: louder, its peaks would be too high",)

    def filters(self, rate: int, layout: str) -> list[tuple[str, str]]:
        """Return FFmpeg's filters with their arguments."""
        aim_lufs, lufs = self.aim_lufs - self.excess_lu, self.measured.lufs - self.excess_lu
        gain = ("loudnorm", f"I={aim_lufs:.4f}:measured_I={lufs:.4f}:{_LINEAR}")
        limiter = ("alimiter", f"limit={10 ** (self.limit_db / 20):.6f}:{_LIMITER}")
        is_limited = self.measured.peak_db + self.aim_lufs - self.measured.lufs > self.limit_db
        peaks = [("aresample", str(_TRUE_PEAK_RATE)), limiter] * is_limited
        back = [("aresample", str(rate)), ("aformat", f"sample_fmts=fltp:channel_layouts={layout}")]
        return [gain, *peaks, *back]


def measure_loudness(blocks: Blocks, rate: int, layout: str) -> Loudness:
    """Measure a sound that comes in blocks."""
    facts: dict[str, str] = {}
    graph = _FilterGraph(rate, layout, [("ebur128", "peak=true:metadata=1:framelog=quiet")])
    for block in blocks:
        for frame in graph.push(block):
            facts = {**facts, **frame.metadata}
    for frame in graph.finish():
        facts = {**facts, **frame.metadata}
    peak = float(facts.get("lavfi.r128.true_peak", 0.0))
    lufs = float(facts.get("lavfi.r128.I", _SILENT_LUFS))
    range_lu = float(facts.get("lavfi.r128.LRA", 0.0))
    return Loudness(max(lufs, _SILENT_LUFS), range_lu, 20 * math.log10(max(peak, 1e-5)))


def plan_normalisation(
    sound: Callable[[], Blocks], rate: int, layout: str, target_lufs: float
) -> Normalisation | None:
    """Return how to bring a sound to a loudness; None of silence, which stays as it is.

    `sound` gives its blocks, each time it is called. Of several trials it is the one with the least error,
    made quieter if its peaks are still too high.
    """
    measured = measure_loudness(sound(), rate, layout)
    if measured.is_silent:
        return None
    plan, trials = Normalisation(target_lufs, measured, target_lufs), list[tuple[float, Normalisation]]()
    for _ in range(_MAX_TRIALS):
        made = code_and_decode(normalise(sound(), rate, layout, plan), rate, layout)
        plan = replace(plan, made=(reached := measure_loudness(made, rate, layout)))
        error_lu, over_db = reached.lufs - target_lufs, max(reached.peak_db + _SPARE_DB - PEAK_DB, 0.0)
        excess = max(abs(error_lu) - TOLERANCE_LU, 0.0) + over_db
        trials.append((excess + abs(error_lu) / 100, plan))
        if abs(error_lu) < _GOOD_LU and not over_db:
            break
        lower_db = _DAMPING * over_db + _STEP_DB if over_db else 0.0
        limit_db = max(plan.limit_db - lower_db, _LOWEST_DB)
        aim_lufs = min(max(plan.aim_lufs - plan.excess_lu - error_lu, _LOWEST_LUFS), _HIGHEST_LUFS)
        plan = replace(plan, aim_lufs=aim_lufs + plan.excess_lu, limit_db=limit_db)
    return _lower_peaks(min(trials, key=lambda trial: trial[0])[1], sound, rate, layout)


def _lower_peaks(plan: Normalisation, sound: Callable[[], Blocks], rate: int, layout: str) -> Normalisation:
    """Return a plan whose peaks are low enough after coding, however quiet the sound becomes.

    Gain and limit go down together, so that the sound stays the same but for its level.
    """
    for _ in range(_MAX_LOWERINGS):
        assert plan.made is not None
        over_db = plan.made.peak_db - PEAK_DB
        if over_db <= 0:
            break
        lower_db = over_db + _STEP_DB
        plan = replace(plan, aim_lufs=plan.aim_lufs - lower_db, limit_db=plan.limit_db - lower_db)
        made = code_and_decode(normalise(sound(), rate, layout, plan), rate, layout)
        plan = replace(plan, made=measure_loudness(made, rate, layout))
    return plan


def normalise(blocks: Blocks, rate: int, layout: str, plan: Normalisation) -> Iterator[FloatArray]:
    """Yield a sound that comes in blocks at its new loudness."""
    normaliser = Normaliser(rate, layout, plan)
    for block in blocks:
        yield from normaliser.push(block)
    yield from normaliser.finish()


class Normaliser:
    """Brings a sound to its new loudness, block by block."""

    def __init__(self, rate: int, layout: str, plan: Normalisation) -> None:
        self._graph = _FilterGraph(rate, layout, plan.filters(rate, layout))

    def push(self, block: FloatArray) -> Iterator[FloatArray]:
        """Yield blocks that are ready, after taking one [channels, samples]."""
        yield from map(_planes, self._graph.push(block))

    def finish(self) -> Iterator[FloatArray]:
        """Yield the rest."""
        yield from map(_planes, self._graph.finish())


def _planes(frame: av.AudioFrame) -> FloatArray:
    return np.asarray(frame.to_ndarray(), np.float32)


class _FilterGraph:
    """Filters of FFmpeg in a row, which take planes of floats."""

    def __init__(self, rate: int, layout: str, filters: Iterable[tuple[str, str]]) -> None:
        self._rate, self._layout, self._n_samples = rate, layout, 0
        self._graph = Graph()
        base = Fraction(1, rate)
        source = self._graph.add_abuffer(sample_rate=rate, format="fltp", layout=layout, time_base=base)
        self._graph.link_nodes(
            source, *(self._graph.add(*pair) for pair in filters), self._graph.add("abuffersink")
        ).configure()

    def push(self, block: FloatArray) -> Iterator[av.AudioFrame]:
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(block), format="fltp", layout=self._layout)
        frame.sample_rate, frame.time_base = self._rate, Fraction(1, self._rate)
        frame.pts = self._n_samples
        self._n_samples += block.shape[1]
        self._graph.push(frame)
        yield from self._ready()

    def finish(self) -> Iterator[av.AudioFrame]:
        if self._n_samples:
            self._graph.push(None)
            yield from self._ready()

    def _ready(self) -> Iterator[av.AudioFrame]:
        while True:
            try:
                frame = self._graph.pull()
            except (av.BlockingIOError, av.EOFError):
                return
            assert isinstance(frame, av.AudioFrame)
            yield frame
