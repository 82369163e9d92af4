"""Planted moments for models that read words: whether an architecture learns at all shows here in seconds."""

from dataclasses import replace

from vidsum.datasets.highlight_examples import HighlightExample
from vidsum.datasets.planted import Planting, planted_highlights
from vidsum.training.moment_data import MomentData

_FOR_VALIDATION = 200


def planted_highlights_data(how: Planting, seed: int) -> MomentData[HighlightExample]:
    """Planted moments, drawn anew in each epoch; those for validation are none of them."""
    few = replace(how, n_videos=min(how.n_videos, _FOR_VALIDATION))
    return MomentData(
        examples=lambda epoch: planted_highlights(how, seed, epoch),
        validation=planted_highlights(few, seed, 0),
        features={"space": "planted"},
        about={"planted": vars(how)},
    )
