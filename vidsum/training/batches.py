"""Examples of highlights as the DETR models take them: padded batches, each beside queries that are false."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from vidsum.datasets.highlight_examples import HighlightExample, Pair
from vidsum.models.detr_inputs import Inputs, inputs_of, padded


class DETRBatch(NamedTuple):
    """Several examples, on a device."""

    inputs: Inputs
    windows: Tensor
    """[B, n, 2] start and end as shares of the video; padded with empty ones"""
    is_window: Tensor
    """[B, n] bool"""
    saliency: Tensor
    """[B, T] what annotators gave the clips, added up; padded with zeros"""
    against: Inputs
    """Of each example a video and a query that is not true of it."""
    has_against: Tensor
    """[B] bool; an example alone in its batch may have none, and then stands beside itself."""


class DETRBatches(Mapping[str, DETRBatch]):
    """Batches of examples in some order, each made when it is asked for; named by their number."""

    def __init__(
        self,
        examples: Sequence[HighlightExample],
        order: Sequence[int],
        batch_size: int,
        device: torch.device,
    ) -> None:
        self._examples = examples
        self._device = device
        parts = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
        self._parts = {f"batch {number}": part for number, part in enumerate(parts, 1)}

    def __getitem__(self, name: str) -> DETRBatch:
        return collate([self._examples[number] for number in self._parts[name]], self._device)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def shuffled(examples: Sequence[HighlightExample], batch_size: int, device: torch.device) -> DETRBatches:
    """Batches of all examples in an order that is drawn by PyTorch's generator."""
    return DETRBatches(examples, torch.randperm(len(examples)).tolist(), batch_size, device)


def in_order(examples: Sequence[HighlightExample], batch_size: int, device: torch.device) -> DETRBatches:
    """Batches of all examples as they come."""
    return DETRBatches(examples, range(len(examples)), batch_size, device)


def collate(examples: Sequence[HighlightExample], device: torch.device) -> DETRBatch:
    """Examples padded to the most clips, words and windows among them."""
    own = [Pair(example.video, example.words) for example in examples]
    next_words = [*own[1:], own[0]]
    against = [
        example.against or Pair(example.video, other.words)
        for example, other in zip(examples, next_words, strict=True)
    ]
    has_against = [example.against is not None or len(examples) > 1 for example in examples]
    windows, is_window = padded([example.windows.reshape(-1, 2) for example in examples], device)
    saliency, _ = padded([example.saliency[:, None] for example in examples], device)
    return DETRBatch(
        inputs=_inputs(own, device),
        windows=windows,
        is_window=is_window,
        saliency=saliency[..., 0],
        against=_inputs(against, device),
        has_against=torch.tensor(has_against, device=device),
    )


def _inputs(pairs: Sequence[Pair], device: torch.device) -> Inputs:
    return inputs_of([pair.video for pair in pairs], [pair.words for pair in pairs], device)
