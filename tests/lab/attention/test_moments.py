"""Attention of moment models against the papers' equations, and its pictures."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.grounding.test_moment_model import DETR, MRNET, QUERIES, VECTORS, noisy
from tests.grounding.test_plot import grounding
from vidsum.grounding.moment_model import MomentModel, ground_video
from vidsum.lab.attention import moments as plots
from vidsum.lab.attention.moments import (
    BINS,
    LayerAttention,
    QueryAttention,
    capture_attention,
    has_mask,
    plot_moment_attention,
    share_by_weight,
)
from vidsum.models.attention import learned_mask
from vidsum.models.attention.learned_mask import LearnedMask, Mask, SoftMask
from vidsum.models.attention.retention import xpos
from vidsum.models.configs import MaskConfig
from vidsum.models.detr_models import build
from vidsum.models.mrnet import MRNet

N_CLIPS = 7
WORDS = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
ASKED = ("a dog runs", ("a", "dog", "runs"))


def grounder(name: str, mask: MaskConfig | None = None, **changes: Any) -> MomentModel:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if name == "mrnet":
            model: Any = MRNet(replace(MRNET, layers=2, **changes))
        else:
            model = build(name, replace(DETR, layers=2, mask=mask, **changes))
        for parameter in model.parameters():  # far from even weights
            torch.nn.init.normal_(parameter, std=0.5).requires_grad_(False)
    return MomentModel(model.eval(), "toy", 1.0, name)


def looked_at(reader: MomentModel) -> tuple[LayerAttention, ...]:
    tokens = QUERIES[:1] if reader.family == "mrnet" else [WORDS]
    (found,) = capture_attention(reader, noisy(N_CLIPS), [ASKED], tokens, VECTORS[:1])
    assert found.query == "a dog runs"
    return found.layers


def normal(logits: list[float]) -> list[float]:
    total = sum(math.exp(logit) for logit in logits)
    return [math.exp(logit) / total for logit in logits]


def seen_by(module: torch.nn.Module, reader: MomentModel) -> list[Any]:
    """What reached a module of the model."""
    given: list[Any] = []
    hook = module.register_forward_pre_hook(lambda _, args: given.extend(args))
    looked_at(reader)
    hook.remove()
    return given


def test_the_retention_map_is_that_of_the_equations() -> None:
    reader = grounder("mrnet")
    found = looked_at(reader)[1]
    module = reader.model.blocks[1].retention
    x = seen_by(module, reader)[0][0].detach()
    clips, heads, d_k = len(x) - 1, module.config.heads, x.shape[1] // module.config.heads
    for head in range(heads):
        columns = slice(head * d_k, (head + 1) * d_k)
        turned: list[Tensor] = []
        for part, inverse in ((0, False), (1, True)):
            by_modality = []
            for rows, projections in ((x[:1], module.query_projections), (x[1:], module.video_projections)):
                weight = projections.weight.detach().split(x.shape[1])[part]
                by_modality.append(xpos((rows @ weight.T)[:, columns], inverse=inverse))
            turned.append(torch.cat(by_modality))
        for n in range(clips + 1):
            bare = [float(turned[0][n] @ turned[1][m]) / math.sqrt(d_k) for m in range(clips + 1)]
            masked = list(bare)
            for m in range(1, clips + 1):
                if n:
                    learned = 1 if n == m else 1 / (1 + math.exp(-float(module.sparse_weights[n - 1, m - 1])))
                    masked[m] *= module.config.gamma ** abs(n - m) * learned
                    (_, mask), *_ = found.masks
                    assert mask[n, m] == pytest.approx(module.config.gamma ** abs(n - m) * learned, rel=1e-4)
            np.testing.assert_allclose(found.weights[head, n], normal(masked), rtol=2e-3, atol=1e-6)
            np.testing.assert_allclose(found.bare[head, n], normal(bare), rtol=2e-3, atol=1e-6)
    assert found.rows == found.columns == ("query", *[None] * clips)
    assert found.masks[0][1][0].min() == found.masks[0][1][:, 0].min() == 1  # unlimited (Eq. 7)


def through(learned: LearnedMask, row: Tensor) -> list[float]:
    """STAMP Eq. 1-4, LAM Eq. 1-5: linear layers with a ReLU between them."""
    values = row.tolist()
    for number, layer in enumerate(learned.layers):
        weights, biases = layer.weight.tolist(), layer.bias.tolist()
        values = [
            sum(w * v for w, v in zip(line, values, strict=True)) + b
            for line, b in zip(weights, biases, strict=True)
        ]
        if number < len(learned.layers) - 1:
            values = [max(0.0, value) for value in values]
    return values


@pytest.mark.parametrize("fusion", ["product", "sum"])
@pytest.mark.parametrize("kind", ["lam", "stamp"])
def test_masks_and_weights_of_qd_detr_are_those_of_the_equations(kind: Any, fusion: Any) -> None:
    reader = grounder("qd-detr", MaskConfig(kind=kind, fusion=fusion))
    layers = looked_at(reader)
    assert [layer.name for layer in layers] == [
        "clips to words, layer 1",
        "clips to words, layer 2",
        "token and clips, layer 1",
        "token and clips, layer 2",
    ]
    stacks = (*reader.model.cross, *reader.model.encoder)
    for found, layer in zip(layers, stacks, strict=True):
        given = seen_by(layer, reader)
        is_cross = found.name.startswith("clips to")
        x, positions = given[0][0].detach(), given[1][0].detach()
        keys = given[2][0].detach() if is_cross else x + positions
        q, k = layer.attention.q(x + positions), layer.attention.k(keys)
        heads, d_k = layer.attention.heads, x.shape[1] // layer.attention.heads
        logits = torch.stack(
            [
                q[:, h * d_k : (h + 1) * d_k] @ k[:, h * d_k : (h + 1) * d_k].T / math.sqrt(d_k)
                for h in range(heads)
            ]
        ).detach()
        ((name, mask),) = found.masks
        assert name == "learned mask M"
        for n in range(len(x)):
            read = logits.mean(0)[n] if is_cross and kind == "lam" else x[n]
            expected = through(layer.mask, read)[: len(keys)]
            np.testing.assert_allclose(mask[n], expected, rtol=1e-3, atol=1e-4)
            for h in range(heads):
                bare = logits[h, n].tolist()
                fused = [
                    value * m if fusion == "product" else value + m
                    for value, m in zip(bare, expected, strict=True)
                ]
                np.testing.assert_allclose(found.weights[h, n], normal(fused), rtol=1e-3, atol=1e-5)
                np.testing.assert_allclose(found.bare[h, n], normal(bare), rtol=1e-3, atol=1e-5)
        assert found.columns == (ASKED[1] if is_cross else found.rows)
        assert found.rows == (() if is_cross else ("token",)) + (None,) * N_CLIPS


def test_a_static_mask_is_the_sigmoid_of_its_weights_and_padding_is_left_out() -> None:
    reader = grounder("moment-detr", MaskConfig(kind="static"))
    first, _ = looked_at(reader)
    # a video shorter than the model's clips is padded before the words, which keep their places
    places = [*range(N_CLIPS), *range(DETR.clips, DETR.clips + 3)]
    weights = reader.model.encoder[0].mask.weights
    ((_, mask),) = first.masks
    for n, row in enumerate(places):
        for m, column in enumerate(places):
            expected = 1 if n == m else 1 / (1 + math.exp(-float(weights[row, column])))
            assert mask[n, m] == pytest.approx(expected, rel=1e-5)
    assert first.rows == first.columns == (*[None] * N_CLIPS, *ASKED[1])
    np.testing.assert_allclose(first.weights.sum(axis=2), 1, atol=1e-5)


def test_mrnet_detr_has_its_retention_mask_and_a_learned_one_of_the_clips() -> None:
    first, _ = looked_at(grounder("mrnet-detr", MaskConfig(kind="stamp")))
    assert first.rows == ("token", *ASKED[1], *[None] * N_CLIPS)
    shapes = {name: mask.shape for name, mask in first.masks}
    n = 4 + N_CLIPS
    assert shapes == {"retention mask M_R": (n, n), "learned mask M": (n, N_CLIPS)}


@pytest.mark.parametrize("name", ["mrnet", "moment-detr", "qd-detr", "mrnet-detr"])
def test_looking_changes_no_answer(name: str) -> None:
    reader, tokens = grounder(name), [WORDS]
    if name == "mrnet":
        tokens = QUERIES[:1]
    before = ground_video(reader, noisy(40), tokens, VECTORS[:1])
    looked_at(reader)
    after = ground_video(reader, noisy(40), tokens, VECTORS[:1])
    assert before[0].moments == after[0].moments
    assert not any(module._forward_pre_hooks for module in reader.model.modules())


@pytest.mark.parametrize("name", ["moment-detr", "qd-detr"])
def test_without_a_mask_weights_are_the_bare_ones(name: str) -> None:
    reader = grounder(name)
    assert not has_mask(reader.model)
    for layer in looked_at(reader):
        assert layer.masks == ()
        assert np.array_equal(layer.weights, layer.bare)


def test_which_models_have_a_mask() -> None:
    for kind in ("lam", "stamp", "static"):
        assert has_mask(grounder("qd-detr", MaskConfig(kind=kind)).model)
    assert has_mask(grounder("mrnet").model)
    assert has_mask(grounder("mrnet-detr", sparse=False).model)
    assert not has_mask(grounder("mrnet", sparse=False, decay="none").model)


class Ones(Mask):
    """Multiplies by 1, in a class of its own."""

    def forward(self, x: Tensor, n_keys: int) -> SoftMask:
        return SoftMask(x * 0, x.new_zeros(n_keys, x.shape[2]), x.new_ones(n_keys), self.config.fusion)


def test_a_mask_of_another_class_is_seen_in_both_attentions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned_mask, "MASKS", {"stamp": Ones})
    reader = grounder("qd-detr", MaskConfig(kind="stamp"))
    assert has_mask(reader.model)
    for layer in looked_at(reader):
        ((_, mask),) = layer.masks
        assert (mask == 1).all()
        np.testing.assert_allclose(layer.weights, layer.bare, atol=1e-6)


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=20), min_size=1, max_size=4))
@settings(deadline=None, max_examples=40)
def test_weights_are_counted_by_their_size(rows: list[list[float]]) -> None:
    counts = share_by_weight([np.array(row, np.float64) for row in rows])
    flat = [max(weight, 1e-6) for row in rows for weight in row]
    for number, share in enumerate(counts):
        low, high = BINS[number], BINS[number + 1]
        is_last = number == len(counts) - 1
        inside = sum(low <= weight < high or (is_last and weight == high) for weight in flat)
        assert share == pytest.approx(inside / len(flat), abs=1e-6)


# --- the pictures ---

CLIPS = (None,) * 30


def attention(n_queries: int, n_layers: int = 2, seed: int = 0) -> list[QueryAttention]:
    rng = np.random.default_rng(seed)
    words = ("[CLS]", "dog", "[SEP]")

    def layer(kind: str, number: int, rows: Any, columns: Any) -> LayerAttention:
        weights = rng.dirichlet(np.ones(len(columns)), (2, len(rows))).astype(np.float32)
        masks = (("learned mask M", weights[0] - 0.5),)
        return LayerAttention(f"{kind}, layer {number}", weights, weights[::-1], rows, columns, masks)

    numbers = range(1, n_layers + 1)
    layers = (
        *(layer("clips to words", n, CLIPS, words) for n in numbers),
        *(layer("token and clips", n, ("token", *CLIPS), ("token", *CLIPS)) for n in numbers),
    )
    return [QueryAttention(f"query {n}", layers) for n in range(n_queries)]


@pytest.mark.parametrize(("kind", "suffix"), [("attention", ".png"), ("mask", ".svg"), ("weights", ".svg")])
def test_the_same_attention_gives_the_same_bytes(tmp_path: Path, kind: Any, suffix: str) -> None:
    for name in ("a", "b"):
        assert plot_moment_attention(grounding(1), attention(1), kind, tmp_path / f"{name}{suffix}") == ()
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_words_times_layers_and_queries_can_be_read(tmp_path: Path) -> None:
    target = tmp_path / "plot.svg"
    plot_moment_attention(grounding(1), attention(1), "mask", target)
    text = target.read_text(encoding="utf-8")
    for shown in ("query 0", "dog", "0:30", "clips to words, layer 2: learned mask M"):
        assert f"<!-- {shown} -->" in text


def test_the_best_moment_is_marked_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marked: list[tuple[float, float, str]] = []
    monkeypatch.setattr(
        plots.figures, "mark_cells", lambda _axes, a, b, _colour, side: marked.append((a, b, side))
    )
    plot_moment_attention(grounding(1), attention(1, n_layers=1), "attention", tmp_path / "plot.png")
    # from 10 to 20 of 60 s, two to a clip; cells begin at -0.5, the token is the first
    assert marked == [(4.5, 9.5, "right"), (5.5, 10.5, "top"), (5.5, 10.5, "right")]


def test_a_few_queries_are_drawn_and_all_are_counted(tmp_path: Path) -> None:
    target = tmp_path / "plot.svg"
    (warning,) = plot_moment_attention(grounding(5), attention(5), "attention", target)
    assert warning == f"{target}: shows the first 3 of 5 queries"
    assert plot_moment_attention(grounding(5), attention(5), "weights", target) == ()
    assert "5 queries" in target.read_text(encoding="utf-8")


def test_of_many_layers_the_papers_three_are_counted(tmp_path: Path) -> None:
    target = tmp_path / "plot.svg"
    plot_moment_attention(grounding(1), attention(1, n_layers=16), "weights", target)
    text = target.read_text(encoding="utf-8")
    shown = [n for n in range(1, 17) if f"<!-- layer {n} -->" in text]
    assert shown == [1, 8, 16]
