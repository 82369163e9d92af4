"""mrnet-live on a source: second by second what it says of the whole, and what it refuses."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.errors import InputError
from vidsum.grounding.live_model import LiveModel, RunningGuide, live_rows
from vidsum.grounding.spaces import GUIDE_SCALE, ClipEmbeddings
from vidsum.models.configs import HEADS, MRNetConfig
from vidsum.models.mrnet_live import NAME, LiveMRNet

DIM, SECONDS = 8, 90


def _checkpoint(folder: Path, model: LiveMRNet, space: str = "vse") -> str:
    features = {"space": space, "guided": True}
    save_trained(
        folder / "live.safetensors", Trained(NAME, asdict(model.config), features, {}, model.state_dict())
    )
    return str(folder / "live.safetensors")


@pytest.fixture
def model() -> LiveMRNet:
    torch.manual_seed(0)
    sizes = {**HEADS["live"], "d": 16, "d_ff": 16, "heads": 2}
    return LiveMRNet(MRNetConfig(dim_video=DIM + 2, dim_query=DIM, **sizes)).eval()


def test_seconds_are_those_of_the_whole_and_know_no_later_one(model: LiveMRNet, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows, queries, z = (
        rng.standard_normal(size, np.float32) for size in ((SECONDS, DIM), (3, DIM), (3, SECONDS))
    )
    live = LiveModel(_checkpoint(tmp_path, model), queries, "cpu")
    found = np.stack([live.present(rows[[t]], z[:, t]) for t in range(SECONDS)], axis=1)
    for number in range(3):
        clips = np.concatenate([rows, guide_of(z[number])], axis=1)
        with torch.inference_mode():
            logits = model(torch.from_numpy(clips)[None], torch.from_numpy(queries[[number]])[None])
        assert np.allclose(found[number], logits[0, 0].sigmoid().numpy(), atol=1e-5)
    again = LiveModel(_checkpoint(tmp_path, model), queries, "cpu")
    first = [again.present(rows[[t]], z[:, t]) for t in range(10)]
    assert np.array_equal(np.stack(first, axis=1), found[:, :10])


def guide_of(z: np.ndarray) -> np.ndarray:
    """By the sums written out: weights .98^age, and eight seconds of mean 0 and deviation 1 at the start."""
    guide = []
    for t in range(len(z)):
        weights = 0.98 ** np.arange(t, -1, -1)
        start = 8 * 0.98 ** (t + 1)
        count = weights.sum() + start
        mean = (weights * z[: t + 1]).sum() / count
        square = ((weights * z[: t + 1] ** 2).sum() + start) / count
        guide.append((z[t], (z[t] - mean) / np.sqrt(square - mean**2)))
    return (GUIDE_SCALE * np.array(guide)).astype(np.float32)


def test_clips_of_training_come_with_what_was_known_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows, query = rng.standard_normal((SECONDS, DIM), np.float32), rng.standard_normal(DIM, np.float32)
    usual = np.full((1, 1), 0.3, np.float32), np.full((1, 1), 2.0, np.float32)
    monkeypatch.setattr("vidsum.grounding.live_model.cohort_cosines", lambda queries: usual)
    found = live_rows(ClipEmbeddings(rows, np.arange(float(SECONDS)), 1.0, SECONDS), query)
    assert np.array_equal(found[:, :DIM], rows)
    assert np.allclose(found[:, DIM:], guide_of((rows @ query - 0.3) / 2), atol=1e-5)


def test_the_running_guide_of_a_constant_curve_is_finite() -> None:
    guide = RunningGuide(1)
    values = np.concatenate([guide.add(np.full(1, 4.0, np.float32)) for _ in range(3000)])
    assert np.isfinite(values).all()
    assert abs(values[-1, 1]) < 0.1


def test_a_checkpoint_of_another_model_or_space_is_refused(model: LiveMRNet, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="space vse"):
        LiveModel(_checkpoint(tmp_path, model, "toy"), np.ones((1, DIM), np.float32))
    with pytest.raises(InputError, match="no such file"):
        LiveModel(str(tmp_path / "none.safetensors"), np.ones((1, DIM), np.float32))
