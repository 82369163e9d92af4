"""The recipe of mrnet-live: whether a query is true, clip by clip, by the cross-entropy."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from vidsum.errors import UsageError
from vidsum.lab.datasets.examples import MomentExample
from vidsum.lab.training.annotated import MomentData
from vidsum.lab.training.loop import FitResult
from vidsum.lab.training.moments import (
    MomentBatch,
    MomentRecipe,
    fit_config,
    train_moments,
    training_batches,
    validation_batches,
)
from vidsum.lab.training.settings import MRNetSettings
from vidsum.models.configs import CAUSAL
from vidsum.models.mrnet_live import NAME, LiveMRNet
from vidsum.types import Progress


def train_live(
    data: MomentData[MomentExample],
    settings: MRNetSettings,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FitResult:
    """Train mrnet-live, or go on with the run in a folder: see `vidsum.lab.training.loop.fit`.

    Raises UsageError where the settings let clips see later ones, there are no examples, or these do not go
    together.
    """
    config = fit_config(data, settings)
    switches = {**CAUSAL, "regions": ("vv",), "mask": None}
    if wrong := [name for name, value in switches.items() if getattr(config, name) != value]:
        flags = " and ".join("--" + name.replace("_", "-").removesuffix("s") for name in wrong)
        raise UsageError(f"with {flags}, clips would depend on later ones", hint="leave them to --head live")
    recipe = MomentRecipe(
        name=NAME,
        config=config,
        build=lambda: LiveMRNet(config),
        batches=partial(training_batches, settings=settings),
        loss=live_loss,
        score=partial(_score, batch_size=settings.batch_size),
        monitor="minus the loss",
    )
    return train_moments(data, recipe, settings, out, overwrite=overwrite, progress=progress)


def live_loss(model: LiveMRNet, batch: MomentBatch) -> Tensor:
    """Return the mean cross-entropy of the clips with the fraction of each in which a query is true."""
    logits = model(batch.video, batch.queries).float()
    targets = covered_share(batch.gt_windows, logits.shape[2])
    return binary_cross_entropy_with_logits(logits[batch.is_query], targets[batch.is_query])


def covered_share(gt_windows: Tensor, n_clips: int) -> Tensor:
    """Return [B, M, T] the fraction of each clip that lies in windows [B, M, W, 2] that do not overlap."""
    edges = torch.arange(n_clips + 1, device=gt_windows.device) / n_clips
    start, end = gt_windows[..., None, 0], gt_windows[..., None, 1]
    common = (torch.minimum(end, edges[1:]) - torch.maximum(start, edges[:-1])).clamp(min=0)
    return (common.sum(2) * n_clips).clamp(max=1)


def _score(model: LiveMRNet, examples: Sequence[MomentExample], batch_size: int) -> float:
    """Minus the loss, a proper score of probabilities that compare across videos and queries."""
    batches = validation_batches(examples, model, batch_size)
    losses = [(live_loss(model, batch), len(batch.video)) for batch in batches.values()]
    return -float(sum(loss * count for loss, count in losses)) / sum(count for _, count in losses)
