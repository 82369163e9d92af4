"""Agreement of the edges of shots with known cuts."""

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.float64]


def matched(cuts: Times, truth: Times, within_s: float) -> int:
    """Most pairs of a cut and a true cut at most `within_s` apart, each cut in one pair at most."""
    pairs, rest = 0, sorted(cuts.tolist())
    for cut in sorted(truth.tolist()):
        near = next((time for time in rest if abs(time - cut) <= within_s + 1e-9), None)
        if near is not None:
            pairs += 1
            rest = [time for time in rest if time > near]
    return pairs


def precision_recall(cuts: Times, truth: Times, within_s: float) -> tuple[float, float]:
    """Shares of the cuts and of the true cuts that are in a pair."""
    pairs = matched(cuts, truth, within_s)
    return pairs / max(len(cuts), 1), pairs / max(len(truth), 1)


def f1(cuts: Times, truth: Times, within_s: float) -> float:
    """Harmonic mean of precision and recall."""
    return 2 * matched(cuts, truth, within_s) / max(len(cuts) + len(truth), 1)
