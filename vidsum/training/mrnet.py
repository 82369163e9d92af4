"""The recipe for MRNet: Eq. 10 to 12, judged by R@1 IoU .5 on a validation part, one query at a time."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from vidsum.checkpoints.trained import Trained
from vidsum.datasets.examples import MomentExample
from vidsum.device import choose_device
from vidsum.errors import UsageError
from vidsum.evaluation.moment_metrics import measure
from vidsum.models.configs import MRNetConfig
from vidsum.models.mrnet import MRNet, match_scores
from vidsum.training.data import MomentData, Source
from vidsum.training.loop import Fitted, Recipe, first_weights, fit
from vidsum.training.moment_batches import Batches, MomentBatch, grouped, one_by_one
from vidsum.training.mrnet_losses import contrastive_loss, iou_loss, proposal_ious
from vidsum.training.settings import LossSettings, MRNetSettings
from vidsum.types import Progress, TimeArray

_BETAS = (0.9, 0.99)
"""Of AdamW, as in the public code."""


def train_mrnet(
    data: MomentData[MomentExample],
    settings: MRNetSettings,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Fitted:
    """Train MRNet, or go on with the run in a folder.

    Args:
        data: its first video says how many clips there are, and how many numbers a clip and a query have.
        settings: of the model and of training.
        out: folder of the run; made if it is not there.
        overwrite: drop a run with other settings that is there.

    Raises:
        UsageError: there are no examples, or they do not go together.
        OutputError, InputError, VidsumError: see `vidsum.training.loop.fit`.
    """
    recipe = _recipe(data, settings)
    loop = settings.loop if recipe.validate else replace(settings.loop, patience=None)
    return fit(recipe, loop, out, overwrite=overwrite, progress=progress)


def mrnet_loss(model: MRNet, batch: MomentBatch, how: LossSettings) -> Tensor:
    """Eq. 12 on a batch: IoU loss, contrastive loss, and the sparsity loss, once."""
    scores = model(batch.video, batch.queries, batch.is_query)
    valid, asked = model.valid, batch.is_query
    with torch.autocast(batch.video.device.type, enabled=False):  # cosines over .1 need their digits
        ious = proposal_ious(batch.windows, model.config.clips)
        loss = iou_loss(scores.iou, ious, valid, asked, how.iou_low, how.iou_high)
        contrast = contrastive_loss(
            scores.proposals[:, valid], scores.queries, ious[:, :, valid], batch.windows, asked, how
        )
        total: Tensor = loss + how.lambda_c * contrast + how.lambda_s * model.sparsity_loss()
    return total


def best_ious(model: MRNet, examples: Sequence[MomentExample], batch_size: int = 12) -> TimeArray:
    """[Q, 1] IoU of each query's best proposal with its window, in evaluation mode.

    Each query is asked by itself, as in the paper whichever way the model was trained.
    """
    device = next(model.parameters()).device
    batches = Batches(examples, one_by_one(examples), batch_size, device)
    found = torch.cat([_best_of(model, batch) for batch in batches.values()])
    return found.cpu().numpy().astype(np.float64)


def _best_of(model: MRNet, batch: MomentBatch) -> Tensor:
    """[B, 1] of each video's one query."""
    scores = match_scores(model(batch.video, batch.queries, batch.is_query))[:, 0, model.valid]
    ious = proposal_ious(batch.windows, model.config.clips)[:, 0, model.valid]
    return ious.gather(1, scores.argmax(1, keepdim=True))


def _judge(model: MRNet, examples: Sequence[MomentExample], batch_size: int) -> float:
    """R@1 IoU .5, a share."""
    return measure(best_ious(model, examples, batch_size), "mmn").recall[1, 0.5]


def _recipe(data: MomentData[MomentExample], settings: MRNetSettings) -> Recipe[MRNet, MomentBatch]:
    config = _config(settings.model, data.examples(1), data.validation)
    device = choose_device(settings.device)
    with first_weights(settings.loop.seed):
        model = MRNet(config).to(device)
    judge = partial(_judge, examples=data.validation, batch_size=settings.batch_size)
    training = {
        **settings.own,
        "data": dict(data.about),
        "device": device.type,
        "validated_by": "R@1 IoU 0.5",
    }
    return Recipe(
        model=model,
        optimizer=torch.optim.AdamW(
            model.parameters(), lr=settings.lr, betas=_BETAS, weight_decay=settings.weight_decay
        ),
        examples=partial(_batches, data.examples, settings, device),
        loss=partial(mrnet_loss, how=settings.loss),
        validate=judge if data.validation else None,
        about=Trained("mrnet", asdict(config), dict(data.features), training, {}),
        lr_share=settings.lr_share,
        max_norm=settings.max_norm,
    )


def _batches(
    source: Source[MomentExample], settings: MRNetSettings, device: torch.device, epoch: int
) -> Batches:
    examples = source(epoch)
    groups = grouped([len(example.queries) for example in examples], settings.queries_per_video)
    return Batches(examples, groups, settings.batch_size, device)


def _config(
    config: MRNetConfig, examples: Sequence[MomentExample], validation: Sequence[MomentExample]
) -> MRNetConfig:
    """With the dimensions of the examples, which must be the same; the model could read no others later."""
    if not examples:
        raise UsageError("there is no video to train on")
    first = examples[0]
    for example in (*examples, *validation):
        kinds = [(*one.video.shape, one.queries.shape[1]) for one in (first, example)]
        if kinds[0] != kinds[1]:
            texts = ["{} clips of {} numbers and queries of {}".format(*kind) for kind in kinds]
            raise UsageError(f"{first.name} has {texts[0]}, {example.name} {texts[1]}")
    clips, dim_video = first.video.shape
    return replace(config, clips=clips, dim_video=dim_video, dim_query=first.queries.shape[1])
