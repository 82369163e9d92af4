"""The recipe for FullTransNet: Algorithm 1 of the paper, over the splits of a data set.

Training videos are whole, as in the paper, or varied by PyTorch's generator. The best epoch has the highest
rank correlation on a validation part of the training videos, decoded with no labels.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vidsum.checkpoints.trained import Trained
from vidsum.device import choose_device
from vidsum.errors import Mention, UsageError, fill
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo, shot_of_sample, shots_of, target_of
from vidsum.lab.datasets.splits import Split, with_validation
from vidsum.lab.evaluation.reference import BUDGET, at_every_frame
from vidsum.lab.evaluation.summary_metrics import kendall_tau_b
from vidsum.lab.training.loop import FitResult, Recipe, first_weights, fit
from vidsum.lab.training.run import TrainingRun, split_facts, start_run
from vidsum.lab.training.spread import Spread
from vidsum.lab.training.summary_settings import FullTransNetSettings, RidgeSettings
from vidsum.lab.training.train_ridge import fit_ridge
from vidsum.models.configs import RidgeConfig
from vidsum.models.fulltransnet import FullTransNet, fulltransnet_loss, global_tokens
from vidsum.models.ridge import RidgeScorer
from vidsum.models.scaling import unit_range
from vidsum.summary.importance_model import FeatureTransform, ImportanceModel, importance
from vidsum.summary.knapsack import knapsack, values_of
from vidsum.types import FloatArray, IntArray, Progress

_VALIDATION_SEED, _TRAINING_SEED = 0, 1
_MEASURED = 4  # training videos whose spread is measured after each epoch
_SHARPNESS = 2.0  # of what people like: a frame of one deviation more is seven times as likely to be chosen

_Run = TrainingRun[FullTransNetSettings]


@dataclass(frozen=True, eq=False)
class Example:
    """A training video as the model takes it, on its device."""

    video: AnnotatedVideo  # that parts are made from
    features: Tensor  # [1, T, D]
    is_global: Tensor  # [1, T] bool
    key_frames: Tensor  # [1, L] int64; none where no shot fits the budget
    likes: Tensor  # [1, T] see `likes_of`


def prepare_run(
    videos: Mapping[str, AnnotatedVideo],
    splits: Sequence[Split],
    settings: FullTransNetSettings,
    out: Path,
    **options: Any,
) -> TrainingRun[FullTransNetSettings]:
    """Take validation parts from the splits and start a run: see `start_run`, which takes the options.

    Raises UsageError too where videos do not go with the model.
    """
    if settings.validation and not settings.model.decodes:
        fault = (
            "the epoch is chosen by summaries without labels, which ",
            Mention("target", "same-step"),
            " cannot write",
        )
        raise UsageError(fault, hint=(Mention("validation", 0), " takes the last epoch"))
    if settings.order == "any" and not settings.model.decodes:
        raise UsageError(
            (Mention("target", "same-step"), " repeats its inputs, which have an order"),
            hint=Mention("order", "time"),
        )
    if settings.ridge and settings.order != "any":
        raise UsageError(
            fill("{} has no effect on {}", Mention("ridge"), Mention("order", "time")),
            hint=Mention("order", "any"),
        )
    if settings.validation:
        splits = [with_validation(split, settings.validation) for split in splits]
    if (most := settings.model.max_samples) is not None:
        longest = max((videos[n] for split in splits for n in split.train), key=lambda v: len(v.features))
        if len(longest.features) > most:
            samples = f"{longest.name} has {len(longest.features)} samples"
            raise UsageError(
                f"{samples}; the model has positions for {most}",
                hint=fill(
                    "{} without {} trains on videos of any length",
                    Mention("head", "pointer"),
                    Mention("mask"),
                ),
            )
    device = choose_device(settings.device).type
    return start_run("fulltransnet", videos, splits, settings, out, device=device, **options)


def train_split(
    run: _Run,
    number: int,
    *,
    keep_epochs: Sequence[int] = (),
    overwrite: bool = False,
    progress: Progress | None = None,
) -> tuple[FitResult, tuple[str, ...]]:
    """Train the model of one split, see `fit`; return warnings too. UsageError: no video has a key shot."""
    split, settings = run.splits[number], run.settings
    examples, warnings = _examples(run, split)
    with first_weights(settings.loop.seed):
        model = FullTransNet(settings.model).to(choose_device(run.settings.device))
    facts = {**run.facts, "split": split_facts(split), "validated_by": "kendall tau-b with gtscore"}
    recipe = Recipe(
        model=model,
        # betas (0.9, 0.999): the paper's "momentum of 0.9"
        optimizer=torch.optim.Adam(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay),
        examples=examples,
        loss=partial(loss_of, settings=settings),
        validate=_validator(run, split) if split.validation else None,
        about=Trained("fulltransnet", asdict(settings.model), run.features, facts, {}),
        lr_share=settings.lr_share,
        spread=partial(spread_of, examples=[make() for make in [*examples(1).values()][:_MEASURED]]),
        may_be_uniform=not settings.model.decodes,  # such a model only repeats a paper's figures
    )
    fitted = fit(
        recipe,
        settings.loop,
        run.folder(number),
        keep_epochs=keep_epochs,
        overwrite=overwrite,
        progress=progress,
    )
    return fitted, (*warnings, *fitted.warnings)


@torch.inference_mode()
def spread_of(model: FullTransNet, examples: Sequence[Example]) -> Spread:
    """Return the mean over videos, with the key frames before each step as they should be."""
    perplexities, deviations = [], []
    for example in examples:
        state = model.encode(example.features, example.is_global)
        steps = model.forward_teacher_forced(state, example.key_frames)[0, :, :-1].log_softmax(dim=1)
        entropy = -(steps.exp() * steps).sum(dim=1).mean()
        perplexities.append(float(entropy.exp()) / steps.shape[1])
        deviations.append(float(state.memory[0].std(dim=0, correction=0).mean()))
    return Spread(sum(perplexities) / len(examples), sum(deviations) / len(examples))


def _examples(
    run: _Run, split: Split
) -> tuple[Callable[[int], dict[str, Callable[[], Example]]], tuple[str, ...]]:
    """Return makers of the training videos that have key frames, by epoch; warnings of the others."""
    model, device = run.settings.model, choose_device(run.settings.device)
    teacher = _teacher(run, split)

    def read(name: str, *seed: int) -> AnnotatedVideo:
        video = with_inputs(run.drawn(name, _TRAINING_SEED, *seed), run.inputs)
        return video if teacher is None else taught_by(teacher, video, run.settings.ridge)

    wholes = {name: example_of(read(name), model.global_tokens, device) for name in split.train}
    taught = {name: whole for name, whole in wholes.items() if whole.key_frames.numel()}
    fault = "none of its shots makes a summary of 15 %"
    warnings = tuple(f"{name}: not trained on, as {fault}" for name in split.train if name not in taught)
    if not taught:
        raise UsageError("no training video has a shot that makes a summary of 15 %", subject=split.name)

    def make(name: str, epoch: int) -> Example:
        if not run.draw:
            return taught[name]
        video = read(name, run.settings.loop.seed, epoch)
        drawn = {"features": video.features.array, "likes": likes_of(video)}
        tensors = {key: torch.from_numpy(array)[None].to(device) for key, array in drawn.items()}
        return replace(taught[name], video=video, **tensors)

    return lambda epoch: {name: partial(make, name, epoch) for name in taught}, warnings


def _teacher(run: _Run, split: Split) -> RidgeScorer | None:
    """Return the ridge regression of the training videos where a part of the target is its scores."""
    if not run.settings.ridge:
        return None
    settings = RidgeSettings(
        model=RidgeConfig(dim_in=run.settings.model.dim_in),
        ends=run.settings.ends,
        seed=run.settings.loop.seed,
    )
    return fit_ridge(TrainingRun(**{**vars(run), "settings": settings}), split.train).model


def taught_by(teacher: RidgeScorer, video: AnnotatedVideo, weight: float) -> AnnotatedVideo:
    """Return a video whose scores are mixed, by `weight`, with a regression's scores of the model's input."""
    scores = replace(video, gtscore=teacher(video.features.array), user_scores=None)
    mixed = (1 - weight) * target_of(video) + weight * target_of(scores)
    return replace(video, gtscore=unit_range(mixed, 0.5), user_scores=None)


def with_inputs(video: AnnotatedVideo, inputs: FeatureTransform) -> AnnotatedVideo:
    """Return a video with what the model reads in place of its features."""
    return replace(video, features=replace(video.features, array=inputs.of(video.features)))


def _validator(run: _Run, split: Split) -> Callable[[FullTransNet], float]:
    """Return the mean tau-b of the curve, decoded without labels, with the annotators' mean."""
    videos = [run.drawn(name, _VALIDATION_SEED) for name in split.validation]

    def score(model: FullTransNet) -> float:
        taus = []
        for video in videos:
            features = video.features
            # at its own rate: the rates of a data set may differ from video to video
            rate = 1 / features.step_s
            reader = ImportanceModel(model, features.extractor, features.dim, rate, video.name, run.inputs)
            curve = importance(reader, features, shots_of(video))
            taus.append(float(kendall_tau_b(curve, video.gtscore)[0, 0]))
        return sum(taus) / len(taus)

    return score


def key_frames(video: AnnotatedVideo) -> IntArray:
    """Return [L] indices of the samples in the key shots, in order; none where no shot fits the budget.

    Algorithm 1 of FullTransNet: the shots of the highest sum of mean `gtscore` within 15 % of the frames.
    """
    first, last = video.change_points.T
    scores = at_every_frame(video.gtscore, video.picks, video.n_frames)
    sums = np.concatenate([[0.0], np.cumsum(scores, dtype=np.float64)])
    lengths = last - first + 1
    means = np.maximum((sums[last + 1] - sums[first]) / lengths, 0)
    chosen = knapsack(values_of(means), lengths, int(BUDGET * video.n_frames))
    in_summary = np.zeros(video.n_frames, np.bool_)
    for start, end in zip(first[chosen], last[chosen], strict=True):
        in_summary[start : end + 1] = True
    return np.flatnonzero(in_summary[video.picks])


def likes_of(video: AnnotatedVideo) -> FloatArray:
    """Return [T] probabilities that a sample is chosen first: the softmax of twice `target_of`."""
    likes = np.exp(_SHARPNESS * target_of(video).astype(np.float64))
    return np.asarray(likes / likes.sum(), np.float32)


def example_of(video: AnnotatedVideo, per_shot: int, device: torch.device) -> Example:
    """Return a video as the model reads it, with global tokens `per_shot`."""
    is_global = global_tokens(torch.from_numpy(shot_of_sample(video)), per_shot)
    arrays = (video.features.array, key_frames(video), likes_of(video))
    features, frames, likes = map(torch.from_numpy, arrays)
    return Example(video, *(tensor[None].to(device) for tensor in (features, is_global, frames, likes)))


def loss_of(model: FullTransNet, example: Example, settings: FullTransNetSettings) -> Tensor:
    """Return Eq. 13 on one video.

    `crop` is the least fraction of the shots in a random part of the video (1: as in the paper). In `any`
    order the key frames are drawn by what people like.
    """
    if settings.crop < 1:
        cropped = random_part(example.video, settings.crop)
        part = example_of(cropped, model.config.global_tokens, example.features.device)
        example = part if part.key_frames.numel() else example
    key_frames, likes = example.key_frames, None
    if settings.order == "any":
        likes = example.likes
        n_key_frames = max(1, int(BUDGET * likes.shape[1]))
        key_frames = torch.multinomial(likes, n_key_frames)
    log_probabilities = model(example.features, example.is_global, key_frames).float()
    return fulltransnet_loss(log_probabilities, key_frames, likes)


def random_part(video: AnnotatedVideo, least: float) -> AnnotatedVideo:
    """Return a random run of shots, at least this fraction, with `gtscore` but no annotators' scores."""
    n_shots = len(video.change_points)
    n_kept = min(n_shots, int(torch.empty(()).uniform_(least, 1).item() * n_shots) + 1)
    first_shot = int(torch.randint(n_shots - n_kept + 1, ()))
    shots = video.change_points[first_shot : first_shot + n_kept]
    start = 0 if first_shot == 0 else int(shots[0, 0])
    end = video.n_frames if first_shot + n_kept == n_shots else int(shots[-1, 1]) + 1
    is_in = (video.picks >= start) & (video.picks < end)
    if not is_in.any():  # shots between two samples
        return video
    fps = video.features.video_fps
    return replace(
        video,
        features=replace(
            video.features,
            array=video.features.array[is_in],
            timestamps=video.features.timestamps[is_in] - start / fps,
            duration_s=(end - start) / fps,
            logits=None,
            embeddings=None,
        ),
        picks=video.picks[is_in] - start,
        n_frames=end - start,
        change_points=shots - start,
        gtscore=video.gtscore[is_in],
        user_summary=None,
        user_scores=None,
    )
