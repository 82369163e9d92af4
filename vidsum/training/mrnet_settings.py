"""What can be chosen about training MRNet; the fields have the names of the command line's options."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from vidsum.errors import UsageError
from vidsum.models.configs import HEADS, MRNetConfig
from vidsum.training.loop import LoopSettings
from vidsum.training.moment_settings import check_rates, one_of, rise_and_fall, taken
from vidsum.training.mrnet_losses import LossSettings

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "activitynet": {
        "clips": 64,
        "lr": 8e-4,
        "epochs": 15,
        "decay_at": (7,),
        "lambda_c": 0.1,
        "margin": 0.3,
    },
    "charades": {
        "clips": 64,
        "lr": 1e-3,
        "epochs": 25,
        "decay_at": (8, 13),
        "lambda_c": 0.05,
        "margin": 0.4,
        "cross_modal": False,
    },
    "tacos": {
        "clips": 128,
        "lr": 1.5e-3,
        "epochs": 250,
        "decay_at": (130, 190),
        "lambda_c": 0.1,
        "margin": 0.1,
        "iou_low": 0.3,
        "iou_high": 0.7,
        "positives": 3,
    },
    "qvhighlights": {"clips": 75, "lr": 1e-4, "epochs": 200, "decay_at": ()},
    "captions": {
        "clips": 64,
        "lr": 8e-4,
        "epochs": 12,
        "decay_at": (8, 11),
        "warmup": 2.0,
        "batch_size": 24,
        "weight_decay": 1e-2,
        "dropout_in": 0.1,
    },
    "planted": {
        "clips": 64,
        "lr": 2e-3,
        "epochs": 40,
        "decay_at": (30,),
        "warmup": 1.0,
        "dropout_in": 0.0,
    },
}
"""The published settings of each data set: the paper's, and where it is silent, those of its code. On
QVHighlights the paper has the head of Moment-DETR and no rate; rate and epochs are those of Moment-DETR.
`captions` and `planted` are ours, for examples that are made up."""

_PAPER_HEADS: Mapping[str, Mapping[str, int]] = {
    "charades": {"kernel": 17, "convolutions": 2},
    "tacos": {"kernel": 5, "convolutions": 3},
}
"""Where the published head is another than that of ActivityNet Captions."""


@dataclass(frozen=True)
class MRNetSettings:
    """The choices of a run, with the published ones of ActivityNet Captions."""

    model: MRNetConfig = field(default_factory=MRNetConfig)
    """Its dimensions are those of the data, whatever they are here."""
    loss: LossSettings = field(default_factory=LossSettings)
    loop: LoopSettings = field(default_factory=lambda: LoopSettings(epochs=15))
    lr: float = 8e-4
    weight_decay: float = 1e-5
    batch_size: int = 12
    queries_per_video: int | None = None
    """Queries of a video that go through the model together: 1 is the paper's single-query mode, None (all)
    its multi-query mode."""
    warmup: float = 0.0
    """Epochs in which the learning rate rises from 0 in a line; the paper has none."""
    decay_at: tuple[int, ...] = (7,)
    """Epochs after which the learning rate is a tenth of what it was."""
    max_norm: float = 5.0
    """Longest gradient of a step."""
    device: str = "auto"

    def __post_init__(self) -> None:
        check_rates(self.lr, self.max_norm, self.weight_decay, self.warmup)
        if self.batch_size < 1 or (self.queries_per_video is not None and self.queries_per_video < 1):
            raise UsageError("batch_size and queries_per_video must be at least 1")

    def lr_share(self, epochs: float) -> float:
        """Share of the learning rate after so many epochs."""
        return rise_and_fall(epochs, self.warmup, self.decay_at)

    @property
    def own(self) -> dict[str, Any]:
        """The choices that are neither the model's nor the loop's, JSON-ready."""
        names = (
            "lr",
            "weight_decay",
            "batch_size",
            "queries_per_video",
            "warmup",
            "decay_at",
            "max_norm",
            "device",
        )
        return {**{name: getattr(self, name) for name in names}, **asdict(self.loss)}


def published(preset: str, head: str = "paper") -> dict[str, Any]:
    """The choices by name of a preset, with the proposal map of the paper or the light one.

    Raises:
        UsageError: there is no such preset or head.
    """
    of_data = one_of(PRESETS, preset)
    of_data_set = _PAPER_HEADS.get(preset, {}) if head == "paper" else {}
    return {**one_of(HEADS, head), **of_data_set, **of_data}


def mrnet_settings(**choices: Any) -> MRNetSettings:
    """Settings from choices by name; what is not given has its default.

    Raises:
        UsageError: a value makes no sense, or there is no such choice.
    """
    model, loss, loop = (taken(choices, kind) for kind in (MRNetConfig, LossSettings, LoopSettings))
    try:
        return MRNetSettings(
            MRNetConfig(**model), LossSettings(**loss), LoopSettings(**{"epochs": 15, **loop}), **choices
        )
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error
