"""The head `frame`: a score for each frame beside the decoder, which starts as ridge regression."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.models import ridge
from vidsum.models.configs import FullTransNetConfig, MaskConfig, RidgeConfig
from vidsum.models.frame_scores import frame_loss, moving_average
from vidsum.models.fulltransnet import FullTransNet, fulltransnet_loss

SMALL = FullTransNetConfig(dim_in=6, d=8, layers=2, heads=2, d_ff=8, window=3, t_max=32, head="frame")
MASKED = replace(SMALL, mask=MaskConfig(depth=1), t_max=12)


def inputs(n_videos: int = 2, n_samples: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    """Features and global tokens."""
    torch.manual_seed(1)
    is_global = torch.zeros(n_videos, n_samples, dtype=torch.bool)
    is_global[:, ::4] = True
    return torch.randn(n_videos, n_samples, 6), is_global


def build_classifier(model: FullTransNet, features: torch.Tensor, is_global: torch.Tensor) -> torch.Tensor:
    assert model.scores is not None
    scores: torch.Tensor = model.scores(features, model.encode(features, is_global).memory)
    return scores


@pytest.fixture(params=[SMALL, MASKED, replace(MASKED, mask=MaskConfig(depth=2, shared=True))])
def model(request: pytest.FixtureRequest) -> FullTransNet:
    torch.manual_seed(0)
    return FullTransNet(request.param).eval()


def test_the_paper_has_no_scores_and_no_ridge() -> None:
    assert not FullTransNetConfig().ridge
    for head in ("linear", "pointer"):
        assert FullTransNet(replace(SMALL, head=head)).scores is None
        with pytest.raises(UsageError, match="ridge regression gives scores of frames"):
            replace(SMALL, head=head, ridge=True)


def test_scores_are_a_linear_layer_on_the_memory_of_the_pointer_head(model: FullTransNet) -> None:
    whole = FullTransNet(replace(model.config, head="pointer")).eval()
    own = model.state_dict()
    missing, unexpected = whole.load_state_dict(own, strict=False)
    assert (set(unexpected), missing) == ({"scores.network.weight", "scores.network.bias"}, [])
    features, is_global = inputs()
    memory = whole.encode(features, is_global).memory
    linear = (memory * own["scores.network.weight"][0]).sum(dim=2) + own["scores.network.bias"]
    found = build_classifier(model, features, is_global)
    torch.testing.assert_close(found, moving_average(linear))
    assert found.std(dim=1).min() > 0
    frames = torch.tensor([[1, 5], [0, 7]])
    torch.testing.assert_close(model(features, is_global, frames), whole(features, is_global, frames))


def test_it_starts_as_ridge_regression() -> None:
    """Exactly so: the network's part is zero, not small."""
    model = FullTransNet(replace(SMALL, ridge=True)).eval()
    weights = np.random.default_rng(0).normal(size=6).astype(np.float32)
    model.scores.ridge.copy_(torch.from_numpy(weights))
    features, is_global = inputs()
    state = model.encode(features, is_global)
    assert not model.scores.network_part(state.memory).any()
    regression = ridge.RidgeScorer(RidgeConfig(dim_in=6), weights)
    for video, found in zip(features.numpy(), model.scores(features, state.memory), strict=True):
        np.testing.assert_allclose((found - found.mean()).detach(), regression(video), atol=1e-5)


@given(st.integers(0, 1000), st.integers(1, 20))
def test_averages_are_those_of_ridge_regression(seed: int, n_samples: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(2, n_samples)).astype(np.float32)
    wanted = np.stack([ridge.moving_average(each[:, None], 7)[:, 0] for each in scores])
    np.testing.assert_allclose(moving_average(torch.from_numpy(scores)).numpy(), wanted, atol=1e-5)


def test_all_weights_learn_but_ridge_regression(model: FullTransNet) -> None:
    """But for the bias of the score, which is a constant, and for those that the softmax cancels."""
    model = FullTransNet(replace(model.config, ridge=True))
    torch.nn.init.normal_(model.scores.network.weight)  # at zero, nothing below would learn of the scores
    features, is_global = inputs()
    state = model.encode(features, is_global)
    frames = torch.tensor([[1, 5], [0, 7]])
    loss = frame_loss(model.scores.network_part(state.memory), torch.randn(2, 12))
    (loss + fulltransnet_loss(model.taught(state, frames), frames)).backward()
    gradients = {name: weights.grad for name, weights in model.named_parameters()}
    assert not any("ridge" in name for name in gradients)
    assert all(gradient is not None for gradient in gradients.values())
    assert gradients.pop("scores.network.bias").abs().max() < 1e-6
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
