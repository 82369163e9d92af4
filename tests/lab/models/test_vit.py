"""The vision transformer: equal to timm's without masks; the papers' masks in it."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from vidsum.lab.models.vit import ONE_LAYER, ViT, ViTConfig
from vidsum.models.configs import MaskConfig, MaskKind

TINY = ViTConfig(channels=1, image=8, patch=2, d=16, layers=2, heads=4, classes=10)


def count(config: ViTConfig) -> int:
    with torch.device("meta"):
        return sum(each.numel() for each in ViT(config).parameters())


def test_the_default_is_vit_b_16_and_the_papers_mask_has_one_layer() -> None:
    assert count(ViTConfig()) == 86_567_656  # as torchvision gives it
    assert count(ViTConfig(mask=ONE_LAYER)) - count(ViTConfig()) == 12 * (768 * 197 + 197)
    assert count(ViTConfig(mask=replace(ONE_LAYER, shared=True))) - count(ViTConfig()) == 768 * 197 + 197
    assert count(ViTConfig(mask=MaskConfig(kind="static"))) - count(ViTConfig()) == 12 * 197 * 197


def with_weights_of(model: nn.Module, names: dict[str, str], config: ViTConfig) -> ViT:
    """Our model with the weights of another's; `in_proj` and `qkv` hold q, k and v one below the other."""
    weights: dict[str, Tensor] = {}
    for name, value in model.state_dict().items():
        for theirs, ours in names.items():
            name = name.replace(theirs, ours)
        if "QKV" in name:
            weights |= {
                name.replace("QKV", each): part for each, part in zip("qkv", value.chunk(3), strict=True)
            }
        else:
            weights[name] = value
    network = ViT(config).eval()
    network.load_state_dict(weights)
    return network


def test_without_masks_it_is_timms() -> None:
    timm = pytest.importorskip("timm.models.vision_transformer")
    sizes = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 3, "num_heads": 4, "num_classes": 7}
    torch.manual_seed(0)
    theirs = timm.VisionTransformer(**sizes, global_pool="avg").eval()
    for each in theirs.parameters():
        nn.init.normal_(each, std=0.2)
    names = {
        "cls_token": "class_token",
        "pos_embed": "positions",
        "patch_embed.proj": "patches",
        "attn.qkv.": "attention.QKV.",
        "attn.proj": "attention.out",
        "norm1": "norms.0",
        "norm2": "norms.1",
        "fc1": "0",
        "fc2": "2",
        "fc_norm": "norm",
    }
    config = ViTConfig(image=32, patch=8, d=24, layers=3, heads=4, classes=7)
    pictures = torch.randn(2, 3, 32, 32)
    torch.testing.assert_close(with_weights_of(theirs, names, config)(pictures), theirs(pictures))


@pytest.mark.parametrize("kind", ["lam", "static"])
def test_a_mask_that_is_1_everywhere_changes_nothing(kind: MaskKind) -> None:
    torch.manual_seed(0)
    masked = ViT(replace(TINY, mask=MaskConfig(kind=kind, depth=1, identity=True))).eval()
    plain = ViT(TINY).eval()
    plain.load_state_dict(masked.state_dict(), strict=False)
    pictures = torch.randn(3, 1, 8, 8)
    near = 0.01 if kind == "static" else 1e-5  # 0.9975 beside the diagonal
    torch.testing.assert_close(masked(pictures), plain(pictures), atol=near, rtol=0)


def test_the_mask_of_a_block_is_of_the_tokens_that_its_attention_reads() -> None:
    """One block written out: softmax(Q K^T / sqrt(d_k) * (X W + b)) V of the normed tokens X, by head."""
    torch.manual_seed(0)
    block = ViT(replace(TINY, mask=ONE_LAYER)).blocks[0].eval()
    x = torch.randn(2, 17, 16)
    tokens = block.norms[0](x)
    mask = block.mask.layers[0](tokens)
    q, k, v = (getattr(block.attention, each)(tokens).split(4, dim=2) for each in "qkv")
    heads = [((q[each] @ k[each].mT / 2) * mask).softmax(dim=2) @ v[each] for each in range(4)]
    expected = x + block.attention.out(torch.cat(heads, dim=2))
    expected = expected + block.mlp(block.norms[1](expected))
    torch.testing.assert_close(block(x), expected)


def test_a_shared_mask_is_that_of_the_first_block_and_linear_layers_stand_behind_each() -> None:
    shared = ViT(replace(TINY, mask=replace(ONE_LAYER, shared=True)))
    shared(torch.randn(2, 1, 8, 8)).sum().backward()
    assert [each.mask is None for each in shared.blocks] == [False, True]
    assert shared.blocks[0].mask.layers[0].weight.grad.abs().sum() > 0
    assert count(replace(TINY, linear=8)) - count(TINY) == 2 * (2 * 16 * 8 + 8 + 16)
    assert ViT(replace(TINY, linear=8))(torch.randn(2, 1, 8, 8)).shape == (2, 10)
