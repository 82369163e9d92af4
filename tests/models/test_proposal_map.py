"""The map of proposals against the published counts, and against maxima and counts taken directly."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vidsum.models.mrnet import pool_proposals, pooling_counts, proposals


@pytest.mark.parametrize(
    ("clips", "counts"), [(16, (15,)), (64, (15, 8, 8)), (128, (15, 8, 8, 8)), (2, (1,)), (17, (15,))]
)
def test_the_published_counts(clips: int, counts: tuple[int, ...]) -> None:
    assert pooling_counts(clips) == counts


@given(st.integers(2, 150))
@settings(max_examples=40, deadline=None)
def test_proposals_lie_inside_and_are_all_different(clips: int) -> None:
    pairs = [tuple(pair) for pair in proposals(clips, pooling_counts(clips)).tolist()]
    assert len(set(pairs)) == len(pairs)
    assert all(0 <= first <= last < clips for first, last in pairs)
    dense = {(i, j) for i in range(clips) for j in range(i, min(i + 16, clips))}
    assert dense <= set(pairs)
    # the longest leaves out less than the widest stride
    longest = max(last - first + 1 for first, last in pairs)
    assert longest == clips if clips <= 16 else longest > 0.85 * clips


@given(st.integers(2, 100), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_a_proposal_is_the_most_of_its_clips(clips: int, seed: int) -> None:
    x = torch.randn(1, 2, clips, generator=torch.Generator().manual_seed(seed))
    counts = pooling_counts(clips)
    pooled = pool_proposals(x, counts)
    pairs = proposals(clips, counts)
    assert pooled.shape[2] == len(pairs)
    for number, (first, last) in enumerate(pairs.tolist()):
        assert torch.equal(pooled[0, :, number], x[0, :, first : last + 1].amax(dim=1))
