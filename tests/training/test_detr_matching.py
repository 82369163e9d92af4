"""The assignment of moments to windows against all permutations."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vidsum.errors import UsageError
from vidsum.training.detr_matching import match
from vidsum.training.settings import MatchWeights


def _batch(
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


@given(
    seed=st.integers(0, 10_000),
    n_samples=st.integers(1, 3),
    n_moments=st.integers(1, 4),
    n_windows=st.integers(0, 4),
    weights=st.sampled_from([MatchWeights(), MatchWeights(1, 0, 0), MatchWeights(0, 3, 1)]),
)
@settings(max_examples=60, deadline=None)
def test_no_other_assignment_is_cheaper(
    seed: int, n_samples: int, n_moments: int, n_windows: int, weights: MatchWeights
) -> None:
    logits, spans, windows, is_window = _batch(seed, n_samples, n_moments, n_windows)
    found = match(logits, spans, windows, is_window, weights)
    for sample in range(n_samples):
        there = is_window[sample].nonzero()[:, 0].tolist()
        pairs = [
            (moment, window)
            for number, moment, window in zip(*(one.tolist() for one in found), strict=True)
            if number == sample
        ]
        assert len(pairs) == min(n_moments, len(there))
        assert len({moment for moment, _ in pairs}) == len({window for _, window in pairs}) == len(pairs)
        assert {window for _, window in pairs} <= set(there)

        def total(pairs: list[tuple[int, int]], sample: int = sample) -> float:
            return sum(
                _cost(logits[sample, m], spans[sample, m], windows[sample, w], weights) for m, w in pairs
            )

        few, many = sorted((list(range(n_moments)), there), key=len)
        swapped = few is there and few != list(range(n_moments))
        every = [list(zip(few, chosen, strict=True)) for chosen in itertools.permutations(many, len(few))]
        best = min(total([(b, a) for a, b in one] if swapped else one) for one in every)
        assert total(pairs) == pytest.approx(best, abs=1e-4)


def test_samples_without_windows_match_nothing() -> None:
    logits, spans, windows, is_window = _batch(0, 3, 4, 2)
    nothing = match(logits, spans, windows, torch.zeros_like(is_window), MatchWeights())
    assert [len(one) for one in nothing] == [0, 0, 0]
    is_window[:] = torch.tensor([[False, False], [False, True], [False, False]])
    one = match(logits, spans, windows, is_window, MatchWeights())
    assert (one.sample.tolist(), one.window.tolist()) == ([1], [1])


def test_numbers_of_a_model_that_diverged_are_no_fault_of_the_matching() -> None:
    logits, spans, windows, is_window = _batch(1, 2, 3, 2)
    spans[0, 1] = torch.nan
    assert len(match(logits, spans, windows, torch.ones_like(is_window), MatchWeights()).sample) == 4


def test_negative_weights_are_refused() -> None:
    with pytest.raises(UsageError, match="must not be negative"):
        MatchWeights(giou=-1)
