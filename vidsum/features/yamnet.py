"""Sounds of 521 kinds, by YAMNet (Plakal and Ellis, TensorFlow models, 2019), a MobileNet on spectrograms.

Its classes are from AudioSet (Gemmeke et al., "Audio Set: An ontology and human-labeled dataset for audio
events", 2017).
"""

from collections.abc import Iterable, Iterator

import numpy as np

from vidsum import checkpoints
from vidsum.features.onnx_backend import open_session
from vidsum.types import FloatArray

NAME = "yamnet"
RATE = 16_000
STEP_S = 0.96  # from one window to the next
N_CLASSES = 521
WINDOW = 15_600  # samples that the network reads: 96 frames of 25 ms, 10 ms apart
_STEP = round(STEP_S * RATE)


def iter_windows(blocks: Iterable[FloatArray]) -> Iterator[FloatArray]:
    """Yield windows [N, WINDOW] of sound in blocks [S] at RATE, `STEP_S` apart; silence fills the last."""
    rest = np.zeros(0, np.float32)
    for block in blocks:
        rest = np.concatenate([rest, block])
        if len(rest) >= WINDOW:
            windows = np.lib.stride_tricks.sliding_window_view(rest, WINDOW)[::_STEP]
            yield np.ascontiguousarray(windows)
            rest = rest[len(windows) * _STEP :]
    if len(rest) > WINDOW - _STEP:
        yield np.pad(rest, (0, WINDOW - len(rest)))[None]


def score_sounds(blocks: Iterable[FloatArray]) -> FloatArray:
    """Return [T, N_CLASSES] scores in [0, 1] of each `STEP_S` of sound in blocks [S] at RATE.

    Several classes can be there at once. The scores are the network's own: no probabilities that compare
    from class to class. Raises WeightsError.
    """
    session = open_session(checkpoints.path_of(NAME))
    rows = [np.zeros((0, N_CLASSES), np.float32)]
    rows += [session.run(None, {"samples": windows})[0] for windows in iter_windows(blocks)]
    return np.concatenate(rows)
