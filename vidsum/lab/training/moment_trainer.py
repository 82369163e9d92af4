"""The trainer of all models that find moments; what differs between them is a `MomentRecipe`."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from vidsum.checkpoints.named import checkpoint_digest, checkpoint_file
from vidsum.checkpoints.trained import Trained, read_trained
from vidsum.device import choose_device
from vidsum.errors import UsageError
from vidsum.lab.training.annotated import Example, MomentData
from vidsum.lab.training.loop import FitResult, Recipe, first_weights, fit
from vidsum.lab.training.settings import DETRSettings, MRNetSettings, recorded
from vidsum.types import Progress

Item = TypeVar("Item")
Batch = TypeVar("Batch")
Model = TypeVar("Model", bound=nn.Module)


def batches(
    items: Sequence[Item],
    size: int,
    collate: Callable[[Sequence[Item], torch.device], Batch],
    device: torch.device,
) -> dict[str, Callable[[], Batch]]:
    """Return makers of batches of items in their order, named by their numbers from 1."""
    parts = [items[start : start + size] for start in range(0, len(items), size)]
    return {f"batch {number}": partial(collate, part, device) for number, part in enumerate(parts, 1)}


def shuffle(items: Sequence[Item]) -> list[Item]:
    """Return the items in an order drawn by PyTorch's generator."""
    return [items[position] for position in torch.randperm(len(items)).tolist()]


@dataclass(frozen=True, eq=False)
class MomentRecipe(Generic[Model, Example, Item, Batch]):
    """A model that finds moments, and how it is trained and validated."""

    name: str  # the model's, as its checkpoints have it
    config: Any  # a dataclass, with the dimensions of the examples
    build: Callable[[], Model]  # make the model, its weights drawn by PyTorch's generator
    order: Callable[[Sequence[Example]], Sequence[Item]]
    """Return the items of an epoch, in an order drawn by PyTorch's generator."""
    collate: Callable[[Sequence[Item], torch.device], Batch]
    loss: Callable[[Model, Batch], Tensor]
    score: Callable[[Model, Sequence[Example], int], float]
    """Return the measure of validation, in batches of a size; higher is better."""
    monitor: str  # its name in checkpoints
    optimizer: Callable[..., Optimizer] = AdamW


def train_moments(
    data: MomentData[Example],
    recipe: MomentRecipe[Model, Example, Item, Batch],
    settings: MRNetSettings | DETRSettings,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FitResult:
    """Train a model that finds moments, or continue a run: see `vidsum.lab.training.loop.fit`."""
    device, size = choose_device(settings.device), settings.batch_size
    with first_weights(settings.loop.seed):
        model = recipe.build().to(device)
    facts = recorded(settings)
    facts |= {"data": dict(data.about), "device": device.type, "validated_by": recipe.monitor}
    if settings.start is not None:
        facts["start_sha256"] = checkpoint_digest(settings.start)
        _start(model, recipe.name, settings.start)
    of_loop = Recipe(
        model=model,
        optimizer=recipe.optimizer(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay),
        examples=lambda epoch: batches(recipe.order(data.examples(epoch)), size, recipe.collate, device),
        loss=recipe.loss,
        validate=(lambda model: recipe.score(model, data.validation, size)) if data.validation else None,
        about=Trained(recipe.name, asdict(recipe.config), dict(data.features), facts, {}),
        lr_share=settings.lr_share,
        max_norm=settings.max_norm,
    )
    return fit(of_loop, settings.loop, out, overwrite=overwrite, progress=progress)


def _start(model: nn.Module, name: str, start: str) -> None:
    """Load the weights of a checkpoint, on whatever it was trained; UsageError if it is of another model."""
    trained = read_trained(checkpoint_file(start))
    shapes = {key: tensor.shape for key, tensor in model.state_dict().items()}
    if trained.model != name or shapes != {key: tensor.shape for key, tensor in trained.tensors.items()}:
        fault = f"a checkpoint of {trained.model} whose sizes or input are not those of this {name}"
        raise UsageError(fault, hint="the options, data and space of its training", subject=start)
    model.load_state_dict(dict(trained.tensors))
