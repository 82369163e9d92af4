"""Which model runs, and where: a trained one on one device for the scores and for the picture of them."""

from pathlib import Path

import numpy as np
import pytest
import torch

from vidsum.models.fulltransnet import FullTransNet, FullTransNetConfig
from vidsum.settings import Selection
from vidsum.summary import score as module
from vidsum.summary.fulltransnet import Summarizer
from vidsum.summary.score import draw_attention, score
from vidsum.types import Features, Shots

SMALL = FullTransNetConfig(dim_in=6, d=8, layers=1, heads=2, d_ff=8)
FEATURES = Features.from_array(np.random.default_rng(0).normal(size=(12, 6)))
SHOTS = Shots(np.array([0, 2.5, 6]), "made up")


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands for a checkpoint on any device, and tells which devices were asked for."""
    torch.manual_seed(0)
    summarizer = Summarizer(FullTransNet(SMALL).eval(), "custom", 6, 2.0, "made up")
    asked: list[str] = []
    monkeypatch.setattr(module, "_summarizer", lambda _, device: asked.append(device) or summarizer)
    return asked


def test_attention_is_drawn_by_the_model_that_scored(devices: list[str], tmp_path: Path) -> None:
    selection = Selection(model="x.safetensors")
    assert score(FEATURES, SHOTS, selection, 0.15, "cuda:1").shape == (12,)
    assert draw_attention(FEATURES, SHOTS, selection, 0.15, "cuda:1", tmp_path / "a.svg") == ()
    assert devices == ["cuda:1", "cuda:1"]
    assert (tmp_path / "a.svg").exists()
