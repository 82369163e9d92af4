"""What can be chosen about training FullTransNet. The fields have the names of the command line's options."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from vidsum.errors import UsageError
from vidsum.models.configs import FullTransNetConfig
from vidsum.training.loop import LoopSettings


@dataclass(frozen=True)
class Settings:
    """What can be chosen about a run, with the defaults of the paper; patience and validation it has not."""

    model: FullTransNetConfig = field(default_factory=FullTransNetConfig)
    """`dim_in` is that of the data, whatever it is here."""
    loop: LoopSettings = field(default_factory=lambda: LoopSettings(patience=50))
    """Without a validation part there is no early stop."""
    lr: float = 1e-3
    weight_decay: float = 1e-4
    crop: float = 1.0
    """Least share of a video's shots that is trained on at a time; 1: the whole video, as the paper."""
    noise: float = 0.0
    """Most that is replaced of what the decoder is told of the steps before; 0: nothing, as the paper."""
    validation: float = 0.2
    """Share of the training videos that choose the best epoch; with 0 the last one is taken."""
    device: str = "auto"

    def __post_init__(self) -> None:
        if not (self.lr > 0 and self.weight_decay >= 0):
            raise UsageError(
                f"lr must be positive, weight_decay not negative: {self.lr:g}, {self.weight_decay:g}"
            )
        if not (0 < self.crop <= 1 and 0 <= self.noise <= 1):
            raise UsageError(f"crop and noise are shares, up to 1: {self.crop:g}, {self.noise:g}")
        if not 0 <= self.validation < 1:
            raise UsageError(f"validation must be a share from 0 to less than 1, not {self.validation:g}")

    @property
    def own(self) -> dict[str, Any]:
        """The choices that are neither the model's nor the loop's, JSON-ready."""
        names = ("lr", "weight_decay", "crop", "noise", "validation", "device")
        return {name: getattr(self, name) for name in names}

    @property
    def flat(self) -> dict[str, Any]:
        """All choices by name, JSON-ready."""
        return {**asdict(self.model), **asdict(self.loop), **self.own}


def settings_of(**choices: Any) -> Settings:
    """Settings from choices by name, as in `Settings.flat`; what is not given has its default.

    Raises:
        UsageError: a value makes no sense, or there is no such choice.
    """
    model = {one.name: choices.pop(one.name) for one in fields(FullTransNetConfig) if one.name in choices}
    loop = {one.name: choices.pop(one.name) for one in fields(LoopSettings) if one.name in choices}
    try:
        return Settings(FullTransNetConfig(**model), LoopSettings(**{"patience": 50, **loop}), **choices)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error
