"""How the learning rate changes over the epochs of a run."""

from collections.abc import Sequence


def rise_and_fall(epochs: float, warmup: float, decay_at: Sequence[int]) -> float:
    """Share of the learning rate after so many epochs.

    Args:
        epochs: done so far, those in part included.
        warmup: epochs in which it rises from 0 in a line.
        decay_at: epochs after each of which it is a tenth of what it was.
    """
    rise = min(1.0, epochs / warmup) if warmup else 1.0
    return float(rise * 0.1 ** sum(epochs > end for end in decay_at))
