"""A causal MRNet: the probability that a query is true now, from the clips so far, with constant memory.

The blocks of MRNet (Hu et al., Eq. 9) in the form that can be read clip by clip: clips alone, so that any
number of queries share them; decay backwards in time; and RetNet's gate in place of the softmax, which needs
all clips at once. Without a softmax Eq. A3 is exact: `step` gives what `forward` gives. In place of the map
of proposals each clip has a score for each query, beside evidence that needs no training.
docs/algorithms/mrnet.md has the measurements.
"""

from typing import NamedTuple

from torch import Tensor, nn
from torch.nn.functional import layer_norm, silu

from vidsum.models.attention.heads import input_projection, join_heads, split_heads
from vidsum.models.attention.retention import chunkwise_retention, recurrent_retention, turn_of
from vidsum.models.configs import CausalConfig


class CausalState(NamedTuple):
    """What is kept of the past: it does not grow."""

    blocks: tuple[Tensor | None, ...]
    """Of each block, [1, h, d_k / 2, d_k] complex."""


class CausalBlock(nn.Module):
    """Eq. 9 with retention that looks back alone."""

    turn: Tensor

    def __init__(self, config: CausalConfig) -> None:
        super().__init__()
        self.config, d = config, config.d
        self.projections = nn.Linear(d, 3 * d, bias=False)
        self.gate = nn.Linear(d, d, bias=False)
        self.out = nn.Linear(d, d)
        self.feed_forward = nn.Sequential(nn.Linear(d, config.d_ff), nn.GELU(), nn.Linear(config.d_ff, d))
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(2))
        self.dropout = nn.Dropout(config.dropout)
        self.register_buffer("turn", turn_of(d // config.heads), persistent=False)

    def forward(self, x: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor]:
        """[B, T, d] to the same, and the state after the last clip."""
        normed = self.norms[0](x)
        q, k, v = (split_heads(part, self.config.heads) for part in self.projections(normed).chunk(3, dim=2))
        form = recurrent_retention if x.shape[1] == 1 else chunkwise_retention
        scaled = q * (q.shape[3] ** -0.5)
        retained, state = form(scaled, k, v, self.config.gamma, self.turn, state)
        retained = join_heads(layer_norm(retained, retained.shape[3:]))
        x = x + self.dropout(self.out(silu(self.gate(normed)) * retained))
        return x + self.dropout(self.feed_forward(self.norms[1](x))), state


class CausalMRNet(nn.Module):
    """The whole model."""

    def __init__(self, config: CausalConfig) -> None:
        super().__init__()
        self.config, d = config, config.d
        self.clips = input_projection(config.dim_video, d, config.dropout_in)
        self.queries = nn.Linear(config.dim_query, d)
        self.blocks = nn.ModuleList(CausalBlock(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(d)
        self.match = nn.Linear(d, d)
        self.evidence = nn.Sequential(
            nn.Linear(N_EVIDENCE, config.d_evidence), nn.ReLU(), nn.Linear(config.d_evidence, 1)
        )
        for layer in (self.match, self.evidence[2]):  # it begins as the evidence that it is given
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, clips: Tensor, queries: Tensor, evidence: Tensor) -> Tensor:
        """[B, M, T] what is added to the logit that a query is true, at each clip.

        Args:
            clips: [B, T, Dv]
            queries: [B, M, Dq]
            evidence: [B, M, T, N_EVIDENCE], see `vidsum.grounding.live.running`.
        """
        tokens, _ = self.tokens(clips, None)
        return self.scores(tokens, queries, evidence)

    def tokens(self, clips: Tensor, state: CausalState | None) -> tuple[Tensor, CausalState]:
        """[B, T, d] of the next clips [B, T, Dv], and the state after them."""
        x, after = self.clips(clips), []
        before = state.blocks if state else (None,) * len(self.blocks)
        for block, own in zip(self.blocks, before, strict=True):
            x, own = block(x, own)
            after.append(own)
        return self.norm(x), CausalState(tuple(after))

    def scores(self, tokens: Tensor, queries: Tensor, evidence: Tensor) -> Tensor:
        """[B, M, T] of tokens [B, T, d]; see `forward`."""
        matched = self.queries(queries) @ self.match(tokens).mT / self.config.d**0.5
        scored: Tensor = matched + self.evidence(evidence)[..., 0]
        return scored


N_EVIDENCE = 4
"""Numbers of evidence at each clip."""
