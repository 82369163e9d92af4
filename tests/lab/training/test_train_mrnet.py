"""Training MRNet: losses as sums written out, and videos learned by heart."""

import itertools
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.lab.training.toy import Toy, draw_moments, fixed
from vidsum.checkpoints.trained import read_trained
from vidsum.lab.training.settings import LossSettings, MRNetSettings
from vidsum.lab.training.train_mrnet import (
    MomentBatch,
    best_ious,
    collate_groups,
    contrastive_loss,
    iou_loss,
    mrnet_loss,
    proposal_ious,
    train_mrnet,
    window_iou,
)
from vidsum.models.configs import LIGHT_HEAD, MRNetConfig
from vidsum.models.mrnet import MRNet
from vidsum.options import build
from vidsum.types import iou

HOW = Toy(n_videos=6, clips=8, segments=3, queries=2, noise=0.5)
SIZES = {**LIGHT_HEAD, "dim_map": 16, "hidden": 16, "dim_joint": 16, "kernel": 3, "d": 16, "heads": 2}


def _settings(epochs: int, **choices: object) -> MRNetSettings:
    small = {**SIZES, "d_ff": 32, "dropout": 0.1, "dropout_in": 0.0, "device": "cpu", "batch_size": 4}
    return build(MRNetSettings, {**small, "epochs": epochs, "decay_at": (), **choices})


@pytest.mark.deep
def test_few_videos_are_learned_by_heart(tmp_path: Path) -> None:
    examples = draw_moments(HOW, 1)
    fitted = train_mrnet(fixed(examples, examples), _settings(50, lr=4e-3, dropout=0.0, patience=8), tmp_path)
    assert fitted.best.validation == 1.0
    assert fitted.history[0].validation is not None
    assert fitted.history[0].validation < 0.8
    trained = read_trained(fitted.checkpoint)
    model = MRNet(MRNetConfig(**trained.config)).eval()
    model.load_state_dict(dict(trained.tensors))
    with torch.inference_mode():
        ious = best_ious(model, examples)
    assert ious.shape == (12, 1)
    assert (ious >= 0.5).all()


@pytest.fixture(scope="module")
def losses() -> Callable[[float, float], float]:
    """The loss of Eq. 12 by the weights of its contrastive and its sparsity part."""
    model, batch = small_model(), small_batch()

    @torch.no_grad()
    def loss(lambda_c: float, lambda_s: float) -> float:
        return float(mrnet_loss(model, batch, LossSettings(lambda_c=lambda_c, lambda_s=lambda_s)))

    return loss


def small_model() -> MRNet:
    torch.manual_seed(0)
    return MRNet(MRNetConfig(**SIZES, clips=8, dim_video=64, dim_query=32)).eval()


def small_batch() -> MomentBatch:
    return collate_groups([(example, [0, 1]) for example in draw_moments(HOW, 1)], torch.device("cpu"))


def test_sparsity_of_masks_is_a_weighted_part_of_the_loss(losses: Callable[[float, float], float]) -> None:
    part = losses(0.3, 7.0) - losses(0.3, 0.0)
    assert part > 0
    assert part == pytest.approx(7 * small_model().sparsity_loss().item(), rel=1e-4)


def test_contrastive_loss_is_a_weighted_part_of_the_loss(losses: Callable[[float, float], float]) -> None:
    whole = losses(1.0, 0.0) - losses(0.0, 0.0)
    assert whole > 0
    assert losses(0.3, 7.0) - losses(0.0, 7.0) == pytest.approx(0.3 * whole, rel=1e-4)


def test_rest_of_the_loss_is_that_of_the_ious(losses: Callable[[float, float], float]) -> None:
    model, batch = small_model(), small_batch()
    with torch.no_grad():
        scores = model(batch.video, batch.queries, batch.is_query)
        ious = proposal_ious(batch.gt_windows, 8)
        alone = iou_loss(
            scores.iou, ious, model.valid, batch.is_query, LossSettings().iou_low, LossSettings().iou_high
        )
    assert losses(0.0, 0.0) == pytest.approx(float(alone), rel=1e-4)


def test_query_is_judged_whatever_others_are_asked_of_its_video() -> None:
    """The order of the examples is kept."""
    model, examples = small_model(), draw_moments(HOW, 1)
    single = [
        replace(example, queries=example.queries[[query]], windows=example.windows[[query]])
        for example in examples
        for query in range(2)
    ]
    with torch.inference_mode():
        np.testing.assert_allclose(best_ious(model, examples, 5), best_ious(model, single, 3), atol=1e-6)


# --- losses, one pair at a time ---

T = 5
VALID = torch.ones(T, T).triu().bool()
VALID[0, 3] = False


def _windows(batch: int, n_queries: int, n_windows: int, seed: int) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.rand(batch, n_queries, n_windows, 2, generator=draw).sort(dim=-1).values


def _unit(*shape: int, seed: int) -> Tensor:
    rows = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(rows, dim=-1)


def _slow_iou(a: Tensor, b: Tensor) -> float:
    return float(iou([a.tolist()], [b.tolist()])[0, 0])


def test_ious_of_proposals_are_those_of_intervals() -> None:
    windows = _windows(2, 3, 2, seed=0)
    ious = proposal_ious(windows, T)
    for b, m in itertools.product(range(2), range(3)):
        for i, j in itertools.combinations_with_replacement(range(T), 2):
            segment = torch.tensor([i / T, (j + 1) / T])
            expected = max(_slow_iou(segment, window) for window in windows[b, m])
            assert float(ious[b, m, i, j]) == pytest.approx(expected, abs=1e-6)


def test_iou_of_a_window_with_its_first_half_is_a_half() -> None:
    assert float(window_iou(torch.tensor([0.0, 4.95]), torch.tensor([0.0, 9.9]))) == 0.5


@pytest.mark.parametrize(
    ("first", "second"), [((0.0, 0.0), (0.0, 1.0)), ((0.5, 0.5), (0.0, 1.0)), ((0.0, 0.0), (0.0, 0.0))]
)
def test_empty_window_overlaps_nothing(first: tuple[float, float], second: tuple[float, float]) -> None:
    assert float(window_iou(torch.tensor(first), torch.tensor(second))) == 0


def test_padding_of_windows_overlaps_no_proposal() -> None:
    padded = torch.tensor([[[[0.2, 0.6], [0.0, 0.0]]]])
    assert torch.equal(proposal_ious(padded, T), proposal_ious(padded[:, :, :1], T))


@pytest.mark.parametrize(("low", "high"), [(0.5, 1.0), (0.3, 0.7)])
def test_iou_loss_is_the_mean_over_true_queries_and_proposals(low: float, high: float) -> None:
    logits = torch.randn(2, 3, T, T, generator=torch.Generator().manual_seed(1))
    ious = proposal_ious(_windows(2, 3, 1, seed=2), T)
    is_query = torch.tensor([[True, True, False], [True, False, False]])
    terms = []
    for b, m in is_query.nonzero().tolist():
        for i, j in VALID.nonzero().tolist():
            y = min(max((float(ious[b, m, i, j]) - low) / (high - low), 0), 1)
            score = 1 / (1 + math.exp(-float(logits[b, m, i, j])))
            terms.append(-(y * math.log(score) + (1 - y) * math.log(1 - score)))
    assert len(terms) == 3 * 14
    loss = iou_loss(logits, ious, VALID, is_query, low, high)
    assert float(loss) == pytest.approx(sum(terms) / len(terms), rel=1e-5)


def _slow_contrast(
    proposals: Tensor, queries: Tensor, ious: Tensor, windows: Tensor, is_query: Tensor, how: LossSettings
) -> float:
    """The rule of MMN, a query and a moment at a time."""
    every = [(b, m) for b in range(len(queries)) for m in range(queries.shape[1]) if is_query[b, m]]
    terms = []
    for b, m in every:
        if not ious[b, m].any():
            continue
        ranked = sorted(range(proposals.shape[1]), key=lambda p: -float(ious[b, m, p]))
        for own in ranked[: how.positives]:
            e = _exponential(proposals[b, own] @ queries[b, m], how, how.margin)
            queries_of_moment = e + sum(
                _exponential(proposals[b, own] @ queries[c, n], how)
                for c, n in every
                if (c, n) != (b, m) and (c != b or not _same_segment(windows[b, m], windows[b, n], how))
            )
            moments_of_query = e + sum(
                _exponential(proposals[c, p] @ queries[b, m], how)
                for c in range(len(proposals))
                for p in range(proposals.shape[1])
                if c != b or float(ious[b, m, p]) < how.negative_iou
            )
            terms.append(-math.log(e / queries_of_moment) - math.log(e / moments_of_query))
    return sum(terms) / max(1, len(terms))


def _exponential(cosine: Tensor, how: LossSettings, margin: float = 0.0) -> float:
    return math.exp((float(cosine) - margin) / how.temperature)


def _same_segment(one: Tensor, two: Tensor, how: LossSettings) -> bool:
    return max(_slow_iou(a, b) for a in one for b in two) >= how.negative_iou


@given(
    seed=st.integers(0, 10_000),
    batch=st.integers(1, 3),
    n_queries=st.integers(1, 3),
    n_windows=st.integers(1, 2),
    positives=st.integers(1, 3),
    margin=st.sampled_from([0.0, 0.2, 0.4]),
)
def test_contrastive_loss_is_the_rule_written_out(
    seed: int, batch: int, n_queries: int, n_windows: int, positives: int, margin: float
) -> None:
    how = replace(LossSettings(), positives=positives, margin=margin)
    windows = _windows(batch, n_queries, n_windows, seed)
    if n_queries > 1 and seed % 3 == 0:
        windows[:, 1] = windows[:, 0]  # queries of one segment are no negatives of each other
    draw = torch.Generator().manual_seed(seed)
    ious = torch.rand(batch, n_queries, 14, generator=draw)  # those of real windows may be equal
    ious[torch.rand(batch, n_queries, generator=draw) < 0.2] = 0  # true nowhere
    is_query = torch.rand(batch, n_queries, generator=draw) < 0.7
    is_query[0, 0] = True
    proposals, queries = _unit(batch, ious.shape[2], 4, seed=seed), _unit(batch, n_queries, 4, seed=seed + 1)
    given_ = (proposals, queries, ious, windows, is_query, how)
    assert float(contrastive_loss(*given_)) == pytest.approx(_slow_contrast(*given_), rel=1e-4, abs=1e-5)


def test_query_without_negatives_costs_nothing_and_has_a_gradient() -> None:
    windows = torch.tensor([[[[0.0, 1.0]]]])
    ious = torch.ones(1, 1, 3)
    proposals = _unit(1, 3, 4, seed=0).requires_grad_()
    is_query = torch.ones(1, 1).bool()
    loss = contrastive_loss(proposals, _unit(1, 1, 4, seed=1), ious, windows, is_query, LossSettings())
    loss.backward()
    assert loss.item() == 0
    assert proposals.grad.isfinite().all()


def test_losses_pick_nothing_by_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the meta device, which has no values, as a GPU would have to wait for them."""
    monkeypatch.setattr(torch, "autocast", lambda *arguments, **more: nullcontext())  # there is none on meta
    sizes = {"clips": T, "dim_video": 6, "dim_query": 5, "d": 16, "heads": 2, "d_ff": 16}
    with torch.device("meta"):
        model = MRNet(MRNetConfig(**sizes))
        windows, is_query = torch.zeros(2, 3, 1, 2), torch.ones(2, 3, dtype=torch.bool)
        batch = MomentBatch(torch.zeros(2, T, 6), torch.zeros(2, 3, 5), is_query, windows)
        assert mrnet_loss(model, batch, LossSettings()).shape == ()
