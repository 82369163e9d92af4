"""mrnet-live: MRNet's retention as a recurrence, with a score for each clip as it comes.

Hu et al., "Maskable Retentive Network for Video Moment Retrieval", Eq. 3 and A1-A4. Without softmax and
with decay in one direction, retention needs a state of fixed size in place of all clips before. The published
model cannot run so: its softmax, sparse mask and proposal map need the whole video. docs/algorithms/mrnet.md
lists what was kept.
"""

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from vidsum.models.attention.heads import input_projection
from vidsum.models.configs import MRNetConfig
from vidsum.models.mrnet import MRTBlock, make_blocks, run_blocks

NAME = "mrnet-live"  # in checkpoints
State = list[Tensor | None]  # per block, [B, h, d_k / 2, d_k] complex; None before the first clip


class LiveMRNet(nn.Module):
    """The whole model; its config has the switches of `HEADS["live"]`."""

    def __init__(self, config: MRNetConfig) -> None:
        super().__init__()
        self.config = config
        self.video_input = input_projection(config.dim_video, config.d, config.dropout_in)
        self.query_input = input_projection(config.dim_query, config.d, config.dropout_in)
        self.blocks = make_blocks(config)
        self.norm = nn.LayerNorm(config.d)
        self.clip_score, self.query_score = (nn.Linear(config.d, config.dim_joint) for _ in range(2))
        self.offset = nn.Parameter(torch.zeros(1))

    def forward(self, video: Tensor, queries: Tensor) -> Tensor:
        """Return [B, M, T] logits of whether each query is true of each clip, all clips at once.

        Args:
            video: [B, T, dim_video]
            queries: [B, M, dim_query], each read alone.
        """
        x = run_blocks(self.blocks, self.video_input(video), 0, None)
        return self._logits(x, self.read(queries))

    def read(self, queries: Tensor) -> Tensor:
        """Return [B, M, dim_joint] of queries: they attend to no clip (Table A2), and are read once."""
        tokens = self.query_input(queries).flatten(0, 1)[:, None]
        tokens = self.norm(run_blocks(self.blocks, tokens, 1, None))
        return normalize(self.query_score(tokens), dim=2).view(*queries.shape[:2], -1)

    def step(self, clip: Tensor, query: Tensor, state: State) -> tuple[Tensor, State]:
        """Return [B, M] logits of the next clip [B, dim_video], and the state; `query` is from `read`."""
        x, after = self.video_input(clip)[:, None], State()
        for block, before in zip(self.blocks, state, strict=True):
            x, block_state = cast(MRTBlock, block).step(x, before)
            after.append(block_state)
        return self._logits(x, query)[..., 0], after

    def _logits(self, x: Tensor, query: Tensor) -> Tensor:
        """As the IoU score of a proposal: ten times the cosine."""
        clips = normalize(self.clip_score(self.norm(x)), dim=2)
        logits: Tensor = 10 * query @ clips.mT + self.offset
        return logits
