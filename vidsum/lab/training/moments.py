"""The trainer of all models that find moments; what differs between them is a `MomentRecipe`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW

from vidsum.checkpoints.named import checkpoint_digest, checkpoint_file
from vidsum.checkpoints.trained import Trained, read_trained
from vidsum.device import choose_device
from vidsum.errors import UsageError
from vidsum.lab.datasets.examples import HighlightExample, MomentExample
from vidsum.lab.training.annotated import Example, MomentData
from vidsum.lab.training.loop import FitResult, Recipe, first_weights, fit
from vidsum.lab.training.settings import DETRSettings, MRNetSettings
from vidsum.types import Progress

Item = TypeVar("Item")
Batch = TypeVar("Batch")


class Batches(Mapping[str, Batch], Generic[Item, Batch]):
    """Batches of items in their order, each made when it is looked up, named by its number from 1."""

    def __init__(
        self,
        items: Sequence[Item],
        batch_size: int,
        collate: Callable[[Sequence[Item], torch.device], Batch],
        device: torch.device,
    ) -> None:
        self._collate, self._device = collate, device
        parts = [items[start : start + batch_size] for start in range(0, len(items), batch_size)]
        self._parts = {f"batch {number}": part for number, part in enumerate(parts, 1)}

    def __getitem__(self, name: str) -> Batch:
        return self._collate(self._parts[name], self._device)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def shuffle(items: Sequence[Item]) -> list[Item]:
    """Return the items in an order drawn by PyTorch's generator."""
    return [items[position] for position in torch.randperm(len(items)).tolist()]


Model = TypeVar("Model", bound=nn.Module)


@dataclass(frozen=True, eq=False)
class MomentRecipe(Generic[Model, Example, Batch]):
    """A model that finds moments, and how it is trained and validated."""

    name: str  # the model's, as its checkpoints have it
    config: Any  # a dataclass, with the dimensions of the examples
    build: Callable[[], Model]  # make the model, its weights drawn by PyTorch's generator
    batches: Callable[[Sequence[Example], torch.device], Mapping[str, Batch]]
    """Make the batches of an epoch, in an order drawn by PyTorch's generator."""
    loss: Callable[[Model, Batch], Tensor]
    score: Callable[[Model, Sequence[Example]], float]  # the measure of validation, higher is better
    monitor: str  # its name in checkpoints
    betas: tuple[float, float] = (0.9, 0.999)
    optimizer: type[Adam] = AdamW


def train_moments(
    data: MomentData[Example],
    recipe: MomentRecipe[Model, Example, Batch],
    settings: MRNetSettings | DETRSettings,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> FitResult:
    """Train a model that finds moments, or continue a run: see `vidsum.lab.training.loop.fit`."""
    device = choose_device(settings.device)
    with first_weights(settings.loop.seed):
        model = recipe.build().to(device)
    facts = {"data": dict(data.about), "device": device.type, "validated_by": recipe.monitor}
    if settings.start is not None:
        facts["start_sha256"] = checkpoint_digest(settings.start)
        _start(model, recipe.name, settings.start)
    of_loop = Recipe(
        model=model,
        optimizer=recipe.optimizer(
            model.parameters(), lr=settings.lr, betas=recipe.betas, weight_decay=settings.weight_decay
        ),
        examples=lambda epoch: recipe.batches(data.examples(epoch), device),
        loss=recipe.loss,
        validate=(lambda model: recipe.score(model, data.validation)) if data.validation else None,
        about=Trained(
            recipe.name,
            asdict(recipe.config),
            dict(data.features),
            {**settings.recorded_choices, **facts},
            {},
        ),
        lr_share=settings.lr_share,
        max_norm=settings.max_norm,
    )
    loop = settings.loop if data.validation else replace(settings.loop, patience=None)
    return fit(of_loop, loop, out, overwrite=overwrite, progress=progress)


def _start(model: nn.Module, name: str, start: str) -> None:
    """Load the weights of a checkpoint, on whatever it was trained; UsageError if it is of another model."""
    trained = read_trained(checkpoint_file(start))
    shapes = {key: tensor.shape for key, tensor in model.state_dict().items()}
    if trained.model != name or shapes != {key: tensor.shape for key, tensor in trained.tensors.items()}:
        fault = f"{start}: a checkpoint of {trained.model} whose sizes or input are not those of this {name}"
        raise UsageError(fault, hint="the options, data and space of its training")
    model.load_state_dict(dict(trained.tensors))


def check_sizes(
    examples: Sequence[MomentExample] | Sequence[HighlightExample],
    validation: Sequence[MomentExample] | Sequence[HighlightExample],
    sizes: Callable[[Any], tuple[int, ...]],
    sentence: str,
) -> tuple[int, ...]:
    """Return the sizes that all examples share, as `sentence` has them. UsageError: none, or two differ."""
    if not examples:
        raise UsageError("no video to train on")
    first = sizes(examples[0])
    for example in (*examples, *validation):
        if sizes(example) != first:
            texts = [sentence.format(*size) for size in (first, sizes(example))]
            raise UsageError(f"{examples[0].name} has {texts[0]}, {example.name} {texts[1]}")
    return first
