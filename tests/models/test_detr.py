import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.functional import gelu

from tests.models.attention.test_retention import retain_directly
from vidsum.errors import UsageError
from vidsum.models.attention.learned_mask import MASKS, LearnedMask
from vidsum.models.configs import DETRConfig, MaskConfig
from vidsum.models.detr import (
    DETR,
    DETREncoderLayer,
    centre_width,
    generalized_iou,
    generalized_iou_of_pairs,
    start_end,
)
from vidsum.models.detr_models import MODELS, build
from vidsum.models.qd_detr import CrossLayer

SIZES = {
    "dim_video": 6, "dim_query": 5, "clips": 9, "words": 4, "d": 16, "heads": 2, "d_ff": 24, "n_moments": 3,
}  # fmt: skip
MASK_CONFIGS = {
    "none": None,
    **{kind: MaskConfig(kind=kind) for kind in MASKS},
    "deep": MaskConfig(kind="lam", depth=3, fusion="sum"),
    "shared": MaskConfig(kind="lam", shared=True),
    "bounded": MaskConfig(kind="lam", init="he", bound="sigmoid"),
    "static": MaskConfig(kind="static", fusion="product"),  # the default hides, and no key learns
}

each_model = pytest.mark.parametrize("name", MODELS)
MASKED = [
    (name, mask) for name in MODELS for mask in MASK_CONFIGS if (name, mask) != ("mrnet-detr", "static")
]
each_masked_model = pytest.mark.parametrize(("name", "mask"), MASKED)


def small(name: str, **options: object) -> DETR:
    torch.manual_seed(0)
    return build(name, DETRConfig(**{**SIZES, **options})).eval()


def batch(clips: list[int], words: list[int], seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Noise, in the padding too."""
    draw = torch.Generator().manual_seed(seed)
    video = torch.randn(len(clips), max(clips), 6, generator=draw)
    texts = torch.randn(len(words), max(words), 5, generator=draw)
    is_clip = torch.arange(max(clips)) < torch.tensor(clips)[:, None]
    is_word = torch.arange(max(words)) < torch.tensor(words)[:, None]
    return video, is_clip, texts, is_word


@pytest.mark.parametrize("has_mask", [False, True])
def test_encoder_layer_hands_on_its_mask_or_the_one_before(has_mask: bool) -> None:
    model = small("moment-detr", mask=MaskConfig(kind="lam") if has_mask else None)
    layer = next(part for part in model.modules() if isinstance(part, DETREncoderLayer))
    x, is_token = torch.zeros(1, 5, 16), torch.ones(1, 5, dtype=torch.bool)
    assert (layer(x, x, is_token, None)[1] is not None) == has_mask


@each_masked_model
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=2, max_size=4), st.integers(0, 99))
@settings(max_examples=3, deadline=None)
def test_padding_changes_nothing(name: str, mask: str, sizes: list[tuple[int, int]], seed: int) -> None:
    model = small(name, mask=MASK_CONFIGS[mask])
    inputs = batch([clips for clips, _ in sizes], [words for _, words in sizes], seed)
    video, is_clip, words, is_word = inputs
    with torch.no_grad():
        together = model(*inputs)
        for n, (n_clips, n_words) in enumerate(sizes):
            row = slice(n, n + 1)
            alone = model(
                video[row, :n_clips], is_clip[row, :n_clips], words[row, :n_words], is_word[row, :n_words]
            )
            assert torch.allclose(together.logits[:, row], alone.logits, atol=1e-5)
            assert torch.allclose(together.spans[:, row], alone.spans, atol=1e-5)
            assert torch.allclose(together.saliency[row, :n_clips], alone.saliency, atol=1e-5)


@torch.no_grad()
@each_masked_model
def test_saliency_alone_is_that_of_the_whole_model(name: str, mask: str) -> None:
    model = small(name, mask=MASK_CONFIGS[mask])
    inputs = batch([9, 5], [4, 2])
    saliency = model.saliency(*inputs)
    assert torch.equal(saliency, model(*inputs).saliency)
    assert saliency.isfinite().all()


@each_masked_model
def test_every_weight_learns(name: str, mask: str) -> None:
    model = small(name, mask=MASK_CONFIGS[mask], dropout=0.0, dropout_in=0.0).train()
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():  # biases start at 0, which hides what comes before them
            parameter += 0.1 * torch.randn(parameter.shape, generator=draw)
    outputs = model(*batch([9, 5], [4, 2]))
    sum((output * torch.randn(output.shape, generator=draw)).sum() for output in outputs).backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), parameter_name
        # a bias of the keys changes no softmax; the first layer's moments are 0, whichever they attend to
        is_idle = re.fullmatch(r"decoder\.layers\.0\.attention\.([qk].*|v\.weight)", parameter_name)
        if not is_idle and not parameter_name.endswith((".k.bias", ".k_place.bias")):
            assert parameter.grad.abs().sum() > 0, parameter_name


@torch.no_grad()
@each_model
def test_outputs_have_their_shapes_and_spans_lie_in_the_video(name: str) -> None:
    outputs = small(name)(*batch([9, 5], [4, 2]))
    assert outputs.logits.shape == outputs.spans.shape == (2, 2, 3, 2)
    assert outputs.saliency.shape == (2, 9)
    assert ((outputs.spans > 0) & (outputs.spans < 1)).all()


@each_model
def test_more_clips_than_the_model_reads_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="10 clips are more than the model's 9"):
        small(name)(*batch([10], [4]))


@each_model
def test_more_words_than_the_model_reads_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="5 words are more than the model's 4"):
        small(name).saliency(*batch([9], [5]))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("name", "layers", "columns"),
    [("moment-detr", 2, {9 + 4}), ("qd-detr", 4, {4, 1 + 9}), ("mrnet-detr", 2, {9})],
)
def test_masks_are_of_the_encoders_keys(name: str, layers: int, columns: set[int], shared: bool) -> None:
    model = small(name, mask=MaskConfig(shared=shared))
    masks = [part for part in model.modules() if isinstance(part, LearnedMask)]
    assert len(masks) == (layers // 2 if shared else layers)
    assert {mask.layers[-1].out_features for mask in masks} == columns


@pytest.mark.parametrize(("name", "n_keys"), [("moment-detr", 9 + 4), ("qd-detr", 1 + 9)])
def test_static_masks_are_in_self_attention_alone(name: str, n_keys: int) -> None:
    plain, masked = small(name).state_dict(), small(name, mask=MaskConfig(kind="static")).state_dict()
    added = {key: tuple(masked[key].shape) for key in masked.keys() - plain.keys()}
    assert added == {f"encoder.{layer}.mask.weights": (n_keys, n_keys) for layer in range(2)}


def test_static_masks_are_refused_in_mrnets_blocks() -> None:
    with pytest.raises(UsageError, match="a sparse mask of their own"):
        small("mrnet-detr", mask=MaskConfig(kind="static"))


@pytest.mark.parametrize(
    ("name", "n_parameters"),
    # of the first two, see tests/lab/importers/test_import_detr.py
    [("moment-detr", 4_814_601), ("qd-detr", 7_576_869), ("mrnet-detr", 6_400_787)],
)
def test_number_of_parameters(name: str, n_parameters: int) -> None:
    with torch.device("meta"):
        model = build(name, DETRConfig())
    assert count(model) == n_parameters


@torch.no_grad()
@pytest.mark.parametrize("is_cross", [False, True], ids=["self-attention", "cross-attention"])
def test_mask_acts_on_the_logits_of_attention(is_cross: bool) -> None:
    """One head by hand: softmax(Q K^T / sqrt(d) * M) V."""
    torch.manual_seed(0)
    config = DETRConfig(**{**SIZES, "heads": 1})
    x, words, positions = torch.randn(1, 5, 16), torch.randn(1, 3, 16), torch.randn(1, 5, 16)
    if is_cross:
        keys, values = words, words
        layer = CrossLayer(config, LearnedMask(MaskConfig(), 16, 4, cross=True)).eval()
        found, _ = layer(x, positions, words, torch.ones(1, 3, dtype=torch.bool), None)
    else:
        keys, values = x + positions, x
        layer = DETREncoderLayer(config, LearnedMask(MaskConfig(), 16, 6), nn.ReLU()).eval()
        found, _ = layer(x, positions, torch.ones(1, 5, dtype=torch.bool), None)
    hidden = layer.mask.layers[0](x).relu()
    mask = layer.mask.layers[1](hidden)[:, :, : keys.shape[1]]
    logits = layer.attention.q(x + positions) @ layer.attention.k(keys).mT / 4 * mask
    mixed = x + layer.attention.out(logits.softmax(2) @ layer.attention.v(values))
    first = layer.norms[0](mixed)
    expected = layer.norms[1]((mixed if is_cross else first) + layer.feed_forward(first))
    assert torch.allclose(found, expected, atol=1e-5)


def count(model: nn.Module) -> int:
    """The number of parameters of a model."""
    return sum(parameter.numel() for parameter in model.parameters())


@torch.no_grad()
def test_linear_layers_stand_at_the_end_of_each_encoder_layer() -> None:
    """STAMP Sec. 4.3, "adding additional linear layers at the end of each transformer stage": by hooks."""
    model = small("qd-detr", linear_layers=2)
    layers = [*model.cross, *model.encoder]
    outputs, inputs = list[Tensor](), list[Tensor]()
    for layer in layers:
        layer.norms[1].register_forward_hook(lambda module, arguments, out: outputs.append(out))
        layer.register_forward_pre_hook(lambda module, arguments: inputs.append(arguments[0]))
    model.saliency(*batch([6], [3]))
    for number in (0, 2):  # the first layers of both encoders: behind them comes the second
        first, second = (module for module in layers[number].linear if isinstance(module, nn.Linear))
        end = outputs[number]
        assert torch.allclose(inputs[number + 1], end + second(first(end).relu()), atol=1e-6)


@torch.no_grad()
def test_linear_layers_change_the_saliency() -> None:
    inputs = batch([6], [3])
    added, plain = small("qd-detr", linear_layers=2), small("qd-detr")
    assert not torch.allclose(added.saliency(*inputs), plain.saliency(*inputs), atol=1e-3)


def test_each_encoder_layer_has_the_linear_layers() -> None:
    n_added = count(small("qd-detr", linear_layers=2)) - count(small("qd-detr"))
    assert n_added == 4 * 2 * (16 * 16 + 16)


def test_linear_layers_are_refused_in_mrnets_blocks() -> None:
    with pytest.raises(UsageError, match="no added linear layers"):
        small("mrnet-detr", linear_layers=1)


@torch.no_grad()
def test_mrnet_detr_encodes_by_equations_7_to_9() -> None:
    """The blocks once more, one head at a time, for one video and query without padding."""
    model = small("mrnet-detr")
    video, is_clip, words, is_word = batch([6], [3])
    token = model.global_saliency.token + model.global_saliency.position
    x = torch.cat([token[None], model.inputs["words"](words)[0], model.inputs["video"](video)[0]])
    for block in model.blocks:
        x = x + retain_directly(block.retention, block.norms[0](x), 4)
        inner = gelu(block.feed_forward[0](block.norms[1](x)))
        x = x + block.feed_forward[2](inner)
    x = model.norm(x)
    products = model.global_saliency.of_clips(x[4:]) @ model.global_saliency.of_token(x[0])
    assert torch.allclose(model.saliency(video, is_clip, words, is_word)[0], products / 4, atol=1e-5)


def test_sparsity_loss_is_how_much_masks_exceed_half_the_target() -> None:
    model = small("mrnet-detr", sparsity=0.25)
    means = [block.retention.sparse_weights.detach().sigmoid().mean() for block in model.blocks]
    expected = sum(max(0.0, float(mean) - 0.125) for mean in means) / 2
    assert model.sparsity_loss().item() == pytest.approx(expected)


def test_sparsity_loss_without_sparse_masks_is_zero() -> None:
    assert small("mrnet-detr", sparse=False).sparsity_loss().item() == 0


def test_models_without_sparse_masks_have_no_sparsity_loss() -> None:
    assert not hasattr(small("qd-detr"), "sparsity_loss")


SPAN = st.tuples(st.floats(-1, 2), st.floats(1e-3, 3)).map(lambda one: (one[0], one[0] + one[1]))
SPANS = st.lists(SPAN, min_size=1, max_size=6).map(lambda given: torch.tensor(given, dtype=torch.float64))


def boxes(spans: Tensor) -> Tensor:
    """[N, 4] boxes of height 1."""
    start, end = spans.unbind(1)
    return torch.stack([start, torch.zeros_like(start), end, torch.ones_like(end)], dim=1)


@given(SPANS, SPANS)
def test_generalized_iou_is_torchvisions_for_boxes_of_height_1(a: Tensor, b: Tensor) -> None:
    from torchvision.ops import generalized_box_iou

    assert torch.allclose(generalized_iou(a, b), generalized_box_iou(boxes(a), boxes(b)), atol=1e-9)


@given(SPANS)
def test_generalized_iou_of_pairs_is_the_diagonal_of_all_pairs(spans: Tensor) -> None:
    pairs = generalized_iou_of_pairs(spans, spans.flip(0))
    assert torch.allclose(pairs, generalized_iou(spans, spans.flip(0)).diagonal())


@given(SPANS)
def test_spans_come_back_from_centre_and_width(spans: Tensor) -> None:
    assert torch.allclose(start_end(centre_width(spans)), spans)


@pytest.mark.parametrize(
    ("first", "second", "iou"),
    [
        ((0.0, 0.5), (0.5, 1.0), 0.0),
        ((0.25, 0.75), (0.5, 1.0), 1 / 3),
        ((0.0, 0.1), (0.0, 0.2), 0.5),
        ((0.9, 1.0), (0.0, 0.2), -0.7),
    ],
    ids=["touching", "overlapping", "inside", "apart"],
)
def test_generalized_iou_of_known_spans(
    first: tuple[float, float], second: tuple[float, float], iou: float
) -> None:
    found = generalized_iou(torch.tensor([[first]]), torch.tensor([[second]]))
    assert torch.allclose(found, torch.tensor([[[iou]]]))


@pytest.mark.parametrize(("other", "iou"), [((0.3, 0.3), 0), ((0.0, 1.0), 0), ((0.9, 0.9), -1)])
def test_generalized_iou_of_an_empty_span_is_finite(other: tuple[float, float], iou: float) -> None:
    found = generalized_iou_of_pairs(torch.tensor([0.3, 0.3])[None], torch.tensor(other)[None])
    assert found.tolist() == pytest.approx([iou])


def test_centre_and_width_of_a_span() -> None:
    assert torch.equal(centre_width(torch.tensor([0.25, 0.75])), torch.tensor([0.5, 0.5]))
