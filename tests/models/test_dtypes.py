"""Models in other floating-point types than float32: as PyTorch's default, and converted."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from vidsum.models.configs import DETRConfig, FullTransNetConfig, MaskConfig, MRNetConfig
from vidsum.models.detr_models import MODELS, build
from vidsum.models.fulltransnet import FullTransNet
from vidsum.models.mrnet import MRNet

MASKS = [None, MaskConfig(kind="lam"), MaskConfig(kind="stamp", depth=3)]
SIZES: dict[str, Any] = {"d": 16, "heads": 2, "d_ff": 16, "layers": 1}

Case = tuple[nn.Module, tuple[Tensor, ...], Callable[[Any], tuple[Tensor, ...]]]


@pytest.fixture(autouse=True)
def default_dtype() -> Iterator[None]:
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


def make_case(name: str, mask: MaskConfig | None) -> Case:
    """Return a model, its inputs, and what to read of its output."""
    torch.manual_seed(0)
    if name == "mrnet":
        config = MRNetConfig(
            dim_video=6, dim_query=5, clips=8, dim_map=8, hidden=8, kernel=3, mask=mask, **SIZES
        )
        model = MRNet(config)
        return (
            model,
            (torch.randn(2, 8, 6), torch.randn(2, 2, 5)),
            lambda out: (out.iou, out.contrastive, model.sparsity_loss()),
        )
    if name == "fulltransnet":
        inputs = torch.randn(1, 40, 6), torch.arange(40)[None] % 9 == 0, torch.arange(4)[None]
        return (
            FullTransNet(FullTransNetConfig(dim_in=6, window=5, mask=mask, **SIZES)),
            inputs,
            lambda out: (out,),
        )
    ones = torch.ones(2, 9, dtype=torch.bool)
    inputs = torch.randn(2, 9, 6), ones, torch.randn(2, 4, 5), ones[:, :4]
    return build(name, DETRConfig(dim_video=6, dim_query=5, mask=mask, **SIZES)), inputs, tuple


NAMES = ["mrnet", "fulltransnet", *MODELS]


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: mask and mask.kind)
@pytest.mark.parametrize("name", NAMES)
def test_float64_as_default_gives_the_answers_of_float32(name: str, mask: MaskConfig | None) -> None:
    model, inputs, parts = make_case(name, mask)
    expected = parts(model.eval()(*inputs))
    torch.set_default_dtype(torch.float64)
    wide, _, parts = make_case(name, mask)
    wide.load_state_dict(model.state_dict())
    outputs = parts(wide.eval()(*convert(inputs, torch.float64)))
    for output, before in zip(outputs, expected, strict=True):
        assert output.dtype == torch.float64
        assert torch.allclose(output, before.double(), atol=1e-4)
    wide.train()
    trained = parts(wide(*convert(inputs, torch.float64)))
    torch.stack([item[item.isfinite()].sum() for item in trained]).sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in wide.parameters())


def convert(inputs: tuple[Tensor, ...], dtype: torch.dtype) -> tuple[Tensor, ...]:
    return tuple(item.to(dtype) if item.is_floating_point() else item for item in inputs)


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: mask and mask.kind)
@pytest.mark.parametrize("name", NAMES)
def test_a_model_runs_after_bfloat16(name: str, mask: MaskConfig | None) -> None:
    model, inputs, parts = make_case(name, mask)
    model.eval()
    expected = parts(model(*inputs))
    outputs = parts(model.bfloat16()(*convert(inputs, torch.bfloat16)))
    for output, before in zip(outputs, expected, strict=True):
        is_finite = before.isfinite()
        assert torch.equal(is_finite, output.isfinite())
        scale = before[is_finite].abs().max()
        assert (output.float() - before)[is_finite].abs().max() <= 0.1 * scale
