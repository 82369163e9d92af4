"""Videos and queries of any lengths as one batch that a DETR model of moments takes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from vidsum.types import FloatArray


class Inputs(NamedTuple):
    """Videos with one query each, on a device: what a model is called with, in this order."""

    video: Tensor
    """[B, T, Dv], padded with zeros"""
    is_clip: Tensor
    """[B, T] bool"""
    words: Tensor
    """[B, W, Dq], padded with zeros"""
    is_word: Tensor
    """[B, W] bool"""


def inputs_of(videos: Sequence[FloatArray], words: Sequence[FloatArray], device: torch.device) -> Inputs:
    """A batch of B pairs of a video and a query.

    Args:
        videos: a [T, Dv] for each, their endpoints among the numbers of a clip.
        words: a [W, Dq] for each.
        device: where the batch goes.
    """
    return Inputs(*padded(videos, device), *padded(words, device))


def padded(rows: Sequence[FloatArray], device: torch.device) -> tuple[Tensor, Tensor]:
    """[B, N, D] of arrays [n, D], filled up with zeros; and [B, N], which rows are no filling."""
    longest = max(len(one) for one in rows)
    filled = np.zeros((len(rows), longest, rows[0].shape[1]), np.float32)
    for place, one in zip(filled, rows, strict=True):
        place[: len(one)] = one
    is_row = np.arange(longest) < np.array([len(one) for one in rows])[:, None]
    return torch.from_numpy(filled).to(device), torch.from_numpy(is_row).to(device)
