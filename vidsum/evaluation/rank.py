"""Rank correlation of importance scores: Kendall's tau-b and Spearman's rho, all pairs of rows at once."""

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from vidsum.types import FloatArray, TimeArray


def kendall_tau_b(first: npt.ArrayLike, second: npt.ArrayLike) -> TimeArray:
    """[A, B] Kendall's tau-b of every row of `first` [A, T] with every row of `second` [B, T].

    The pairs of samples in the same order in both rows less those in opposite order, divided by the geometric
    mean of the numbers of pairs that each row does not tie. 0 where a row is constant, as it orders nothing.
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


def spearman_rho(first: npt.ArrayLike, second: npt.ArrayLike) -> TimeArray:
    """[A, B] Spearman's rho of every row of `first` [A, T] with every row of `second` [B, T].

    Pearson's correlation of the ranks, equal scores having the mean of their ranks; 0 where a row is
    constant.
    """
    ranks = [rankdata(np.atleast_2d(scores), axis=1) for scores in (first, second)]
    rows, others = (each - each.mean(axis=1, keepdims=True) for each in ranks)
    return _ratio(rows @ others.T, np.outer(np.linalg.norm(rows, axis=1), np.linalg.norm(others, axis=1)))


def _ratio(numerators: TimeArray, denominators: TimeArray) -> TimeArray:
    """Their ratio; 0 where there is nothing to divide by."""
    zeros = np.zeros_like(numerators)
    ratios: TimeArray = np.divide(numerators, denominators, out=zeros, where=denominators > 0)
    return ratios
