"""Rank correlation of importance scores: Kendall's tau-b and Spearman's rho, all pairs of rows at once."""

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from vidsum.types import FloatArray

Numbers = npt.NDArray[np.float64]


def kendall_tau_b(first: npt.ArrayLike, second: npt.ArrayLike) -> Numbers:
    """Kendall's tau-b of every row of `first` with every row of `second`.

    The pairs of samples in the same order in both rows less those in opposite order, divided by the geometric
    mean of the numbers of pairs that each row does not tie. 0 where a row is constant, as it orders nothing.

    Args:
        first: [A, T] scores.
        second: [B, T] scores.

    Returns:
        [A, B] in [-1, 1].
    """
    rows, others = np.atleast_2d(first), np.atleast_2d(second)
    both = np.concatenate([rows, others])
    agreement = np.zeros((len(rows), len(others)))
    untied = np.zeros(len(both))
    for lag in range(1, both.shape[1]):
        # products of signs add up to whole numbers that float32 holds exactly, below 2^24
        signs: FloatArray = np.sign(both[:, lag:] - both[:, :-lag]).astype(np.float32, copy=False)
        agreement += signs[: len(rows)] @ signs[len(rows) :].T
        untied += np.einsum("rp,rp->r", signs, signs)
    return _ratio(agreement, np.sqrt(np.outer(untied[: len(rows)], untied[len(rows) :])))


def spearman_rho(first: npt.ArrayLike, second: npt.ArrayLike) -> Numbers:
    """Spearman's rho of every row of `first` with every row of `second`.

    Pearson's correlation of the ranks, equal scores having the mean of their ranks; 0 where a row is
    constant.

    Args:
        first: [A, T] scores.
        second: [B, T] scores.

    Returns:
        [A, B] in [-1, 1].
    """
    rows, others = (_centred_ranks(np.atleast_2d(scores)) for scores in (first, second))
    lengths = np.outer(np.linalg.norm(rows, axis=1), np.linalg.norm(others, axis=1))
    return _ratio(rows @ others.T, lengths)


def _centred_ranks(scores: npt.NDArray[np.floating]) -> Numbers:
    ranks = rankdata(scores, axis=1)
    centred: Numbers = ranks - ranks.mean(axis=1, keepdims=True)
    return centred


def _ratio(numerators: Numbers, denominators: Numbers) -> Numbers:
    """Their ratio; 0 where there is nothing to divide by."""
    ratios: Numbers = np.divide(
        numerators, denominators, out=np.zeros_like(numerators), where=denominators > 0
    )
    return ratios
