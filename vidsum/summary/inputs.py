"""What a summarizer reads of a video's features: as they are, or in the space of sentences; and its two ends.

In the space of sentences a model that learned from captions reads pictures: the map brings them there, and
what a vector shows beside the others of its video, less their mean, counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from vidsum.errors import InputError
from vidsum.grounding import vse
from vidsum.types import Features, FloatArray

SENTENCES: Final = ("minilm", vse.NAME)
"""Extractors whose features are in the space: captions, and what the map might show of what they describe."""
RIDGE_RATES = 0.3
"""How far, as a fraction, the rate of features may be from that of ridge regression's training: it has no
positions, and was trained on every 15th frame at 24 to 30 frames a second."""
_END_S = 60.0
"""Time from the start and to the end is counted up to so many seconds: beyond, it says nothing."""
_EVIDENCE: Final = "efficientnet_lite0-evidence"
"""What older versions trained on in place of the space of sentences, or folded into a model (`centred`)."""


@dataclass(frozen=True)
class Inputs:
    """How features become the input of a model; the fields are recorded in its checkpoint."""

    space: str | None = None
    """`vse`: the space of sentences."""
    ends: bool = False
    """With two more numbers: time from the start and to the end, in minutes, 1 at most."""

    @property
    def recorded(self) -> dict[str, Any]:
        """Of the fields, those that are not at their default."""
        return {name: value for name, value in vars(self).items() if value}

    @property
    def n_added(self) -> int:
        """Numbers that are added to a feature."""
        return 2 if self.ends else 0

    def maps(self, extractor: str) -> bool:
        """Whether features of an extractor have to be mapped into the space."""
        return self.space is not None and extractor not in SENTENCES

    def of(self, features: Features) -> FloatArray:
        """[T, D + n_added]"""
        array = np.asarray(features.array, np.float32)
        if self.maps(features.extractor):
            array = vse.load_map()(array)
        if self.space:
            array = array - array.mean(axis=0)
        if not self.ends:
            return array
        middle_s = features.timestamps + features.step_s / 2
        ends_s = np.stack([middle_s, features.duration_s - middle_s], axis=1)
        return np.hstack([array, np.clip(ends_s / _END_S, 0, 1, dtype=np.float32)])


def inputs_of(recorded: Mapping[str, Any], name: str) -> Inputs:
    """Those that a checkpoint has recorded of its features.

    Raises InputError where they are of another kind, or of an older version.
    """
    if recorded.get("centred") or recorded.get("extractor") == _EVIDENCE:
        fault = f"{name}: was trained on simulated evidence of classes, which is no longer read"
        raise InputError(fault, hint="train it anew with --space vse")
    inputs = Inputs(recorded.get("space"), recorded.get("ends", False))
    if inputs.space not in (None, vse.NAME) or not isinstance(inputs.ends, bool):
        raise InputError(f"{name}: does not say what features it reads")
    return inputs
