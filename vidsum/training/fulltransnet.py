"""The recipe for FullTransNet: Algorithm 1 of the paper, over the splits of a data set.

A run is a folder: `run.json` says what it is made from, `split_0`, `split_1` ... hold a trained model each.
The best epoch is that of the highest rank correlation on a validation part of the training videos, decoded
with no labels; test videos are not looked at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vidsum.checkpoints.trained import Trained
from vidsum.datasets.splits import Split, with_validation
from vidsum.datasets.summaries import AnnotatedVideo, shots_of
from vidsum.device import choose_device
from vidsum.errors import UsageError
from vidsum.evaluation.rank import kendall_tau_b
from vidsum.models.fulltransnet import FullTransNet
from vidsum.provenance import of_file
from vidsum.summary.fulltransnet import Summarizer, importance
from vidsum.training.examples import VideoExample, example_of, loss_of
from vidsum.training.loop import FitResult, Recipe, first_weights, fit
from vidsum.training.run import claim_run
from vidsum.training.settings import FullTransNetSettings
from vidsum.types import Progress


@dataclass(frozen=True, eq=False)
class Run:
    """A run whose data has been checked and whose folder is claimed."""

    out: Path
    videos: Mapping[str, AnnotatedVideo]
    splits: tuple[Split, ...]
    """With their validation parts."""
    settings: FullTransNetSettings
    device: torch.device
    features: Mapping[str, Any]
    """Those that the model reads: `extractor`, `dim` and `fps`."""
    facts: Mapping[str, Any]
    """Recorded of the training in each checkpoint."""

    def folder(self, number: int) -> Path:
        """Where the model of a split is."""
        return self.out / f"split_{number}"


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
    overwrite: bool = False,
) -> Run:
    """Check data and settings and write `run.json`.

    Args:
        videos: by name; all that the splits name.
        splits: without validation parts; these are taken from their training parts here.
        settings: of the model and of training.
        out: the folder; made if needed.
        sources: the files of the videos; their SHA-256 are recorded.
        overwrite: drop a run with other settings.

    Raises:
        UsageError: the videos do not go together, or do not go with the model.
        OutputError: the folder holds a run with other settings, or cannot be written to.
    """
    if settings.validation:
        splits = [with_validation(split, settings.validation) for split in splits]
    else:
        settings = replace(settings, loop=replace(settings.loop, patience=None))
    used = [videos[name] for name in sorted({name for split in splits for name in split.train})]
    others = {name for split in splits for name in (*split.train, *split.validation, *split.test)}
    _check_together([videos[name] for name in sorted(others)])
    settings = replace(settings, model=replace(settings.model, dim_in=used[0].features.dim))
    if (most := settings.model.most_samples) is not None:
        _check_lengths(used, most)
    device = choose_device(settings.device)
    facts = {
        "data": [{"name": path.name, **of_file(path)} for path in sources],
        **settings.own,
        "device": device.type,
    }
    run = Run(out, videos, tuple(splits), settings, device, _kind_of(used), facts)
    document = {
        "model": "fulltransnet",
        "data": facts["data"],
        "features": run.features,
        "settings": {**settings.flat, "device": device.type},
        "splits": [
            {"folder": run.folder(number).name, **_split_facts(split)} for number, split in enumerate(splits)
        ],
    }
    claim_run(out, document, overwrite=overwrite)
    return run


def train_split(
    run: Run, number: int, *, overwrite: bool = False, progress: Progress | None = None
) -> SplitResult:
    """Train the model of one split, or go on with it.

    Raises:
        UsageError: no training video of the split has a key shot.
        OutputError, InputError, VidsumError: see `vidsum.training.loop.fit`.
    """
    split, settings = run.splits[number], run.settings
    examples, warnings = _examples(run, split)
    with first_weights(settings.loop.seed):
        model = FullTransNet(settings.model).to(run.device)
    facts = {**run.facts, "split": _split_facts(split), "validated_by": "kendall tau-b with gtscore"}
    recipe = Recipe(
        model=model,
        # betas (0.9, 0.999): the paper's "momentum of 0.9"
        optimizer=torch.optim.Adam(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay),
        examples=examples,
        loss=partial(loss_of, crop=settings.crop, noise=settings.noise),
        validate=(lambda model: _score(model, run, split)) if split.validation else None,
        about=Trained("fulltransnet", asdict(settings.model), run.features, facts, {}),
    )
    fitted = fit(recipe, settings.loop, run.folder(number), overwrite=overwrite, progress=progress)
    return SplitResult(split, fitted, warnings)


def _check_together(videos: Sequence[AnnotatedVideo]) -> None:
    """All features must be of one kind; the model could read no others later."""
    first = videos[0]
    for video in videos[1:]:
        own, other = (f"{each.features.dim} numbers of {each.features.extractor}" for each in (first, video))
        if own != other:
            fault = f"{first.name} has features of {own}, {video.name} of {other}"
            raise UsageError(fault, hint="give files whose features were extracted in the same way")


def _kind_of(videos: Sequence[AnnotatedVideo]) -> dict[str, Any]:
    """Extractor, size and median rate of the features."""
    features = videos[0].features
    step_s = float(np.median([video.features.step_s for video in videos]))
    return {"extractor": features.extractor, "dim": features.dim, "fps": round(1 / step_s, 6)}


def _check_lengths(videos: Sequence[AnnotatedVideo], most: int) -> None:
    longest = max(videos, key=lambda video: len(video.features))
    if len(longest.features) > most:
        fault = f"{longest.name} has {len(longest.features)} samples; the model has positions for {most}"
        raise UsageError(fault, hint="--head pointer without --mask trains on videos of any length")


def _split_facts(split: Split) -> dict[str, Any]:
    return {"name": split.name} | {
        part: list(getattr(split, part)) for part in ("train", "validation", "test")
    }


def _examples(run: Run, split: Split) -> tuple[dict[str, VideoExample], tuple[str, ...]]:
    """The training videos that have key frames, and a warning for each that has not."""
    examples, warnings = {}, []
    for name in split.train:
        whole = example_of(run.videos[name], run.settings.model.global_tokens, run.device)
        if whole is None:
            warnings.append(f"{name}: not trained on, as none of its shots makes a summary of 15 %")
        else:
            examples[name] = VideoExample(run.videos[name], whole)
    if not examples:
        raise UsageError(f"{split.name}: no training video has a shot that makes a summary of 15 %")
    return examples, tuple(warnings)


def _score(model: FullTransNet, run: Run, split: Split) -> float:
    """Mean Kendall tau-b of the importance curve, decoded with no labels, with the annotators' mean."""
    taus = []
    for name in split.validation:
        video = run.videos[name]
        features = video.features
        # at its own rate: those of a data set may differ from video to video
        reader = Summarizer(model, features.extractor, features.dim, 1 / features.step_s, name)
        curve = importance(reader, features, shots_of(video))
        taus.append(float(kendall_tau_b(curve, video.gtscore)[0, 0]))
    return sum(taus) / len(taus)
