"""Results by the clock of players, which starts with the file: what people read and apply to it."""

import os
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np

from vidsum.results.result import Result
from vidsum.video.probe import start_offset_s

_NAMES = """start_s end_s edges_s timestamps video_duration_s gaps parts segments words shots queries moments
descriptions lines events removed chapters shorts"""
_TIMES = frozenset(_NAMES.split())  # fields of times, or objects with times
_DIGITS = 6


Timed = TypeVar("Timed", bound=Result)
Part = TypeVar("Part")


def to_player_time(result: Timed, path: str | os.PathLike[str] | None = None) -> Timed:
    """Return a result with times that count from the start of its file, at `path`; those in JSON do not."""
    return shift_times(result, start_offset_s(result.video, path))


def shift_times(part: Part, by_s: float, min_s: float = 0.0) -> Part:
    """Return a result, or a part of one, with all times later by `by_s`, and none before `min_s`."""
    return _shift(part, by_s, min_s) if by_s else part


def _shift(part: Any, by_s: float, min_s: float) -> Any:
    if isinstance(part, float | int):
        return max(min_s, round(part + by_s, _DIGITS))
    if isinstance(part, np.ndarray):
        return np.array(_shift(part.tolist(), by_s, min_s), part.dtype)
    if isinstance(part, tuple | list):
        return type(part)(_shift(item, by_s, min_s) for item in part)
    if is_dataclass(part) and not isinstance(part, type):
        names = _TIMES.intersection(field.name for field in fields(part))
        return replace(part, **{name: _shift(getattr(part, name), by_s, min_s) for name in names})
    return part
