"""Learned masks against the papers' equations written out number by number, and against PyTorch's kernels."""

import math
from typing import Any, NamedTuple, get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vidsum.models.attention.learned_mask import (
    MASKS,
    LearnedMask,
    SoftMask,
    StaticMask,
    _attends,
    attention_weights,
    fused_attention,
    learned_masks,
    static_sparsity,
)
from vidsum.models.configs import Fusion, MaskConfig, MaskInit, MaskKind

D, HEADS, MOST_KEYS = 6, 2, 9
KINDS = [kind for kind, mask in MASKS.items() if mask is LearnedMask]


class Case(NamedTuple):
    """Inputs of an attention in double precision; some keys are padding."""

    module: LearnedMask
    x: Tensor
    q: Tensor
    k: Tensor
    v: Tensor
    is_key: Tensor

    def mask(self) -> SoftMask:
        mask: SoftMask = self.module.of_cross_attention(self.x, self.q, self.k, self.is_key)
        return mask


def case_of(
    config: MaskConfig = MaskConfig(),
    cross: bool = False,
    lengths: tuple[int, ...] = (7, 4),
    n_tokens: int = 5,
    seed: int = 0,
) -> Case:
    torch.manual_seed(seed)
    module = LearnedMask(config, D, MOST_KEYS, cross=cross).double()
    n_videos, n_keys = len(lengths), max(lengths)
    n_tokens = n_tokens if cross else n_keys
    x = torch.randn(n_videos, n_tokens, D, dtype=torch.float64)
    q = torch.randn(n_videos, HEADS, n_tokens, D // HEADS, dtype=torch.float64)
    k, v = torch.randn(2, n_videos, HEADS, n_keys, D // HEADS, dtype=torch.float64)
    return Case(module, x, q, k, v, torch.arange(n_keys) < torch.tensor(lengths)[:, None])


def mask_directly(case: Case) -> Tensor:
    """STAMP Eq. 2-4 of the tokens; LAM Eq. 2-5 of Q K^T, the mean of the heads, 0 for padding."""
    numbers = case.x
    if case.module.reads_logits:
        logits = (case.q @ case.k.mT).mean(dim=1) / math.sqrt(D // HEADS)
        logits = logits.masked_fill(~case.is_key[:, None], 0)
        numbers = torch.nn.functional.pad(logits, (0, MOST_KEYS - logits.shape[2]))
    *hidden, last = case.module.layers
    for layer in hidden:
        numbers = (numbers @ layer.weight.T + layer.bias).relu()
    mask = (numbers @ last.weight.T + last.bias)[..., : case.is_key.shape[1]]
    return mask.sigmoid() if case.module.config.bound == "sigmoid" else mask


def attend_directly(case: Case, mask: Tensor, fusion: Fusion) -> Tensor:
    """STAMP Eq. 5, LAM Eq. 6: one query after the other, padding left out of the softmax."""
    out = torch.zeros_like(case.q)
    for video, head, n in torch.cartesian_prod(*(torch.arange(size) for size in case.q.shape[:3])).tolist():
        keys = case.is_key[video]
        logits = case.k[video, head, keys] @ case.q[video, head, n] / math.sqrt(D // HEADS)
        own = mask[video, n, keys]
        fused = logits * own if fusion == "product" else logits + own
        out[video, head, n] = fused.exp() / fused.exp().sum() @ case.v[video, head, keys]
    return out


configs = st.builds(
    MaskConfig,
    kind=st.sampled_from(KINDS),
    depth=st.integers(1, 5),
    fusion=st.sampled_from(["product", "sum"]),
    init=st.sampled_from(["default", "xavier", "he"]),
    bound=st.sampled_from(["none", "sigmoid"]),
)
cases = st.builds(
    case_of,
    configs,
    cross=st.booleans(),
    lengths=st.lists(st.integers(1, MOST_KEYS), min_size=1, max_size=3).map(tuple),
    n_tokens=st.integers(1, 6),
    seed=st.integers(0, 1000),
)


def test_keys_of_a_video_are_those_of_all_its_queries_and_heads() -> None:
    is_key = torch.tensor([[True, False, True], [True, True, True]])
    attends = _attends(is_key)
    assert attends is not None
    assert attends.shape == (2, 1, 1, 3)
    assert torch.equal(attends[:, 0, 0], is_key)


def test_keys_of_each_query_are_those_of_all_heads() -> None:
    attends = _attends(torch.ones(2, 5, 3, dtype=torch.bool))
    assert attends is not None
    assert attends.shape == (2, 1, 5, 3)


@settings(deadline=None, max_examples=25)
@given(cases)
def test_mask_is_the_equations(case: Case) -> None:
    assert torch.allclose(case.mask().dense(), mask_directly(case))


@settings(deadline=None, max_examples=25)
@given(cases)
def test_attention_with_a_mask_is_the_equations(case: Case) -> None:
    found = fused_attention(case.q, case.k, case.v, case.mask(), case.is_key)
    assert torch.allclose(found, attend_directly(case, mask_directly(case), case.module.config.fusion))


each_identity = pytest.mark.parametrize(
    ("kind", "cross", "depth", "fusion"),
    [
        (kind, cross, depth, fusion)
        for kind in KINDS
        for cross in (False, True)
        for depth in (1, 2, 32)
        for fusion in ("product", "sum")
    ],
)


@each_identity
def test_identity_changes_no_logit(kind: Any, cross: bool, depth: int, fusion: Fusion) -> None:
    case = case_of(MaskConfig(kind=kind, depth=depth, fusion=fusion, identity=True), cross)
    assert torch.equal(case.mask().dense(), torch.full_like(case.mask().dense(), float(fusion == "product")))
    plain = fused_attention(case.q, case.k, case.v, None, case.is_key)
    found = fused_attention(case.q, case.k, case.v, case.mask(), case.is_key)
    assert torch.allclose(found, plain, atol=1e-12)


@each_identity
def test_identity_learns(kind: Any, cross: bool, depth: int, fusion: Fusion) -> None:
    case = case_of(MaskConfig(kind=kind, depth=depth, fusion=fusion, identity=True), cross)
    optimizer = torch.optim.SGD(case.module.parameters(), lr=0.5)
    fused_attention(case.q, case.k, case.v, case.mask(), case.is_key).square().sum().backward()
    optimizer.step()
    assert case.mask().dense().std() > 0


@pytest.mark.parametrize("identity", [False, True])
def test_new_start_is_of_the_same_kind(identity: bool) -> None:
    module = LearnedMask(MaskConfig(identity=identity), D, MOST_KEYS)
    before = [parameter.clone() for parameter in module.parameters()]
    module.apply(lambda part: torch.nn.init.ones_(part.weight) if hasattr(part, "weight") else None)
    module.reset_parameters()
    assert not torch.equal(before[0], next(module.parameters()))
    assert bool(module.layers[-1].weight.any()) != identity


def first_layer(init: MaskInit) -> tuple[Tensor, Tensor]:
    """Weights [256, 256] and bias [256] of the first layer."""
    torch.manual_seed(0)
    layer = LearnedMask(MaskConfig(init=init), 256, 100).layers[0]
    return layer.weight.detach(), layer.bias.detach()


@pytest.mark.parametrize(("init", "largest"), [("default", 256**-0.5), ("xavier", (6 / 512) ** 0.5)])
def test_start_by_default_and_xavier_is_uniform_up_to_its_bound(init: MaskInit, largest: float) -> None:
    weight, bias = first_layer(init)
    assert 0.99 * largest < weight.abs().max() <= largest
    assert 0.9 * 256**-0.5 < bias.abs().max() <= 256**-0.5


def test_start_by_he_is_normal_without_a_bias() -> None:
    weight, bias = first_layer("he")
    assert weight.std().item() == pytest.approx((2 / 256) ** 0.5, rel=0.02)
    assert weight.abs().max() > 3 * weight.std()  # normal, not uniform
    assert not bias.any()


def bounded_case(cross: bool, fusion: Fusion) -> Case:
    config = MaskConfig(kind="lam", depth=3, fusion=fusion, identity=True, init="he", bound="sigmoid")
    return case_of(config, cross)


each_bounded = pytest.mark.parametrize(
    ("cross", "fusion"), [(cross, fusion) for cross in (False, True) for fusion in ("product", "sum")]
)


@each_bounded
def test_bounded_identity_starts_near_no_mask(cross: bool, fusion: Fusion) -> None:
    case = bounded_case(cross, fusion)
    assert (case.mask().dense() - float(fusion == "product")).abs().max() < 0.01
    plain = fused_attention(case.q, case.k, case.v, None, case.is_key)
    found = fused_attention(case.q, case.k, case.v, case.mask(), case.is_key)
    assert torch.allclose(found, plain, atol=0.01)


@each_bounded
def test_bounded_identity_learns(cross: bool, fusion: Fusion) -> None:
    case = bounded_case(cross, fusion)
    fused_attention(case.q, case.k, case.v, case.mask(), case.is_key).square().sum().backward()
    assert case.module.layers[-1].weight.grad.abs().sum() > 0


STATIC = MaskConfig(kind="static")


def static_directly(weights: Tensor, n: int) -> Tensor:
    mask = torch.ones(n, n, dtype=weights.dtype)
    for row in range(n):
        for column in range(n):
            if row != column:
                mask[row, column] = 1 / (1 + math.exp(-weights[row, column].item()))
    return mask


@pytest.mark.parametrize("fusion", ["product", "sum"])
def test_static_mask_is_the_sigmoid_of_its_weights_for_every_video(fusion: Fusion) -> None:
    case = case_of(lengths=(7, 4))
    module = StaticMask(MaskConfig(kind="static", fusion=fusion), D, MOST_KEYS).double()
    mask = module(case.x, 7)
    expected = static_directly(module.weights, 7)
    assert torch.allclose(mask.dense()[0], expected)
    found = fused_attention(case.q, case.k, case.v, mask, case.is_key)
    assert torch.allclose(found, attend_directly(case, expected.expand(2, -1, -1), fusion))


@pytest.mark.parametrize("fusion", ["product", "sum"])
def test_weights_of_a_static_mask_learn_for_the_keys_but_not_on_the_diagonal(fusion: Fusion) -> None:
    case = case_of(lengths=(7, 4))
    module = StaticMask(MaskConfig(kind="static", fusion=fusion), D, MOST_KEYS).double()
    fused_attention(case.q, case.k, case.v, module(case.x, 7), case.is_key).square().sum().backward()
    grad = module.weights.grad
    assert not grad.diagonal().any()
    assert not grad[7:].any()
    assert grad[:7, :7].abs().sum() > 0


def test_static_mask_refuses_more_keys_than_it_has() -> None:
    with pytest.raises(ValueError, match="10 keys are more than the mask's 9"):
        StaticMask(STATIC, D, MOST_KEYS)(torch.zeros(1, 10, D), 10)


@pytest.mark.parametrize("level", [None, -6.0, 12.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_static_mask_hides_as_swinberts_source_does(level: float | None, dtype: torch.dtype) -> None:
    """BertImgModel adds (1 - attention_mask) * -10000.0; SwinBERT writes its soft matrix into that mask."""
    case = case_of(lengths=(7, 7))
    q, k, v, x = (each.to(dtype) for each in (case.q, case.k, case.v, case.x))
    module = StaticMask(STATIC, D, MOST_KEYS).to(dtype)
    assert module.config.fusion == "hide"
    if level is not None:
        torch.nn.init.constant_(module.weights, level)
    attention_mask = torch.zeros(7, 7, dtype=torch.float64)  # of a sequence of seven tokens of the video
    for n in range(7):
        for m in range(7):
            soft = 1 / (1 + math.exp(-module.weights[n, m].item()))
            attention_mask[n, m] = 1.0 if n == m else soft
    extended = (1.0 - attention_mask) * -10000.0
    scores = torch.einsum("bhnd,bhmd->bhnm", case.q, case.k) / math.sqrt(D // HEADS) + extended
    expected = scores.softmax(dim=-1)
    near = {"atol": 1e-10, "rtol": 1e-7} if dtype == torch.float64 else {"atol": 2e-3, "rtol": 0.0}
    mask = module(x, 7)
    torch.testing.assert_close(attention_weights(q, k, mask).double(), expected, **near)
    torch.testing.assert_close(fused_attention(q, k, v, mask).double(), expected @ case.v, **near)
    own = expected.diagonal(dim1=2, dim2=3).mean()
    assert own > 0.999 if level != 12 else own < 0.9, "a closed mask leaves a token itself alone"


@pytest.fixture
def static_masks() -> torch.nn.ModuleList:
    """Static masks of four and six keys, and a layer that is none."""
    return torch.nn.ModuleList([StaticMask(STATIC, D, 4), StaticMask(STATIC, D, 6), torch.nn.Linear(2, 2)])


def test_loss_of_static_masks_is_their_mean_without_the_diagonal(static_masks: torch.nn.ModuleList) -> None:
    sizes = (static_masks[0], 4), (static_masks[1], 6)
    expected = [(static_directly(mask.weights, n).sum() - n) / n**2 for mask, n in sizes]
    assert static_sparsity(static_masks).item() == pytest.approx(float(sum(expected)) / 2)


def test_loss_of_static_masks_closes_every_pair_but_a_tokens_own(static_masks: torch.nn.ModuleList) -> None:
    static_sparsity(static_masks).backward()
    for mask in static_masks[:2]:
        grad = mask.weights.grad
        assert not grad.diagonal().any()
        assert (grad + torch.eye(len(grad)) > 0).all()


def test_model_without_static_masks_has_no_loss_of_them() -> None:
    assert static_sparsity(torch.nn.Linear(2, 2)) == 0


@pytest.mark.parametrize(
    ("config", "kinds"),
    [
        (None, [None] * 3),
        (MaskConfig(), [LearnedMask] * 3),
        (MaskConfig(shared=True), [LearnedMask, None, None]),
        (STATIC, [StaticMask] * 3),
        (MaskConfig(kind="static", shared=True), [StaticMask, None, None]),
    ],
)
def test_each_layer_has_a_mask_or_the_first_a_shared_one(
    config: MaskConfig | None, kinds: list[type[Any] | None]
) -> None:
    masks = learned_masks(config, D, MOST_KEYS, 3)
    assert [mask if mask is None else type(mask) for mask in masks] == kinds
    assert len({id(mask) for mask in masks}) == (3 if None not in kinds else 2 if config else 1)


def test_cross_attention_has_no_static_masks() -> None:
    assert learned_masks(STATIC, D, MOST_KEYS, 2, cross=True) == [None, None]


@pytest.mark.parametrize("kind", KINDS)
def test_more_keys_than_columns_are_refused(kind: MaskKind) -> None:
    module = LearnedMask(MaskConfig(kind=kind), D, MOST_KEYS, cross=True)
    q, k = torch.zeros(1, HEADS, 2, 3), torch.zeros(1, HEADS, MOST_KEYS + 1, 3)
    with pytest.raises(ValueError, match="10 keys are more than the mask's 9"):
        module.of_cross_attention(torch.zeros(1, 2, D), q, k)


def test_names_of_masks_are_the_kinds_of_a_config() -> None:
    assert get_args(MaskKind) == tuple(MASKS)


@pytest.mark.parametrize("fusion", ["product", "sum"])
def test_masked_attention_has_dropout(fusion: Fusion) -> None:
    torch.manual_seed(0)
    q, k = torch.zeros(2, 64, 4, 50, 2).unbind()
    mask = LearnedMask(MaskConfig(fusion=fusion, identity=True), D, 50)(torch.zeros(64, 50, D), 50)
    found = fused_attention(q, k, torch.ones_like(k), mask, dropout=0.5)
    assert found.std() > 0.1
    assert found.mean().item() == pytest.approx(1, abs=0.01)


@settings(deadline=None, max_examples=20)
@given(cases)
def test_each_query_may_have_keys_of_its_own(case: Case) -> None:
    seen = case.is_key[:, None, :] & (torch.rand(len(case.x), case.x.shape[1], case.k.shape[2]) < 0.6)
    seen[:, :, 0] = True
    found = fused_attention(case.q, case.k, case.v, case.mask(), seen)
    for n in range(case.x.shape[1]):
        row = case._replace(x=case.x[:, n : n + 1], q=case.q[:, :, n : n + 1], is_key=seen[:, n])
        mask = case.mask().dense()[:, n : n + 1]
        assert torch.allclose(found[:, :, n : n + 1], attend_directly(row, mask, case.module.config.fusion))
