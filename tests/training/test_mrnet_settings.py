"""Settings of training MRNet: the published ones, the learning rate's course, and what makes no sense."""

import json
from typing import Any

import pytest

from vidsum.errors import UsageError
from vidsum.training.settings import MRNetSettings


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        # Sec. 4.2: T, lr, lambda_c, lambda_s, batch
        ("activitynet", (64, 8e-4, 0.1, 10.0, 12)),
        ("charades", (64, 1e-3, 0.05, 10.0, 12)),
        ("tacos", (128, 15e-4, 0.1, 10.0, 12)),
    ],
)
def test_presets_are_the_papers(preset: str, expected: tuple[float, ...]) -> None:
    settings = MRNetSettings.of(**MRNetSettings.published(preset))
    found = (settings.model.clips, settings.lr, settings.loss.lambda_c, settings.loss.lambda_s)
    assert (*found, settings.batch_size) == expected
    assert (settings.model.layers, settings.model.d, settings.model.gamma) == (2, 256, 0.98)
    assert settings.model.sparsity == 0.25
    # Table A2: the row of Charades-STA in Table 3 is the one without
    assert settings.model.cross_modal is (preset != "charades")


def test_the_default_is_the_preset_of_activitynet() -> None:
    assert MRNetSettings.of(**MRNetSettings.published("activitynet")) == MRNetSettings()


def test_2d_tans_thresholds() -> None:
    scales = {name: MRNetSettings.of(**MRNetSettings.published(name)).loss for name in MRNetSettings.PRESETS}
    assert (scales["tacos"].iou_low, scales["tacos"].iou_high) == (0.3, 0.7)
    assert {(one.iou_low, one.iou_high) for name, one in scales.items() if name != "tacos"} == {(0.5, 1.0)}


def test_a_preset_has_its_own_kernel_in_the_papers_map_only() -> None:
    assert (
        MRNetSettings.published("charades")["kernel"],
        MRNetSettings.published("charades")["convolutions"],
    ) == (17, 2)
    assert (
        MRNetSettings.published("charades", "light")["kernel"]
        == MRNetSettings.published("tacos", "light")["kernel"]
        == 5
    )
    assert MRNetSettings.published("charades", "light")["lr"] == 1e-3


@pytest.mark.parametrize("names", [("anet", "paper"), ("tacos", "heavy")])
def test_unknown_names_are_refused(names: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match=r"there is no '(anet|heavy)'") as refused:
        MRNetSettings.published(*names)
    assert "choose from" in str(refused.value.hint)


def test_the_rate_rises_and_falls() -> None:
    settings = MRNetSettings.of(warmup=2.0, decay_at=(5, 8))
    course = {0.5: 0.25, 2.0: 1.0, 5.0: 1.0, 5.01: 0.1, 8.0: 0.1, 8.5: 0.01}
    assert {epochs: settings.lr_share(epochs) for epochs in course} == pytest.approx(course)
    assert MRNetSettings.of(decay_at=()).lr_share(0.01) == 1.0


def test_choices_reach_their_part_and_are_json_ready() -> None:
    settings = MRNetSettings.of(gamma=0.9, margin=0.2, seed=4, queries_per_video=1)
    assert (settings.model.gamma, settings.loss.margin, settings.loop.seed) == (0.9, 0.2, 4)
    own = json.loads(json.dumps(settings.own))
    assert own["queries_per_video"] == 1
    assert own["margin"] == 0.2
    assert own["decay_at"] == [7]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"lr": 0.0}, "lr and max_norm must be positive"),
        ({"max_norm": 0.0}, "lr and max_norm must be positive"),
        ({"warmup": -1.0}, "not negative"),
        ({"weight_decay": -1.0}, "not negative"),
        ({"batch_size": 0}, "must be at least 1"),
        ({"queries_per_video": 0}, "must be at least 1"),
        ({"kernel": 4}, "odd"),
        ({"temperature": 0.0}, "temperature must be positive"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"epoch": 3}, "epoch"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        MRNetSettings.of(**wrong)
