"""The trainer of all models that find moments; what differs between them is a `MomentRecipe`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from vidsum.checkpoints.named import checkpoint_digest, checkpoint_file
from vidsum.checkpoints.trained import Trained, read_trained
from vidsum.device import choose_device
from vidsum.errors import UsageError
from vidsum.lab.datasets.examples import HighlightExample, MomentExample, Pair
from vidsum.lab.training.annotated import MomentData
from vidsum.lab.training.loop import FitResult, Recipe, first_weights, fit
from vidsum.lab.training.settings import DETRSettings, MRNetSettings
from vidsum.models.configs import MRNetConfig
from vidsum.models.detr import DETRInputs, pad_inputs, pad_rows
from vidsum.types import Progress

Item = TypeVar("Item")
Batch = TypeVar("Batch")
Group = tuple[MomentExample, Sequence[int]]
"""A video, and which of its queries go through the model together."""


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


class MomentBatch(NamedTuple):
    """Several videos with their queries, on a device."""

    video: Tensor
    """[B, T, Dv]"""
    queries: Tensor
    """[B, M, Dq], padded with zeros"""
    is_query: Tensor
    """[B, M] bool"""
    gt_windows: Tensor
    """[B, M, W, 2] as fractions of the video, padded with empty ones"""


def group_queries(examples: Sequence[MomentExample], size: int | None) -> list[Group]:
    """Queries of each video in groups of at most `size` (None: all), drawn and shuffled by PyTorch's
    generator.

    Annotations are often in order of time. A model that sees that order learns where moments lie from it, and
    fails when each query comes alone: so queries are shuffled in any mode.
    """
    groups: list[Group] = []
    for example in examples:
        order = torch.randperm(len(example.queries)).tolist()
        step = size or len(order)
        groups += [(example, order[start : start + step]) for start in range(0, len(order), step)]
    return shuffle(groups)


def split_queries(examples: Sequence[MomentExample]) -> list[Group]:
    """Return each query alone, in order, as the paper tests, whichever way it trains."""
    return [(example, (query,)) for example in examples for query in range(len(example.queries))]


def collate_groups(groups: Sequence[Group], device: torch.device) -> MomentBatch:
    """Groups padded to the most queries and windows among them."""
    n_queries = max(len(chosen) for _, chosen in groups)
    windows = [
        example.windows.reshape(len(example.queries), -1, 2)[list(chosen)] for example, chosen in groups
    ]
    gt_windows = np.zeros((len(groups), n_queries, max(rows.shape[1] for rows in windows), 2), np.float32)
    queries = np.zeros((len(groups), n_queries, groups[0][0].queries.shape[1]), np.float32)
    is_query = np.zeros((len(groups), n_queries), np.bool_)
    for row, (example, chosen) in enumerate(groups):
        queries[row, : len(chosen)] = example.queries[list(chosen)]
        gt_windows[row, : len(chosen), : windows[row].shape[1]] = windows[row]
        is_query[row, : len(chosen)] = True
    arrays = (np.stack([example.video for example, _ in groups]), queries, is_query, gt_windows)
    return MomentBatch(*(torch.from_numpy(array).to(device) for array in arrays))


class DETRBatch(NamedTuple):
    """Several examples, on a device."""

    inputs: DETRInputs
    gt_windows: Tensor
    """[B, n, 2] start and end as fractions of the video, padded with empty ones"""
    is_window: Tensor
    """[B, n] bool"""
    saliency: Tensor
    """[B, T] the annotators' scores of each clip, added up; padded with zeros"""
    negative: DETRInputs
    """The negative pair of each example: a video and a query that does not describe it."""
    has_negative: Tensor
    """[B] bool; an example alone in its batch may have none, and is then its own negative."""


def collate_pairs(examples: Sequence[HighlightExample], device: torch.device) -> DETRBatch:
    """Return examples padded to the most clips, words and windows among them."""
    pairs = [Pair(example.video, example.words) for example in examples]
    negative = [
        example.negative or Pair(example.video, other.words)
        for example, other in zip(examples, [*pairs[1:], pairs[0]], strict=True)
    ]
    has_negative = [example.negative is not None or len(examples) > 1 for example in examples]
    gt_windows, is_window = pad_rows([example.windows.reshape(-1, 2) for example in examples], device)
    saliency, _ = pad_rows([example.saliency[:, None] for example in examples], device)
    return DETRBatch(
        inputs=_inputs(pairs, device),
        gt_windows=gt_windows,
        is_window=is_window,
        saliency=saliency[..., 0],
        negative=_inputs(negative, device),
        has_negative=torch.tensor(has_negative, device=device),
    )


def _inputs(pairs: Sequence[Pair], device: torch.device) -> DETRInputs:
    return pad_inputs([pair.video for pair in pairs], [pair.words for pair in pairs], device)


Model = TypeVar("Model", bound=nn.Module)
Example = TypeVar("Example", MomentExample, HighlightExample)


@dataclass(frozen=True, eq=False)
class MomentRecipe(Generic[Model, Example, Batch]):
    """A model that finds moments, and how it is trained and validated."""

    name: str
    """The model's, as its checkpoints have it."""
    config: Any
    """A dataclass, with the dimensions of the examples."""
    build: Callable[[], Model]
    """Make the model, its weights drawn by PyTorch's generator."""
    batches: Callable[[Sequence[Example], torch.device], Mapping[str, Batch]]
    """Make the batches of an epoch, in an order drawn by PyTorch's generator."""
    loss: Callable[[Model, Batch], Tensor]
    score: Callable[[Model, Sequence[Example]], float]
    """The measure of validation, higher is better."""
    monitor: str
    """Its name in checkpoints."""
    betas: tuple[float, float] = (0.9, 0.999)
    """AdamW's betas."""


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
        optimizer=torch.optim.AdamW(
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
    """Return the sizes that all examples share, which `sentence` describes with a `{}` for each.

    Raises UsageError where there is no training example, or two differ.
    """
    if not examples:
        raise UsageError("no video to train on")
    first = sizes(examples[0])
    for example in (*examples, *validation):
        if sizes(example) != first:
            texts = [sentence.format(*size) for size in (first, sizes(example))]
            raise UsageError(f"{examples[0].name} has {texts[0]}, {example.name} {texts[1]}")
    return first


def fit_config(data: MomentData[MomentExample], settings: MRNetSettings) -> MRNetConfig:
    """Return the model's sizes for the clips and queries of the data; errors as `check_sizes`."""
    clips, dim_video, dim_query = check_sizes(
        data.examples(1),
        data.validation,
        lambda example: (*example.video.shape, example.queries.shape[1]),
        "{} clips of {} numbers and queries of {}",
    )
    return replace(settings.model, clips=clips, dim_video=dim_video, dim_query=dim_query)


def training_batches(
    examples: Sequence[MomentExample], device: torch.device, settings: MRNetSettings
) -> Batches[Group, MomentBatch]:
    """For training: videos with some of their queries each."""
    groups = group_queries(examples, settings.queries_per_video)
    return Batches(groups, settings.batch_size, collate_groups, device)


def validation_batches(
    examples: Sequence[MomentExample], model: nn.Module, batch_size: int
) -> Batches[Group, MomentBatch]:
    """For validation, where the model is: each query comes alone."""
    return Batches(split_queries(examples), batch_size, collate_groups, next(model.parameters()).device)
