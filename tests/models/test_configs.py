"""Configs of the models: through JSON, and what makes no model."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from vidsum.models.configs import MASK_TRAITS, DETRConfig, FullTransNetConfig, MaskConfig, MRNetConfig
from vidsum.options import from_mapping


@pytest.mark.parametrize("config", [
    MaskConfig(kind="lam", depth=32, fusion="sum", shared=True, identity=True),
    FullTransNetConfig(mask=MaskConfig(depth=3)),
    MRNetConfig(regions=("vv", "qq"), counts=(15, 2), mask=MaskConfig(kind="lam", depth=3, shared=True)),
    DETRConfig(clips=50, mask=MaskConfig(kind="lam", depth=4, init="he", bound="sigmoid")),
])  # fmt: skip
def test_a_config_survives_json(config: Any) -> None:
    assert type(config)(**json.loads(json.dumps(asdict(config)))) == config
    assert from_mapping(type(config), config) is config


def test_an_optional_mask_comes_from_a_mapping() -> None:
    assert from_mapping(MaskConfig, None) is None
    assert from_mapping(MaskConfig, {}) == MaskConfig(
        kind="stamp", depth=2, fusion="product", shared=False, identity=False
    )
    stored = {"kind": "lam", "depth": 8, "fusion": "sum", "shared": True, "identity": False}
    config = DETRConfig(**{**asdict(DETRConfig()), "mask": stored})
    assert config.mask == MaskConfig(
        kind="lam", depth=8, fusion="sum", shared=True, init="default", bound="none"
    )


@pytest.mark.parametrize("fusion", ["product", "sum"])
def test_a_static_mask_hides_unless_its_run_was_stored_with_another_fusion(fusion: str) -> None:
    assert MaskConfig(kind="static").fusion == "hide"
    assert MaskConfig(kind="lam").fusion == "product"
    stored = {"kind": "static", "depth": 2, "fusion": fusion, "shared": False, "identity": False}
    mask = DETRConfig(**{**asdict(DETRConfig()), "mask": stored}).mask
    assert mask.fusion == fusion


MASK, FULLTRANSNET, MRNET, DETR = MaskConfig, FullTransNetConfig, MRNetConfig, DETRConfig


@pytest.mark.parametrize(("kind", "options", "message"), [
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
])  # fmt: skip
def test_what_makes_no_model_is_refused(kind: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_mapping(kind, options)


@pytest.mark.parametrize(("kind", "wrong"), [
    (FULLTRANSNET, {"window": 4, "global_tokens": 4, "heads": 0, "layers": 0, "dropout": 1.0}),
    (FULLTRANSNET, {"attention": "Local", "head": "softmax"}),
    (MRNET, {"decay": "backward", "nonlinearity": "relu", "positions": "never", "inputs": "raw"}),
    (MRNET, {"regions": ("vx",), "clips": 1, "kernel": 4, "hidden": 0, "layers": -1, "gamma": 0.0}),
    (MRNET, {"gamma": 1.1, "contrastive_power": 0.0, "dropout": 1.0, "sparsity": -0.1}),
    (MRNET, {"contrastive_power": float("nan")}),
    (DETR, {"clips": 0, "layers": 0, "n_moments": 0, "dropout": 1.0, "sparsity": -0.1, "gamma": 0.0}),
    (DETR, {"decay": "both"}),
])  # fmt: skip
def test_each_wrong_option_is_named(kind: Any, wrong: dict[str, Any]) -> None:
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=f"{name} must be"):
            from_mapping(kind, {name: value})
