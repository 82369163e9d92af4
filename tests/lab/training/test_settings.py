"""Settings of training: the published ones, the learning rate's course, and values that are refused."""

import json
from typing import Any

import pytest
import torch

from vidsum.errors import UsageError
from vidsum.lab.training.settings import (
    DETRLossSettings,
    DETRSettings,
    LossSettings,
    MatchWeights,
    MRNetSettings,
    recorded,
)
from vidsum.lab.training.summary_settings import FullTransNetSettings
from vidsum.models.attention.learned_mask import learned_masks
from vidsum.models.configs import MaskConfig
from vidsum.options import build

PRESETS = [(kind, preset) for kind in (MRNetSettings, DETRSettings) for preset in kind.PRESETS]


def test_defaults_of_fulltransnet_are_the_papers() -> None:
    settings = FullTransNetSettings()
    assert (settings.lr, settings.weight_decay, settings.loop.epochs) == (1e-3, 1e-4, 300)
    model = settings.model
    assert (model.d, model.layers, model.heads, model.d_ff, model.window) == (64, 6, 8, 2048, 17)
    found = (model.attention, model.global_tokens, model.head, model.t_max)
    assert found == ("local-global", 3, "linear", 1536)


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        # Sec. 4.2: T, lr, lambda_c, lambda_s, batch; 2D-TAN's thresholds
        ("activitynet", (64, 8e-4, 0.1, 10.0, 12, 0.5, 1.0)),
        ("charades", (64, 1e-3, 0.05, 10.0, 12, 0.5, 1.0)),
        ("tacos", (128, 15e-4, 0.1, 10.0, 12, 0.3, 0.7)),
    ],
)
def test_presets_of_mrnet_are_the_papers(preset: str, expected: tuple[float, ...]) -> None:
    settings = build(MRNetSettings, MRNetSettings.published(preset))
    model, loss = settings.model, settings.loss
    found = (model.clips, settings.lr, loss.lambda_c, loss.lambda_s, settings.batch_size)
    assert (*found, loss.iou_low, loss.iou_high) == expected
    assert (model.layers, model.d, model.gamma, model.sparsity) == (2, 256, 0.98, 0.25)
    # Table A2: the row of Charades-STA in Table 3 is the one without
    assert model.cross_modal is (preset != "charades")


def test_defaults_of_detr_are_the_published_ones() -> None:
    settings = DETRSettings()
    assert (settings.loop.epochs, settings.batch_size, settings.lr) == (200, 32, 1e-4)
    assert (settings.weight_decay, settings.max_norm) == (1e-4, 0.1)
    model = settings.model
    assert (model.d, model.d_ff, model.heads, model.layers, model.decoder_layers) == (256, 1024, 8, 2, 2)
    assert (model.clips, model.words, model.dropout, model.dropout_in) == (75, 32, 0.1, 0.5)
    assert [settings.lr_share(epochs) for epochs in (0.0, 100.0, 199.9)] == [1, 1, 1]


QVHIGHLIGHTS = DETRSettings.published("qvhighlights")


def test_masks_of_qvhighlights_are_stamps() -> None:
    """STAMP, A.1: "depth of 32 layers", "the Adam optimizer with a weight decay of 1e-4"."""
    settings = build(DETRSettings, {"mask": "stamp", "optimizer": "adam"}, QVHIGHLIGHTS)
    mask = settings.model.mask
    assert mask is not None
    assert (settings.model.d, mask.depth, mask.init, settings.optimizer) == (256, 32, "he", "adam")
    assert (settings.weight_decay, settings.lr) == (1e-4, 1e-4)
    assert (settings.loop.epochs, settings.batch_size) == (200, 32)


def test_qvhighlights_has_no_masks_and_adamw_by_default() -> None:
    settings = build(DETRSettings, {}, QVHIGHLIGHTS)
    assert (settings.model.mask, settings.optimizer) == (None, "adamw")


@pytest.mark.parametrize(("init", "is_alive"), [("he", True), ("default", False)])
def test_start_of_stamps_masks_lets_each_layer_learn(init: Any, is_alive: bool) -> None:
    """At depth 32 PyTorch's start leaves nothing of a token in its mask."""
    tokens = torch.randn(1, 75, 256, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    (mask,) = learned_masks(MaskConfig(kind="stamp", depth=32, init=init), 256, 75, 1)
    assert mask is not None
    spread = float(mask(tokens, 75).dense().detach().std(dim=1).mean())
    assert spread > 0.1 if is_alive else spread < 1e-6


@pytest.mark.parametrize(("kind", "preset"), [(MRNetSettings, "activitynet"), (DETRSettings, "qvhighlights")])
def test_defaults_are_those_of_a_preset(kind: type[MRNetSettings | DETRSettings], preset: str) -> None:
    assert build(kind, {}, kind.published(preset)) == kind()


@pytest.mark.parametrize(("kind", "preset"), PRESETS)
@pytest.mark.parametrize("size", ["paper", "light"])
def test_each_preset_and_size_makes_settings(
    kind: type[MRNetSettings | DETRSettings], preset: str, size: str
) -> None:
    settings = build(kind, {}, kind.published(preset, size))
    assert all(end < settings.loop.epochs for end in settings.decay_at)
    assert settings.warmup < settings.loop.epochs
    if kind is DETRSettings:
        assert settings.model.d == {"paper": 256, "light": 128}[size]


def test_preset_of_the_paper_has_its_own_kernel() -> None:
    charades = MRNetSettings.published("charades")
    assert (charades["kernel"], charades["convolutions"]) == (17, 2)


@pytest.mark.parametrize("preset", ["charades", "tacos"])
def test_light_presets_have_one_kernel(preset: str) -> None:
    assert MRNetSettings.published(preset, "light")["kernel"] == 5


def test_light_preset_keeps_the_rate_of_the_paper() -> None:
    assert MRNetSettings.published("charades", "light")["lr"] == 1e-3


each_kind = pytest.mark.parametrize("kind", [MRNetSettings, DETRSettings])


@each_kind
def test_rate_rises_in_a_line_and_falls_in_steps(kind: type[MRNetSettings | DETRSettings]) -> None:
    settings = build(kind, {"warmup": 2.0, "decay_at": [5, 8]})
    course = {0.5: 0.25, 2.0: 1.0, 5.0: 1.0, 5.01: 0.1, 8.0: 0.1, 8.5: 0.01}
    assert {epochs: settings.lr_share(epochs) for epochs in course} == pytest.approx(course)


@each_kind
def test_rate_without_warmup_is_whole_from_the_start(kind: type[MRNetSettings | DETRSettings]) -> None:
    assert build(kind, {"decay_at": ()}).lr_share(0.01) == 1.0


def test_choices_reach_their_part_of_the_settings() -> None:
    settings = build(MRNetSettings, {"gamma": 0.9, "margin": 0.2, "seed": 4, "queries_per_video": 1})
    assert (settings.model.gamma, settings.loss.margin, settings.loop.seed) == (0.9, 0.2, 4)


def test_settings_of_mrnet_are_recorded_as_json() -> None:
    settings = build(MRNetSettings, {"margin": 0.2, "queries_per_video": 1})
    own = json.loads(json.dumps(recorded(settings)))
    assert own.items() >= {"queries_per_video": 1, "margin": 0.2, "decay_at": [7]}.items()


def test_settings_of_detr_are_recorded_with_their_defaults() -> None:
    chosen = {"lr": 1e-3, "warmup": 2.0, "decay_at": (3, 5), "max_norm": 1.0, "batch_size": 4}
    own = recorded(build(DETRSettings, chosen))
    defaults = {"margin": 0.2, "tau": 0.5, "no_moment": 0.1, "saliency": 1.0}
    assert own.items() >= (chosen | defaults).items()


EVERY: list[dict[str, Any]] = [
    {"lr": 0},
    {"lr": float("nan")},
    {"weight_decay": -1},
    {"epochs": 0},
    {"learning_rate": 1},
    {"epochs": 1.5},
    {"seed": -1},
    {"patience": 0},
    {"precision": "int8"},
    {"device": "cpu", "d": 0},
]

MOMENTS = [*EVERY, {"max_norm": 0}, {"warmup": -1}, {"batch_size": 0}, {"decay_at": [0]}]
WRONG: dict[type[Any], list[dict[str, Any]]] = {
    FullTransNetSettings: [
        *EVERY,
        {"validation": 1},
        {"validation": -0.1},
        {"crop": 0},
        {"d": 63},
        {"window": 4},
        {"mask": {"depth": 0}},
        {"mask": {"heads": 8}},
        {"global_tokens": 4},
    ],
    MRNetSettings: [*MOMENTS, {"queries_per_video": 0}, {"kernel": 4}, {"temperature": 0.0}],
    DETRSettings: [*MOMENTS, {"d": 30}, {"mask": {"kind": "stencil"}}, {"tau": 0}],
    DETRLossSettings: [{"no_moment": -1}, {"margin": -0.1}, {"lambda_s": -1}],
    MatchWeights: [{"giou": -1}],
    LossSettings: [
        {"iou_low": 1.0},
        {"iou_low": 0.4, "iou_high": 0.3},
        {"lambda_s": -1},
        {"temperature": 0},
        {"positives": 0},
    ],
}


@pytest.mark.parametrize(
    ("kind", "wrong"), [(kind, choices) for kind, wrong in WRONG.items() for choices in wrong]
)
def test_value_that_makes_no_sense_is_refused(kind: type[Any], wrong: dict[str, Any]) -> None:
    (name, value), *_ = reversed(wrong.items())
    with pytest.raises(UsageError, match=next(iter(value)) if isinstance(value, dict) else name):
        build(kind, wrong)


@pytest.mark.parametrize(("epochs", "share"), [(0, 1.0), (75, 0.5 + 0.5**1.5), (150, 0.5), (300, 0.0)])
def test_annealed_learning_rate_falls_along_a_cosine(epochs: float, share: float) -> None:
    assert FullTransNetSettings(anneal=True, warm_up=0).lr_share(epochs) == pytest.approx(share)


@pytest.mark.parametrize(("epochs", "share"), [(0.5, 0.25), (1, 0.5), (2, 1), (7, 1)])
def test_learning_rate_rises_in_the_warm_up(epochs: float, share: float) -> None:
    assert FullTransNetSettings(warm_up=2).lr_share(epochs) == pytest.approx(share)


def test_warm_up_and_annealing_multiply() -> None:
    settings = FullTransNetSettings(warm_up=150, anneal=True)
    assert settings.lr_share(75) == pytest.approx(
        0.5 * FullTransNetSettings(anneal=True, warm_up=0).lr_share(75)
    )


@pytest.mark.parametrize("epochs", [0, 150, 300])
def test_learning_rate_stays_without_annealing(epochs: float) -> None:
    assert FullTransNetSettings(anneal=False, warm_up=0).lr_share(epochs) == 1.0
