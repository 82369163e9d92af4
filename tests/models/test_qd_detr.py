"""QD-DETR's cross-attention against that of the public code, whose masks are mixed up between samples."""

import pytest
import torch
from torch import Tensor, nn

from vidsum.models.attention.learned_mask import fused_attention
from vidsum.models.configs import DETRConfig
from vidsum.models.qd_detr import CrossLayer

D, HEADS = 16, 4
CLIPS, WORDS = torch.tensor([7, 3]), torch.tensor([5, 2])
"""Of a batch of two; the second sample has padding of both kinds."""


def public_attention(
    layer: CrossLayer, clips: Tensor, words: Tensor, lengths: tuple[Tensor, Tensor], *, repaired: bool
) -> Tensor:
    """[B, T, d] of PyTorch's attention with a mask [B * heads, T, W] of padded clips with padded words.

    PyTorch reads that mask sample by sample, all heads of one first. The public code lays it head by head, by
    `.repeat(nhead, 1, 1)`; `repaired` is as PyTorch reads it.
    """
    own = layer.attention
    module = nn.MultiheadAttention(D, HEADS, batch_first=True)
    parts = (own.q, own.k, own.v)
    state = {
        f"in_proj_{name}": torch.cat([getattr(part, name) for part in parts]) for name in ("weight", "bias")
    }
    state |= {f"out_proj.{name}": value for name, value in own.out.state_dict().items()}
    module.load_state_dict(state)
    no_clip = torch.arange(clips.shape[1]) >= lengths[0][:, None]
    no_word = torch.arange(words.shape[1]) >= lengths[1][:, None]
    neither = no_clip[:, :, None] & no_word[:, None, :]
    mask = neither.repeat_interleave(HEADS, 0) if repaired else neither.repeat(HEADS, 1, 1)
    out: Tensor = module(clips, words, words, key_padding_mask=no_word, attn_mask=mask, need_weights=False)[0]
    return out


@pytest.mark.parametrize(
    ("samples", "repaired"), [([0], False), ([1], False), ([0, 1], True), ([0, 1], False)]
)
def test_attention_is_the_public_codes_alone_or_with_its_mask_repaired(
    samples: list[int], repaired: bool
) -> None:
    torch.manual_seed(0)
    layer = CrossLayer(DETRConfig(d=D, heads=HEADS, d_ff=24), None).eval()
    clips, words = torch.randn(2, 7, D)[samples], torch.randn(2, 5, D)[samples]
    lengths = CLIPS[samples], WORDS[samples]
    is_clip = torch.arange(7) < lengths[0][:, None]
    with torch.no_grad():
        q, (k, v) = layer.attention.queries(clips), layer.attention.keys_values(words)
        is_word = torch.arange(5) < lengths[1][:, None]
        found = layer.attention.join(fused_attention(q, k, v, None, is_word))
        expected = public_attention(layer, clips, words, lengths, repaired=repaired)
    apart = (found - expected)[is_clip].abs().max()
    if repaired or len(samples) == 1:
        assert apart < 1e-6
    else:
        assert apart > 1e-3  # words of the first sample are hidden where the second has none
