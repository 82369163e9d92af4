"""Importance by a trained FullTransNet, on features of any length and with no labels.

docs/algorithms/fulltransnet.md tells how the curve is made of the decoder's steps, and what that was compared
with.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from vidsum.checkpoints.named import named_file
from vidsum.checkpoints.trained import Trained, built, read_trained
from vidsum.device import choose_device
from vidsum.errors import InputError, UsageError
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import FullTransNet, global_tokens
from vidsum.settings import SHIPPED_MODEL
from vidsum.summary.decoding import Decoded, decode
from vidsum.types import Features, FloatArray, Shots

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Summarizer:
    """A FullTransNet that is ready to use, and what it reads."""

    model: FullTransNet
    extractor: str
    dim: int
    fps: float
    name: str
    """For messages: the path or the registry's name."""


def load_summarizer(name: str = SHIPPED_MODEL, device: str = "auto") -> Summarizer:
    """Load a checkpoint of `vidsum train fulltransnet`.

    Raises:
        InputError: the file is missing, or is no checkpoint of this model.
    """
    return summarizer_of(read_trained(named_file(name)), name, device)


def summarizer_of(trained: Trained, name: str, device: str = "auto") -> Summarizer:
    """Build the model of a checkpoint that has been read.

    Raises:
        InputError: it is of another model, or its tensors do not fit its configuration.
    """
    model = built(trained, "fulltransnet", lambda config: FullTransNet(FullTransNetConfig(**config)), name)
    try:
        reads = (
            str(trained.features["extractor"]),
            int(trained.features["dim"]),
            float(trained.features["fps"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{name}: does not say what features it reads") from error
    return Summarizer(model.to(choose_device(device)), *reads, name)


def importance(
    summarizer: Summarizer, features: Features, shots: Shots, share: float = 0.15, width: int = 1
) -> FloatArray:
    """[T] importance in [0, 1]: the chance that the decoder chooses a shot's samples at its steps.

    Args:
        summarizer: the model.
        features: of the video, made as those that it was trained on.
        shots: of the video; their first, middle and last samples are the global tokens.
        share: the summary's share of the video, which decoding stops at.
        width: beams, see `vidsum.summary.decoding.decode`.

    Raises:
        UsageError: see `require_readable`.
    """
    require_readable(summarizer, features)
    shot_of_sample = shots.numbers_at(features.timestamps)

    def curve(window: slice) -> FloatArray:
        shots_here = shot_of_sample[window]
        return curve_of(
            decode_samples(summarizer, features.array[window], shots_here, share, width), shots_here
        )

    # a pointer head could read any length at once, but time and memory of its steps grow with T squared
    stretches = windows(shot_of_sample, summarizer.model.config.t_max)
    return over_windows(stretches, len(features), curve)


def require_readable(summarizer: Summarizer, features: Features) -> None:
    """See to it that features are those that the model was trained on.

    Raises:
        UsageError: they have another size, or see `require_kind`.
    """
    if features.dim != summarizer.dim:
        raise UsageError(
            f"{summarizer.name} reads features of {summarizer.dim} numbers, not of {features.dim}",
            hint=_how_to_make(summarizer),
        )
    require_kind(summarizer, features.extractor, 1 / features.step_s)


def require_kind(summarizer: Summarizer, extractor: str, rate: float) -> None:
    """See to it, by what is known before extraction, that features are of the kind that the model reads.

    Args:
        summarizer: the model.
        extractor: of the features, by name; `custom`, unknown, is not doubted.
        rate: features per second; may be off by a tenth.

    Raises:
        UsageError: they are of another extractor, or of another rate (per second).
    """
    if extractor not in (summarizer.extractor, "custom"):
        raise UsageError(
            f"{summarizer.name} reads features of {summarizer.extractor}, not of {extractor}",
            hint=_how_to_make(summarizer),
        )
    if abs(rate / summarizer.fps - 1) > 0.1:
        raise UsageError(
            f"{summarizer.name} reads {summarizer.fps:g} features a second, not {rate:g}",
            hint=f"--fps {summarizer.fps:g}",
        )


def _how_to_make(summarizer: Summarizer) -> str:
    if summarizer.extractor == "custom":
        return "give a file of features made as those that it was trained on"
    return f"--extractor {summarizer.extractor}"


def decode_samples(
    summarizer: Summarizer, array: FloatArray, shot_of_sample: IntArray, share: float, width: int = 1
) -> Decoded:
    """Decode [T, D] samples that go through the model at once."""
    model = summarizer.model
    device = next(model.parameters()).device
    n_key_frames = min(len(array), max(1, int(share * len(array))))
    is_global = global_tokens(torch.from_numpy(shot_of_sample), model.config.global_tokens)
    return decode(model, torch.tensor(array, device=device), is_global.to(device), n_key_frames, width)


def curve_of(decoded: Decoded, shot_of_sample: IntArray) -> FloatArray:
    """[T] mean over each shot of 1 - prod_l (1 - p_l), the chance to be chosen at one step or another.

    The mean, because a step that begins a shot gives all its chance to the shot's first sample.
    """
    missed = np.zeros(len(shot_of_sample))
    for step in decoded.steps:  # one by one: all in float64 would be a gigabyte for a film of two hours
        missed += np.log1p(-np.minimum(step.astype(np.float64), 1 - 1e-12))
    _, shot, counts = np.unique(shot_of_sample, return_inverse=True, return_counts=True)
    means = np.bincount(shot, weights=-np.expm1(missed)) / counts
    return np.asarray(means[shot], np.float32)


def windows(shot_of_sample: IntArray, longest: int) -> list[slice]:
    """Stretches of at most `longest` samples that overlap by a quarter or more and cover the video.

    They begin and end between shots where that can be; a shot longer than half a window is cut.
    """
    n_samples = len(shot_of_sample)
    if n_samples <= longest:
        return [slice(0, n_samples)]
    between = np.flatnonzero(np.diff(shot_of_sample)) + 1
    found = [slice(0, _last_before(between, longest, longest // 2))]
    while found[-1].stop < n_samples:
        before = found[-1]
        start = _last_before(between, before.stop - longest // 4, before.start + longest // 4)
        stop = start + longest
        stop = n_samples if stop >= n_samples else _last_before(between, stop, before.stop + 1)
        found.append(slice(start, stop))
    return found


def over_windows(stretches: list[slice], n_samples: int, curve: Callable[[slice], FloatArray]) -> FloatArray:
    """[T] the mean of the windows' curves where they overlap."""
    total, count = np.zeros(n_samples), np.zeros(n_samples)
    for stretch in stretches:
        total[stretch] += curve(stretch)
        count[stretch] += 1
    return np.asarray(total / count, np.float32)


def _last_before(between: IntArray, most: int, least: int) -> int:
    """The last edge of a shot in [least, most]; `most` where there is none."""
    place = int(np.searchsorted(between, most, side="right")) - 1
    return int(between[place]) if place >= 0 and between[place] >= least else most
