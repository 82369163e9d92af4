"""TransNetV2, which predicts for each frame of a video whether a shot ends there.

Souček and Lokoč, "TransNet V2: An effective deep network architecture for fast shot transition detection",
2020, arXiv 2008.04838. The names of the layers are those of the published checkpoint.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

FRAME_WIDTH, FRAME_HEIGHT = 48, 27
WINDOW = 100  # frames in a window that the network was trained on

_LOOKUP = 101  # each frame is compared with those up to 50 before and after it


class TransNetV2(nn.Module):
    """Three stacks of dilated convolutions beside two tables of similarity to the frames around."""

    def __init__(self, filters: int = 16, hidden: int = 1024) -> None:
        super().__init__()
        widths = [4 * filters * 2**i for i in range(3)]
        self.SDDCNN = nn.ModuleList(
            Stack(before, width // 4) for before, width in zip([3, *widths[:-1]], widths, strict=True)
        )
        self.frame_sim_layer = FrameSimilarity(sum(widths))
        self.color_hist_layer = ColorSimilarity()
        # three poolings by two leave 3 x 6 positions of 27 x 48
        self.fc1 = nn.Linear(2 * 128 + widths[-1] * 3 * 6, hidden)
        self.cls_layer1 = nn.Linear(hidden, 1)
        self.cls_layer2 = nn.Linear(hidden, 1)

    def forward(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        """Logits [B, T] that a frame is the middle of a transition, and [B, T] that it is any frame of one.

        Args:
            frames: [B, T, 27, 48, 3] uint8 RGB.
        """
        x = frames.permute(0, 4, 1, 2, 3).float() / 255
        levels = []
        for stack in self.SDDCNN:
            x = stack(x)
            levels.append(x)
        last = x.permute(0, 2, 3, 4, 1).flatten(2)
        joined = torch.cat([self.color_hist_layer(frames), self.frame_sim_layer(levels), last], dim=2)
        hidden = functional.relu(self.fc1(joined))
        return self.cls_layer1(hidden).squeeze(2), self.cls_layer2(hidden).squeeze(2)


class Stack(nn.Module):
    """Two dilated cells with a shortcut from the first to the end, then pooling over space."""

    def __init__(self, before: int, filters: int) -> None:
        super().__init__()
        self.DDCNN = nn.ModuleList([DilatedCell(before, filters), DilatedCell(4 * filters, filters)])

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, C, T, H, W] to [B, 4 * filters, T, H // 2, W // 2]."""
        first = functional.relu(self.DDCNN[0](x))
        second = functional.relu(self.DDCNN[1](first))
        return functional.avg_pool3d(first + second, (1, 2, 2))


class DilatedCell(nn.Module):
    """DDCNN cell: four (2+1)-D convolutions which look 1, 2, 4 and 8 frames to each side, then BatchNorm."""

    def __init__(self, before: int, filters: int) -> None:
        super().__init__()
        for dilation in (1, 2, 4, 8):
            self.add_module(f"Conv3D_{dilation}", SplitConv(before, filters, dilation))
        self.bn = nn.BatchNorm3d(4 * filters, eps=1e-3)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, C, T, H, W] to [B, 4 * filters, T, H, W]."""
        branches = [self.get_submodule(f"Conv3D_{dilation}")(x) for dilation in (1, 2, 4, 8)]
        normed: Tensor = self.bn(torch.cat(branches, dim=1))
        return normed


class SplitConv(nn.Module):
    """A 3 x 3 x 3 convolution split into one over space and a dilated one over time."""

    def __init__(self, before: int, filters: int, dilation: int) -> None:
        super().__init__()
        over_space = nn.Conv3d(before, 2 * filters, (1, 3, 3), padding=(0, 1, 1), bias=False)
        over_time = nn.Conv3d(
            2 * filters, filters, (3, 1, 1), dilation=(dilation, 1, 1), padding=(dilation, 0, 0), bias=False
        )
        self.layers = nn.Sequential(over_space, over_time)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, C, T, H, W] to [B, filters, T, H, W]."""
        out: Tensor = self.layers(x)
        return out


class FrameSimilarity(nn.Module):
    """The similarity of each frame to those around it, by the outputs of the stacks."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.projection = nn.Linear(channels, 128)
        self.fc = nn.Linear(_LOOKUP, 128)

    def forward(self, levels: list[Tensor]) -> Tensor:
        """Outputs of the stacks, each [B, C_i, T, H_i, W_i], to [B, T, 128]."""
        means = torch.cat([level.mean(dim=(3, 4)) for level in levels], dim=1).transpose(1, 2)
        return functional.relu(self.fc(similarities_around(self.projection(means))))


class ColorSimilarity(nn.Module):
    """The similarity of each frame to those around it, by histograms of 8 x 8 x 8 colours."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(_LOOKUP, 128)

    def forward(self, frames: Tensor) -> Tensor:
        """Return [B, T, H, W, 3] uint8 to [B, T, 128]."""
        red, green, blue = (frames.flatten(2, 3).long() >> 5).unbind(-1)
        bins = (red << 6) + (green << 3) + blue
        counts = torch.zeros(*bins.shape[:2], 512, device=frames.device)
        counts.scatter_add_(2, bins, torch.ones_like(bins, dtype=counts.dtype))
        return functional.relu(self.fc(similarities_around(counts)))


def similarities_around(x: Tensor) -> Tensor:
    """Return [B, T, 101] cosines of each of [B, T, C] with those up to 50 away; 0 past the ends."""
    unit = functional.normalize(x, dim=2)
    reach = _LOOKUP // 2
    padded = functional.pad(unit @ unit.transpose(1, 2), (reach, reach))
    # row t of the padded table holds the frames around t in columns t ... t + 100
    batch, frames = x.shape[:2]
    columns = torch.arange(frames, device=x.device)[:, None] + torch.arange(_LOOKUP, device=x.device)
    return padded.gather(2, columns.expand(batch, frames, _LOOKUP))
