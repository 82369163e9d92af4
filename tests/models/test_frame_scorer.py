"""The head `frame`: the encoder of FullTransNet with a score for each frame, a loss blind to constants."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vidsum.models.configs import FullTransNetConfig, MaskConfig
from vidsum.models.frame_scorer import FrameScorer, frame_loss, model_of
from vidsum.models.fulltransnet import FullTransNet

SMALL = FullTransNetConfig(dim_in=6, d=8, layers=2, heads=2, d_ff=8, window=3, t_max=32, head="frame")
MASKED = replace(SMALL, mask=MaskConfig(depth=1), t_max=12)


def inputs(n_videos: int = 2, n_samples: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    """Features and global tokens."""
    torch.manual_seed(1)
    is_global = torch.zeros(n_videos, n_samples, dtype=torch.bool)
    is_global[:, ::4] = True
    return torch.randn(n_videos, n_samples, 6), is_global


@pytest.fixture(params=[SMALL, MASKED, replace(MASKED, mask=MaskConfig(depth=2, shared=True))])
def model(request: pytest.FixtureRequest) -> FrameScorer:
    torch.manual_seed(0)
    return FrameScorer(request.param).eval()


def test_the_head_decides_which_model_is_built() -> None:
    assert isinstance(model_of(SMALL), FrameScorer)
    for head in ("linear", "pointer"):
        assert isinstance(model_of(replace(SMALL, head=head)), FullTransNet)


def test_each_frame_has_a_score(model: FrameScorer) -> None:
    features, is_global = inputs()
    scores = model(features, is_global)
    assert scores.shape == (2, 12)
    assert scores.std(dim=1).min() > 0


def test_scores_are_a_linear_layer_on_the_memory_of_fulltransnet_with_the_same_weights(
    model: FrameScorer,
) -> None:
    whole = FullTransNet(replace(model.config, head="pointer")).eval()
    own = model.state_dict()
    missing, unexpected = whole.load_state_dict(own, strict=False)
    assert set(unexpected) == {"score.weight", "score.bias"}
    assert {name.split(".")[0] for name in missing} <= {"start", "decoder", "head", "end"}
    features, is_global = inputs()
    memory = whole.encode(features, is_global).memory
    wanted = (memory * own["score.weight"][0]).sum(dim=2) + own["score.bias"]
    torch.testing.assert_close(model(features, is_global), wanted)


def test_padding_changes_no_score() -> None:
    torch.manual_seed(0)
    model = FrameScorer(SMALL).eval()
    features, is_global = inputs(1)
    padded = torch.cat([features, 9 * torch.ones(1, 5, 6)], dim=1)
    is_valid = torch.arange(17)[None] < 12
    scores = model(padded, torch.cat([is_global, torch.zeros(1, 5, dtype=torch.bool)], dim=1), is_valid)
    torch.testing.assert_close(scores[:, :12], model(features, is_global))


def test_all_weights_learn(model: FrameScorer) -> None:
    """But for the bias of the score, which is a constant, and for those that the softmax cancels."""
    features, is_global = inputs()
    frame_loss(model(features, is_global), torch.randn(2, 12)).backward()
    gradients = {name: weights.grad for name, weights in model.named_parameters()}
    assert all(gradient is not None for gradient in gradients.values())
    assert gradients.pop("score.bias").abs().max() < 1e-6
    flat = {name for name, gradient in gradients.items() if gradient.abs().max() < 1e-9}
    assert all("bias" in name for name in flat), flat


@given(st.integers(0, 1000), st.floats(-100, 100), st.floats(-100, 100), st.integers(1, 3), st.integers(1, 9))
def test_the_loss_is_blind_to_a_constant_of_each_video(
    seed: int, one: float, other: float, n_videos: int, n_samples: int
) -> None:
    rng = np.random.default_rng(seed)
    scores, target = rng.normal(size=(2, n_videos, n_samples))
    wanted = np.mean([np.var(s - t) for s, t in zip(scores, target, strict=True)])
    shift = torch.tensor(rng.uniform(-1, 1, (n_videos, 1)))
    shifted = (torch.tensor(scores) + one * shift, torch.tensor(target) + other * shift)
    assert frame_loss(*shifted).item() == pytest.approx(wanted, abs=1e-9)


def test_gradients_of_the_loss_add_up_to_0_in_each_video() -> None:
    torch.manual_seed(0)
    scores = torch.randn(3, 7, requires_grad=True)
    frame_loss(scores, torch.randn(3, 7)).backward()
    assert scores.grad is not None
    torch.testing.assert_close(scores.grad.sum(dim=1), torch.zeros(3), atol=1e-7, rtol=0)
    assert scores.grad.abs().max() > 0.01
