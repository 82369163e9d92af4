"""Importance by a trained FullTransNet or ridge regression, on features of any length and with no labels.

docs/algorithms/fulltransnet.md describes how the decoder's steps become a curve, and the alternatives
compared.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from vidsum.checkpoints.named import named_file
from vidsum.checkpoints.trained import Trained, built, read_trained
from vidsum.device import choose_device
from vidsum.errors import InputError, UsageError
from vidsum.models.configs import FullTransNetConfig, RidgeConfig
from vidsum.models.frame_scorer import FrameScorer, model_of
from vidsum.models.fulltransnet import FullTransNet, global_tokens
from vidsum.models.ridge import RidgeScorer
from vidsum.settings import SHIPPED_MODEL
from vidsum.summary.decoding import Decoded, decode
from vidsum.summary.importance import contrastive
from vidsum.summary.inputs import RIDGE_RATES, Inputs, inputs_of
from vidsum.types import Features, FloatArray, Shots

IntArray = npt.NDArray[np.int64]

_SHARPNESS = 3.0
"""Of the scores of single frames, which keep to a third of the range of people's: the rest is not known."""


@dataclass(frozen=True, eq=False)
class Summarizer:
    """A trained model that is ready to use, and the features it reads."""

    model: FullTransNet | FrameScorer | RidgeScorer
    extractor: str
    dim: int
    fps: float
    name: str
    """For messages: the path or the registry's name."""
    inputs: Inputs = field(default_factory=Inputs)


def load_summarizer(name: str = SHIPPED_MODEL, device: str = "auto") -> Summarizer:
    """Load a checkpoint of `vidsum train fulltransnet` or `train ridge`; errors as `summarizer_of`."""
    return summarizer_of(read_trained(named_file(name)), name, device)


def summarizer_of(trained: Trained, name: str, device: str = "auto") -> Summarizer:
    """Build the model of a checkpoint. Raises InputError where it is of another model or inconsistent."""
    model: FullTransNet | FrameScorer | RidgeScorer
    if trained.model == "ridge":
        model = built(trained, "ridge", lambda config: RidgeScorer(RidgeConfig(**config)), name)
    else:
        model = built(trained, "fulltransnet", lambda config: model_of(FullTransNetConfig(**config)), name)
    reads = trained.features
    try:
        extractor, dim, fps = str(reads["extractor"]), int(reads["dim"]), float(reads["fps"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{name}: does not say what features it reads") from error
    return Summarizer(model.to(choose_device(device)), extractor, dim, fps, name, inputs_of(reads, name))


def importance(
    summarizer: Summarizer, features: Features, shots: Shots | None, fraction: float = 0.15, width: int = 1
) -> FloatArray:
    """[T] importance in [0, 1]: the probability that the decoder chooses a shot's samples at its steps.

    For the head `frame`, which has no decoder, see `score_samples`; for ridge regression, `score_video`.

    Args:
        summarizer: the model.
        features: of the video, made as those that it was trained on.
        shots: of the video; their first, middle and last samples are the global tokens. Ridge regression
            does without.
        fraction: the summary's fraction of the video, at which decoding stops.
        width: beams, see `vidsum.summary.decoding.decode`.

    Raises:
        UsageError: see `require_readable`.
    """
    require_readable(summarizer, features)
    array = summarizer.inputs.of(features)
    if isinstance(summarizer.model, RidgeScorer):
        return score_video(summarizer.model, array, features)
    assert shots is not None, "only ridge does without"
    shot_of_sample = shots.numbers_at(features.timestamps)

    def curve(window: slice) -> FloatArray:
        rows, shots_here = array[window], shot_of_sample[window]
        if isinstance(summarizer.model, FrameScorer):
            return score_samples(summarizer.model, rows, shots_here)
        return curve_of(decode_samples(summarizer, rows, shots_here, fraction, width), shots_here)

    # a pointer head could read any length at once, but time and memory of its steps grow with T squared
    parts = windows(shot_of_sample, summarizer.model.config.t_max)
    return over_windows(parts, len(features), curve)


def require_readable(summarizer: Summarizer, features: Features) -> None:
    """Raise UsageError for features of another kind or size than the model was trained on."""
    if features.dim != summarizer.dim:
        fault = f"{summarizer.name} reads features of {summarizer.dim} numbers, not of {features.dim}"
        raise UsageError(fault, hint=_how_to_make(summarizer))
    require_kind(summarizer, features.extractor, 1 / features.step_s)


def require_kind(summarizer: Summarizer, extractor: str, rate: float) -> None:
    """Raise UsageError, before extraction, where the model does not read features of this kind.

    `extractor` is a name; `custom`, unknown, is accepted. `rate` is in features per second.
    """
    if extractor not in (summarizer.extractor, "custom"):
        fault = f"{summarizer.name} reads features of {summarizer.extractor}, not of {extractor}"
        raise UsageError(fault, hint=_how_to_make(summarizer))
    if not reads_rate(summarizer, rate):
        fault = f"{summarizer.name} reads {summarizer.fps:g} features a second, not {rate:g}"
        raise UsageError(fault, hint=f"--fps {summarizer.fps:g}")


def reads_rate(summarizer: Summarizer, rate: float) -> bool:
    """Whether a rate is near enough to that of the training: within a tenth; ridge: see `RIDGE_RATES`."""
    tolerance = RIDGE_RATES if isinstance(summarizer.model, RidgeScorer) else 0.1
    return abs(rate / summarizer.fps - 1) <= tolerance


def _how_to_make(summarizer: Summarizer) -> str:
    if summarizer.extractor == "custom":
        return "give a file of features made as those that it was trained on"
    return f"--extractor {summarizer.extractor}"


def decode_samples(
    summarizer: Summarizer, array: FloatArray, shot_of_sample: IntArray, fraction: float, width: int = 1
) -> Decoded:
    """Decode [T, D] samples that go through the model at once."""
    model = summarizer.model
    assert isinstance(model, FullTransNet)
    device = next(model.parameters()).device
    n_key_frames = min(len(array), max(1, int(fraction * len(array))))
    is_global = global_tokens(torch.from_numpy(shot_of_sample), model.config.global_tokens)
    return decode(model, torch.tensor(array, device=device), is_global.to(device), n_key_frames, width)


@torch.inference_mode()
def score_video(model: RidgeScorer, array: FloatArray, features: Features) -> FloatArray:
    """[T] scores of the samples of a whole video, in [0, 1] by the logistic function.

    Args:
        model: the regression.
        array: [T, D] its input.
        features: what that was made from, for the novelty of each sample.
    """
    device = next(model.parameters()).device
    scores: Tensor = model(torch.tensor(array, device=device)[None])[0].cpu()
    if weight := model.config.novelty:
        novelty = contrastive(features)
        novelty = (novelty - novelty.mean()) / max(float(novelty.std()), 1e-6)
        scores = (scores + weight * torch.from_numpy(novelty)) / math.sqrt(1 + weight**2)
    curve: FloatArray = scores.sigmoid().numpy()
    return curve


@torch.inference_mode()
def score_samples(model: FrameScorer, array: FloatArray, shot_of_sample: IntArray) -> FloatArray:
    """[T] scores of [T, D] samples that go through the model at once, in [0, 1] by the logistic function."""
    device = next(model.parameters()).device
    is_global = global_tokens(torch.from_numpy(shot_of_sample), model.config.global_tokens)
    scores = model(torch.tensor(array, device=device)[None], is_global[None].to(device))
    curve: FloatArray = (_SHARPNESS * scores[0].float()).sigmoid().cpu().numpy()
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
