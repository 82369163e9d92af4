"""The transformers with learned masks: they learn, a checkpoint holds them, in any floating-point type."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.conftest import deep
from vidsum.checkpoints.trained import Trained, build_trained, read_trained, save_trained
from vidsum.errors import UsageError
from vidsum.models.attention import learned_mask
from vidsum.models.attention.heads import initialise
from vidsum.models.attention.learned_mask import MASKS, Mask, SoftMask
from vidsum.models.configs import (
    LIGHT_HEAD,
    MASK_TRAITS,
    DETRConfig,
    FullTransNetConfig,
    MaskConfig,
    MRNetConfig,
)
from vidsum.models.detr_models import MODELS, build
from vidsum.models.fulltransnet import FullTransNet
from vidsum.models.mrnet import MRNet

T, DIM = 8, 6
CONFIGS: dict[str, Any] = {
    "fulltransnet": FullTransNetConfig(dim_in=DIM, d=16, layers=2, heads=2, d_ff=8, window=3, t_max=T),
    "mrnet": MRNetConfig(dim_video=DIM, dim_query=DIM, clips=T, d=16, heads=2, d_ff=8, **LIGHT_HEAD),
    **dict.fromkeys(
        MODELS, DETRConfig(dim_video=DIM, dim_query=DIM, clips=T, words=4, d=16, heads=2, d_ff=8)
    ),
}
KINDS = [kind for kind, traits in MASK_TRAITS.items() if not traits.is_fixed]  # that each model can have
CHOICES: list[dict[str, Any]] = [
    {},
    {"fusion": "sum", "shared": True},
    {"shared": True},
    {"fusion": "sum"},
    {"init": "xavier", "bound": "sigmoid"},
    {"fusion": "sum", "init": "he", "bound": "sigmoid"},
]
MASK_CONFIGS = [
    MaskConfig(kind=kind, **choices)
    for kind in KINDS
    for choices in CHOICES
    if MASK_TRAITS[kind].has_layers or not {"init", "bound"} & {*choices}  # which are about layers
]
each_model = pytest.mark.parametrize("name", CONFIGS)
each_kind = pytest.mark.parametrize("mask", [None, *(MaskConfig(kind=kind, depth=3) for kind in KINDS)])


def make(name: str, config: Any) -> nn.Module:
    makers: dict[str, Callable[[Any], nn.Module]] = {"fulltransnet": FullTransNet, "mrnet": MRNet}
    torch.manual_seed(0)
    return makers[name](config) if name in makers else build(name, config)


def outputs(name: str, model: nn.Module, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Outputs for two videos, the second of them shorter where it can be."""
    draw = torch.Generator().manual_seed(1)
    video, words = (torch.randn(2, n, DIM, generator=draw, dtype=torch.float32).to(dtype) for n in (T, 3))
    is_clip, is_word = torch.arange(T) < torch.tensor([[T], [5]]), torch.arange(3) < torch.tensor([[2], [3]])
    if name == "fulltransnet":
        is_global, frames = torch.arange(T).expand(2, T) % 4 == 0, torch.tensor([[1, 3], [0, 4]])
        return [model(video, is_global, frames, is_clip).exp()]  # padding has a probability of 0
    output = model(video, words, is_word) if name == "mrnet" else model(video, is_clip, words, is_word)
    tensors = [value for value in output if isinstance(value, torch.Tensor)]
    return [value[is_clip] if value.shape == is_clip.shape else value for value in tensors]


each_masked_model = pytest.mark.parametrize(
    ("name", "mask"),
    [
        deep(name, mask) if (i + j) % 3 else (name, mask)
        for i, name in enumerate(CONFIGS)
        for j, mask in enumerate(MASK_CONFIGS)
    ],
)
"""By default, each model with a third of the masks, and each mask in some model."""


@each_masked_model
def test_masks_of_a_model_learn(name: str, mask: MaskConfig) -> None:
    model = make(name, replace(CONFIGS[name], mask=mask)).eval()
    sum(output.square().sum() for output in outputs(name, model)).backward()
    masks = [part for part in model.modules() if isinstance(part, Mask)]
    assert masks
    for part in masks:
        for key, parameter in part.named_parameters():
            assert parameter.grad is not None, key
            assert parameter.grad.abs().sum() > 0, key


@torch.no_grad()
@each_masked_model
def test_masked_model_is_read_as_it_was_saved(name: str, mask: MaskConfig, tmp_path: Path) -> None:
    config = replace(CONFIGS[name], mask=mask)
    model = make(name, config).eval()
    path = tmp_path / "best.safetensors"
    save_trained(path, Trained(name, asdict(config), {}, {}, model.state_dict()))
    again = build_trained(read_trained(path), name, lambda saved: make(name, type(config)(**saved)), "best")
    assert again.config == config
    assert all(map(torch.equal, outputs(name, model), outputs(name, again)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fusion", ["product", "sum"])
@each_model
def test_identity_mask_changes_nothing(name: str, fusion: Any, kind: Any) -> None:
    plain = make(name, CONFIGS[name]).eval()
    mask = MaskConfig(kind=kind, depth=3, fusion=fusion, identity=True)
    extended = make(name, replace(CONFIGS[name], mask=mask)).eval()
    missing, unexpected = extended.load_state_dict(plain.state_dict(), strict=False)
    assert missing
    assert all(".mask." in key for key in missing)
    assert unexpected == []
    torch.testing.assert_close(outputs(name, extended), outputs(name, plain), atol=1e-5, rtol=1e-5)


class PlacedMask(Mask):
    """A mask of places alone, in each form that `SoftMask` allows: the same numbers for all videos."""

    rows_by_video = columns_by_video = False

    def forward(self, x: Tensor, n_keys: int) -> SoftMask:
        rows, columns = (torch.arange(n)[:, None] * torch.tensor([0.3, 0.7]) for n in (x.shape[1], n_keys))
        mask = SoftMask(rows.sin()[None], columns.cos(), columns[:, 0].sin(), self.config.fusion)
        whole = mask.of_videos(len(x))
        mask = mask._replace(rows=whole.rows) if self.rows_by_video else mask
        return mask._replace(columns=whole.columns, bias=whole.bias) if self.columns_by_video else mask


@pytest.mark.parametrize(
    ("columns_by_video", "rows_by_video"), [(True, True), deep(True, False), deep(False, True)]
)
@pytest.mark.parametrize("fusion", ["product", "sum"])
@each_model
def test_form_of_a_mask_changes_no_answer(
    name: str, fusion: Any, columns_by_video: bool, rows_by_video: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Factors for each video give the answers of factors for all; MRNet has more tokens than keys."""
    monkeypatch.setattr(learned_mask, "MASKS", {"stamp": PlacedMask})
    model = make(name, replace(CONFIGS[name], mask=MaskConfig(kind="stamp", fusion=fusion))).eval()
    expected = outputs(name, model)
    monkeypatch.setattr(PlacedMask, "rows_by_video", rows_by_video)
    monkeypatch.setattr(PlacedMask, "columns_by_video", columns_by_video)
    torch.testing.assert_close(outputs(name, model), expected)
    plain = make(name, CONFIGS[name]).eval()
    assert not torch.allclose(outputs(name, plain)[0], expected[0])


@pytest.mark.parametrize("kind", MASKS)
@each_model
def test_each_kind_runs_in_each_model_or_is_refused(name: str, kind: Any) -> None:
    """A mask that is the same for all videos needs a loss of its own, which only the DETR models have."""
    mask = MaskConfig(kind=kind, depth=2)
    if mask.traits.is_fixed and name in ("fulltransnet", "mrnet", "mrnet-detr"):
        with pytest.raises(UsageError, match=f"no {kind} mask"):
            make(name, replace(CONFIGS[name], mask=mask))
        return
    model = make(name, replace(CONFIGS[name], mask=mask)).eval()
    assert all(output.isfinite().all() for output in outputs(name, model))


@pytest.fixture
def default_dtype() -> Iterator[None]:
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("default_dtype")
@torch.no_grad()
@each_kind
@each_model
def test_float64_as_default_gives_the_answers_of_float32(name: str, mask: MaskConfig | None) -> None:
    config = replace(CONFIGS[name], mask=mask)
    model = make(name, config).eval()
    expected = outputs(name, model)
    torch.set_default_dtype(torch.float64)
    wide = make(name, config)
    wide.load_state_dict(model.state_dict())
    for output, before in zip(outputs(name, wide.eval(), torch.float64), expected, strict=True):
        assert output.dtype == torch.float64
        assert torch.allclose(output, before.double(), atol=1e-4)


@pytest.mark.usefixtures("default_dtype")
@each_kind
@each_model
def test_model_learns_with_float64_as_default(name: str, mask: MaskConfig | None) -> None:
    torch.set_default_dtype(torch.float64)
    model = make(name, replace(CONFIGS[name], mask=mask)).train()
    loss = sum(output.sum() for output in outputs(name, model, torch.float64))
    if hasattr(model, "sparsity_loss"):
        loss = loss + model.sparsity_loss()
    loss.backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@each_kind
@each_model
def test_model_runs_in_bfloat16(name: str, mask: MaskConfig | None) -> None:
    model = make(name, replace(CONFIGS[name], mask=mask)).eval()
    expected = outputs(name, model)
    for output, before in zip(outputs(name, model.bfloat16(), torch.bfloat16), expected, strict=True):
        assert (output.float() - before).abs().max() <= 0.1 * before.abs().max()


class OneMinus(Mask):
    """A mask that nobody has registered: 1 minus a linear layer, which starts as 0."""

    def __init__(self, config: MaskConfig, d: int, n_keys: int, *, cross: bool = False) -> None:
        super().__init__(config, d, n_keys, cross=cross)
        self.less = nn.Linear(d, n_keys)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.zeros_(self.less.weight)
        nn.init.zeros_(self.less.bias)

    def forward(self, x: Tensor, n_keys: int) -> SoftMask:
        return SoftMask(x, -self.less.weight[:n_keys], 1 - self.less.bias[:n_keys], "product")


@each_model
def test_a_new_mask_keeps_its_own_start(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = make(name, CONFIGS[name]).eval()
    monkeypatch.setattr(learned_mask, "MASKS", {"stamp": OneMinus})
    masked = make(name, replace(CONFIGS[name], mask=MaskConfig(kind="stamp"))).eval()
    masks = [part for part in masked.modules() if isinstance(part, OneMinus)]
    assert masks
    assert not any(parameter.any() for part in masks for parameter in part.parameters())
    masked.load_state_dict(plain.state_dict(), strict=False)
    torch.testing.assert_close(outputs(name, masked), outputs(name, plain), atol=1e-5, rtol=1e-5)


def test_mask_with_linear_layers_needs_a_start_of_its_own() -> None:
    mask = Mask(MaskConfig(), 4, 4)
    mask.layer = nn.Linear(4, 4)
    with pytest.raises(NotImplementedError):
        mask.apply(initialise)


def test_mask_without_linear_layers_needs_no_start() -> None:
    Mask(MaskConfig(), 4, 4).apply(initialise)
