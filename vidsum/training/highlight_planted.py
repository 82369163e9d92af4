"""Planted moments for models that read words: whether an architecture learns at all shows here in seconds."""

from vidsum.datasets.highlight_examples import HighlightExample
from vidsum.training.data import MomentData, drawn_data
from vidsum.training.toy import Planting, planted_highlights


def planted_highlights_data(how: Planting, seed: int) -> MomentData[HighlightExample]:
    """Planted moments, drawn anew in each epoch; those for validation are none of them."""
    return drawn_data(planted_highlights, how, seed)
