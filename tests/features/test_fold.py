"""Folding batch normalisation leaves the numbers as they were."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from tests.features import networks
from vidsum.features import describe
from vidsum.features.torch_backend import fold_batch_norm


def count_norms(model: nn.Module) -> int:
    """How many batch normalisations a model has."""
    return sum(isinstance(part, nn.BatchNorm2d | nn.BatchNorm3d) for part in model.modules())


@dataclass(frozen=True)
class Folded:
    """A network, its outputs before folding, and the folded network."""

    plain: nn.Module
    folded: nn.Module
    x: Tensor
    expected: Tensor


@pytest.fixture(
    scope="module",
    params=[
        ("googlenet", (2, 3, 64, 64)),
        ("mobilenet_v2", (2, 3, 64, 64)),
        ("efficientnet_lite0", (2, 3, 64, 64)),
        ("i3d", (2, 3, 9, 64, 64)),
    ],
    ids=lambda param: param[0],
)
def made(request: pytest.FixtureRequest, random_weights: Callable[[str], networks.Weights]) -> Folded:
    name, shape = request.param
    plain = describe(name).build(random_weights(name)).backbone.eval()
    x = torch.rand(shape, generator=torch.Generator().manual_seed(1)) * 2 - 1
    with torch.inference_mode():
        expected = plain(x)
    return Folded(plain, fold_batch_norm(plain), x, expected)


@torch.inference_mode()
def test_folded_network_has_the_outputs_of_the_plain_one(made: Folded) -> None:
    largest = float(made.expected.abs().max())
    torch.testing.assert_close(made.folded(made.x), made.expected, rtol=1e-4, atol=1e-4 * largest)


@torch.inference_mode()
def test_folding_does_not_change_the_network_itself(made: Folded) -> None:
    torch.testing.assert_close(made.plain(made.x), made.expected, rtol=0, atol=0)
    assert count_norms(made.plain) >= 49


def test_folded_network_has_no_normalisation(made: Folded) -> None:
    assert count_norms(made.folded) == 0


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
def test_normalisation_that_cannot_be_folded_stays(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    plain = networks.settled(kind(), torch.randn(4, 3, 8, 8))
    x = torch.randn(2, 3, 8, 8)
    folded = fold_batch_norm(plain)
    assert count_norms(folded) == 1
    torch.testing.assert_close(folded(x), plain(x))
