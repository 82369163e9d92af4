"""Maskable retention against the equations written out pair by pair."""

import cmath
import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from vidsum.models.attention.heads import sines
from vidsum.models.attention.learned_mask import SoftMask, sparse_mask
from vidsum.models.attention.retention import MaskRetention, decay_mask, recurrent_retention, xpos, xpos_turn
from vidsum.models.configs import Decay, Fusion, MRNetConfig, Region


def as_complex(x: Tensor) -> list[complex]:
    return [complex(a, b) for a, b in x.double().view(-1, 2).tolist()]


def attends(**options: Any) -> list[list[bool]]:
    """Which of two queries and three clips attend to which."""
    module = MaskRetention(MRNetConfig(d=8, heads=2, **{"cross_modal": True, **options}))
    is_key = torch.tensor([[True, True, True, True, False]])
    return module._attends(torch.zeros(1, 5, 8), 2, is_key)[0, 0].tolist()


def test_queries_attend_to_queries_and_clips_to_clips_where_they_are_apart() -> None:
    queries, clips = [True, True, False, False, False], [False, False, True, True, False]
    assert attends(cross_modal=False)[:4] == [queries, queries, clips, clips]


def test_padding_is_attended_to_by_itself_alone() -> None:
    assert [row[4] for row in attends()] == [False, False, False, False, True]


@pytest.mark.parametrize("inverse", [False, True])
def test_xpos_turns_and_scales_pairs_by_their_place(inverse: bool) -> None:
    d, length = 6, 5
    x = torch.randn(length, d, generator=torch.Generator().manual_seed(0))
    placed = xpos(x, inverse=inverse)
    for n in range(length):
        pairs = zip(as_complex(x[n]), as_complex(placed[n]), strict=True)
        for pair, (before, after) in enumerate(pairs):
            zeta = (2 * pair / d + 0.4) / 1.4
            scale = zeta ** (n / 512 * (-1 if inverse else 1))
            expected = before * scale * cmath.exp(1j * n * 10000 ** (-2 * pair / d))
            assert abs(after - expected) < 1e-5


PAIRS = [(n, m) for n in range(5) for m in range(5)]


def test_decay_is_gamma_to_the_distance() -> None:
    mask = decay_mask(5, 0.9)
    assert [mask[n, m].item() for n, m in PAIRS] == pytest.approx([0.9 ** abs(n - m) for n, m in PAIRS])


def test_forward_decay_hides_what_comes_later() -> None:
    mask = decay_mask(5, 0.9, "forward")
    expected = [0.9 ** (n - m) if n >= m else 0 for n, m in PAIRS]
    assert [mask[n, m].item() for n, m in PAIRS] == pytest.approx(expected)


def test_diagonal_of_the_decay_can_be_chosen() -> None:
    mask = decay_mask(5, 0.9, diagonal=2.0)
    expected = [2 if n == m else 0.9 ** abs(n - m) for n, m in PAIRS]
    assert [mask[n, m].item() for n, m in PAIRS] == pytest.approx(expected)


def test_no_decay_is_one_everywhere() -> None:
    assert (decay_mask(5, 0.9, "none") == 1).all()


def test_sines_of_places() -> None:
    encoded = sines(torch.arange(1.0, 4.0) / (3 + 1e-6), 4)
    for n in range(3):
        place = (n + 1) / (3 + 1e-6) * 2 * math.pi
        expected = [math.sin(place), math.cos(place), math.sin(place / 100), math.cos(place / 100)]
        assert encoded[n].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("length", [2, 512, 1000, 20_000])
def test_xpos_stays_near_up_to_its_base(length: int, inverse: bool) -> None:
    ones = torch.ones(length, 32)
    placed = xpos(ones, inverse=inverse, base=max(512, length)).view(length, 16, 2).norm(dim=2)
    assert placed.max() < 5.1
    assert placed.min() > 0.3


@pytest.mark.parametrize("inverse", [False, True])
def test_xpos_beyond_its_base_is_finite(inverse: bool) -> None:
    assert xpos(torch.ones(20_000, 32), inverse=inverse).isfinite().all()


def parallel_retention(
    q: Tensor, k: Tensor, v: Tensor, gamma: float, decay: Decay = "bidirectional"
) -> Tensor:
    """Eq. 3, (Q K^T * M_RD) V without a softmax: xPos and the mask written out for every pair of clips."""
    length, d = q.shape[-2:]
    weights = torch.zeros(*q.shape[:-2], length, length, dtype=q.dtype)
    for pair in range(d // 2):
        own = torch.complex(q[..., 2 * pair], q[..., 2 * pair + 1])
        other = torch.complex(k[..., 2 * pair], k[..., 2 * pair + 1]).conj()
        zeta = (2 * pair / d + 0.4) / 1.4
        step = zeta ** (1 / 512) * cmath.exp(1j * 10000 ** (-2 * pair / d))
        for n in range(length):
            for m in range(n + 1 if decay == "forward" else length):
                product = (own[..., n] * other[..., m] * step ** (n - m)).real
                weights[..., n, m] += product * gamma ** abs(n - m)
    return weights @ v


def drawn(seed: int, length: int, d: int = 4) -> Tensor:
    """[3, 2, length, d]: queries, keys and values of two heads."""
    return torch.randn(3, 2, length, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@given(st.integers(1, 25), st.floats(0.05, 1.0), st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_recurrent_form_is_the_parallel_form(length: int, gamma: float, seed: int) -> None:
    q, k, v = drawn(seed, length)
    recurrent, _ = recurrent_retention(q, k, v, gamma, xpos_turn(4))
    assert torch.allclose(recurrent, parallel_retention(q, k, v, gamma, "forward"), atol=1e-6)


@given(st.integers(2, 25), st.data(), st.floats(0.05, 1.0), st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_recurrent_form_goes_on_from_a_state(
    length: int, data: st.DataObject, gamma: float, seed: int
) -> None:
    first = data.draw(st.integers(1, length - 1))
    q, k, v = drawn(seed, length)
    expected = parallel_retention(q, k, v, gamma, "forward")
    _, before = recurrent_retention(q[:, :first], k[:, :first], v[:, :first], gamma, xpos_turn(4))
    rest, _ = recurrent_retention(q[:, first:], k[:, first:], v[:, first:], gamma, xpos_turn(4), before)
    assert torch.allclose(rest, expected[:, first:], atol=1e-6)


each_length = pytest.mark.parametrize(
    "length", [63, 65, 512, 513, 1000, pytest.param(5000, marks=pytest.mark.deep)]
)
each_dtype = pytest.mark.parametrize(("dtype", "near"), [(torch.float64, 1e-10), (torch.float32, 1e-3)])


@each_length
@each_dtype
def test_forms_of_retention_are_one_at_any_length(length: int, dtype: torch.dtype, near: float) -> None:
    """The base of xPos is one for both forms, on both sides of it; outputs are of size 16."""
    q, k, v = drawn(0, length, 16).to(dtype)[:, :1]
    weights = xpos(q) @ xpos(k, inverse=True).mT
    together = (weights * decay_mask(length, 0.98, "forward", dtype=dtype)) @ v
    recurrent, _ = recurrent_retention(q, k, v, 0.98, xpos_turn(16))
    torch.testing.assert_close(recurrent, together, atol=near, rtol=0)


@each_length
@each_dtype
def test_recurrent_form_that_looks_ahead_is_the_rest_of_both_directions(
    length: int, dtype: torch.dtype, near: float
) -> None:
    """Eq. A3-A4 against pairs whose distance is what counts."""
    q, k, v = drawn(0, length, 16).to(dtype)[:, :1]
    weights = xpos(q) @ xpos(k, inverse=True).mT
    back = (weights * decay_mask(length, 0.98, "forward", dtype=dtype)) @ v
    both = (weights * decay_mask(length, 0.98, dtype=dtype)) @ v
    ahead, _ = recurrent_retention(q.flip(-2), k.flip(-2), v.flip(-2), 0.98, 1 / xpos_turn(16))
    itself = (q * k).sum(-1, keepdim=True) * v
    torch.testing.assert_close(back + ahead.flip(-2) - itself, both, atol=2 * near, rtol=0)


@each_length
@each_dtype
def test_product_of_two_places_depends_on_their_distance(
    length: int, dtype: torch.dtype, near: float
) -> None:
    q, k, _ = drawn(0, length, 16).to(dtype)[:, :1]
    n, m = length - 1, max(0, length - 40)
    product = (xpos(q)[0, n] @ xpos(k, inverse=True)[0, m]).item()
    step = xpos_turn(16, 512) ** (n - m)
    own, other = (torch.view_as_complex(part.double().view(8, 2)) for part in (q[0, n], k[0, m]))
    assert product == pytest.approx((own * other.conj() * step).sum().real.item(), abs=near)


def layer(**options: object) -> MaskRetention:
    torch.manual_seed(0)
    return MaskRetention(MRNetConfig(d=8, heads=2, clips=4, gamma=0.7, **options)).eval()


def retain_directly(
    module: MaskRetention,
    x: Tensor,
    n_queries: int,
    learned: Tensor | None = None,
    fusion: Fusion = "product",
) -> Tensor:
    """Eq. 1-8 for one video, head by head, with the masks on the clips.

    On top comes a learned one [M + T, T] of the clips, if given.
    """
    length, d = x.shape
    heads, gamma = module.config.heads, module.config.gamma
    d_k = d // heads
    parts = []
    sides = (x[:n_queries], module.query_projections), (x[n_queries:], module.video_projections)
    for tokens, projections in sides:
        parts.append([tokens @ weight.T for weight in projections.weight.split(d)])
    q, k, v = (torch.cat(pair) for pair in zip(*parts, strict=True))
    mask = torch.ones(length, length)
    lower = mask[n_queries:, n_queries:]
    place = torch.arange(length - n_queries)
    n_clips = len(place)
    sparse = module.sparse_weights[:n_clips, :n_clips].sigmoid().fill_diagonal_(1)
    lower *= gamma ** (place[:, None] - place).abs() * sparse
    heads_out = []
    for head in range(heads):
        columns = slice(head * d_k, (head + 1) * d_k)
        turned = [
            torch.cat([turn(part[:n_queries, columns]), turn(part[n_queries:, columns])])
            for part, turn in ((q, xpos), (k, lambda one: xpos(one, inverse=True)))
        ]
        logits = turned[0] @ turned[1].T / math.sqrt(d_k) * mask
        if learned is not None:
            of_clips = logits[:, n_queries:]
            logits[:, n_queries:] = of_clips * learned if fusion == "product" else of_clips + learned
        heads_out.append(logits.softmax(1) @ v[:, columns])
    return torch.cat(heads_out, dim=1) @ module.out.weight.T + module.out.bias


@torch.no_grad()
def test_retention_is_the_equations() -> None:
    module = layer()
    x = torch.randn(2, 7, 8)
    for found, video in zip(module(x, 3), x, strict=True):
        assert torch.allclose(found, retain_directly(module, video, 3), atol=1e-5)


@torch.no_grad()
def test_padding_between_queries_and_clips_changes_nothing() -> None:
    module = layer()
    x = torch.randn(1, 6, 8)
    padded = torch.cat([x[:, :2], torch.full((1, 1, 8), 9.0), x[:, 2:]], dim=1)
    is_key = torch.tensor([[True, True, False, True, True, True, True]])
    plain, with_padding = module(x, 2), module(padded, 3, is_key)
    assert torch.allclose(plain[:, :2], with_padding[:, :2], atol=1e-6)
    assert torch.allclose(plain[:, 2:], with_padding[:, 3:], atol=1e-6)
    assert with_padding.isfinite().all()


@torch.no_grad()
def test_padding_after_the_clips_changes_nothing() -> None:
    module = layer()
    x = torch.randn(1, 6, 8)
    is_key = torch.tensor([[True, True, True, True, False, False]])
    fewer, with_padding = module(x[:, :4], 2), module(x, 2, is_key)
    assert torch.allclose(fewer, with_padding[:, :4], atol=1e-6)
    assert torch.allclose(fewer[0], retain_directly(module, x[0, :4], 2), atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize(("changed", "unchanged"), [(slice(0, 2), slice(2, 6)), (slice(2, 6), slice(0, 2))])
def test_without_cross_modal_attention_clips_and_queries_are_apart(changed: slice, unchanged: slice) -> None:
    module = layer(cross_modal=False)
    x = torch.randn(1, 6, 8)
    other = x.clone()
    other[:, changed] += 1
    assert torch.allclose(module(other, 2)[:, unchanged], module(x, 2)[:, unchanged])


@torch.no_grad()
def test_retention_of_padding_alone_is_finite() -> None:
    module = layer(cross_modal=False)
    assert module(torch.randn(1, 6, 8), 2, torch.zeros(1, 6, dtype=torch.bool)).isfinite().all()


@pytest.mark.parametrize("fusion", ["product", "sum"])
def test_a_learned_mask_goes_on_top_of_the_equations_for_clips_alone(fusion: Fusion) -> None:
    module = layer()
    x, rows, columns, bias = torch.randn(2, 7, 8), torch.randn(2, 7, 5), torch.randn(4, 5), torch.randn(4)
    with torch.no_grad():
        found = module(x, 3, learned=SoftMask(rows, columns, bias, fusion))
        for one, video, row in zip(found, x, rows, strict=True):
            expected = retain_directly(module, video, 3, row @ columns.T + bias, fusion)
            assert torch.allclose(one, expected, atol=1e-5)


@pytest.mark.parametrize("region", ["vv", "qq", "vq", "qv"])
def test_each_region_can_be_masked(region: Region) -> None:
    with torch.no_grad():
        mask = layer(regions=(region,)).retention_mask(3, 7)
    decayed = decay_mask(7, 0.7)
    where = {"q": range(3), "v": range(3, 7)}
    for n in range(7):
        for m in range(7):
            inside = n in where[region[0]] and m in where[region[1]]
            if region != "vv" or not inside or n == m:
                assert mask[n, m] == (decayed[n, m] if inside else 1)
            else:
                assert 0 < mask[n, m] < decayed[n, m]


@torch.no_grad()
def test_retention_without_decay_and_sparse_mask_has_no_mask() -> None:
    assert (layer(decay="none", sparse=False).retention_mask(2, 6) == 1).all()


@torch.no_grad()
def test_retention_without_a_sparse_mask_has_the_decay_alone() -> None:
    assert torch.equal(layer(sparse=False).retention_mask(2, 6)[2:, 2:], decay_mask(4, 0.7))


@torch.no_grad()
def test_retention_without_decay_has_the_sparse_mask_alone() -> None:
    module = layer(decay="none")
    assert module.sparse_weights is not None
    assert torch.equal(module.retention_mask(2, 6)[2:, 2:], sparse_mask(module.sparse_weights))


@torch.no_grad()
def test_gated_retention_is_normed_by_heads_and_has_no_softmax() -> None:
    module = layer(decay="none", sparse=False, nonlinearity="gate")
    x = torch.randn(1, 5, 8)
    q, k, v = module._project(x, 1)
    heads = (q @ k.transpose(2, 3) / 2) @ v
    normed = torch.nn.functional.group_norm(heads.transpose(1, 2).reshape(5, 8), 2)
    gate = x @ module.gate.weight.T
    expected = (gate * gate.sigmoid() * normed) @ module.out.weight.T + module.out.bias
    assert torch.allclose(module(x, 1), expected, atol=1e-4)


@torch.no_grad()
def test_retention_without_nonlinearity_is_the_parallel_form() -> None:
    module = layer(sparse=False, nonlinearity="none", cross_modal=False)
    x = torch.randn(2, 6, 8)
    q, k, v = module._split(module.video_projections, *[x[:, 2:]] * 3)
    heads = parallel_retention(q / 2, k, v, 0.7)
    expected = module.out(heads.transpose(1, 2).flatten(2))
    assert torch.allclose(module(x, 2)[:, 2:], expected, atol=1e-5)
