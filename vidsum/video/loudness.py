"""Sound of one loudness: measured by EBU R 128, then made louder or quieter, its peaks rounded off."""

import math
from collections.abc import Sequence
from fractions import Fraction

import av
import numpy as np
from av.filter import Graph

from vidsum.types import FloatArray, Interval, VideoInfo
from vidsum.video.audio import SampleSource, open_sound
from vidsum.video.jumps import Jumps

SHORTS_LUFS = -14.0  # loudness to which players of short videos normalise sound
_PEAK, _KNEE = 10 ** (-1.5 / 20), 10 ** (-6 / 20)  # peaks are rounded off up to -1.5 dBFS, true ones to -1
_SILENT_LUFS, _MAX_GAIN_DB = -60.0, 30.0
_PASSES, _TOLERANCE_DB = 4, 0.1
_BLOCK_S = 0.5
_WINDOW_S = 0.4  # window of the meter, which measures nothing shorter


class AmplifiedSound:
    """Another sound times a factor, its peaks rounded off; read like a `SoundSource`."""

    def __init__(self, source: SampleSource, gain_db: float) -> None:
        self.rate, self.n_channels, self.layout = source.rate, source.n_channels, source.layout
        self._source, self._gain = source, 10 ** (gain_db / 20)

    def read(self, first: int, count: int) -> FloatArray:
        samples = self._source.read(first, count) * self._gain
        over = np.maximum(np.abs(samples) - _KNEE, 0) / (_PEAK - _KNEE)
        rounded = np.sign(samples) * (_KNEE + (_PEAK - _KNEE) * np.tanh(over))
        return np.asarray(np.where(over > 0, rounded, samples), np.float32)


def find_gain(
    info: VideoInfo,
    segments: Sequence[Interval],
    jumps: Jumps,
    target_lufs: float,
    mono_rate: int | None = None,
) -> float | None:
    """Find the decibels that bring segments to a loudness, peaks rounded off; None where they are silent."""
    gain = 0.0
    for number in range(_PASSES):
        with open_sound(info, jumps, mono_rate) as source:
            if source is None:
                return None
            lufs = measure_loudness(AmplifiedSound(source, gain) if number else source, segments)
        if lufs < _SILENT_LUFS:
            return None
        if number and abs(target_lufs - lufs) < _TOLERANCE_DB:
            break
        gain = min(gain + target_lufs - lufs, _MAX_GAIN_DB)
    return gain


def measure_loudness(source: SampleSource, segments: Sequence[Interval]) -> float:
    """Measure the integrated loudness of segments in LUFS (FFmpeg's ebur128); -inf of none."""
    length_s = sum(end_s - start_s for start_s, end_s in segments)
    repeated = [*segments] * math.ceil(_WINDOW_S / max(length_s, 0.01))
    graph, base = Graph(), Fraction(1, source.rate)
    entry = graph.add_abuffer(sample_rate=source.rate, format="fltp", layout=source.layout, time_base=base)
    meter, end = graph.add("ebur128", "metadata=1"), graph.add("abuffersink")
    entry.link_to(meter)
    meter.link_to(end)
    graph.configure()
    lufs, written = -math.inf, 0
    for first, count in _blocks(repeated, source.rate):
        frame = av.AudioFrame.from_ndarray(source.read(first, count), format="fltp", layout=source.layout)
        frame.sample_rate, frame.pts, frame.time_base = source.rate, written, base
        written += count
        graph.push(frame)
        lufs = _pull_loudness(graph, lufs)
    graph.push(None)
    return _pull_loudness(graph, lufs)


def _blocks(segments: Sequence[Interval], rate: int) -> list[tuple[int, int]]:
    """Split segments into (first sample, number of samples)."""
    blocks = list[tuple[int, int]]()
    for start_s, end_s in segments:
        first, end, size = round(start_s * rate), round(end_s * rate), round(_BLOCK_S * rate)
        blocks += [(at, min(size, end - at)) for at in range(first, end, size)]
    return blocks


def _pull_loudness(graph: Graph, before: float) -> float:
    while True:
        try:
            frame = graph.pull()
        except (av.BlockingIOError, av.EOFError):
            return before
        before = float(frame.metadata.get("lavfi.r128.I", before))
