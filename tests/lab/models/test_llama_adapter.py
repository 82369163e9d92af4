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
        return sum(each.numel() for each in AudioDescription(config).parameters())


def test_the_papers_model_has_the_papers_size() -> None:
    """Table 3 of STAMP: 6.93 B, with masks 7.07 B; the other rows are those of its Table 4."""
    plain = count(PAPER)
    assert plain == 6_923_449_856
    assert plain == pytest.approx(6.93e9, rel=0.001)
    masks = 16 * (15 * (768**2 + 768) + 768 * 50 + 50)
    assert count(replace(PAPER, mask=STAMP)) == plain + masks == 7_065_807_136
    assert round((plain + masks) / 1e9, 2) == 7.07
    assert count(replace(PAPER, mask=replace(STAMP, shared=True))) == plain + masks // 16
    static = replace(PAPER, mask=MaskConfig(kind="static"))
    assert count(static) == plain + 16 * 50**2


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
def test_it_runs_in_other_precisions(kind: MaskKind | None, dtype: torch.dtype) -> None:
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


def test_the_gate_starts_closed_and_then_lets_evidence_in() -> None:
    visual, audio, tokens = inputs()
    model = model_of()
    evidence = model.evidence(visual, audio)
    assert evidence.shape == (TINY.adapted, 4, TINY.n_queries, TINY.d_lm)
    assert torch.allclose(model(tokens, evidence), model(tokens))
    with torch.no_grad():
        model.language[-1].gate.fill_(1.0)
    assert not torch.allclose(model(tokens, evidence), model(tokens), atol=1e-4)


def test_words_do_not_see_those_behind_them() -> None:
    tokens = inputs()[2]
    model = model_of()
    other = tokens.clone()
    other[:, 3:] = (other[:, 3:] + 1) % 9
    assert torch.allclose(model(tokens)[:, :3], model(other)[:, :3], atol=1e-6)
    assert not torch.allclose(model(tokens)[:, 3:], model(other)[:, 3:], atol=1e-3)
