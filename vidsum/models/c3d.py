"""C3D: eight 3x3x3 convolutions and two fully connected layers (Tran et al., "Learning Spatiotemporal
Features with 3D Convolutional Networks", 2015, Figure 3).
"""

from torch import Tensor, nn
from torch.nn.functional import relu, relu_


class ConvReLU(nn.Module):
    """3x3x3 convolution that keeps the size, then ReLU."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv = nn.Conv3d(inputs, outputs, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return relu_(self.conv(x))


class C3D(nn.Module):
    """Clips [N, 3, 16, 112, 112] to the outputs of `fc6` or `fc7` after ReLU, [N, 4096].

    Layer names are those of the Sports-1M checkpoint (`conv1a.conv.weight` ... `fc7.bias`).
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
        x = relu(self.fc6(x.flatten(1)))
        return x if self.last == "fc6" else relu(self.fc7(x))
