"""Importance by FullTransNet: from the decoder's steps, or the scores beside it, to a curve over a video.

docs/algorithms/fulltransnet.md describes how the steps become a curve, and the alternatives compared.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch

from vidsum.models.fulltransnet import FullTransNet, global_tokens
from vidsum.scaling import logistic
from vidsum.summary.decoding import Decoded, decode
from vidsum.types import FloatArray

IntArray = npt.NDArray[np.int64]


def curve_over(
    model: FullTransNet, array: FloatArray, shot_of_sample: IntArray, fraction: float, width: int
) -> FloatArray:
    """[T] in [0, 1]: the probability that the decoder chooses a shot's samples at its steps.

    With the head `frame`, its scores of the samples less their mean, by the logistic function. The arguments
    are those of `importance`, with the input [T, D] of the model and the shot [T] of each sample.
    """

    def curve(window: slice) -> FloatArray:
        rows, shots_here = array[window], shot_of_sample[window]
        if model.scores is not None:
            return score_samples(model, rows, shots_here)
        return curve_of(decode_samples(model, rows, shots_here, fraction, width), shots_here)

    # a pointer head could read any length at once, but time and memory of its steps grow with T squared
    whole = over_windows(windows(shot_of_sample, model.config.t_max), len(array), curve)
    return whole if model.scores is None else logistic(whole - whole.mean())


def decode_samples(
    model: FullTransNet, array: FloatArray, shot_of_sample: IntArray, fraction: float, width: int = 1
) -> Decoded:
    """Decode [T, D] samples that go through the model at once."""
    device = next(model.parameters()).device
    n_key_frames = min(len(array), max(1, int(fraction * len(array))))
    is_global = global_tokens(torch.from_numpy(shot_of_sample), model.config.global_tokens)
    return decode(model, torch.tensor(array, device=device), is_global.to(device), n_key_frames, width)


@torch.inference_mode()
def score_samples(model: FullTransNet, array: FloatArray, shot_of_sample: IntArray) -> FloatArray:
    """[T] scores of [T, D] samples that go through the encoder at once, by the head `frame`."""
    assert model.scores is not None
    device = next(model.parameters()).device
    is_global = global_tokens(torch.from_numpy(shot_of_sample), model.config.global_tokens)
    features = torch.tensor(array, device=device)[None]
    scores = model.scores(features, model.encode(features, is_global[None].to(device)).memory)
    curve: FloatArray = scores[0].float().cpu().numpy()
    return curve


def curve_of(decoded: Decoded, shot_of_sample: IntArray) -> FloatArray:
    """[T] mean over each shot of 1 - prod_l (1 - p_l), the probability to be chosen at any step.

    The mean, because a step that begins a shot gives all its probability to the shot's first sample.
    """
    missed = np.zeros(len(shot_of_sample))
    for step in decoded.steps:  # one by one: all in float64 would be a gigabyte for a film of two hours
        missed += np.log1p(-np.minimum(step.astype(np.float64), 1 - 1e-12))
    _, shot, counts = np.unique(shot_of_sample, return_inverse=True, return_counts=True)
    means = np.bincount(shot, weights=-np.expm1(missed)) / counts
    return np.asarray(means[shot], np.float32)


def windows(shot_of_sample: IntArray, longest: int) -> list[slice]:
    """Windows of at most `longest` samples that overlap by a quarter or more and cover the video.

    They begin and end between shots where possible; a shot longer than half a window is cut.
    """
    n_samples = len(shot_of_sample)
    if n_samples <= longest:
        return [slice(0, n_samples)]
    between = np.flatnonzero(np.diff(shot_of_sample)) + 1
    parts = [slice(0, _last_before(between, longest, longest // 2))]
    while parts[-1].stop < n_samples:
        before = parts[-1]
        start = _last_before(between, before.stop - longest // 4, before.start + longest // 4)
        stop = start + longest
        stop = n_samples if stop >= n_samples else _last_before(between, stop, before.stop + 1)
        parts.append(slice(start, stop))
    return parts


def over_windows(parts: list[slice], n_samples: int, curve: Callable[[slice], FloatArray]) -> FloatArray:
    """[T] the mean of the windows' curves where they overlap."""
    total, count = np.zeros(n_samples), np.zeros(n_samples)
    for part in parts:
        total[part] += curve(part)
        count[part] += 1
    return np.asarray(total / count, np.float32)


def _last_before(between: IntArray, most: int, least: int) -> int:
    """The last edge of a shot in [least, most]; `most` where there is none."""
    position = int(np.searchsorted(between, most, side="right")) - 1
    return int(between[position]) if position >= 0 and between[position] >= least else most
