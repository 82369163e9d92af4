"""What can be chosen about training FullTransNet."""

from dataclasses import asdict
from typing import Any

import pytest

from vidsum.errors import UsageError
from vidsum.models.configs import MaskConfig
from vidsum.options import build
from vidsum.training.settings import FullTransNetSettings


def test_the_defaults_are_those_of_the_paper() -> None:
    settings = FullTransNetSettings()
    assert (settings.lr, settings.weight_decay, settings.loop.epochs) == (1e-3, 1e-4, 300)
    model = settings.model
    assert (model.d, model.layers, model.heads, model.d_ff, model.window) == (64, 6, 8, 2048, 17)
    assert (model.attention, model.global_tokens, model.head, model.t_max) == (
        "local-global",
        3,
        "linear",
        1536,
    )


def test_choices_by_name_are_those_of_the_settings() -> None:
    assert build(FullTransNetSettings) == FullTransNetSettings()
    flat = FullTransNetSettings().flat
    assert build(FullTransNetSettings, flat) == FullTransNetSettings()
    changed = {
        "mask": asdict(MaskConfig("lam", 8)),
        "d": 32,
        "epochs": 7,
        "lr": 0.5,
        "device": "cpu",
        "head": "pointer",
        "patience": None,
    }
    assert build(FullTransNetSettings, changed).flat == {**flat, **changed}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"lr": 0}, "lr must be positive"),
        ({"lr": float("nan")}, "lr must be positive"),
        ({"weight_decay": -1}, "weight_decay not negative"),
        ({"validation": 1}, "validation must be a share"),
        ({"validation": -0.1}, "validation must be a share"),
        ({"d": 63}, "d = 63 must be"),
        ({"mask": {"depth": 0}}, "mask's depth = 0 must be"),
        ({"mask": {"heads": 8}}, "mask has no heads"),
        ({"window": 4}, "window = 4 must be"),
        ({"global_tokens": 4}, "global_tokens = 4 must be"),
        ({"epochs": 0}, "epochs must be"),
        ({"learning_rate": 1}, "learning_rate"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build(FullTransNetSettings, wrong)
