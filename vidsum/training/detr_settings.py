"""What can be chosen about training the DETR models; fields have the names of the command line's options."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from vidsum.errors import UsageError
from vidsum.models.configs import DETRConfig
from vidsum.training.detr_losses import DETRLossSettings
from vidsum.training.loop import LoopSettings
from vidsum.training.moment_settings import check_rates, one_of, rise_and_fall, taken

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "qvhighlights": {"clips": 75, "mask_depth": 32},
    "captions": {
        "epochs": 14,
        "lr": 4e-4,
        "warmup": 0.3,
        "decay_at": (10, 13),
        "batch_size": 8,
        "dropout_in": 0.0,
    },
    "planted": {
        "clips": 16,
        "epochs": 30,
        "lr": 1e-3,
        "warmup": 1.0,
        "decay_at": (25,),
        "dropout_in": 0.0,
    },
}
"""`qvhighlights`: as published for Moment-DETR and QD-DETR, and the depth of STAMP's mask on them; what is
not here is the default. `captions` and `planted` are ours, for examples that are made up."""

SIZES: Mapping[str, Mapping[str, int]] = {
    "paper": {"d": 256, "d_ff": 1024},
    "light": {"d": 128, "d_ff": 256},
}
"""Sizes of the transformer: the published ones, and those for a CPU."""


@dataclass(frozen=True)
class DETRSettings:
    """The choices of a run, with the published ones of QVHighlights."""

    model: DETRConfig = field(default_factory=DETRConfig)
    """Its dimensions are those of the data, whatever they are here."""
    loss: DETRLossSettings = field(default_factory=DETRLossSettings)
    loop: LoopSettings = field(default_factory=lambda: LoopSettings(epochs=200))
    lr: float = 1e-4
    weight_decay: float = 1e-4
    batch_size: int = 32
    warmup: float = 0.0
    """Epochs in which the learning rate rises from 0 in a line; none as published."""
    decay_at: tuple[int, ...] = ()
    """Epochs after which the learning rate is a tenth of what it was; published: 400, after the last."""
    max_norm: float = 0.1
    """Longest gradient of a step."""
    device: str = "auto"

    def __post_init__(self) -> None:
        check_rates(self.lr, self.max_norm, self.weight_decay, self.warmup)
        if self.batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, not {self.batch_size}")

    def lr_share(self, epochs: float) -> float:
        """Share of the learning rate after so many epochs."""
        return rise_and_fall(epochs, self.warmup, self.decay_at)

    @property
    def own(self) -> dict[str, Any]:
        """The choices that are neither the model's nor the loop's, JSON-ready."""
        names = ("lr", "weight_decay", "batch_size", "warmup", "decay_at", "max_norm", "device")
        return {**{name: getattr(self, name) for name in names}, "loss": asdict(self.loss)}


def published(preset: str, size: str = "paper") -> dict[str, Any]:
    """The choices by name of a preset, in one of `SIZES`; `mask_depth` is that of a mask, if there is one.

    Raises:
        UsageError: there is no such preset or size.
    """
    of_data = one_of(PRESETS, preset)
    return {**one_of(SIZES, size), **of_data}


def detr_settings(**choices: Any) -> DETRSettings:
    """Settings from choices by name; what is not given has its default.

    Raises:
        UsageError: a value makes no sense, or there is no such choice.
    """
    model, loop = (taken(choices, kind) for kind in (DETRConfig, LoopSettings))
    try:
        return DETRSettings(
            model=DETRConfig(**model), loop=LoopSettings(**{"epochs": 200, **loop}), **choices
        )
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error
