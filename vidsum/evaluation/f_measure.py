"""F-measure of summaries against summaries: Eq. 14 and 15 of FullTransNet, in frames."""

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]


def f_measures(summaries: npt.ArrayLike, references: npt.ArrayLike, lengths: npt.ArrayLike) -> Numbers:
    """F-measure of every summary against every reference.

    With |S & G| the frames that both have, P = |S & G| / |S|, R = |S & G| / |G| and F = 2 P R / (P + R),
    which is 2 |S & G| / (|S| + |G|); 0 where both are empty.

    Args:
        summaries: [A, P] for each stretch of frames, 0 or 1.
        references: [B, P], 0 or 1.
        lengths: [P] frames in each stretch.

    Returns:
        [A, B] in [0, 1].
    """
    frames = np.asarray(lengths, np.float64)
    first, second = (np.atleast_2d(summary).astype(np.float64) for summary in (summaries, references))
    overlaps = (first * frames) @ second.T
    totals = np.add.outer(first @ frames, second @ frames)
    scores: Numbers = np.divide(2 * overlaps, totals, out=np.zeros_like(overlaps), where=totals > 0)
    return scores
