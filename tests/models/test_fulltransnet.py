"""FullTransNet against torch's own transformer, and against the paper's equations written out."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from vidsum.models.configs import MASK_TRAITS, FullTransNetConfig, MaskConfig
from vidsum.models.fulltransnet import FullTransNet, _shares, fulltransnet_loss, global_tokens, positions

SMALL = {"dim_in": 12, "d": 16, "layers": 2, "heads": 4, "d_ff": 24, "window": 3, "t_max": 40}
N_SAMPLES = 18
PATTERNS = ("full", "local", "global", "local-global")
KINDS = [kind for kind, traits in MASK_TRAITS.items() if not traits.is_fixed]
MASK_CONFIGS = [MaskConfig(kind=kind, fusion=fusion) for kind in KINDS for fusion in ("product", "sum")]
MASK_CONFIGS += [MaskConfig(depth=1), MaskConfig(shared=True)]


def small(**changes: object) -> FullTransNet:
    torch.manual_seed(0)
    model = FullTransNet(FullTransNetConfig(**{**SMALL, **changes})).eval()
    for parameter in model.parameters():  # biases and norms too, so that none can be forgotten
        nn.init.normal_(parameter, std=0.3)
    return model


@pytest.fixture
def video() -> tuple[Tensor, Tensor, Tensor]:
    """Features [1, T, D], global tokens [1, T], key frames [1, L]."""
    torch.manual_seed(1)
    is_global = global_tokens(torch.arange(N_SAMPLES) // 5, 3)
    return torch.randn(1, N_SAMPLES, 12), is_global[None], torch.tensor([[2, 3, 4, 11, 12]])


def count(parameters: object) -> int:
    return sum(parameter.numel() for parameter in parameters)


@pytest.mark.parametrize(("position", "i"), [(0, 0), (7, 3), (49, 7)])
def test_positions_are_sines_and_cosines_in_turn(position, i):
    encoding = positions(50, torch.empty(0, 16))
    angle = position / 10000 ** (2 * i / 16)
    assert encoding[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-5)
    assert encoding[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-5)


def test_target_of_a_step_is_shared_by_the_frames_that_are_not_chosen_before_it() -> None:
    shares = _shares(torch.tensor([[1, 0]]), torch.tensor([[0.2, 0.3, 0.5]]))
    expected = [[0.2, 0.3, 0.5, 0.0], [2 / 7, 0.0, 5 / 7, 0.0], [0.0, 0.0, 0.0, 1.0]]
    torch.testing.assert_close(shares, torch.tensor([expected]))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_number_of_parameters_is_that_of_table_3_and_what_the_docs_add_to_it(pattern):
    model = FullTransNet(FullTransNetConfig(attention=pattern))
    feed_forward_biases = count(
        p for name, p in model.named_parameters() if "feed_forward" in name and "bias" in name
    )
    start_and_end = count([model.start, *model.end.parameters()])
    assert count(model.parameters()) == 3_638_593
    assert count(model.parameters()) - feed_forward_biases - start_and_end == 3_613_120  # 3.613 M
    projections = count(p for name, p in model.encoder.named_parameters() if name.split(".")[2] in "qkv")
    assert 3_613_120 - projections == 3_538_240  # 3.538 M, "LGA"


def torch_attention(theirs: nn.MultiheadAttention, ours: nn.Module) -> None:
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.q.weight, ours.k.weight, ours.v.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.q.bias, ours.k.bias, ours.v.bias]))
        theirs.out_proj.load_state_dict(ours.out.state_dict())


def torch_layer(ours: nn.Module, kind: type[nn.Module]) -> nn.Module:
    theirs = kind(16, 4, 24, dropout=0.0, batch_first=True).eval()
    torch_attention(theirs.self_attn, ours.attention)
    if kind is nn.TransformerDecoderLayer:
        torch_attention(theirs.multihead_attn, ours.cross)
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    for number, norm in enumerate(ours.norms, 1):
        getattr(theirs, f"norm{number}").load_state_dict(norm.state_dict())
    return theirs


def torch_memory(model, features):
    """The encoder of torch's transformer with the weights of ours."""
    embedded = model.embedding(features)
    memory = embedded + positions(N_SAMPLES, embedded)
    for layer in model.encoder:
        memory = torch_layer(layer, nn.TransformerEncoderLayer)(memory)
    return memory


def test_encoder_with_full_attention_is_torchs(video):
    features, is_global, _ = video
    model = small(attention="full", head="linear")
    memory = model.encode(features, is_global).memory
    assert torch.allclose(memory, torch_memory(model, features), atol=1e-5)


def test_decoder_is_torchs(video):
    features, is_global, key_frames = video
    model = small(attention="full", head="linear")
    memory = torch_memory(model, features)
    s = torch.cat([model.start.expand(1, 1, -1), model.embedding(features)[:, key_frames[0]]], dim=1)
    s = s + positions(6, s)
    causal = nn.Transformer.generate_square_subsequent_mask(6)
    for layer in model.decoder:
        s = torch_layer(layer, nn.TransformerDecoderLayer)(s, memory, tgt_mask=causal)
    logits = torch.cat([(s @ model.head.scores.weight.T)[:, :, :N_SAMPLES], model.end(s)], dim=2)
    assert torch.allclose(model(features, is_global, key_frames), logits.log_softmax(2), atol=1e-5)


@pytest.mark.parametrize("shared", [False, True])
def test_summed_mask_is_the_bias_of_torchs_transformer(video, shared):
    features, is_global, _ = video
    model = small(attention="full", mask=MaskConfig(depth=3, fusion="sum", shared=shared))
    embedded = model.embedding(features)
    x, bias = embedded + positions(N_SAMPLES, embedded), None
    for number, layer in enumerate(model.encoder):
        if number == 0 or not shared:
            first, second, last = layer.mask.layers
            bias = last(second(first(x).relu()).relu())[0, :, :N_SAMPLES]
        x = torch_layer(layer, nn.TransformerEncoderLayer)(x, src_mask=bias)
    assert torch.allclose(model.encode(features, is_global).memory, x, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "most"),
    [({}, 9), ({"head": "pointer"}, None), ({"head": "pointer", "mask": MaskConfig()}, 9)],
    ids=["linear head", "pointer", "pointer with masks"],
)
def test_number_of_samples_is_bounded_by_a_linear_head_and_by_masks(options, most):
    assert FullTransNetConfig(t_max=9, **options).max_samples == most


def test_more_samples_than_a_mask_has_columns_are_refused():
    model = small(t_max=9, head="pointer", mask=MaskConfig())
    with pytest.raises(ValueError, match="10 keys are more than the mask's 9"):
        model.encode(torch.zeros(1, 10, 12), torch.zeros(1, 10, dtype=torch.bool))


def test_more_samples_than_a_linear_head_scores_are_refused():
    with pytest.raises(ValueError, match="41 samples are more than t_max = 40"):
        small()(torch.randn(1, 41, 12), torch.zeros(1, 41, dtype=torch.bool), torch.tensor([[0]]))


@pytest.mark.parametrize("head", ["linear", "pointer"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_decoding_step_by_step_gives_what_teacher_forcing_gives(video, pattern, head):
    features, is_global, key_frames = video
    model = small(attention=pattern, head=head)
    at_once = model(features, is_global, key_frames)
    state, frame = model.encode(features, is_global), None
    for number in range(6):
        log_probabilities, state = model.step(state, frame)
        assert torch.allclose(log_probabilities, at_once[:, number], atol=1e-5)
        frame = key_frames[:, number] if number < 5 else None


padded_models = pytest.mark.parametrize(
    ("pattern", "head", "mask"),
    [
        (pattern, head, mask)
        for pattern in PATTERNS
        for head, mask in [("linear", None), ("pointer", None), *(("pointer", mask) for mask in MASK_CONFIGS)]
    ],
)


def run_padded(model, video):
    """The outputs with four more samples, which are padding; global tokens there do not count."""
    features, is_global, key_frames = video
    padded = torch.cat([features, torch.full((1, 4, 12), 7.0)], dim=1)
    is_valid = torch.arange(N_SAMPLES + 4)[None] < N_SAMPLES
    return model(padded, nn.functional.pad(is_global, (0, 4), value=True), key_frames, is_valid)


@padded_models
def test_padding_changes_nothing(video, pattern, head, mask):
    model = small(attention=pattern, head=head, mask=mask)
    both = run_padded(model, video)
    assert torch.allclose(both[:, :, [*range(N_SAMPLES), -1]], model(*video), atol=1e-5)


@padded_models
def test_padding_is_never_chosen(video, pattern, head, mask):
    both = run_padded(small(attention=pattern, head=head, mask=mask), video)
    assert (both[:, :, N_SAMPLES:-1] == -math.inf).all()


def entropy_of(log_probabilities, frames):
    """Eq. 13 written out: the binary cross-entropy of the frames, step by step."""
    wanted = torch.zeros(len(frames), N_SAMPLES + 1)
    for step, frame in enumerate(frames):
        wanted[step, frame] = 1
    entropy = nn.functional.binary_cross_entropy(log_probabilities[0].exp(), wanted, reduction="sum")
    return entropy.item() / N_SAMPLES


def test_loss_is_equation_13_written_out(video):
    _, _, key_frames = video
    log_probabilities = small()(*video)
    expected = entropy_of(log_probabilities, [*key_frames[0].tolist(), N_SAMPLES])
    assert fulltransnet_loss(log_probabilities, key_frames).item() == pytest.approx(expected, rel=1e-5)


def test_every_weight_learns_from_the_loss(video):
    model = small()
    fulltransnet_loss(model(*video), video[2]).backward()
    without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []


def test_loss_and_gradient_stay_finite_where_the_model_is_sure_and_wrong():
    logits = torch.full((1, 2, 5), -200.0)
    logits[0, :, 3] = 200.0
    logits.requires_grad_()
    loss = fulltransnet_loss(logits.log_softmax(2), torch.tensor([[0]]))
    loss.backward()
    assert loss.isfinite()
    assert logits.grad.isfinite().all()


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 3))
def test_global_tokens_are_first_middle_and_last_of_each_shot(lengths, per_shot):
    wanted, start = np.zeros(sum(lengths), bool), 0
    for length in lengths:
        wanted[[start, start + (length - 1) // 2, start + length - 1][:per_shot]] = True
        start += length
    shots = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    assert global_tokens(shots, per_shot).numpy().tolist() == wanted.tolist()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_one_sample_and_no_key_frame_make_a_video_and_a_summary_too(pattern):
    everywhere = torch.ones(1, 1, dtype=torch.bool)
    out = small(attention=pattern)(torch.randn(1, 1, 12), everywhere, torch.zeros(1, 0, dtype=torch.int64))
    assert out.shape == (1, 1, 2)
    assert out.exp().sum().item() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_heads_may_have_sizes_of_their_own_as_in_table_4_row_d(video, pattern):
    model = small(attention=pattern, heads=3, d_k=6, d_v=2)
    layer = model.encoder[0].attention
    shapes = [part.weight.shape for part in (layer.q, layer.k, layer.v, layer.out)]
    assert shapes == [(18, 16), (18, 16), (6, 16), (16, 6)]
    features, is_global, _ = video
    first, _ = model.step(model.encode(features, is_global), None)
    assert torch.allclose(first, model(*video)[:, 0], atol=1e-5)


def test_with_the_target_same_step_a_step_reads_the_key_frame_that_it_predicts(video):
    features, is_global, key_frames = video
    model = small(target="same-step")
    rows = model(features, is_global, key_frames)
    assert rows.shape == (1, 5, N_SAMPLES + 1)
    changed = key_frames.clone()
    changed[0, 3] = 0
    after = model(features, is_global, changed)
    assert torch.equal(rows[:, :3], after[:, :3])
    assert not torch.allclose(rows[:, 3], after[:, 3])


def test_loss_of_the_target_same_step_has_no_end(video):
    rows = small(target="same-step")(*video)
    expected = entropy_of(rows, video[2][0].tolist())
    assert fulltransnet_loss(rows, video[2]).item() == pytest.approx(expected, rel=1e-5)
