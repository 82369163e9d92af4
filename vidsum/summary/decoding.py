"""Decoding a summary from FullTransNet with no labels: step by step, each from the frames chosen before."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from vidsum.models.fulltransnet import DecoderState, FullTransNet
from vidsum.types import FloatArray


@dataclass(frozen=True, eq=False)
class Decoded:
    """A decoded summary."""

    key_frames: tuple[int, ...]
    """Samples in the order in which they were chosen; none twice."""
    steps: FloatArray
    """[L, T] probability of each sample at each step, given those before; the rest to 1 is the end's."""


@dataclass(frozen=True)
class _Beam:
    """One summary so far: its frames, the sum of their log-probabilities, and each step's distribution."""

    key_frames: tuple[int, ...] = ()
    score: float = 0.0
    steps: tuple[Tensor, ...] = ()

    @property
    def mean_score(self) -> float:
        return self.score / max(1, len(self.key_frames))


@torch.inference_mode()
def decode(
    model: FullTransNet, features: Tensor, is_global: Tensor, n_key_frames: int, width: int = 1
) -> Decoded:
    """Choose key frames until there are `n_key_frames`, or the model ends the summary.

    Each step takes the most likely frame that is not chosen yet. A summary ends before a step at which the
    end is more likely than all frames together. With `width` beams the best summaries so far go on side by
    side, and the one with the highest mean log-probability of a frame is taken.

    Args:
        model: in `eval` mode.
        features: [T, D]
        is_global: [T] bool, see `vidsum.models.fulltransnet.global_tokens`.
        n_key_frames: the budget, in samples; at least 1, at most T.
        width: beams; 1 is greedy.
    """
    state = model.encode(features[None], is_global[None])
    with _one_thread():
        best = _best_beam(model, state, n_key_frames, width)
    return Decoded(best.key_frames, torch.stack(best.steps).float().cpu().numpy())


@contextmanager
def _one_thread() -> Iterator[None]:
    """On the CPU a step is so small that a second thread gains little, and much time is lost waiting for it
    where other processes keep the cores busy."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)


def _best_beam(model: FullTransNet, state: DecoderState, n_key_frames: int, width: int) -> _Beam:
    """The summary of `decode`, from the state before the first step."""
    beams, ended = [_Beam()], list[_Beam]()
    last: Tensor | None = None
    for _ in range(n_key_frames):
        log_probabilities, state = model.step(state, last)
        going_on, ended_now = _extend(beams, log_probabilities, width)
        ended += ended_now
        if not going_on:
            break
        parents = [parent for parent, _ in going_on]
        if parents != list(range(len(beams))):
            state = state.rows(torch.tensor(parents, device=log_probabilities.device))
        beams = [beam for _, beam in going_on]
        last = torch.tensor([beam.key_frames[-1] for beam in beams], device=log_probabilities.device)
    else:
        ended += beams
    return max(ended, key=lambda beam: beam.mean_score)


def _extend(
    beams: list[_Beam], log_probabilities: Tensor, width: int
) -> tuple[list[tuple[int, _Beam]], list[_Beam]]:
    """The best `width` ways to go on, each with its parent's number, and the beams that end here.

    `log_probabilities` are [W, T + 1] for W beams, the last column that of the end.
    """
    going_on: list[tuple[int, _Beam]] = []
    ended = []
    for number, (beam, row) in enumerate(zip(beams, log_probabilities, strict=True)):
        steps = (*beam.steps, row[:-1].exp())
        if row[-1] > math.log(0.5):
            ended.append(_Beam(beam.key_frames, beam.score, steps))
            continue
        for frame, score in _most_likely(row[:-1], beam.key_frames, width):
            going_on.append((number, _Beam((*beam.key_frames, frame), beam.score + score, steps)))
    # all have the same number of frames: their sums can be compared
    best = sorted(going_on, key=lambda way: -way[1].score)[:width]
    return sorted(best, key=lambda way: way[0]), ended


def _most_likely(row: Tensor, chosen: tuple[int, ...], width: int) -> list[tuple[int, float]]:
    """(frame, log-probability) of the `width` most likely frames that are not chosen yet."""
    is_chosen = torch.tensor(chosen, dtype=torch.int64, device=row.device)
    scores, frames = row.index_fill(0, is_chosen, -math.inf).topk(min(width, len(row) - len(chosen)))
    return list(zip(frames.tolist(), scores.tolist(), strict=True))
