"""The losses of MRNet against the same sums written out, one pair at a time."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vidsum.lab.training.mrnet import contrastive_loss, iou_loss, proposal_ious, window_iou
from vidsum.lab.training.settings import LossSettings
from vidsum.types import iou

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


def test_ious_are_those_of_the_one_iou() -> None:
    windows = _windows(2, 3, 2, seed=0)
    ious = proposal_ious(windows, T)
    for b, m in itertools.product(range(2), range(3)):
        for i, j in itertools.combinations_with_replacement(range(T), 2):
            segment = torch.tensor([i / T, (j + 1) / T])
            expected = max(_slow_iou(segment, window) for window in windows[b, m])
            assert float(ious[b, m, i, j]) == pytest.approx(expected, abs=1e-6)


def test_an_empty_window_overlaps_nothing() -> None:
    assert float(window_iou(torch.tensor([0.0, 4.95]), torch.tensor([0.0, 9.9]))) == 0.5
    empty = torch.zeros(2)
    assert float(window_iou(empty, torch.tensor([0.0, 1.0]))) == 0
    assert float(window_iou(torch.tensor([0.5, 0.5]), torch.tensor([0.0, 1.0]))) == 0
    assert float(window_iou(empty, empty)) == 0
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
@settings(max_examples=60, deadline=None)
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


def test_a_lone_query_with_no_negatives_costs_nothing_and_has_a_gradient() -> None:
    windows = torch.tensor([[[[0.0, 1.0]]]])
    ious = torch.ones(1, 1, 3)
    proposals = _unit(1, 3, 4, seed=0).requires_grad_()
    is_query = torch.ones(1, 1).bool()
    loss = contrastive_loss(proposals, _unit(1, 1, 4, seed=1), ious, windows, is_query, LossSettings())
    loss.backward()
    assert loss.item() == 0
    assert proposals.grad is not None
    assert proposals.grad.isfinite().all()
