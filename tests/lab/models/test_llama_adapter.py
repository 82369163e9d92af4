"""The audio description model: its size on paper, and a small one."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from vidsum.lab.models.llama_adapter import AudioDescription, AudioDescriptionConfig
from vidsum.models.configs import MaskConfig, MaskKind

PAPER = AudioDescriptionConfig()
STAMP = MaskConfig(kind="stamp", depth=16)
TINY = AudioDescriptionConfig(
    dim_visual=6,
    dim_audio=4,
    n_tokens=3,
    d=16,
    heads=4,
    d_ff=16,
    layers=2,
    dropout=0.0,
    d_adapter=16,
    adapter_heads=4,
    adapter_layers=1,
    n_queries=4,
    d_lm=16,
    lm_heads=4,
    lm_ff=16,
    lm_layers=2,
    adapted=1,
    vocabulary=9,
    lora_rank=2,
)


def count(config: AudioDescriptionConfig) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in AudioDescription(config).parameters())


MASKS = 16 * (15 * (768**2 + 768) + 768 * 50 + 50)
PLAIN = 6_923_449_856


@pytest.mark.parametrize(
    ("mask", "n_parameters"),
    [
        (None, PLAIN),
        (STAMP, 7_065_807_136),
        (replace(STAMP, shared=True), PLAIN + MASKS // 16),
        (MaskConfig(kind="static"), PLAIN + 16 * 50**2),
    ],
    ids=["plain", "masks", "shared mask", "static masks"],
)
def test_number_of_parameters_is_that_of_tables_3_and_4(mask: MaskConfig | None, n_parameters: int) -> None:
    """Table 3 of STAMP: 6.93 B, with masks 7.07 B."""
    assert count(replace(PAPER, mask=mask)) == n_parameters


def test_masks_have_the_papers_size() -> None:
    assert pytest.approx(6.93e9, rel=0.001) == PLAIN
    assert PLAIN + MASKS == 7_065_807_136
    assert round((PLAIN + MASKS) / 1e9, 2) == 7.07


def test_llama_7b_is_what_is_left_without_the_adapter() -> None:
    with torch.device("meta"):
        model = AudioDescription(PAPER)
    added = ("bias", "lora_up", "lora_down", "gate")
    llama = [
        weights.numel()
        for name, weights in model.named_parameters()
        if not name.startswith(("encoder.", "adapter.")) and not name.endswith(added)
    ]
    assert sum(llama) == 6_738_415_616


def inputs(n: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    visual, audio = torch.randn(n, 3, TINY.dim_visual), torch.randn(n, 3, TINY.dim_audio)
    return visual, audio, torch.randint(9, (n, 5))


def model_of(config: AudioDescriptionConfig = TINY) -> AudioDescription:
    torch.manual_seed(1)
    return AudioDescription(config).eval()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("kind", [None, "lam", "stamp", "static"])
def test_model_runs_in_other_precisions(kind: MaskKind | None, dtype: torch.dtype) -> None:
    visual, audio, tokens = inputs()
    model = model_of(replace(TINY, mask=MaskConfig(kind=kind) if kind else None))
    for layer in model.language:
        torch.nn.init.constant_(layer.gate, 0.5)
    expected = model(tokens, model.evidence(visual, audio))
    model = model.to(dtype)
    evidence = model.evidence(visual.to(dtype), audio.to(dtype))
    found = model(tokens, evidence)
    assert found.dtype == dtype
    assert (found.double() - expected).abs().max() < 0.2 * expected.std()


def test_evidence_has_queries_for_each_adapted_layer() -> None:
    visual, audio, _ = inputs()
    assert model_of().evidence(visual, audio).shape == (TINY.adapted, 4, TINY.n_queries, TINY.d_lm)


def test_closed_gate_keeps_evidence_out() -> None:
    visual, audio, tokens = inputs()
    model = model_of()
    assert torch.allclose(model(tokens, model.evidence(visual, audio)), model(tokens))


def test_open_gate_lets_evidence_in() -> None:
    visual, audio, tokens = inputs()
    model = model_of()
    with torch.no_grad():
        model.language[-1].gate.fill_(1.0)
    assert not torch.allclose(model(tokens, model.evidence(visual, audio)), model(tokens), atol=1e-4)


def test_words_do_not_see_those_behind_them() -> None:
    tokens = inputs()[2]
    model = model_of()
    other = tokens.clone()
    other[:, 3:] = (other[:, 3:] + 1) % 9
    assert torch.allclose(model(tokens)[:, :3], model(other)[:, :3], atol=1e-6)
    assert not torch.allclose(model(tokens)[:, 3:], model(other)[:, 3:], atol=1e-3)
