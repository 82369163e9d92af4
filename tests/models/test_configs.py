"""Configs of the models: through JSON, and what makes no model."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from vidsum.models.configs import MASK_TRAITS, DETRConfig, FullTransNetConfig, MaskConfig, MRNetConfig
from vidsum.options import from_mapping

each_config = pytest.mark.parametrize(
    "config",
    [
        MaskConfig(kind="lam", depth=32, fusion="sum", shared=True, identity=True),
        FullTransNetConfig(mask=MaskConfig(depth=3)),
        MRNetConfig(regions=("vv", "qq"), counts=(15, 2), mask=MaskConfig(kind="lam", depth=3, shared=True)),
        DETRConfig(clips=50, mask=MaskConfig(kind="lam", depth=4, init="he", bound="sigmoid")),
    ],
    ids=lambda config: type(config).__name__,
)


@each_config
def test_config_survives_json(config: Any) -> None:
    assert type(config)(**json.loads(json.dumps(asdict(config)))) == config


@each_config
def test_config_is_its_own_mapping(config: Any) -> None:
    assert from_mapping(type(config), config) is config


def test_no_mask_comes_from_none() -> None:
    assert from_mapping(MaskConfig, None) is None


def test_default_mask_comes_from_an_empty_mapping() -> None:
    assert from_mapping(MaskConfig, {}) == MaskConfig(
        kind="stamp", depth=2, fusion="product", shared=False, identity=False
    )


def test_mask_of_an_older_run_has_defaults_for_newer_options() -> None:
    stored = {"kind": "lam", "depth": 8, "fusion": "sum", "shared": True, "identity": False}
    config = DETRConfig(**{**asdict(DETRConfig()), "mask": stored})
    assert config.mask == MaskConfig(
        kind="lam", depth=8, fusion="sum", shared=True, init="default", bound="none"
    )


@pytest.mark.parametrize(("kind", "fusion"), [("static", "hide"), ("lam", "product"), ("stamp", "product")])
def test_default_fusion_is_of_the_kind_of_mask(kind: Any, fusion: str) -> None:
    assert MaskConfig(kind=kind).fusion == fusion


@pytest.mark.parametrize("fusion", ["product", "sum"])
def test_static_mask_keeps_the_fusion_with_which_its_run_was_stored(fusion: str) -> None:
    stored = {"kind": "static", "depth": 2, "fusion": fusion, "shared": False, "identity": False}
    mask = DETRConfig(**{**asdict(DETRConfig()), "mask": stored}).mask
    assert mask is not None
    assert mask.fusion == fusion


MASK, FULLTRANSNET, MRNET, DETR = MaskConfig, FullTransNetConfig, MRNetConfig, DETRConfig


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (MASK, {"kind": "hard"}, f"kind must be one of {', '.join(MASK_TRAITS)}, not 'hard'"),
        (MASK, {"fusion": "times"}, "fusion must be one of"),
        (MASK, {"depth": 0}, "depth must be"),
        (MASK, {"depth": 65}, "depth must be at least 1 and at most 64, not 65"),
        (MASK, {"layers": 2, "width": 3}, "no option 'layers'"),
        (MASK, {"init": "orthogonal"}, "init must be one of default, xavier, he"),
        (MASK, {"bound": "tanh"}, "bound must be one of none, sigmoid"),
        (MASK, {"kind": "static", "init": "he"}, "init has no effect on a static mask"),
        (MASK, {"kind": "static", "bound": "sigmoid"}, "bound has no effect on a static mask"),
        (MASK, {"kind": "stamp", "fusion": "hide"}, "hide is for static masks"),
        (FULLTRANSNET, {"mask": {"kind": "static"}}, "no static mask in FullTransNet"),
        (MRNET, {"mask": {"kind": "static"}}, "no static mask in MRNet's blocks"),
        (FULLTRANSNET, {"heads": 5}, "d must be"),
        (MRNET, {"d": 12, "heads": 4}, "d must be"),
        (MRNET, {"mask": {"kind": "hard"}}, "kind must be"),
        (DETR, {"d": 18, "heads": 3}, "d must be"),
        (DETR, {"d": 20, "heads": 4}, "twice the heads"),
        (DETR, {"mask": {"deep": 2}}, "no option 'deep'"),
    ],
)
def test_options_that_make_no_model_are_refused(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_mapping(kind, options)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (FULLTRANSNET, "window", 4),
        (FULLTRANSNET, "global_tokens", 4),
        (FULLTRANSNET, "heads", 0),
        (FULLTRANSNET, "layers", 0),
        (FULLTRANSNET, "dropout", 1.0),
        (FULLTRANSNET, "attention", "Local"),
        (FULLTRANSNET, "head", "softmax"),
        (MRNET, "decay", "backward"),
        (MRNET, "nonlinearity", "relu"),
        (MRNET, "positions", "never"),
        (MRNET, "inputs", "raw"),
        (MRNET, "regions", ("vx",)),
        (MRNET, "clips", 1),
        (MRNET, "kernel", 4),
        (MRNET, "hidden", 0),
        (MRNET, "layers", -1),
        (MRNET, "gamma", 0.0),
        (MRNET, "gamma", 1.1),
        (MRNET, "contrastive_power", 0.0),
        (MRNET, "contrastive_power", float("nan")),
        (MRNET, "dropout", 1.0),
        (MRNET, "sparsity", -0.1),
        (DETR, "clips", 0),
        (DETR, "layers", 0),
        (DETR, "n_moments", 0),
        (DETR, "dropout", 1.0),
        (DETR, "sparsity", -0.1),
        (DETR, "gamma", 0.0),
        (DETR, "decay", "both"),
    ],
)
def test_wrong_option_is_named(kind: Any, name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{name} must be"):
        from_mapping(kind, {name: value})
