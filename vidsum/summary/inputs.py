"""What a summarizer reads of a video's features: as they are, or less their mean, and with its two ends."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vidsum.errors import InputError
from vidsum.types import Features, FloatArray

RIDGE_RATES = 0.3
"""How far, as a fraction, the rate of features may be from that of ridge regression's training: it has no
positions, and was trained on every 15th frame at 24 to 30 frames a second."""
_END_S = 60.0
"""Time from the start and to the end is counted up to so many seconds: beyond, it says nothing."""


@dataclass(frozen=True)
class Inputs:
    """How features become the input of a model; the fields are recorded in its checkpoint."""

    centred: bool = False
    """Less their mean over the video: what a frame shows beside the others."""
    ends: bool = False
    """With two more numbers: time from the start and to the end, in minutes, 1 at most."""

    @property
    def n_added(self) -> int:
        """Numbers that are added to a feature."""
        return 2 if self.ends else 0

    def of(self, features: Features) -> FloatArray:
        """[T, D + n_added]"""
        if not (self.centred or self.ends):
            return np.asarray(features.array, np.float32)
        n, dim = features.array.shape
        array = np.empty((n, dim + self.n_added), np.float32)  # two hours of features should be here once
        np.subtract(features.array, features.array.mean(axis=0) if self.centred else 0, out=array[:, :dim])
        if self.ends:
            middle_s = features.timestamps + features.step_s / 2
            ends_s = np.stack([middle_s, features.duration_s - middle_s], axis=1)
            array[:, dim:] = np.clip(ends_s / _END_S, 0, 1)
        return array


def inputs_of(recorded: Mapping[str, Any], name: str) -> Inputs:
    """Those that a checkpoint has recorded of its features. Raises InputError where they are no switches."""
    switches = {key: recorded.get(key, False) for key in ("centred", "ends")}
    if not all(isinstance(value, bool) for value in switches.values()):
        raise InputError(f"{name}: does not say what features it reads")
    return Inputs(**switches)
