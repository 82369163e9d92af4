"""Moment examples as MRNet takes them: cut into groups of queries, shuffled and padded into batches."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from vidsum.datasets.examples import MomentExample


class MomentBatch(NamedTuple):
    """Several videos with their queries, on a device."""

    video: Tensor
    """[B, T, Dv]"""
    queries: Tensor
    """[B, M, Dq], padded with zeros"""
    is_query: Tensor
    """[B, M] bool"""
    windows: Tensor
    """[B, M, W, 2] as shares of the video; padded with empty ones"""


class Group(NamedTuple):
    """Queries of one video that go through the model together."""

    example: int
    """Which of the examples."""
    queries: tuple[int, ...]


class Batches(Mapping[str, MomentBatch]):
    """Batches of groups, each made when it is asked for; named by the first video in it and their number."""

    def __init__(
        self,
        examples: Sequence[MomentExample],
        groups: Sequence[Group],
        batch_size: int,
        device: torch.device,
    ) -> None:
        self._examples = examples
        self._device = device
        parts = [groups[start : start + batch_size] for start in range(0, len(groups), batch_size)]
        self._groups = {f"batch {number}": part for number, part in enumerate(parts, 1)}

    def __getitem__(self, name: str) -> MomentBatch:
        parts = [(self._examples[group.example], list(group.queries)) for group in self._groups[name]]
        return collate(parts, self._device)

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)


def grouped(n_queries: Sequence[int], together: int | None) -> list[Group]:
    """Queries of each example in groups of at most so many, drawn and shuffled by PyTorch's generator.

    Annotations are often in order of time. A model that is shown that order learns where moments lie from it,
    and is lost when each query is asked by itself: so queries are shuffled in any mode.

    Args:
        n_queries: of each example.
        together: queries of a group: 1 is the single-query mode, None (all of a video) the multi-query mode.
    """
    groups = []
    for number, count in enumerate(n_queries):
        order = torch.randperm(count).tolist()
        size = together or count
        groups += [Group(number, tuple(order[start : start + size])) for start in range(0, count, size)]
    return [groups[place] for place in torch.randperm(len(groups)).tolist()]


def one_by_one(examples: Sequence[MomentExample]) -> list[Group]:
    """Each query by itself, in order: how the paper tests, whichever way it trains."""
    return [
        Group(number, (query,))
        for number, example in enumerate(examples)
        for query in range(len(example.queries))
    ]


def collate(parts: Sequence[tuple[MomentExample, list[int]]], device: torch.device) -> MomentBatch:
    """Videos and the queries chosen of each, padded to the most queries and windows among them."""
    n_queries = max(len(chosen) for _, chosen in parts)
    windows = [example.windows.reshape(len(example.queries), -1, 2)[chosen] for example, chosen in parts]
    padded_windows = np.zeros((len(parts), n_queries, max(one.shape[1] for one in windows), 2), np.float32)
    padded_queries = np.zeros((len(parts), n_queries, parts[0][0].queries.shape[1]), np.float32)
    is_query = np.zeros((len(parts), n_queries), np.bool_)
    for row, (example, chosen) in enumerate(parts):
        padded_queries[row, : len(chosen)] = example.queries[chosen]
        padded_windows[row, : len(chosen), : windows[row].shape[1]] = windows[row]
        is_query[row, : len(chosen)] = True
    video = np.stack([example.video for example, _ in parts])
    arrays = (video, padded_queries, is_query, padded_windows)
    return MomentBatch(*(torch.from_numpy(array).to(device) for array in arrays))
