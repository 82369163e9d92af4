"""Networks of clips: I3D and C3D.

I3D is Inception-v1 inflated to three dimensions (Carreira and Zisserman, "Quo Vadis, Action Recognition?",
2017): the RGB stream of the paper's Figure 3, with the layer names of the released model. Convolutions and
max pools pad as TensorFlow's "SAME" does, which is asymmetric where the stride does not divide the input.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

Triple = tuple[int, int, int]
MixedChannels = tuple[int, int, int, int, int, int]


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Padding (before, after) of one axis, so that the output has ceil(size / stride) positions."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


class SameConv3d(nn.Conv3d):
    """Convolution over [N, C, T, H, W] with "SAME" padding by zeros."""

    def forward(self, x: Tensor) -> Tensor:
        pads = [same_padding(*axis) for axis in zip(x.shape[2:], self.kernel_size, self.stride, strict=True)]
        before = [first for first, _ in pads]
        if any(first != last for first, last in pads):
            (t0, t1), (h0, h1), (w0, w1) = pads
            x, before = functional.pad(x, (w0, w1, h0, h1, t0, t1)), [0, 0, 0]
        return functional.conv3d(x, self.weight, self.bias, self.stride, before)


class SameMaxPool3d(nn.Module):
    """Max pool over [N, C, T, H, W] with "SAME" padding, which never is the maximum."""

    def __init__(self, kernel: Triple, stride: Triple) -> None:
        super().__init__()
        self.kernel, self.stride = kernel, stride

    def forward(self, x: Tensor) -> Tensor:
        before = [same_padding(*axis)[0] for axis in zip(x.shape[2:], self.kernel, self.stride, strict=True)]
        # where "SAME" pads one position more after than before, ceil_mode adds that position
        return functional.max_pool3d(x, self.kernel, self.stride, before, ceil_mode=True)


class Unit3D(nn.Module):
    """Convolution, batch normalisation (a shift, no scale), ReLU."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = SameConv3d(inputs, outputs, kernel, stride, bias=False)
        self.bn = nn.BatchNorm3d(outputs, eps=1e-3)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu_(self.bn(self.conv(x)))


class Mixed(nn.Module):
    """Inception module, joined channels: 1x1x1, twice 1x1x1 then 3x3x3, and max pool then 1x1x1."""

    def __init__(self, inputs: int, channels: MixedChannels) -> None:
        super().__init__()
        direct, narrow_1, wide_1, narrow_2, wide_2, pooled = channels
        self.Branch_0 = nn.Sequential()
        self.Branch_0.add_module("Conv3d_0a_1x1", Unit3D(inputs, direct, 1))
        self.Branch_1 = nn.Sequential()
        self.Branch_1.add_module("Conv3d_0a_1x1", Unit3D(inputs, narrow_1, 1))
        self.Branch_1.add_module("Conv3d_0b_3x3", Unit3D(narrow_1, wide_1, 3))
        self.Branch_2 = nn.Sequential()
        self.Branch_2.add_module("Conv3d_0a_1x1", Unit3D(inputs, narrow_2, 1))
        self.Branch_2.add_module("Conv3d_0b_3x3", Unit3D(narrow_2, wide_2, 3))
        self.Branch_3 = nn.Sequential()
        self.Branch_3.add_module("MaxPool3d_0a_3x3", SameMaxPool3d((3, 3, 3), (1, 1, 1)))
        self.Branch_3.add_module("Conv3d_0b_1x1", Unit3D(inputs, pooled, 1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.Branch_0(x), self.Branch_1(x), self.Branch_2(x), self.Branch_3(x)], dim=1)


class I3D(nn.Module):
    """Clips [N, 3, T, 224, 224], RGB in [-1, 1], T >= 9, to features [N, 1024].

    The features are the average of the last pool over time: a linear layer on them (`Logits`) gives the
    output of the released model, whose 1x1x1 convolution comes before that average.
    """

    def __init__(self) -> None:
        super().__init__()
        self.Conv3d_1a_7x7 = Unit3D(3, 64, 7, 2)
        self.MaxPool3d_2a_3x3 = SameMaxPool3d((1, 3, 3), (1, 2, 2))
        self.Conv3d_2b_1x1 = Unit3D(64, 64, 1)
        self.Conv3d_2c_3x3 = Unit3D(64, 192, 3)
        self.MaxPool3d_3a_3x3 = SameMaxPool3d((1, 3, 3), (1, 2, 2))
        self.Mixed_3b = Mixed(192, (64, 96, 128, 16, 32, 32))
        self.Mixed_3c = Mixed(256, (128, 128, 192, 32, 96, 64))
        self.MaxPool3d_4a_3x3 = SameMaxPool3d((3, 3, 3), (2, 2, 2))
        self.Mixed_4b = Mixed(480, (192, 96, 208, 16, 48, 64))
        self.Mixed_4c = Mixed(512, (160, 112, 224, 24, 64, 64))
        self.Mixed_4d = Mixed(512, (128, 128, 256, 24, 64, 64))
        self.Mixed_4e = Mixed(512, (112, 144, 288, 32, 64, 64))
        self.Mixed_4f = Mixed(528, (256, 160, 320, 32, 128, 128))
        self.MaxPool3d_5a_2x2 = SameMaxPool3d((2, 2, 2), (2, 2, 2))
        self.Mixed_5b = Mixed(832, (256, 160, 320, 32, 128, 128))
        self.Mixed_5c = Mixed(832, (384, 192, 384, 48, 128, 128))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.children():
            x = layer(x)
        # average pool (2, 7, 7) of stride 1, then the mean over time, without a bf16 kernel for the pool
        x = x.mean(dim=(3, 4))
        return ((x[:, :, :-1] + x[:, :, 1:]) / 2).mean(dim=2)


def from_released(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], nn.Linear]:
    """(state dict of `I3D`, the linear layer of its 400 Kinetics classes) from the released arrays.

    Their keys are `params/LAYER/Conv_0/kernel` [T, H, W, in, out], `params/LAYER/BatchNorm_0/bias`,
    `batch_stats/LAYER/BatchNorm_0/mean` and `.../var`, where a layer within a Mixed has slashes of its own.
    """
    state: dict[str, Tensor] = {}
    for key, array in weights.items():
        _, *layer, _, kind = key.split("/")
        name = ".".join(layer)
        if kind == "kernel":
            state[f"{name}.conv.weight"] = array.permute(4, 3, 0, 1, 2)
        elif kind == "bias":
            state[f"{name}.bn.bias"] = array
            state[f"{name}.bn.weight"] = torch.ones_like(array)
        else:
            state[f"{name}.bn.running_{kind}"] = array.flatten()
    kernel = state.pop("Logits.Conv3d_0c_1x1.conv.weight")
    bias = state.pop("Logits.Conv3d_0c_1x1.bn.bias")
    del state["Logits.Conv3d_0c_1x1.bn.weight"]
    head = nn.Linear(kernel.shape[1], kernel.shape[0])
    head.load_state_dict({"weight": kernel.flatten(1), "bias": bias})
    return state, head


class ConvReLU(nn.Module):
    """3x3x3 convolution that keeps the size, then ReLU."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv = nn.Conv3d(inputs, outputs, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu_(self.conv(x))


class C3D(nn.Module):
    """Clips [N, 3, 16, 112, 112] to the outputs of `fc6` or `fc7` after ReLU, [N, 4096].

    Eight 3x3x3 convolutions and two fully connected layers (Tran et al., "Learning Spatiotemporal Features
    with 3D Convolutional Networks", 2015, Figure 3).
    Layers are named as in the Sports-1M checkpoint (`conv1a.conv.weight` ... `fc7.bias`).
    """

    def __init__(self, last: str = "fc6") -> None:
        super().__init__()
        self.conv1a = ConvReLU(3, 64)
        self.pool1 = nn.MaxPool3d((1, 2, 2))
        self.conv2a = ConvReLU(64, 128)
        self.pool2 = nn.MaxPool3d(2)
        self.conv3a = ConvReLU(128, 256)
        self.conv3b = ConvReLU(256, 256)
        self.pool3 = nn.MaxPool3d(2)
        self.conv4a = ConvReLU(256, 512)
        self.conv4b = ConvReLU(512, 512)
        self.pool4 = nn.MaxPool3d(2)
        self.conv5a = ConvReLU(512, 512)
        self.conv5b = ConvReLU(512, 512)
        # 7x7 positions become the 4x4 of fc6
        self.pool5 = nn.MaxPool3d(2, padding=(0, 1, 1))
        self.fc6 = nn.Linear(512 * 1 * 4 * 4, 4096)
        self.fc7 = nn.Linear(4096, 4096)
        self.last = last

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool1(self.conv1a(x))
        x = self.pool2(self.conv2a(x))
        x = self.pool3(self.conv3b(self.conv3a(x)))
        x = self.pool4(self.conv4b(self.conv4a(x)))
        x = self.pool5(self.conv5b(self.conv5a(x)))
        x = functional.relu(self.fc6(x.flatten(1)))
        return x if self.last == "fc6" else functional.relu(self.fc7(x))
