"""The two families of trained models for moments, MRNet and DETR: their inputs and outputs for one window."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch

from vidsum.grounding.windows import count_clips
from vidsum.models.detr import pad_inputs, start_end
from vidsum.models.detr_models import DETRModel
from vidsum.models.mrnet import MRNet, match_scores
from vidsum.types import FloatArray, TimeArray


class WindowOutput(NamedTuple):
    """A model's output for one window and one query: N spans, t clips."""

    scores: FloatArray  # [N] in [0, 1], the same in every window and video
    spans: FloatArray | None = None  # [N, 2] fractions of the window; None for the fixed proposals
    saliency: FloatArray | None = None  # [t]


@dataclass(frozen=True, eq=False)
class MRNetPredictor:
    """MRNet: scores for the spans of every start and end clip, by one vector of a query."""

    model: MRNet
    in_bf16: bool = False
    batch_size = 16  # with the paper's head this takes about 1 GB
    max_words = None  # the whole query is one vector
    n_endpoints = 0

    @cached_property
    def proposals(self) -> TimeArray:
        """[N, 2] start and end of the spans, as fractions of a window."""
        valid = torch.nonzero(self.model.valid).cpu().numpy()
        return np.asarray((valid + np.array([0, 1])) / self.model.config.clips)

    def n_clips(self, n_rows: int, step_s: float, clip_s: float) -> int:
        """Return the number of clips that the model reads of a window, which is always the same."""
        return self.model.config.clips * self.model.config.pool

    @torch.inference_mode()
    def predict(self, clips: Sequence[FloatArray], queries: Sequence[FloatArray]) -> list[WindowOutput]:
        """Return the outputs for B pairs of a window's clips [t, Dv] and a query [1, Dq]."""
        device = next(self.model.parameters()).device
        video, query = (torch.from_numpy(np.stack(rows)).to(device) for rows in (clips, queries))
        with torch.autocast(device.type, torch.bfloat16, enabled=self.in_bf16):
            scores = match_scores(self.model(video, query))[:, 0, self.model.valid]
        return [WindowOutput(row) for row in scores.float().cpu().numpy()]


@dataclass(frozen=True, eq=False)
class DETRPredictor:
    """Models of the DETR family: spans that the decoder predicts from the words of a query, and saliency."""

    model: DETRModel
    batch_size = 32
    proposals = None
    n_endpoints = 2  # numbers that `with_endpoints` adds to each clip

    @property
    def max_words(self) -> int:
        return self.model.config.words

    def n_clips(self, n_rows: int, step_s: float, clip_s: float) -> int:
        """Return the number of clips that the model reads of a window."""
        return count_clips(n_rows, step_s, clip_s, self.model.config.clips)

    @torch.inference_mode()
    def predict(self, clips: Sequence[FloatArray], queries: Sequence[FloatArray]) -> list[WindowOutput]:
        """Return the outputs for B pairs of a window's clips [t, Dv] and a query [W, Dq]."""
        output = self.model(*pad_inputs(clips, queries, next(self.model.parameters()).device))
        scores = output.logits[-1].float().softmax(-1)[..., 0].cpu().numpy()
        spans = start_end(output.spans[-1].float()).cpu().numpy()
        saliency = output.saliency.float().cpu().numpy()
        return [
            WindowOutput(scores[number], spans[number], saliency[number, : len(rows)])
            for number, rows in enumerate(clips)
        ]
