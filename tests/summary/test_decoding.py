"""Decoding against a model whose every distribution is known, and against teacher forcing."""

import itertools
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

    def encode(self, features: Tensor, is_global: Tensor) -> "ScriptedState":
        return ScriptedState([()])

    def step(self, state: "ScriptedState", frame: Tensor | None) -> tuple[Tensor, "ScriptedState"]:
        if frame is not None:
            state = ScriptedState([(*path, int(f)) for path, f in zip(state.paths, frame, strict=True)])
        return torch.tensor([self.table[path] for path in state.paths]).log(), state


class ScriptedState:
    def __init__(self, paths: list[tuple[int, ...]]) -> None:
        self.paths = paths

    def rows(self, index: Tensor) -> "ScriptedState":
        return ScriptedState([self.paths[i] for i in index.tolist()])


def run(table: dict[tuple[int, ...], list[float]], n_key_frames: int, width: int = 1):
    return decode(Scripted(table), torch.zeros(3, 1), torch.zeros(3, dtype=torch.bool), n_key_frames, width)


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


def test_decode_many_beams(model, features):
    is_global = torch.zeros(12, dtype=torch.bool)
    assert sorted(decode(model, features[:3], is_global[:3], 3, width=50).key_frames) == [0, 1, 2]
    assert sorted(decode(model, features, is_global, 12, 2).key_frames) == list(range(12))
    only = decode(model, features[:1], is_global[:1], 1, width=2)
    assert only.key_frames == (0,)
    assert np.allclose(only.steps, [[1]])


def test_decode_chooses_a_frame_once():
    table = {(): [0.6, 0.3, 0.05, 0.05], (0,): [0.7, 0.1, 0.15, 0.05]}
    decoded = run(table, 2)
    assert decoded.key_frames == (0, 2)
    assert np.allclose(decoded.steps, [[0.6, 0.3, 0.05], [0.7, 0.1, 0.15]])  # as the model gave them


def test_decode_ends_where_the_end_is_likelier_than_all_frames():
    decoded = run({(): [0.3, 0.1, 0.15, 0.45], (0,): [0.1, 0.2, 0.15, 0.55]}, 3)
    assert decoded.key_frames == (0,)
    assert decoded.steps.shape == (2, 3)  # the last step counts for the curve
    at_once = run({(): [0.1, 0.2, 0.1, 0.6]}, 3)
    assert at_once.key_frames == ()
    assert np.allclose(at_once.steps, [[0.1, 0.2, 0.1]])


def test_decode_two_beams():
    table = {
        (): [0.5, 0.45, 0.05, 0.0],
        (0,): [0.0, 0.35, 0.35, 0.3],
        (1,): [0.9, 0.0, 0.1, 0.0],
        (2,): [0.5, 0.5, 0.0, 0.0],
    }
    assert run(table, 2).key_frames == (0, 1)
    beams = run(table, 2, width=2)
    assert beams.key_frames == (1, 0)
    assert np.allclose(beams.steps, [[0.5, 0.45, 0.05], [0.9, 0.0, 0.1]])


def test_decode_all_beams(model, features):
    is_global = torch.zeros(12, dtype=torch.bool)

    def score(frames: tuple[int, ...]) -> float:
        rows = model(features[None, :5], is_global[None, :5], torch.tensor([frames]))[0]
        return sum(rows[i, f].item() for i, f in enumerate(frames))

    best = max(itertools.permutations(range(5), 3), key=score)
    assert decode(model, features[:5], is_global[:5], 3, width=60).key_frames == best


@pytest.mark.parametrize("width", [1, 3])
def test_decode_matches_teacher_forcing(model, features, width):
    is_global = torch.arange(12) % 4 == 0
    decoded = decode(model, features, is_global, 5, width)
    forced = model(features[None], is_global[None], torch.tensor([decoded.key_frames]))[0, :, :-1].exp()
    assert np.allclose(decoded.steps, forced[: len(decoded.steps)].detach().numpy(), atol=1e-5)
