"""GoogLeNet without the classifiers that it was trained with."""

import pytest
import torch
from torch import nn

from vidsum.features.extractors import googlenet


class Small(nn.Module):
    """A network with a head, as torchvision's."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 3)


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch) -> dict[str, torch.Tensor]:
    """Weights of the classification head and of an auxiliary classifier."""
    monkeypatch.setattr("torchvision.models.googlenet", lambda **_: Small())
    return {"fc.weight": torch.ones(3, 2), "fc.bias": torch.ones(3), "aux1.fc.weight": torch.ones(3, 2)}


def test_auxiliary_classifiers_alone_are_left_out_of_googlenet(weights: dict[str, torch.Tensor]) -> None:
    assert googlenet.build(weights).head.weight.tolist() == torch.ones(3, 2).tolist()


def test_features_of_googlenet_are_what_its_head_reads(weights: dict[str, torch.Tensor]) -> None:
    assert isinstance(googlenet.build(weights).backbone.fc, nn.Identity)
