"""MRNet: a video and its queries read together by maskable retention, and every segment of it scored.

Hu et al., "Maskable Retentive Network for Video Moment Retrieval". Equation numbers are the paper's.
docs/algorithms/mrnet.md lists where the paper is silent, what was chosen, and how the public code differs.

In its map of proposals, cell (i, j) is clips i to j (2D-TAN, Zhang et al. 2020; MMN, Wang et al. 2022). Short
proposals are dense and long ones strided, so of the T x T cells only some exist; the convolutions on the map
weigh each cell by how many of those under the kernel do.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, normalize, pad

from vidsum.models.attention.heads import input_projection
from vidsum.models.attention.learned_mask import Mask, SoftMask, learned_masks
from vidsum.models.attention.retention import MaskRetention
from vidsum.models.configs import MRNetConfig

_DENSE, _STRIDED = 15, 8  # diagonals with every start, then at each doubled stride


def pooling_counts(clips: int) -> tuple[int, ...]:
    """Return the number of diagonals at stride 1, 2, 4 ...: dense up to 16 clips, then eight at each stride.

    The published ones are (15,) for T = 16, (15, 8, 8) for 64 and (15, 8, 8, 8) for 128.
    """
    counts = [min(_DENSE, clips - 1)]
    reach, stride = counts[0], 2
    while reach + stride < clips:
        counts.append(min(_STRIDED, (clips - 1 - reach) // stride))
        reach, stride = reach + counts[-1] * stride, stride * 2
    return tuple(counts)


def proposals(clips: int, counts: tuple[int, ...]) -> Tensor:
    """Return [N, 2] int64: first and last clip of each proposal, by diagonals as `pool_proposals`."""
    offset, stride = 0, 1
    diagonals = [(0, 1)]
    for count in counts:
        for _ in range(count):
            offset += stride
            diagonals.append((offset, stride))
        stride *= 2
    firsts = [torch.arange(0, clips - offset, stride) for offset, stride in diagonals]
    pairs = zip(firsts, diagonals, strict=True)
    return torch.cat([torch.stack([first, first + offset], dim=1) for first, (offset, _) in pairs])


def pool_proposals(x: Tensor, counts: tuple[int, ...]) -> Tensor:
    """Return [B, d, N] maximum over the clips [B, d, T] of each of the `proposals`; see `pooling_counts`."""
    levels = [x]
    for level, count in enumerate(counts):
        for step in range(count):
            if level and not step:
                # the stride doubles; the window between these two lies within them
                x = torch.maximum(x[..., :-2:2], x[..., 2::2])
            else:
                x = torch.maximum(x[..., :-1], x[..., 1:])
            levels.append(x)
    return torch.cat(levels, dim=2)


class ProposalMap(nn.Module):
    """Max-pooled proposals on the map, and the stacked masked convolutions over it.

    The first convolution pads for all, as published: cells beyond the map's edge take part in between.
    """

    order: Tensor  # [N] which of `proposals` is the n-th in the rows of the map
    cells: Tensor  # [N] the position of the n-th in the flattened map
    valid: Tensor  # [T, T] bool, the proposals that exist

    def __init__(
        self, clips: int, counts: tuple[int, ...], dim: int, hidden: int, kernel: int, layers: int
    ) -> None:
        super().__init__()
        self.clips, self.counts, self.dim = clips, counts, dim
        pairs = proposals(clips, counts)
        valid = torch.zeros(clips, clips, dtype=torch.bool)
        valid[pairs[:, 0], pairs[:, 1]] = True
        cells, order = (pairs[:, 0] * clips + pairs[:, 1]).sort()
        self.register_buffer("order", order, persistent=False)
        self.register_buffer("cells", cells, persistent=False)
        self.register_buffer("valid", valid, persistent=False)
        widths = [dim] + [hidden] * layers
        paddings = [(kernel - 1) * layers // 2] + [0] * (layers - 1)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(before, after, kernel, padding=padding)
            for before, after, padding in zip(widths[:-1], widths[1:], paddings, strict=True)
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(hidden) for _ in range(layers))
        for number, weight in enumerate(cell_weights(valid, kernel, paddings)):
            self.register_buffer(f"weight_{number}", weight, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, N, hidden] of clips [B, d, T]: each proposal, as in `valid`, with its neighbours."""
        pooled = pool_proposals(x, self.counts).index_select(2, self.order)
        # a cell's numbers lie side by side: convolutions are quicker so, and cells are copied whole
        out = self.place(pooled.mT).permute(0, 3, 1, 2)
        for number, (convolution, norm) in enumerate(zip(self.convolutions, self.norms, strict=True)):
            out = norm(convolution(out)).relu()
            out = out * self.get_buffer(f"weight_{number}").to(out.dtype)
        return out.permute(0, 2, 3, 1).flatten(1, 2).index_select(1, self.cells)

    def place(self, values: Tensor) -> Tensor:
        """Return maps [B, T, T, C] with the numbers [B, N, C] of each proposal in its cell.

        Cells without a proposal are 0.
        """
        n_videos, _, n_numbers = values.shape
        empty = values.new_zeros(n_videos, self.clips * self.clips, n_numbers)
        filled = empty.index_copy(1, self.cells, values)
        return filled.view(n_videos, self.clips, self.clips, n_numbers)


def cell_weights(valid: Tensor, kernel: int, paddings: list[int]) -> list[Tensor]:
    """Return the weights of the cells after each convolution, which undo that kernels at edges sum less.

    A weight is 1 / the number of existing cells under the kernel, and 0 without any. A cell that a
    convolution reached exists for the next one (the authors' and MMN's reading).

    Args:
        valid: [T, T] bool, the cells with a proposal.
        kernel: side of the kernel in cells.
        paddings: number of cells around the map, for each convolution.
    """
    ones = torch.ones(1, 1, kernel, kernel)
    exists = valid[None, None].to(ones)
    weights = []
    for padding in paddings:
        count = conv2d(exists, ones, padding=padding).round()
        exists = (count > 0).to(ones)
        weights.append((exists / count.clamp(min=1))[0, 0])
    return weights


class Scores(NamedTuple):
    """How well each query fits each proposal; cells that are not `MRNet.valid` mean nothing."""

    iou: Tensor  # [B, M, T, T] logits of the IoU head
    contrastive: Tensor  # [B, M, T, T] cosines
    proposals: Tensor  # [B, N, d_joint] of length 1, those that are valid
    queries: Tensor  # [B, M, d_joint] of length 1
    contrastive_power: float = 0.5  # see `MRNetConfig`


def match_scores(scores: Scores) -> Tensor:
    """Return [B, M, T, T] in [0, 1]: the IoU times a power (the root) of the cosine moved to [0, 1]."""
    fits = ((scores.contrastive + 1) / 2).clamp(min=0)
    return scores.iou.sigmoid() * fits**scores.contrastive_power


class MRNet(nn.Module):
    """The whole model; [B, T, dim_video] clips and [B, M, dim_query] queries in, scores of proposals out."""

    def __init__(self, config: MRNetConfig) -> None:
        super().__init__()
        self.config = config
        self.video_input, self.query_input = _inputs(config)
        self.blocks = make_blocks(config)
        self.norm = nn.LayerNorm(config.d)
        narrows = config.dim_map != config.d
        self.to_map = nn.Linear(config.d, config.dim_map) if narrows else nn.Identity()
        counts = config.counts or pooling_counts(config.clips)
        self.map = ProposalMap(
            config.clips, counts, config.dim_map, config.hidden, config.kernel, config.convolutions
        )
        d, hidden, joint = config.d, config.hidden, config.dim_joint
        self.proposal_iou, self.proposal_contrastive = (nn.Linear(hidden, joint) for _ in range(2))
        self.query_iou, self.query_contrastive = (nn.Linear(d, joint) for _ in range(2))

    @property
    def valid(self) -> Tensor:
        """[T, T] bool: (i, j) is a proposal, the segment from i / T to (j + 1) / T of the window."""
        return self.map.valid

    def forward(self, video: Tensor, queries: Tensor, is_query: Tensor | None = None) -> Scores:
        """Score every proposal of each video for each of its queries, which share one map.

        Args:
            video: [B, T, dim_video]; with `pooled` inputs [B, T * pool, dim_video].
            queries: [B, M, dim_query], one embedding each.
            is_query: [B, M] bool, False for padding; all are queries if not given.
        """
        n_queries = queries.shape[1]
        x = torch.cat([self.query_input(queries), self.video_input(video)], dim=1)
        # clips are never padding here: every window is resampled to T of them
        is_key = None if is_query is None else pad(is_query, (0, self.config.clips), value=True)
        x = self.norm(run_blocks(self.blocks, x, n_queries, is_key))
        tokens, clips = x[:, :n_queries], x[:, n_queries:]
        proposals = self.map(self.to_map(clips).mT)
        # the Hadamard product of Sec. 3.3, summed; of vectors of length 1 and times 10, as MMN has it
        iou_vectors = normalize(self.proposal_iou(proposals), dim=2)
        iou = 10 * normalize(self.query_iou(tokens), dim=2) @ iou_vectors.mT
        vectors = normalize(self.proposal_contrastive(proposals), dim=2)
        queries = normalize(self.query_contrastive(tokens), dim=2)
        iou_map, contrastive_map = (
            self.map.place(scores.mT).permute(0, 3, 1, 2) for scores in (iou, queries @ vectors.mT)
        )
        return Scores(iou_map, contrastive_map, vectors, queries, self.config.contrastive_power)

    def sparsity_loss(self) -> Tensor:
        """Eq. 6, see `sparsity_loss`."""
        return sparsity_loss(self.blocks, self.config.sparsity)


class MRTBlock(nn.Module):
    """Eq. 9, an MRT block; the norm before the attention is the public code's, the paper has none."""

    def __init__(self, config: MRNetConfig, mask: Mask | None) -> None:
        super().__init__()
        self.mask = mask  # makes the learned mask of this block
        self.retention = MaskRetention(config)
        inner, outer = nn.Linear(config.d, config.d_ff), nn.Linear(config.d_ff, config.d)
        self.feed_forward = nn.Sequential(inner, nn.GELU(), outer)
        self.norms = nn.ModuleList(nn.LayerNorm(config.d) for _ in range(2))
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Tensor, n_queries: int, is_key: Tensor | None, previous: SoftMask | None
    ) -> tuple[Tensor, SoftMask | None]:
        """Return [B, M + T, d] to the same, and the mask for the next block; see `run_blocks`.

        `previous` is the mask of the block before, for a block without one of its own.
        """
        normed = self.norms[0](x)
        learned = self.mask(normed, x.shape[1] - n_queries) if self.mask else previous
        x = x + self.dropout(self.retention(normed, n_queries, is_key, learned))
        return x + self.dropout(self.feed_forward(self.norms[1](x))), learned


def make_blocks(config: MRNetConfig) -> nn.ModuleList:
    """New blocks, each with a learned mask if the config has one; where it is shared, the first alone."""
    masks = learned_masks(config.mask, config.d, config.clips, config.layers)
    return nn.ModuleList(MRTBlock(config, mask) for mask in masks)


def run_blocks(blocks: nn.ModuleList, x: Tensor, n_queries: int, is_key: Tensor | None) -> Tensor:
    """Return [B, M + T, d] tokens after all blocks of x [B, M + T, d], M queries and then the clips.

    `blocks` are from `make_blocks`; `is_key` [B, M + T] bool is False for padding.
    """
    mask = None
    for block in blocks:
        x, mask = block(x, n_queries, is_key, mask)
    return x


def sparsity_loss(blocks: nn.ModuleList, sparsity: float) -> Tensor:
    """Eq. 6, the mean of the blocks: how far the mean of sigmoid(W_LS) is above alpha / 2, at least 0.

    Its gradient is the gradient of Eq. 6 until the mask is sparse enough (Sec. 4.4.3), and then 0.
    """
    learned = [cast(MRTBlock, block).retention.sparse_weights for block in blocks]
    means = [weights.sigmoid().mean() for weights in learned if weights is not None]
    if not means:
        return torch.zeros(())  # a scalar on the CPU: tensors of any device can be added to it
    return (torch.stack(means) - sparsity / 2).clamp(min=0).mean()


class PooledClips(nn.Module):
    """The public code's input: each feature projected, then the mean over a clip."""

    def __init__(self, dim: int, dim_pool: int, pool: int) -> None:
        super().__init__()
        self.projection = nn.Linear(dim, dim_pool)
        self.pool = pool

    def forward(self, video: Tensor) -> Tensor:
        """Return [B, T * pool, dim] to [B, T, dim_pool]."""
        projected: Tensor = self.projection(video).relu()
        return projected.view(len(video), -1, self.pool, projected.shape[2]).mean(dim=2)


def _inputs(config: MRNetConfig) -> tuple[nn.Module, nn.Module]:
    """Return the projections of a video's features and of queries' embeddings to tokens.

    Two layers, the same for both modalities; Sec. 3.1.2 says no more than `linearly`.
    """
    d, dropout = config.d, config.dropout_in
    if config.inputs == "projected":
        return input_projection(config.dim_video, d, dropout), input_projection(config.dim_query, d, dropout)
    pooled = PooledClips(config.dim_video, config.dim_pool, config.pool)
    video = nn.Sequential(pooled, input_projection(config.dim_pool, d, dropout))
    return video, nn.Linear(config.dim_query, d)
