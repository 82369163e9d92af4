"""Which model runs, and where: a trained one on one device for the scores and for the picture of them."""

from pathlib import Path

import numpy as np
import pytest
import torch

from vidsum.models.fulltransnet import FullTransNet, FullTransNetConfig
from vidsum.settings import Selection
from vidsum.summary import score as module
from vidsum.summary.fulltransnet import Summarizer, importance, load_summarizer
from vidsum.summary.score import draw_attention, model_for, score
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


def test_the_checkpoint_that_ships_reads_what_auto_gives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path))
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    shipped = load_summarizer(device="cpu")
    assert model_for("auto", shipped.extractor, shipped.fps) == "fulltransnet"
    assert model_for("auto", shipped.extractor, 1.5 * shipped.fps) == "contrastive"
    assert model_for("auto", "custom", shipped.fps) == "contrastive"
    rows = np.random.default_rng(0).random((12, shipped.dim))
    curve = importance(shipped, Features.from_array(rows, shipped.fps, extractor=shipped.extractor), SHOTS)
    assert 0 <= curve.min() <= curve.max() <= 1
    assert curve.max() > 0
