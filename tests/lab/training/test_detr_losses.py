"""The losses of the DETR models against torchvision and against the same sums written out, clip by clip."""

import itertools
import math
from collections.abc import Iterable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from vidsum.lab.training.settings import DETRLossSettings, MatchWeights
from vidsum.lab.training.train_detr import (
    DETRBatch,
    clips_inside,
    detection_loss,
    margin_loss,
    match,
    negative_pair_loss,
    rank_loss,
)
from vidsum.models.detr import Detections, DETRInputs

ONLY_SPAN, ONLY_GIOU, ONLY_LABEL = (
    MatchWeights(span=1, giou=0, label=0),
    MatchWeights(span=0, giou=1, label=0),
    MatchWeights(span=0, giou=0, label=1),
)


def _found(layers: int = 2, samples: int = 3, moments: int = 4, seed: int = 0) -> Detections:
    draw = torch.Generator().manual_seed(seed)
    logits = torch.randn(layers, samples, moments, 2, generator=draw)
    spans = torch.rand(layers, samples, moments, 2, generator=draw)
    return Detections(logits, spans, torch.randn(samples, 6, generator=draw))


def _windows(samples: int = 3, seed: int = 1) -> tuple[Tensor, Tensor]:
    """Two windows for each sample but the last, which has none."""
    draw = torch.Generator().manual_seed(seed)
    windows = torch.rand(samples, 2, 2, generator=draw).sort(dim=-1).values
    is_window = torch.ones(samples, 2, dtype=torch.bool)
    is_window[0, 1] = is_window[-1] = False
    return windows * is_window[..., None], is_window


@pytest.mark.parametrize("weights", [ONLY_SPAN, ONLY_GIOU, ONLY_LABEL, MatchWeights()])
def test_detection_loss_is_the_sum_of_the_layers_written_out(weights: MatchWeights) -> None:
    from torchvision.ops import generalized_box_iou_loss

    found, (windows, is_window) = _found(), _windows()
    how = DETRLossSettings(match=weights, no_moment=0.3)
    total = 0.0
    for logits, spans in zip(found.logits, found.spans, strict=True):
        matched = match(logits, spans, windows, is_window, weights)
        pairs = list(zip(*(one.tolist() for one in matched), strict=True))
        assert len(pairs) == 3
        right = {(sample, moment) for sample, moment, _ in pairs}
        labels = [
            -float(logits[s, m].log_softmax(0)[0])
            if (s, m) in right
            else -0.3 * float(logits[s, m].log_softmax(0)[1])
            for s in range(3)
            for m in range(4)
        ]
        distances, apart = [], []
        for s, m, w in pairs:
            (centre, width), (start, end) = spans[s, m].tolist(), windows[s, w].tolist()
            distances += [abs(centre - (start + end) / 2), abs(width - (end - start))]
            boxes = [[centre - width / 2, 0, centre + width / 2, 1], [start, 0, end, 1]]
            apart.append(float(generalized_box_iou_loss(*torch.tensor(boxes, dtype=torch.float64))))
        total += weights.span * sum(distances) / 6 + weights.giou * sum(apart) / 3
        total += weights.label * sum(labels) / 12
    assert float(detection_loss(found, windows, is_window, how)) == pytest.approx(total, rel=1e-4)


def test_detection_loss_without_a_window_is_that_of_no_moments() -> None:
    found, (windows, is_window) = _found(), _windows()
    found.spans.requires_grad_()
    none = torch.zeros_like(is_window)
    for given_windows, given_is in ((windows, none), (windows[:, :0], none[:, :0])):
        loss = detection_loss(found, given_windows, given_is, DETRLossSettings())
        expected = -0.1 * 4 * found.logits.log_softmax(-1)[..., 1].mean((1, 2)).sum()
        assert float(loss.detach()) == pytest.approx(float(expected), rel=1e-5)
        (gradient,) = torch.autograd.grad(loss, found.spans, allow_unused=True, materialize_grads=True)
        assert not gradient.any()


def _of(windows: Tensor, is_clip: Tensor, saliency: Tensor) -> DETRBatch:
    none = torch.zeros(len(is_clip), 1, 1)
    inputs = DETRInputs(is_clip[..., None].float(), is_clip, none, none[..., 0].bool())
    return DETRBatch(inputs, windows, windows.any(-1), saliency, inputs, none[:, 0, 0].bool())


def test_clips_are_inside_by_their_middle_or_by_annotators() -> None:
    windows = torch.tensor([[[0.0, 0.24], [0.6, 0.8]], [[0.5, 1.0], [0.0, 0.0]]])
    is_clip = torch.tensor([[True] * 4, [True, True, False, False]])
    saliency = torch.tensor([[0, 2.0, 0, 0], [0, 0, 0, 0]])
    inside = clips_inside(_of(windows, is_clip, saliency))
    assert inside.tolist() == [[True, True, True, False], [False, True, False, False]]


def test_margin_loss_takes_the_only_pairs_that_are_possible() -> None:
    scores = torch.tensor([[1.0, 0.5, 0.7, 9.0]])
    given_ = torch.tensor([[6.0, 3.0, 0.0, 0.0]])
    inside, is_clip = given_ > 0, torch.tensor([[True, True, True, False]])
    found = {round(float(margin_loss(scores, given_, inside, is_clip, 0.6)), 5) for _ in range(40)}
    hard = 0.6 - (1.0 - 0.5)
    assert found == {round(hard + 0.6 - 0.3, 5), round(hard + 0.6 + 0.2, 5)}


@pytest.mark.parametrize(
    ("given_", "inside", "terms"),
    [
        ([0, 0, 0], [False, False, False], 0),  # nothing is right
        ([5, 5, 5], [True, True, True], 0),  # nothing is better or worse
        ([5, 5, 0], [True, True, False], 1),  # only inside against outside
        ([5, 2, 1], [True, True, True], 1),  # only best against worst
        ([0, 0, 0], [True, False, False], 1),  # a window that annotators gave nothing
    ],
)
def test_margin_loss_of_missing_pairs_is_zero(given_: list[float], inside: list[bool], terms: int) -> None:
    scores = torch.zeros(1, 3, requires_grad=True)
    human, is_inside = torch.tensor([given_]).float(), torch.tensor([inside])
    loss = margin_loss(scores, human, is_inside, torch.ones(1, 3).bool(), 0.2)
    assert float(loss.detach()) == pytest.approx(0.2 * terms)
    loss.backward()
    assert scores.grad.isfinite().all()


def test_margin_loss_draws_each_clip_by_the_seed() -> None:
    scores, inside = torch.arange(6.0)[None], torch.tensor([[True, True, True, False, False, False]])
    is_clip, given_ = torch.ones(1, 6).bool(), inside.float()
    torch.manual_seed(0)
    drawn = [float(margin_loss(scores, given_, inside, is_clip, 0.0)) for _ in range(100)]
    torch.manual_seed(0)
    assert drawn == [float(margin_loss(scores, given_, inside, is_clip, 0.0)) for _ in range(100)]
    assert set(drawn) == {1.0, 2.0, 3.0, 4.0, 5.0}


def _slow_rank(scores: list[float], given_: list[float], tau: float) -> float:
    shares = [math.exp(score / tau) for score in scores]
    total = 0.0
    for rank in range(1, 12):
        logs = [
            math.log(one / sum(shares)) for one, given in zip(shares, given_, strict=True) if given >= rank
        ]
        total -= sum(logs) / max(1, len(logs))
    return total / 12


@given(
    seed=st.integers(0, 10_000),
    samples=st.integers(1, 4),
    clips=st.integers(1, 9),
    tau=st.sampled_from([0.5, 1]),
)
def test_rank_loss_is_the_rule_written_out(seed: int, samples: int, clips: int, tau: float) -> None:
    draw = torch.Generator().manual_seed(seed)
    scores = 3 * torch.randn(samples, clips, generator=draw)
    given_ = torch.randint(0, 13, (samples, clips), generator=draw).float()
    given_ *= torch.rand(samples, 1, generator=draw) < 0.8
    lengths = torch.randint(1, clips + 1, (samples,), generator=draw)
    is_clip = torch.arange(clips) < lengths[:, None]
    expected = [
        _slow_rank(s[:n], g[:n], tau)
        for s, g, n in zip(scores.tolist(), given_.tolist(), lengths.tolist(), strict=True)
    ]
    loss = rank_loss(scores, given_ * is_clip, is_clip, tau)
    assert float(loss) == pytest.approx(sum(expected) / samples, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("given_", [[0.0, 0.0, 0.0], [12.0, 12.0, 12.0]])
def test_rank_loss_of_equal_clips_is_finite(given_: list[float]) -> None:
    scores = torch.tensor([[90.0, -90.0, 0.0]], requires_grad=True)
    loss = rank_loss(scores, torch.tensor([given_]), torch.tensor([[True, True, False]]), 0.5)
    loss.backward()
    assert math.isfinite(float(loss.detach()))
    assert scores.grad.isfinite().all()
    assert float(loss.detach()) == pytest.approx(0 if given_[0] == 0 else 11 / 12 * 180)


def test_negative_pairs_are_summed_over_their_clips() -> None:
    scores = torch.tensor([[0.3, -2.0, 5.0], [80.0, 1.0, 1.0]])
    is_clip = torch.tensor([[True, True, False], [True, False, False]])
    expected = -math.log(1 - 1 / (1 + math.exp(-0.3))) - math.log(1 - 1 / (1 + math.exp(2.0))) + 80.0
    assert float(negative_pair_loss(scores, is_clip)) == pytest.approx(expected / 2, rel=1e-5)
    assert float(negative_pair_loss(scores, torch.zeros_like(is_clip))) == 0


def _problem(
    seed: int, n_samples: int, n_moments: int, n_windows: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    logits = torch.randn(n_samples, n_moments, 2, generator=draw)
    spans = torch.rand(n_samples, n_moments, 2, generator=draw)
    windows = torch.rand(n_samples, n_windows, 2, generator=draw).sort(dim=-1).values
    return logits, spans, windows, torch.rand(n_samples, n_windows, generator=draw) < 0.7


def _cost(logits: Tensor, span: Tensor, window: Tensor, weights: MatchWeights) -> float:
    """Of one moment and one window, in plain numbers."""
    centre, width = span.tolist()
    start, end = window.tolist()
    distance = abs(centre - (start + end) / 2) + abs(width - (end - start))
    first, last = centre - width / 2, centre + width / 2
    common = max(0.0, min(last, end) - max(first, start))
    union = width + end - start - common
    hull = max(last, end) - min(first, start)
    giou = common / union - (hull - union) / hull
    cost: float = weights.span * distance - weights.giou * giou - weights.label * float(logits.softmax(0)[0])
    return cost


Pairs = list[tuple[int, int]]


def _pairs_of(matched: Iterable[Tensor], sample: int) -> Pairs:
    """The moments and windows that are matched in a sample."""
    rows = zip(*(indices.tolist() for indices in matched), strict=True)
    return [(moment, window) for number, moment, window in rows if number == sample]


def _all_assignments(n_moments: int, windows: list[int]) -> list[Pairs]:
    moments = list(range(n_moments))
    if len(windows) < n_moments:
        return [
            list(zip(chosen, windows, strict=True))
            for chosen in itertools.permutations(moments, len(windows))
        ]
    return [list(zip(moments, chosen, strict=True)) for chosen in itertools.permutations(windows, n_moments)]


any_problem = given(
    seed=st.integers(0, 10_000),
    n_samples=st.integers(1, 3),
    n_moments=st.integers(1, 4),
    n_windows=st.integers(0, 4),
    weights=st.sampled_from([MatchWeights(), ONLY_SPAN, MatchWeights(span=0, giou=3, label=1)]),
)


@any_problem
def test_each_window_is_matched_to_one_moment(
    seed: int, n_samples: int, n_moments: int, n_windows: int, weights: MatchWeights
) -> None:
    logits, spans, windows, is_window = _problem(seed, n_samples, n_moments, n_windows)
    matched = match(logits, spans, windows, is_window, weights)
    for sample in range(n_samples):
        there = is_window[sample].nonzero()[:, 0].tolist()
        pairs = _pairs_of(matched, sample)
        assert len(pairs) == min(n_moments, len(there))
        assert len({moment for moment, _ in pairs}) == len({window for _, window in pairs}) == len(pairs)
        assert {window for _, window in pairs} <= set(there)


@any_problem
def test_no_other_assignment_is_cheaper(
    seed: int, n_samples: int, n_moments: int, n_windows: int, weights: MatchWeights
) -> None:
    logits, spans, windows, is_window = _problem(seed, n_samples, n_moments, n_windows)
    matched = match(logits, spans, windows, is_window, weights)

    def total(pairs: Pairs, sample: int) -> float:
        return sum(_cost(logits[sample, m], spans[sample, m], windows[sample, w], weights) for m, w in pairs)

    for sample in range(n_samples):
        there = is_window[sample].nonzero()[:, 0].tolist()
        best = min(total(pairs, sample) for pairs in _all_assignments(n_moments, there))
        assert total(_pairs_of(matched, sample), sample) == pytest.approx(best, abs=1e-4)


def test_matching_accepts_spans_that_are_not_finite() -> None:
    logits, spans, windows, is_window = _problem(1, 2, 3, 2)
    spans[0, 1] = torch.nan
    assert len(match(logits, spans, windows, torch.ones_like(is_window), MatchWeights()).sample) == 4
