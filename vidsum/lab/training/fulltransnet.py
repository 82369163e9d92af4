"""The recipe for FullTransNet: Algorithm 1 of the paper, over the splits of a data set.

The best epoch is that of the highest rank correlation on a validation part of the training videos, decoded
with no labels; test videos are not looked at.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import torch

from vidsum.checkpoints.trained import Trained
from vidsum.device import choose_device
from vidsum.errors import UsageError
from vidsum.lab.datasets.captioned import Draw
from vidsum.lab.datasets.splits import Split, with_validation
from vidsum.lab.datasets.summaries import AnnotatedVideo, shots_of
from vidsum.lab.evaluation.summary_metrics import kendall_tau_b
from vidsum.lab.training.examples import VideoExample, example_of, loss_of, teaching_example
from vidsum.lab.training.loop import FitResult, Recipe, first_weights, fit
from vidsum.lab.training.ridge import fit_ridge
from vidsum.lab.training.run import Run, split_facts, start_run
from vidsum.lab.training.summary_settings import FullTransNetSettings, RidgeSettings
from vidsum.models.configs import RidgeConfig
from vidsum.models.fulltransnet import FullTransNet
from vidsum.summary.summarizer import Summarizer, importance
from vidsum.types import FloatArray, Progress

_VALIDATION_SEED, _TRAINING_SEED = 0, 1

_Run = Run[FullTransNetSettings]


@dataclass(frozen=True)
class SplitResult:
    """A trained split."""

    split: Split
    fitted: FitResult
    warnings: tuple[str, ...]


def prepare_run(
    videos: Mapping[str, AnnotatedVideo],
    splits: Sequence[Split],
    settings: FullTransNetSettings,
    out: Path,
    *,
    sources: Sequence[Path] = (),
    draw: Draw | None = None,
    overwrite: bool = False,
) -> Run[FullTransNetSettings]:
    """Check data and settings and write `run.json`.

    Args:
        videos: by name; all that the splits name.
        splits: without validation parts; these are taken from their training parts here.
        settings: of the model and of training.
        out: the folder; made if needed.
        sources: the files of the videos; their SHA-256 are recorded.
        draw: draws the features of a video anew in each epoch.
        overwrite: drop a run with other settings.

    Raises:
        UsageError: the videos do not go together, or do not go with the model.
        OutputError: the folder holds a run with other settings, or cannot be written to.
    """
    if settings.validation:
        splits = [with_validation(split, settings.validation) for split in splits]
    else:
        settings = replace(settings, loop=replace(settings.loop, patience=None))
    if (most := settings.model.most_samples) is not None:
        _check_lengths([videos[name] for split in splits for name in split.train], most)
    return start_run(
        "fulltransnet",
        videos,
        splits,
        settings,
        out,
        sources=sources,
        draw=draw,
        overwrite=overwrite,
        device=choose_device(settings.device).type,
    )


def train_split(
    run: _Run, number: int, *, overwrite: bool = False, progress: Progress | None = None
) -> SplitResult:
    """Train the model of one split, or go on with it.

    Raises:
        UsageError: no training video of the split has a key shot.
        OutputError, InputError, VidsumError: see `vidsum.lab.training.loop.fit`.
    """
    split, settings = run.splits[number], run.settings
    examples, warnings = _examples(run, split)
    with first_weights(settings.loop.seed):
        model = FullTransNet(settings.model).to(choose_device(run.settings.device))
    if model.scores and settings.model.ridge:
        model.scores.ridge.copy_(torch.from_numpy(_ridge_of(run, split)))
    facts = {**run.facts, "split": split_facts(split), "validated_by": "kendall tau-b with gtscore"}
    recipe = Recipe(
        model=model,
        # betas (0.9, 0.999): the paper's "momentum of 0.9"
        optimizer=torch.optim.Adam(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay),
        examples=examples,
        loss=partial(loss_of, crop=settings.crop, noise=settings.noise),
        validate=_validator(run, split) if split.validation else None,
        about=Trained("fulltransnet", asdict(settings.model), run.features, facts, {}),
        lr_share=(lambda done: half_cosine(done / settings.loop.epochs)) if settings.anneal else None,
    )
    fitted = fit(recipe, settings.loop, run.folder(number), overwrite=overwrite, progress=progress)
    return SplitResult(split, fitted, warnings)


def _ridge_of(run: _Run, split: Split) -> FloatArray:
    """[D] weights of ridge regression on the training videos, as `vidsum train ridge` fits them."""
    settings = run.settings
    basis = RidgeConfig(dim_in=settings.model.dim_in)
    ridge = RidgeSettings(model=basis, ends=settings.ends, seed=settings.loop.seed)
    own = Run[RidgeSettings](**{**vars(run), "settings": ridge})
    return fit_ridge(own, split.train).model.weights


def half_cosine(done: float) -> float:
    """Fraction of the learning rate after a fraction of the training: from 1 to 0."""
    return (1 + math.cos(math.pi * min(1.0, done))) / 2


def _check_lengths(videos: Sequence[AnnotatedVideo], most: int) -> None:
    longest = max(videos, key=lambda video: len(video.features))
    if len(longest.features) > most:
        fault = f"{longest.name} has {len(longest.features)} samples; the model has positions for {most}"
        raise UsageError(fault, hint="--head pointer without --mask trains on videos of any length")


Examples = Mapping[str, VideoExample]


def _examples(run: _Run, split: Split) -> tuple[Examples | Callable[[int], Examples], tuple[str, ...]]:
    """The training videos that have key frames, or those of an epoch; a warning for each that has none."""
    whole = {name: _example(run, run.drawn(name, _TRAINING_SEED)) for name in split.train}
    taught = {name: example for name, example in whole.items() if example}
    fault = "none of its shots makes a summary of 15 %"
    warnings = tuple(f"{name}: not trained on, as {fault}" for name in split.train if name not in taught)
    if not taught:
        raise UsageError(f"{split.name}: no training video has a shot that makes a summary of 15 %")
    if not run.draw:
        return taught, warnings

    def of_epoch(epoch: int) -> Examples:
        seed = (_TRAINING_SEED, run.settings.loop.seed, epoch)
        return {name: _redrawn(run, example, run.drawn(name, *seed)) for name, example in taught.items()}

    return of_epoch, warnings


def _example(run: _Run, video: AnnotatedVideo) -> VideoExample | None:
    """A video with what the model reads in place of its features.

    None where no shot fits the budget, unless the head is `frame`, which does without key frames.
    """
    read = _as_read(run, video)
    make = teaching_example if run.settings.model.head == "frame" else example_of
    whole = make(read, run.settings.model.global_tokens, choose_device(run.settings.device))
    return VideoExample(read, whole) if whole else None


def _redrawn(run: _Run, example: VideoExample, video: AnnotatedVideo) -> VideoExample:
    """The example of a video of which the features alone were drawn anew: key frames stay as they are."""
    read = _as_read(run, video)
    features = torch.from_numpy(read.features.array)[None].to(choose_device(run.settings.device))
    return VideoExample(read, replace(example.whole, features=features))


def _as_read(run: _Run, video: AnnotatedVideo) -> AnnotatedVideo:
    """A video with what the model reads in place of its features."""
    return replace(video, features=replace(video.features, array=run.inputs.of(video.features)))


def _validator(run: _Run, split: Split) -> Callable[[FullTransNet], float]:
    """The mean Kendall tau-b of the importance curve, decoded with no labels, with the annotators' mean."""
    videos = [run.drawn(name, _VALIDATION_SEED) for name in split.validation]

    def score(model: FullTransNet) -> float:
        taus = []
        for video in videos:
            features = video.features
            # at its own rate: those of a data set may differ from video to video
            rate = 1 / features.step_s
            reader = Summarizer(model, features.extractor, features.dim, rate, video.name, run.inputs)
            curve = importance(reader, features, shots_of(video))
            taus.append(float(kendall_tau_b(curve, video.gtscore)[0, 0]))
        return sum(taus) / len(taus)

    return score
