"""Whether a network tells samples apart: where it does not, its training has failed.

Layers that end in a norm can make the states of all samples the same (rank collapse). The choice is then
uniform, and the loss looks no worse than in an early epoch.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from vidsum.errors import Mention, VidsumError
from vidsum.lab.training.state import LOG, Epoch

MAX_PERPLEXITY: Final = 0.9
MIN_DEVIATION: Final = 0.05
LEAST_STEPS: Final = 100
"""Steps before which a training is a rehearsal: no network has learned anything by then."""


@dataclass(frozen=True)
class Spread:
    """Measures of a network on some of its training videos."""

    perplexity: float  # of a step's choice over the number of samples: 1 where all are as likely
    deviation: float  # over time, of the states of the encoder's last layer


def uniform_fault(best: Epoch, n_steps: int, folder: Path) -> VidsumError | None:
    """Return the error of a training that ended uniform after a number of steps; None where it did not."""
    perplexity, deviation = best.perplexity, best.deviation
    if perplexity is None or deviation is None or n_steps < LEAST_STEPS:
        return None
    if perplexity < MAX_PERPLEXITY and deviation >= MIN_DEVIATION:
        return None
    return VidsumError(
        f"the model does not tell samples apart: its choice has a perplexity of {perplexity:.3f} of their "
        f"number, its states a deviation over time of {deviation:.3f}; there is no checkpoint, only {LOG}",
        hint=(
            "learn with the norm before each sub-layer (",
            Mention("norm", "before"),
            "), or with ",
            Mention("warm_up", 2.0),
        ),
        subject=folder,
    )
