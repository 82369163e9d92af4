"""MRNet: a video and its queries read together by maskable retention, and every stretch of it scored.

Hu et al., "Maskable Retentive Network for Video Moment Retrieval". Equation numbers are the paper's.
docs/algorithms/mrnet.md tells where the paper is silent, what was chosen, and how the public code differs.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize, pad

from vidsum.models.attention.learned_mask import LearnedMask, SoftMask, learned_masks
from vidsum.models.attention.retention import MaskRetention
from vidsum.models.configs import MRNetConfig
from vidsum.models.input_projection import input_projection
from vidsum.models.proposal_map import ProposalMap, pooling_counts


class Scores(NamedTuple):
    """How each query fits each proposal; cells that are not `MRNet.valid` mean nothing."""

    iou: Tensor
    """[B, M, T, T] logits of the IoU head."""
    contrastive: Tensor
    """[B, M, T, T] cosines."""
    proposals: Tensor
    """[B, T, T, d_joint] of length 1, in the space of the contrastive loss."""
    queries: Tensor
    """[B, M, d_joint] of length 1."""
    contrastive_power: float = 0.5
    """Of the model's configuration."""


def match_scores(scores: Scores) -> Tensor:
    """[B, M, T, T] in [0, 1]: the IoU's estimate times a power, the root, of the cosine moved to [0, 1]."""
    fits = ((scores.contrastive + 1) / 2).clamp(min=0)
    return scores.iou.sigmoid() * fits**scores.contrastive_power


class MRNet(nn.Module):
    """The whole model."""

    def __init__(self, config: MRNetConfig) -> None:
        super().__init__()
        self.config = config
        self.video_input, self.query_input = _inputs(config)
        masks = learned_masks(config.mask, config.d, config.clips, config.layers)
        self.blocks = nn.ModuleList(Block(config, mask) for mask in masks)
        self.norm = nn.LayerNorm(config.d)
        narrows = config.dim_map != config.d
        self.to_map = nn.Linear(config.d, config.dim_map) if narrows else nn.Identity()
        counts = config.counts or pooling_counts(config.clips)
        self.map = ProposalMap(
            config.clips, counts, config.dim_map, config.hidden, config.kernel, config.convolutions
        )
        self.proposal_iou, self.proposal_contrastive = (
            nn.Linear(config.hidden, config.dim_joint) for _ in range(2)
        )
        self.query_iou, self.query_contrastive = (nn.Linear(config.d, config.dim_joint) for _ in range(2))

    @property
    def valid(self) -> Tensor:
        """[T, T] bool: (i, j) is a proposal, the stretch from i / T to (j + 1) / T of the window."""
        return self.map.valid

    def forward(self, video: Tensor, queries: Tensor, is_query: Tensor | None = None) -> Scores:
        """Score every proposal of each video for each of its queries; the map is made once for all queries.

        Args:
            video: [B, T, dim_video]; with `pooled` inputs [B, T * pool, dim_video].
            queries: [B, M, dim_query], one embedding each.
            is_query: [B, M] bool, False for padding; all are queries if not given.
        """
        n_queries = queries.shape[1]
        x = torch.cat([self.query_input(queries), self.video_input(video)], dim=1)
        # clips are never padding here: every window is resampled to T of them
        is_key = None if is_query is None else pad(is_query, (0, self.config.clips), value=True)
        mask = None
        for block in self.blocks:
            x, mask = block(x, n_queries, is_key, mask)
        x = self.norm(x)
        tokens, clips = x[:, :n_queries], x[:, n_queries:]
        proposals = self.map(self.to_map(clips).transpose(1, 2)).transpose(1, 2)
        found = normalize(self.proposal_contrastive(proposals), dim=2)
        sought = normalize(self.query_contrastive(tokens), dim=2)
        # the Hadamard product of Sec. 3.3, summed; of vectors of length 1 and times 10, as MMN has it
        of_iou = normalize(self.proposal_iou(proposals), dim=2)
        iou = 10 * normalize(self.query_iou(tokens), dim=2) @ of_iou.transpose(1, 2)
        contrastive = sought @ found.transpose(1, 2)
        on_map = self.map.place(found.transpose(1, 2)).permute(0, 2, 3, 1)
        power = self.config.contrastive_power
        return Scores(self.map.place(iou), self.map.place(contrastive), on_map, sought, power)

    def sparsity_loss(self) -> Tensor:
        """Eq. 6, see the function."""
        return sparsity_loss(self.blocks, self.config.sparsity)


class Block(nn.Module):
    """Eq. 9, an MRT block; the norm before the attention is the public code's, the print has none."""

    def __init__(self, config: MRNetConfig, mask: LearnedMask | None = None) -> None:
        """A block without a learned mask of its own takes that of the block before, if there is one."""
        super().__init__()
        self.mask = mask
        self.retention = MaskRetention(
            config.d,
            config.heads,
            config.clips,
            config.gamma,
            decay=config.decay,
            diagonal=config.diagonal,
            sparse=config.sparse,
            regions=config.regions,
            cross_modal=config.cross_modal,
            nonlinearity=config.nonlinearity,
            positions=config.positions,
            bias=config.bias,
            queries_attend=config.queries_attend,
        )
        self.feed_forward = nn.Sequential(
            nn.Linear(config.d, config.d_ff), nn.GELU(), nn.Linear(config.d_ff, config.d)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(config.d) for _ in range(2))
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Tensor, n_queries: int, is_key: Tensor | None, mask: SoftMask | None = None
    ) -> tuple[Tensor, SoftMask | None]:
        """[B, M + T, d] to the same, and the learned mask that was used, for the blocks after.

        Args:
            x: the queries and then the clips.
            n_queries: M.
            is_key: [B, M + T] bool, False for padding.
            mask: the block before's.
        """
        read = self.norms[0](x)
        mask = self.mask.of_tokens(read, x.shape[1] - n_queries) if self.mask else mask
        x = x + self.dropout(self.retention(read, n_queries, is_key, mask))
        return x + self.dropout(self.feed_forward(self.norms[1](x))), mask


def sparsity_loss(blocks: nn.ModuleList, sparsity: float) -> Tensor:
    """Eq. 6, the mean of the blocks: how far the mean of sigmoid(W_LS) is above alpha / 2, never below 0.

    Its gradient is that of Eq. 6 until the mask is sparse enough (Sec. 4.4.3), and then 0.
    """
    masks = [cast(Block, block).retention.sparse_weights for block in blocks]
    means = [weights.sigmoid().mean() for weights in masks if weights is not None]
    if not means:
        return torch.zeros(())  # a number that any device adds
    return (torch.stack(means) - sparsity / 2).clamp(min=0).mean()


class PooledClips(nn.Module):
    """The public code's input: each feature projected, then the mean of those of a clip."""

    def __init__(self, dim: int, dim_pool: int, pool: int) -> None:
        super().__init__()
        self.projection = nn.Linear(dim, dim_pool)
        self.pool = pool

    def forward(self, video: Tensor) -> Tensor:
        """[B, T * pool, dim] to [B, T, dim_pool]."""
        projected: Tensor = self.projection(video).relu()
        return projected.view(len(video), -1, self.pool, projected.shape[2]).mean(dim=2)


def _inputs(config: MRNetConfig) -> tuple[nn.Module, nn.Module]:
    """What makes tokens of a video's features, and of queries' embeddings.

    Two layers, the same for both modalities; Sec. 3.1.2 says no more than `linearly`.
    """
    d, dropout = config.d, config.dropout_in
    if config.inputs == "projected":
        return input_projection(config.dim_video, d, dropout), input_projection(config.dim_query, d, dropout)
    pooled = PooledClips(config.dim_video, config.dim_pool, config.pool)
    video = nn.Sequential(pooled, input_projection(config.dim_pool, d, dropout))
    return video, nn.Linear(config.dim_query, d)
