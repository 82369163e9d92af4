"""Settings of the DETR models: the published ones, and what makes no sense."""

import math

import pytest

from vidsum.errors import UsageError
from vidsum.training.settings import DETRSettings


def test_the_published_settings_are_the_defaults() -> None:
    begun = DETRSettings.published("qvhighlights")
    assert begun.pop("mask_depth") == 32
    settings = DETRSettings.of(**begun)
    assert settings == DETRSettings()
    assert (settings.loop.epochs, settings.batch_size, settings.lr) == (200, 32, 1e-4)
    assert (settings.weight_decay, settings.max_norm) == (1e-4, 0.1)
    model = settings.model
    assert (model.d, model.d_ff, model.heads, model.layers, model.decoder_layers) == (256, 1024, 8, 2, 2)
    assert (model.clips, model.words, model.dropout, model.dropout_in) == (75, 32, 0.1, 0.5)
    assert [settings.lr_share(epochs) for epochs in (0.0, 100.0, 199.9)] == [1, 1, 1]


@pytest.mark.parametrize("preset", DETRSettings.PRESETS)
@pytest.mark.parametrize("size", DETRSettings.SIZES)
def test_every_preset_and_size_makes_settings(preset: str, size: str) -> None:
    begun = DETRSettings.published(preset, size)
    begun.pop("mask_depth", None)
    settings = DETRSettings.of(**begun)
    assert settings.model.d == DETRSettings.SIZES[size]["d"]
    assert all(end < settings.loop.epochs for end in settings.decay_at)
    assert settings.warmup < settings.loop.epochs


def test_what_is_chosen_is_what_is_recorded() -> None:
    own = DETRSettings.of(lr=1e-3, warmup=2.0, decay_at=(3, 5), max_norm=1.0, batch_size=4).own
    chosen = {"lr": 1e-3, "warmup": 2.0, "decay_at": (3, 5), "max_norm": 1.0, "batch_size": 4}
    assert own.items() >= chosen.items()
    assert own["loss"].items() >= {"margin": 0.2, "tau": 0.5, "no_moment": 0.1, "saliency": 1.0}.items()


def test_the_rate_rises_in_a_line_and_falls_in_steps() -> None:
    settings = DETRSettings.of(warmup=2.0, decay_at=(3, 5))
    shares = [settings.lr_share(epochs) for epochs in (0.5, 1.0, 2.0, 3.0, 3.1, 5.1)]
    assert shares == pytest.approx([0.25, 0.5, 1, 1, 0.1, 0.01])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"lr": 0}, "lr and max_norm must be positive"),
        ({"lr": math.nan}, "lr and max_norm must be positive"),
        ({"max_norm": -1}, "lr and max_norm must be positive"),
        ({"warmup": -1}, "warmup not negative"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"d": 30}, "d = 30"),
        ({"mask": {"kind": "stencil"}}, "stencil"),
        ({"learning_rate": 1}, "learning_rate"),
    ],
)
def test_values_that_make_no_sense_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        DETRSettings.of(**wrong)


def test_unknown_presets_and_sizes_name_the_known_ones() -> None:
    for arguments in (("tvsum", "paper"), ("captions", "huge")):
        with pytest.raises(UsageError) as caught:
            DETRSettings.published(*arguments)
        assert "light" in str(caught.value.hint) or "captions" in str(caught.value.hint)
