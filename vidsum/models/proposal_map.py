"""The 2D map of proposals: cell (i, j) is clips i to j (2D-TAN, Zhang et al. 2020; MMN, Wang et al. 2022).

Short proposals are dense and long ones strided, so of the T x T cells only some exist; the convolutions on
the map weigh each cell by how many of those under the kernel do.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d

_DENSE, _STRIDED = 15, 8
"""Diagonals with every start, and diagonals at each doubled stride after them: [15, 8, 8] for T = 64."""


def pooling_counts(clips: int) -> tuple[int, ...]:
    """The number of diagonals at stride 1, 2, 4 ...: dense up to 16 clips, then eight at each stride.

    The published ones are (15,) for T = 16, (15, 8, 8) for 64 and (15, 8, 8, 8) for 128.
    """
    counts = [min(_DENSE, clips - 1)]
    reach, stride = counts[0], 2
    while reach + stride < clips:
        counts.append(min(_STRIDED, (clips - 1 - reach) // stride))
        reach, stride = reach + counts[-1] * stride, stride * 2
    return tuple(counts)


def proposals(clips: int, counts: tuple[int, ...]) -> Tensor:
    """[N, 2] int64: first and last clip of each proposal, in the order of `pool_proposals`: by diagonals."""
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
    """[B, d, N] maximum over the clips of each of the `proposals`.

    Args:
        x: [B, d, T]
        counts: see `pooling_counts`.
    """
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

    order: Tensor
    """[N] which of `proposals` is the n-th in the rows of the map."""
    cells: Tensor
    """[N] the position of the n-th in the flattened map."""
    valid: Tensor
    """[T, T] bool, the proposals that exist."""

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
        """[B, N, hidden] of clips [B, d, T]: each proposal, in the order of `valid`, with those around it."""
        pooled = pool_proposals(x, self.counts).index_select(2, self.order)
        # a cell's numbers lie side by side: convolutions are quicker so, and cells are copied whole
        out = self.place(pooled.mT).permute(0, 3, 1, 2)
        for number, (convolution, norm) in enumerate(zip(self.convolutions, self.norms, strict=True)):
            out = norm(convolution(out)).relu()
            out = out * self.get_buffer(f"weight_{number}").to(out.dtype)
        return out.permute(0, 2, 3, 1).flatten(1, 2).index_select(1, self.cells)

    def place(self, values: Tensor) -> Tensor:
        """[B, T, T, C]: [B, N, C] of the proposals at their cells of the map, 0 elsewhere."""
        n_videos, _, width = values.shape
        cells = values.new_zeros(n_videos, self.clips**2, width).index_copy(1, self.cells, values)
        return cells.view(n_videos, self.clips, self.clips, width)


def cell_weights(valid: Tensor, kernel: int, paddings: list[int]) -> list[Tensor]:
    """After each convolution, 1 / the number of existing cells under the kernel; 0 where there are none.

    A cell that a convolution reached exists for the next one (the authors' and MMN's reading).

    Args:
        valid: [T, T] bool.
        kernel: its side.
        paddings: of each convolution.
    """
    exists = valid[None, None].float()
    ones = torch.ones(1, 1, kernel, kernel)
    weights = []
    for padding in paddings:
        count = conv2d(exists, ones, padding=padding).round()
        exists = (count > 0).float()
        weights.append((exists / count.clamp(min=1))[0, 0])
    return weights
