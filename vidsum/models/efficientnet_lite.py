"""EfficientNet-Lite0: EfficientNet-B0 (Tan and Le 2019) for small devices, with ReLU6 and without squeezing.

The published weights come from TensorFlow, whose "SAME" padding is asymmetric where the stride is 2.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from vidsum.models.efficientnet_lite_layout import EPSILON, STAGES, layer_name

STEM, WIDTH = 32, 1280


class EfficientNetLite0(nn.Module):
    """Images [N, 3, H, W] to features [N, 1280 + 2304]: the last layer and the layers of `INNER`, averaged
    over space. H and W are multiples of 32."""

    def __init__(self) -> None:
        super().__init__()
        self.pad = _padding(3, 2)
        self.conv_stem = nn.Conv2d(3, STEM, 3, stride=2, bias=False)
        self.bn0 = _norm(STEM)
        blocks, inputs = [], STEM
        for count, kernel, stride, expansion, outputs in STAGES:
            for number in range(count):
                blocks.append(MBConvBlock(inputs, outputs, kernel, 1 if number else stride, expansion))
                inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.conv_head = nn.Conv2d(inputs, WIDTH, 1, bias=False)
        self.bn1 = _norm(WIDTH)
        self.relu = nn.ReLU6(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu(self.bn0(self.conv_stem(self.pad(x))))
        inner = []  # two layers of each block, of which the last two blocks have `INNER`
        for block in self.blocks:
            *within, x = block(x)
            inner += within
        x = self.relu(self.bn1(self.conv_head(x)))
        return torch.cat([layer.mean(dim=(2, 3)) for layer in (x, inner[-4], inner[-1])], dim=1)


class MBConvBlock(nn.Module):
    """Widen, filter each channel by itself, narrow; added to its input where the shapes agree."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inputs * expansion
        self.widens, self.adds = expansion > 1, stride == 1 and inputs == outputs
        if self.widens:
            self.expand_conv = nn.Conv2d(inputs, wide, 1, bias=False)
            self.bn0 = _norm(wide)
        # where the padding is even the convolution has it: a padded copy takes as long as the filter
        padding = kernel // 2 if stride == 1 else 0
        self.pad = nn.Identity() if padding else _padding(kernel, stride)
        self.depthwise_conv = nn.Conv2d(wide, wide, kernel, stride, padding, groups=wide, bias=False)
        self.bn1 = _norm(wide)
        self.project_conv = nn.Conv2d(wide, outputs, 1, bias=False)
        self.bn2 = _norm(outputs)
        self.relu = nn.ReLU6(inplace=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the widened, the filtered, and the output tensor."""
        widened = self.relu(self.bn0(self.expand_conv(x))) if self.widens else x
        filtered = self.relu(self.bn1(self.depthwise_conv(self.pad(widened))))
        y = self.bn2(self.project_conv(filtered))
        return widened, filtered, x + y if self.adds else y


def _padding(kernel: int, stride: int) -> nn.ZeroPad2d:
    """TensorFlow's "SAME" for sizes that the stride divides: kernel - stride positions, the odd one after."""
    before = (kernel - stride) // 2
    after = kernel - stride - before
    return nn.ZeroPad2d((before, after, before, after))


def _norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=EPSILON)


def from_published(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], nn.Linear]:
    """Return the state dict of `EfficientNetLite0` and its classifier, of the published tensors."""
    classes, inputs = weights["_fc.weight"].shape
    head = nn.Linear(inputs, classes)
    head.load_state_dict({"weight": weights["_fc.weight"], "bias": weights["_fc.bias"]})
    backbone = {name: tensor for name, tensor in weights.items() if not name.startswith("_fc.")}
    state = {layer_name(name): tensor for name, tensor in backbone.items()}
    return state, head
