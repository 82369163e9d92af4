"""What the settings of all models that find moments share: rates, presets, and choices by name."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from vidsum.errors import UsageError

Value = TypeVar("Value")


def rise_and_fall(epochs: float, warmup: float, decay_at: Sequence[int]) -> float:
    """Share of the learning rate after so many epochs.

    Args:
        epochs: done so far, those in part included.
        warmup: epochs in which it rises from 0 in a line.
        decay_at: epochs after each of which it is a tenth of what it was.
    """
    rise = min(1.0, epochs / warmup) if warmup else 1.0
    return float(rise * 0.1 ** sum(epochs > end for end in decay_at))


def check_rates(lr: float, max_norm: float, weight_decay: float, warmup: float) -> None:
    """Refuse with a UsageError what no step can be made with."""
    if not (lr > 0 and max_norm > 0 and weight_decay >= 0 and warmup >= 0):
        raise UsageError(
            "lr and max_norm must be positive, weight_decay and warmup not negative: "
            f"{lr:g}, {max_norm:g}, {weight_decay:g}, {warmup:g}"
        )


def one_of(known: Mapping[str, Value], name: str) -> Value:
    """What has the name.

    Raises:
        UsageError: nothing has it.
    """
    if name not in known:
        raise UsageError(f"there is no {name!r}", hint=f"choose from {', '.join(known)}")
    return known[name]


def taken(choices: dict[str, Any], kind: type[Any]) -> dict[str, Any]:
    """The choices that are fields of a dataclass, taken out of all."""
    return {one.name: choices.pop(one.name) for one in fields(kind) if one.name in choices}
