"""Importance by FullTransNet: from the decoder's steps to a curve over a video."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vidsum.errors import UsageError
from vidsum.models.fulltransnet import FullTransNet, global_tokens
from vidsum.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Decoded:
    """A decoded summary."""

    key_frames: tuple[int, ...]  # samples in the order in which they were chosen; none twice
    steps: FloatArray  # [L, T] probability of each sample at each step; the rest is the end's


@torch.inference_mode()
def decode(model: FullTransNet, features: Tensor, is_global: Tensor, n_key_frames: int) -> Decoded:
    """Choose key frames until there are `n_key_frames`, or the model ends the summary.

    Each step takes the most likely frame that is not chosen yet. A summary ends before a step at which the
    end is more likely than all frames together.

    Args:
        model: in `eval` mode.
        features: [T, D]
        is_global: [T] bool, see `vidsum.models.fulltransnet.global_tokens`.
        n_key_frames: the budget, in samples; at least 1, at most T.

    Raises UsageError: the model was trained with the target `same-step`.
    """
    if not model.config.decodes:
        fault = "a decoder of the target same-step repeats the key frames it is given: it cannot summarize"
        raise UsageError(
            fault,
            hint="VIDSUM_EVALUATE_SUMMARY_PROTOCOL=paper vidsum evaluate summary --run RUN gives it labels",
        )
    key_frames, steps = list[int](), list[Tensor]()
    state, last = model.encode(features[None], is_global[None]), None
    with _one_thread():
        while len(key_frames) < n_key_frames:
            rows, state = model.step(state, last)
            frames, end = rows[0, :-1], rows[0, -1]
            steps.append(frames.exp())
            if end > math.log(0.5):
                break
            chosen = torch.tensor(key_frames, dtype=torch.int64, device=rows.device)
            last = frames.index_fill(0, chosen, -math.inf).argmax()[None]
            key_frames.append(int(last))
    return Decoded(tuple(key_frames), torch.stack(steps).float().cpu().numpy())


@contextmanager
def _one_thread() -> Iterator[None]:
    """On the CPU a step is so small that a second thread gains little and waits for busy cores."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)


def importance_curve(
    model: FullTransNet, array: FloatArray, shot_of_sample: IntArray, fraction: float
) -> FloatArray:
    """Return [T] in [0, 1]: the probability that the decoder chooses a shot's samples at its steps.

    `array` [T, D] is the input of the model, `shot_of_sample` [T] the shot of each sample; the rest
    is as in `importance`. Where windows overlap, their curves are averaged.
    """
    # a pointer head could read any length at once, but time and memory of its steps grow with T squared
    total, count = np.zeros(len(array)), np.zeros(len(array))
    for window in windows(shot_of_sample, model.config.t_max):
        shots_here = shot_of_sample[window]
        total[window] += shot_curve(decode_samples(model, array[window], shots_here, fraction), shots_here)
        count[window] += 1
    return np.asarray(total / count, np.float32)


def decode_samples(
    model: FullTransNet, array: FloatArray, shot_of_sample: IntArray, fraction: float
) -> Decoded:
    """Decode [T, D] samples that go through the model at once."""
    device = next(model.parameters()).device
    n_key_frames = min(len(array), max(1, int(fraction * len(array))))
    is_global = global_tokens(torch.from_numpy(shot_of_sample), model.config.global_tokens)
    return decode(model, torch.tensor(array, device=device), is_global.to(device), n_key_frames)


def shot_curve(decoded: Decoded, shot_of_sample: IntArray) -> FloatArray:
    """Return [T] mean over each shot of 1 - prod_l (1 - p_l), the probability to be chosen at any step.

    The mean, because a step that begins a shot gives all its probability to the shot's first sample.
    """
    missed = np.zeros(len(shot_of_sample))
    for step in decoded.steps:  # one by one: all in float64 would be a gigabyte for a film of two hours
        missed += np.log1p(-np.minimum(step.astype(np.float64), 1 - 1e-12))
    _, shot, counts = np.unique(shot_of_sample, return_inverse=True, return_counts=True)
    means = np.bincount(shot, weights=-np.expm1(missed)) / counts
    return np.asarray(means[shot], np.float32)


def windows(shot_of_sample: IntArray, longest: int) -> list[slice]:
    """Windows of at most `longest` samples that overlap by a quarter or more, between shots if possible."""
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


def _last_before(between: IntArray, most: int, least: int) -> int:
    """Return the last edge of a shot in [least, most]; `most` where there is none."""
    position = int(np.searchsorted(between, most, side="right")) - 1
    return int(between[position]) if position >= 0 and between[position] >= least else most
