"""Training examples as batches of tensors: MRNet's groups of queries, and the DETR models' pairs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from vidsum.datasets.examples import HighlightExample, MomentExample, Pair
from vidsum.models.detr import Inputs, inputs_of, padded

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


def shuffled(items: Sequence[Item]) -> list[Item]:
    """The items in an order drawn by PyTorch's generator."""
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


def grouped(examples: Sequence[MomentExample], size: int | None) -> list[Group]:
    """Queries of each video in groups of at most `size`, drawn and shuffled by PyTorch's generator.

    Annotations are often in order of time. A model that sees that order learns where moments lie from it, and
    fails when each query comes alone: so queries are shuffled in any mode.

    A size of 1 is the single-query mode, None (all queries of a video) the multi-query mode.
    """
    groups: list[Group] = []
    for example in examples:
        order = torch.randperm(len(example.queries)).tolist()
        step = size or len(order)
        groups += [(example, order[start : start + step]) for start in range(0, len(order), step)]
    return shuffled(groups)


def one_by_one(examples: Sequence[MomentExample]) -> list[Group]:
    """Each query alone, in order, as the paper tests, whichever way it trains."""
    return [(example, (query,)) for example in examples for query in range(len(example.queries))]


def collate_groups(groups: Sequence[Group], device: torch.device) -> MomentBatch:
    """Groups padded to the most queries and windows among them."""
    n_queries = max(len(chosen) for _, chosen in groups)
    windows = [
        example.windows.reshape(len(example.queries), -1, 2)[list(chosen)] for example, chosen in groups
    ]
    gt_windows = np.zeros((len(groups), n_queries, max(each.shape[1] for each in windows), 2), np.float32)
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

    inputs: Inputs
    gt_windows: Tensor
    """[B, n, 2] start and end as fractions of the video, padded with empty ones"""
    is_window: Tensor
    """[B, n] bool"""
    saliency: Tensor
    """[B, T] the annotators' scores of each clip, added up; padded with zeros"""
    negative: Inputs
    """The negative pair of each example: a video and a query that does not describe it."""
    has_negative: Tensor
    """[B] bool; an example alone in its batch may have none, and then stands beside itself."""


def collate_pairs(examples: Sequence[HighlightExample], device: torch.device) -> DETRBatch:
    """Examples padded to the most clips, words and windows among them."""
    own = [Pair(example.video, example.words) for example in examples]
    negative = [
        example.negative or Pair(example.video, other.words)
        for example, other in zip(examples, [*own[1:], own[0]], strict=True)
    ]
    has_negative = [example.negative is not None or len(examples) > 1 for example in examples]
    gt_windows, is_window = padded([example.windows.reshape(-1, 2) for example in examples], device)
    saliency, _ = padded([example.saliency[:, None] for example in examples], device)
    return DETRBatch(
        inputs=_inputs(own, device),
        gt_windows=gt_windows,
        is_window=is_window,
        saliency=saliency[..., 0],
        negative=_inputs(negative, device),
        has_negative=torch.tensor(has_negative, device=device),
    )


def _inputs(pairs: Sequence[Pair], device: torch.device) -> Inputs:
    return inputs_of([pair.video for pair in pairs], [pair.words for pair in pairs], device)
