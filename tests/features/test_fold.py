"""Folding batch normalisation leaves the numbers as they were."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from tests.features import networks
from vidsum.features import describe
from vidsum.features.torch_backend import fold_batch_norm


def count_norms(model: nn.Module) -> int:
    """How many batch normalisations a model has."""
    return sum(isinstance(part, nn.BatchNorm2d | nn.BatchNorm3d) for part in model.modules())


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("googlenet", (2, 3, 64, 64)),
        ("mobilenet_v2", (2, 3, 64, 64)),
        ("efficientnet_lite0", (2, 3, 64, 64)),
        ("i3d", (2, 3, 9, 64, 64)),
    ],
)
def test_fold_batch_norm(
    random_weights: Callable[[str], networks.Weights], name: str, shape: tuple[int, ...]
) -> None:
    plain = describe(name).build(random_weights(name)).backbone.eval()
    x = torch.rand(shape, generator=torch.Generator().manual_seed(1)) * 2 - 1
    with torch.inference_mode():
        expected = plain(x)
        folded = fold_batch_norm(plain)
        torch.testing.assert_close(plain(x), expected, rtol=0, atol=0)  # it is not changed
        torch.testing.assert_close(folded(x), expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))
    assert count_norms(plain) >= 49
    assert count_norms(folded) == 0


class Shared(nn.Module):
    """One convolution used twice, once for a normalisation and once as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)
        self.bn = nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.bn(self.conv(x)) + self.conv(x)
        return out


class Branching(Shared):
    """A convolution whose output is also used before its normalisation."""

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        out: Tensor = self.bn(y) + y
        return out


class NormFirst(Shared):
    """A normalisation before the convolution that follows it."""

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.conv(self.bn(x))
        return out


@pytest.mark.parametrize("kind", [Shared, Branching, NormFirst])
def test_fold_batch_norm_impossible(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    plain = networks.settled(kind(), torch.randn(4, 3, 8, 8))
    x = torch.randn(2, 3, 8, 8)
    folded = fold_batch_norm(plain)
    assert count_norms(folded) == 1
    torch.testing.assert_close(folded(x), plain(x))
