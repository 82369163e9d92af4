"""Presets of `vidsum train`: each option that is not given leaves them be, and each that is given wins."""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from docs.options import commands
from tests.program import Run
from vidsum.commands.options import settings_of as all_options
from vidsum.errors import UsageError
from vidsum.lab.training.settings import (
    DETRLossSettings,
    DETRSettings,
    LoopSettings,
    LossSettings,
    MRNetSettings,
)
from vidsum.models.configs import DETRConfig, MRNetConfig

Settings = Any
"""MRNetSettings or DETRSettings."""


class Values(NamedTuple):
    """Two values of a setting, neither of which is its default."""

    preset: Any
    given: Any
    """Also as `--config` has it."""


SHARED = {
    "clips": Values(10, 12), "layers": Values(3, 4), "d": Values(32, 64), "d_ff": Values(40, 48),
    "heads": Values(2, 4), "dropout": Values(0.3, 0.4), "dropout_in": Values(0.35, 0.45),
    "epochs": Values(6, 7), "lr": Values(0.002, 0.003), "warmup": Values(0.25, 0.75),
    "decay_at": Values((3, 4), (2, 5)), "weight_decay": Values(0.02, 0.03), "batch_size": Values(5, 6),
    "seed": Values(7, 8), "patience": Values(4, 5), "precision": Values("bf16", "fp32"),
    "device": Values("cpu", "cuda"), "start": Values("a.safetensors", "b.safetensors"),
}  # fmt: skip
MODELS: Mapping[str, Mapping[str, Values]] = {
    "mrnet": {
        **SHARED, "gamma": Values(0.9, 0.95), "decay": Values("forward", "none"),
        "sparse": Values(False, True), "sparsity": Values(0.4, 0.6),
        "regions": Values(("vv", "qq"), ("vv", "qv")), "cross_modal": Values(False, True),
        "nonlinearity": Values("gate", "softmax"), "queries_per_video": Values(2, 3),
        "lambda_c": Values(0.2, 0.3), "lambda_s": Values(1.0, 2.0),
    },
    "detr": {
        **SHARED, "words": Values(20, 24), "decoder_layers": Values(3, 4), "n_moments": Values(5, 6),
        "max_norm": Values(0.5, 0.7), "optimizer": Values("adam", "adamw"),
    },
}  # fmt: skip
KINDS = {
    "mrnet": (MRNetConfig, LossSettings, LoopSettings, MRNetSettings),
    "detr": (DETRConfig, DETRLossSettings, LoopSettings, DETRSettings),
}
RUN = ("--data", "train.json", "--out", "run")


def options_of(model: str) -> Mapping[str, Any]:
    options = all_options(dict(commands())[f"train {model}"])
    return {leaf.name: leaf for leaf in options}


def settings_of(model: str) -> set[str]:
    return {item.name for kind in KINDS[model] for item in fields(kind)}


def value_of(settings: Settings, name: str) -> Any:
    for part in (settings, settings.model, settings.loss, settings.loop):
        if name in part.__dataclass_fields__:
            return getattr(part, name)
    raise AssertionError(name)


def option_name(name: str) -> str:
    """The option of a setting: its name but for three."""
    others = {"regions": "region", "clips": "clips_per_video", "words": "max_words"}
    return others.get(name, name)


def flags(name: str, value: Any) -> list[object]:
    long = f"--{option_name(name).replace('_', '-')}"
    if isinstance(value, bool):
        return [long if value else long.replace("--", "--no-")]
    return [part for item in (value if isinstance(value, tuple) else (value,)) for part in (long, item)]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    seen: list[Settings] = []

    def stop(*arguments: Any, **_: Any) -> None:
        seen.extend(item for item in arguments if hasattr(item, "lr_share"))
        raise UsageError("stopped")

    for name in ("moment_data", "highlight_data"):
        monkeypatch.setattr(f"vidsum.lab.training.training_examples.{name}", lambda *arguments: None)
    monkeypatch.setattr("vidsum.lab.training.train_mrnet.train_mrnet", stop)
    monkeypatch.setattr("vidsum.lab.training.train_detr.train_detr", stop)
    return seen


@pytest.fixture
def preset(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make the preset of features hold some values."""

    def hold(model: str, **values: Any) -> None:
        kind, name = {"mrnet": (MRNetSettings, "activitynet"), "detr": (DETRSettings, "qvhighlights")}[model]
        monkeypatch.setattr(kind, "PRESETS", {name: {"clips": 8, **values}})

    return hold


def result(trained: list[Settings], model: str) -> dict[str, Any]:
    (settings,) = trained
    return {name: value_of(settings, name) for name in MODELS[model]}


@pytest.mark.parametrize("model", MODELS)
def test_presets_cover_all_options(model: str) -> None:
    # a mask, or layers in its place, have tests of their own; `--model` is not the settings' model
    others = {"mask", "linear_layers", "model"}
    assert set(options_of(model)) & settings_of(model) - others == set(MODELS[model])
    settings: Settings = MRNetSettings() if model == "mrnet" else DETRSettings()
    for name, option in options_of(model).items():
        if name in MODELS[model] and option.default is not None:
            assert option.default == value_of(settings, name), name


@pytest.mark.parametrize("model", MODELS)
def test_preset_values(run: Run, trained: list[Settings], preset: Any, model: str) -> None:
    values = {name: item.preset for name, item in MODELS[model].items()}
    preset(model, **values)
    run("train", model, *RUN, code=2)
    assert result(trained, model) == values


@pytest.mark.parametrize("choices", ["flag", "environment", "config"])
@pytest.mark.parametrize("model", MODELS)
def test_what_is_given_wins(
    run: Run, trained: list[Settings], preset: Any, monkeypatch: pytest.MonkeyPatch, model: str, choices: str
) -> None:
    preset(model, **{name: item.preset for name, item in MODELS[model].items()})
    values = {name: item.given for name, item in MODELS[model].items()}
    arguments: list[object] = []
    if choices == "flag":
        for name, value in values.items():
            arguments += flags(name, value)
    elif choices == "environment":
        for name, value in values.items():
            words = value if isinstance(value, tuple) else (value,)
            variable = f"VIDSUM_TRAIN_{model}_{option_name(name)}".upper()
            monkeypatch.setenv(variable, " ".join(map(str, words)))
    else:
        named = {option_name(name): value for name, value in values.items()}
        Path("given.yaml").write_text(json.dumps({"train": {model: named}}))
        arguments = ["--config", "given.yaml"]
    ran = run("train", model, *RUN, *arguments, code=2)
    assert result(trained, model) == values, ran.err


def test_preset_masks(run: Run, trained: list[Settings], preset: Any) -> None:
    preset("mrnet", mask={"kind": "lam", "depth": 3})
    run("train", "mrnet", *RUN, code=2)
    run("train", "mrnet", *RUN, "--mask", "stamp", code=2)
    assert [(item.model.mask.kind, item.model.mask.depth) for item in trained] == [("lam", 3), ("stamp", 2)]
    preset("mrnet", decay_at=(3,))
    Path("given.yaml").write_text("train: {mrnet: {decay_at: []}}\n")
    run("train", "mrnet", *RUN, "--config", "given.yaml", code=2)
    assert trained[-1].decay_at == ()


def test_preset_start_of_masks_is_for_those_with_layers(run: Run, trained: list[Settings]) -> None:
    for kind in ("stamp", "static"):
        run("train", "detr", *RUN, "--preset", "qvhighlights", "--mask", kind, code=2)
    masks = [(item.model.mask.kind, item.model.mask.init) for item in trained]
    assert masks == [("stamp", "he"), ("static", "default")]
    run("train", "mrnet", *RUN, "--preset", "charades", code=2)
    run("train", "mrnet", *RUN, "--preset", "charades", "--cross-modal", code=2)
    run("train", "mrnet", *RUN, "--preset", "tacos", code=2)
    assert [item.model.cross_modal for item in trained[2:]] == [False, True, True]
