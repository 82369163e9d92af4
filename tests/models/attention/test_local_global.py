"""Local-global attention against the dense masked softmax, written out query by query."""

import math
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vidsum.models.attention import local_global
from vidsum.models.attention.learned_mask import SoftMask
from vidsum.models.attention.local_global import local_global_attention, local_global_mask


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Tensor | int]:
    n_videos, n_tokens = draw(st.integers(1, 3)), draw(st.integers(1, 24))
    torch.manual_seed(draw(st.integers(0, 10_000)))
    lengths = torch.tensor([draw(st.integers(1, n_tokens)) for _ in range(n_videos)])
    return {
        **{name: torch.randn(n_videos, 2, n_tokens, 4) for name in "qkv"},
        "is_global": torch.rand(n_videos, n_tokens) < draw(st.sampled_from([0.0, 0.1, 0.3, 1.0])),
        "is_valid": torch.arange(n_tokens) < lengths[:, None],
        "window": 2 * draw(st.integers(0, 8)) + 1,
        "mask": draw(st.sampled_from([None, "product", "sum"])),
    }


def with_mask(case: dict) -> dict:
    n_videos, _, n_tokens, _ = case["q"].shape
    factors = torch.randn(n_videos, n_tokens, 5), torch.randn(n_tokens, 5), torch.randn(n_tokens)
    return {**case, "mask": case["mask"] and SoftMask(*factors, case["mask"])}


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[pytest.MonkeyPatch]:
    """Several blocks in a short sequence, the last one not full."""
    patch = pytest.MonkeyPatch()
    patch.setattr(local_global, "_BLOCK", 7)
    yield patch
    patch.undo()


@settings(deadline=None, max_examples=30)
@given(cases())
def test_equals_dense_masked_softmax(case):
    """Eq. 9-10 with the learned mask if there is one; what padding gets does not count."""
    case = with_mask(case)
    q, k, v, is_global, is_valid, window, learned = case.values()
    place = torch.arange(q.shape[2])
    seen = is_global[:, :, None] | is_global[:, None] | ((place[:, None] - place).abs() <= window // 2)
    seen = seen & is_valid[:, None]
    mask = local_global_mask(is_global, is_valid, window)
    assert torch.equal(mask & is_valid[:, :, None], seen & is_valid[:, :, None])
    found = local_global_attention(**case) * is_valid[:, None, :, None]
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
    scores = learned.fuse(scores) if learned else scores
    dense = scores.masked_fill(~seen[:, None], -math.inf).softmax(3).nan_to_num() @ v
    assert torch.allclose(found, dense * is_valid[:, None, :, None], atol=1e-5)


@pytest.mark.parametrize("n_tokens", [63, 64, 65, 137, 257, 700])
def test_long_sequence_in_whole_blocks(small_blocks, n_tokens):
    small_blocks.setattr(local_global, "_BLOCK", 64)
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 8, n_tokens, 8) for _ in range(3))
    is_global, is_valid = torch.rand(1, n_tokens) < 0.2, torch.ones(1, n_tokens, dtype=torch.bool)
    mask = local_global_mask(is_global, is_valid, 17)[:, None]
    dense = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert torch.allclose(local_global_attention(q, k, v, is_global, is_valid, 17), dense, atol=1e-6)


def test_no_more_of_a_learned_mask_is_made_than_is_attended_to():
    torch.manual_seed(0)
    q = torch.randn(1, 2, 1000, 4)
    is_global, is_valid = torch.arange(1000)[None] % 100 == 0, torch.ones(1, 1000, dtype=torch.bool)
    mask = SoftMask(torch.randn(1, 1000, 5), torch.randn(1000, 5), torch.randn(1000), "product")
    sizes = []
    dense = SoftMask.dense
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SoftMask, "dense", lambda self: sizes.append(dense(self).numel()) or dense(self))
        local_global_attention(q, q, q, is_global, is_valid, 17, mask)
    # queries go in blocks, each to its neighbours and to the 10 global tokens, and these to all
    padded = 1000 + -1000 % local_global._BLOCK
    assert sum(sizes) == padded * (local_global._BLOCK + 2 * 8 + 10) + 10 * 1000
