"""F-measure of summaries against summaries: Eq. 14 and 15 of FullTransNet, in frames."""

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]


def f_measures(summaries: npt.ArrayLike, references: npt.ArrayLike) -> Numbers:
    """F-measure of every summary against every reference.

    With |S & G| the frames that both have, P = |S & G| / |S|, R = |S & G| / |G| and F = 2 P R / (P + R),
    which is 2 |S & G| / (|S| + |G|); 0 where both are empty.

    Args:
        summaries: [A, n_frames], 0 or 1.
        references: [B, n_frames], 0 or 1.

    Returns:
        [A, B] in [0, 1].
    """
    # float32 counts frames exactly up to 2^24, and is multiplied far faster than whole numbers are
    first, second = (np.atleast_2d(summary).astype(np.float32) for summary in (summaries, references))
    overlaps = (first @ second.T).astype(np.float64)
    lengths = np.add.outer(first.sum(axis=1), second.sum(axis=1)).astype(np.float64)
    scores: Numbers = np.divide(2 * overlaps, lengths, out=np.zeros_like(overlaps), where=lengths > 0)
    return scores
