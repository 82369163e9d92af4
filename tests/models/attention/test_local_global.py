"""Local-global attention against the dense masked softmax, written out query by query."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vidsum.models.attention import local_global
from vidsum.models.attention.learned_mask import SoftMask
from vidsum.models.attention.local_global import SparsePattern, local_global_attention, local_global_mask


def attend_directly(case: dict) -> Tensor:
    """Eq. 9-10 for one query after the other, with the learned mask if given; rows of padding are zero."""
    q, k, v, mask = (case[name] for name in ("q", "k", "v", "mask"))
    is_global, is_valid, window = case["is_global"], case["is_valid"], case["window"]
    out = torch.zeros_like(q)
    n_videos, n_heads, n_tokens, d_k = q.shape
    for video in range(n_videos):
        for m in range(n_tokens):
            if not is_valid[video, m]:
                continue
            seen = [
                n
                for n in range(n_tokens)
                if is_valid[video, n]
                and (abs(m - n) <= window // 2 or is_global[video, m] or is_global[video, n])
            ]
            for head in range(n_heads):
                scores = k[video, head, seen] @ q[video, head, m] / math.sqrt(d_k)
                if mask is not None:
                    rows = mask.rows[video if len(mask.rows) > 1 else 0]
                    columns = mask.columns if mask.columns.dim() == 2 else mask.columns[video]
                    bias = mask.bias if mask.bias.dim() == 1 else mask.bias[video]
                    own = columns[seen] @ rows[m] + bias[seen]
                    scores = scores * own if mask.fusion == "product" else scores + own
                out[video, head, m] = scores.softmax(0) @ v[video, head, seen]
    return out


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
        "rows_by_video": draw(st.booleans()),
        "columns_by_video": draw(st.booleans()),
    }


def with_mask(case: dict) -> dict:
    """Rows and columns for each video, or for all."""
    n_videos, _, n_tokens, _ = case["q"].shape
    rows = torch.randn(n_videos if case["rows_by_video"] else 1, n_tokens, 5)
    videos = (n_videos,) if case["columns_by_video"] else ()
    columns, bias = torch.randn(*videos, n_tokens, 5), torch.randn(*videos, n_tokens)
    return {**case, "mask": case["mask"] and SoftMask(rows, columns, bias, case["mask"])}


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[pytest.MonkeyPatch]:
    """Several blocks in a short sequence, the last one not full."""
    patch = pytest.MonkeyPatch()
    patch.setattr(local_global, "_BLOCK", 7)
    yield patch
    patch.undo()


@settings(deadline=None, max_examples=30)
@given(cases())
def test_attention_is_the_equations(case):
    case = with_mask(case)
    pattern = SparsePattern.of(case["is_global"], case["is_valid"], case["window"])
    found = local_global_attention(case["q"], case["k"], case["v"], pattern, case["mask"])
    is_valid = case["is_valid"][:, None, :, None]
    assert torch.allclose(found * is_valid, attend_directly(case), atol=1e-5)


@settings(deadline=None, max_examples=30)
@given(cases())
def test_attention_is_a_softmax_over_the_dense_mask(case):
    case = with_mask(case)
    q, k, v, window, learned = (case[name] for name in ("q", "k", "v", "window", "mask"))
    pattern = SparsePattern.of(case["is_global"], case["is_valid"], window)
    found = local_global_attention(q, k, v, pattern, learned) * case["is_valid"][:, None, :, None]
    mask = local_global_mask(case["is_global"], case["is_valid"], window)
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[3])
    scores = learned.fuse(scores) if learned else scores
    dense = scores.masked_fill(~mask[:, None], -math.inf).softmax(3).nan_to_num() @ v
    assert torch.allclose(found, dense, atol=1e-5)


@pytest.mark.parametrize("n_tokens", [63, 64, 65, 137, 257, 700])
def test_long_sequence_is_attended_to_in_blocks(small_blocks, n_tokens):
    small_blocks.setattr(local_global, "_BLOCK", 64)
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 8, n_tokens, 8) for _ in range(3))
    is_global, is_valid = torch.rand(1, n_tokens) < 0.2, torch.ones(1, n_tokens, dtype=torch.bool)
    mask = local_global_mask(is_global, is_valid, 17)[:, None]
    dense = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    found = local_global_attention(q, k, v, SparsePattern.of(is_global, is_valid, 17))
    assert torch.allclose(found, dense, atol=1e-6)


def test_no_more_of_a_learned_mask_is_made_than_is_attended_to():
    torch.manual_seed(0)
    q = torch.randn(1, 2, 1000, 4)
    is_global, is_valid = torch.arange(1000)[None] % 100 == 0, torch.ones(1, 1000, dtype=torch.bool)
    mask = SoftMask(torch.randn(1, 1000, 5), torch.randn(1000, 5), torch.randn(1000), "product")
    sizes = []
    dense = SoftMask.dense
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SoftMask, "dense", lambda self: sizes.append(dense(self).numel()) or dense(self))
        local_global_attention(q, q, q, SparsePattern.of(is_global, is_valid, 17), mask)
    # queries go in blocks, each to its neighbours and to the 10 global tokens, and these to all
    padded = 1000 + -1000 % local_global._BLOCK
    assert sum(sizes) == padded * (local_global._BLOCK + 2 * 8 + 10) + 10 * 1000


@pytest.mark.parametrize("is_masked", [False, True])
def test_attention_runs_on_another_device(is_masked):
    is_global, is_valid = torch.arange(40).expand(2, -1) % 9 == 0, torch.ones(2, 40, dtype=torch.bool)
    pattern = SparsePattern.of(is_global, is_valid, 5)
    tensors = {name: value for name, value in vars(pattern).items() if isinstance(value, Tensor)}
    elsewhere = replace(pattern, **{name: value.to("meta") for name, value in tensors.items()})
    q = torch.randn(2, 2, 40, 4, device="meta")
    mask = None
    if is_masked:
        rows, columns = torch.randn(2, 40, 5, device="meta"), torch.randn(40, 5, device="meta")
        mask = SoftMask(rows, columns, torch.randn(40, device="meta"), "product")
    assert local_global_attention(q, q, q, elsewhere, mask).shape == q.shape
