"""Whether a network tells samples apart: where it does not, its training has failed.

Layers that end in a norm can make the states of all samples the same (rank collapse). The choice is then
uniform, and the loss looks no worse than in an early epoch.
"""

from dataclasses import dataclass
from typing import Final

from vidsum.lab.training.state import Epoch

MAX_PERPLEXITY: Final = 0.9
MIN_DEVIATION: Final = 0.05
LEAST_STEPS: Final = 100
"""Steps before which a training is a rehearsal: no network has learned anything by then."""


@dataclass(frozen=True)
class Spread:
    """Measures of a network on some of its training videos."""

    perplexity: float  # of a step's choice over the number of samples: 1 where all are as likely
    deviation: float  # over time, of the states of the encoder's last layer


def uniform_fault(last: Epoch, n_steps: int) -> str:
    """Return what is wrong with a training that ended uniform after a number of steps; else nothing."""
    if last.perplexity is None or n_steps < LEAST_STEPS or last.perplexity < MAX_PERPLEXITY:
        return ""
    return (
        "the model does not tell samples apart: its choice has a perplexity of "
        f"{last.perplexity:.3f} of their number"
    )


def alike_fault(last: Epoch, n_steps: int) -> str:
    """Return what is odd where the states of all samples are alike: the choice may differ all the same."""
    if last.deviation is None or n_steps < LEAST_STEPS or last.deviation >= MIN_DEVIATION:
        return ""
    return f"samples look alike to the decoder: the states deviate over time by {last.deviation:.3f}"
