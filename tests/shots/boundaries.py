"""How well the edges of shots agree with known cuts."""

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.float64]


def matched(found: Times, truth: Times, within_s: float) -> int:
    """Most pairs of a found and a true cut at most `within_s` apart, each cut in one pair at most."""
    pairs, rest = 0, sorted(found.tolist())
    for cut in sorted(truth.tolist()):
        near = next((time for time in rest if abs(time - cut) <= within_s + 1e-9), None)
        if near is not None:
            pairs += 1
            rest = [time for time in rest if time > near]
    return pairs


def precision_recall(found: Times, truth: Times, within_s: float) -> tuple[float, float]:
    """Shares of the found and of the true cuts that are in a pair."""
    pairs = matched(found, truth, within_s)
    return pairs / max(len(found), 1), pairs / max(len(truth), 1)


def f1(found: Times, truth: Times, within_s: float) -> float:
    """Harmonic mean of precision and recall."""
    return 2 * matched(found, truth, within_s) / max(len(found) + len(truth), 1)
