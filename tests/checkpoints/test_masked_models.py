"""Every transformer of the project with every kind of learned mask: it learns, and a checkpoint holds it."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from vidsum.checkpoints.trained import Trained, build_trained, read_trained, save_trained
from vidsum.models.attention.learned_mask import LearnedMask
from vidsum.models.configs import HEADS, DETRConfig, FullTransNetConfig, MaskConfig, MRNetConfig
from vidsum.models.detr_models import MODELS, build
from vidsum.models.fulltransnet import FullTransNet
from vidsum.models.mrnet import MRNet

T, DIM = 8, 6
CONFIGS: dict[str, Any] = {
    "fulltransnet": FullTransNetConfig(dim_in=DIM, d=8, layers=2, heads=2, d_ff=8, window=3, t_max=T),
    "mrnet": MRNetConfig(dim_video=DIM, dim_query=DIM, clips=T, d=8, heads=2, d_ff=8, **HEADS["light"]),
    **dict.fromkeys(MODELS, DETRConfig(dim_video=DIM, dim_query=DIM, clips=T, words=4, d=8, heads=2, d_ff=8)),
}
MASKS = {
    f"{kind}-{fusion}{'-shared' if shared else ''}": MaskConfig(
        kind=kind, depth=2, fusion=fusion, shared=shared
    )
    for kind in ("lam", "stamp")
    for fusion in ("product", "sum")
    for shared in (False, True)
}
MASKS |= {
    "xavier-bounded": MaskConfig(kind="lam", depth=2, init="xavier", bound="sigmoid"),
    "he-bounded-sum": MaskConfig(kind="stamp", depth=2, fusion="sum", init="he", bound="sigmoid"),
}


def made(name: str, config: Any) -> nn.Module:
    makers: dict[str, Callable[[Any], nn.Module]] = {"fulltransnet": FullTransNet, "mrnet": MRNet}
    torch.manual_seed(0)
    return makers[name](config) if name in makers else build(name, config)


def outputs(name: str, model: nn.Module) -> list[Tensor]:
    """What it gives for two videos, the second of them shorter where it can be."""
    draw = torch.Generator().manual_seed(1)
    video, words = torch.randn(2, T, DIM, generator=draw), torch.randn(2, 3, DIM, generator=draw)
    is_clip = torch.arange(T) < torch.tensor([[T], [5]])
    is_word = torch.arange(3) < torch.tensor([[2], [3]])
    if name == "fulltransnet":
        given: tuple[Tensor, ...] = (
            video,
            torch.arange(T).expand(2, T) % 4 == 0,
            torch.tensor([[1, 3], [0, 4]]),
        )
        found = model(*given, is_clip).exp()  # padding has a probability of 0
        return [found]
    found = model(video, words, is_word) if name == "mrnet" else model(video, is_clip, words, is_word)
    tensors = [one for one in found if isinstance(one, torch.Tensor)]
    return [one[is_clip] if one.shape == is_clip.shape else one for one in tensors]


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("name", CONFIGS)
def test_it_learns_and_comes_back_from_its_checkpoint(name: str, mask: MaskConfig, tmp_path: Path) -> None:
    config = replace(CONFIGS[name], mask=mask)
    model = made(name, config).eval()
    sum(one.square().sum() for one in outputs(name, model)).backward()
    masks = [part for part in model.modules() if isinstance(part, LearnedMask)]
    assert masks
    for part in masks:
        for key, parameter in part.named_parameters():
            assert parameter.grad is not None, key
            assert parameter.grad.abs().sum() > 0, key
    path = tmp_path / "best.safetensors"
    save_trained(path, Trained(name, asdict(config), {}, {}, model.state_dict()))
    again = build_trained(read_trained(path), name, lambda saved: made(name, type(config)(**saved)), "best")
    assert again.config == config
    for ours, theirs in zip(outputs(name, model), outputs(name, again), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("kind", ["lam", "stamp"])
@pytest.mark.parametrize("fusion", ["product", "sum"])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_mask_that_starts_as_none_changes_nothing(name: str, fusion: Any, kind: Any) -> None:
    plain = made(name, CONFIGS[name]).eval()
    extended = made(
        name, replace(CONFIGS[name], mask=MaskConfig(kind=kind, depth=3, fusion=fusion, identity=True))
    ).eval()
    missing, unexpected = extended.load_state_dict(plain.state_dict(), strict=False)
    assert missing
    assert all(".mask.layers." in key for key in missing)
    assert unexpected == []
    for ours, theirs in zip(outputs(name, extended), outputs(name, plain), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)
