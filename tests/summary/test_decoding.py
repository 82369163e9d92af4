"""Decoding against a model whose every distribution is known, and against teacher forcing."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import FullTransNet
from vidsum.summary.fulltransnet import decode

SMALL = FullTransNetConfig(dim_in=6, d=16, layers=2, heads=4, d_ff=24, head="pointer")


class Scripted:
    """Stands for a model: its distribution depends on the frames chosen so far, by a table."""

    config = SMALL

    def __init__(self, table: dict[tuple[int, ...], list[float]]) -> None:
        self.table = table

    def encode(self, features: Tensor, is_global: Tensor) -> tuple[int, ...]:
        return ()

    def step(self, path: tuple[int, ...], frame: Tensor | None) -> tuple[Tensor, tuple[int, ...]]:
        path += () if frame is None else (int(frame),)
        return torch.tensor([self.table[path]]).log(), path


def run(table: dict[tuple[int, ...], list[float]], n_key_frames: int):
    return decode(Scripted(table), torch.zeros(3, 1), torch.zeros(3, dtype=torch.bool), n_key_frames)


@pytest.fixture
def model() -> FullTransNet:
    """It never wants to end."""
    torch.manual_seed(0)
    model = FullTransNet(SMALL).eval()
    nn.init.constant_(model.end.bias, -50)
    return model


@pytest.fixture
def features() -> Tensor:
    torch.manual_seed(1)
    return torch.randn(12, 6) * 3


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_decode_on_one_thread(model, features):
    seen = []

    def look_and_fail(*_: object) -> None:
        seen.append(torch.get_num_threads())
        if len(seen) == 4:
            raise KeyboardInterrupt

    model.end.register_forward_hook(look_and_fail)
    is_global = torch.zeros(12, dtype=torch.bool)
    decode(model, features, is_global, 3)
    assert (seen, torch.get_num_threads()) == ([1, 1, 1], 2)
    with pytest.raises(KeyboardInterrupt):
        decode(model, features, is_global, 3)
    assert torch.get_num_threads() == 2


def test_decode_all_frames(model, features):
    is_global = torch.zeros(12, dtype=torch.bool)
    assert sorted(decode(model, features, is_global, 12).key_frames) == list(range(12))
    only = decode(model, features[:1], is_global[:1], 1)
    assert only.key_frames == (0,)
    assert np.allclose(only.steps, [[1]])
    is_global = torch.arange(12) % 4 == 0
    decoded = decode(model, features, is_global, 5)
    forced = model(features[None], is_global[None], torch.tensor([decoded.key_frames]))[0, :, :-1].exp()
    assert np.allclose(decoded.steps, forced[: len(decoded.steps)].detach().numpy(), atol=1e-5)


def test_decode_chooses_a_frame_once():
    table = {(): [0.6, 0.3, 0.05, 0.05], (0,): [0.7, 0.1, 0.15, 0.05]}
    decoded = run(table, 2)
    assert decoded.key_frames == (0, 2)
    assert np.allclose(decoded.steps, [[0.6, 0.3, 0.05], [0.7, 0.1, 0.15]])  # as the model gave them
    decoded = run({(): [0.3, 0.1, 0.15, 0.45], (0,): [0.1, 0.2, 0.15, 0.55]}, 3)
    assert decoded.key_frames == (0,)
    assert decoded.steps.shape == (2, 3)  # the last step counts for the curve
    at_once = run({(): [0.1, 0.2, 0.1, 0.6]}, 3)
    assert at_once.key_frames == ()
    assert np.allclose(at_once.steps, [[0.1, 0.2, 0.1]])
