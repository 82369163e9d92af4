"""Kernel temporal segmentation as the paper writes it: the Gram matrix, and a layer per number of shots."""

import math

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def scatters(gram: Matrix) -> Matrix:
    """[n, n + 1]; at [i, j] the scatter of rows i ... j - 1: its diagonal's sum less its mean row sum."""
    n = len(gram)
    diagonal = np.concatenate([[0.0], np.cumsum(np.diag(gram))])
    block = np.zeros((n + 1, n + 1))
    block[1:, 1:] = gram.cumsum(axis=0).cumsum(axis=1)
    total = block.diagonal()[None, :] + block.diagonal()[:, None] - block - block.T
    lengths = np.arange(n + 1)[None, :] - np.arange(n + 1)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        scatter = diagonal[None, :] - diagonal[:, None] - total / lengths
    return np.where(lengths > 0, scatter, np.inf)[:-1]


def penalty_of(changes: int, n: int, penalty: float) -> float:
    """The paper's C g(m, n), with C = penalty / (2 n) as in the published code."""
    return 0.0 if changes == 0 else penalty / (2 * n) * changes * (math.log(n / changes) + 1)


def direct_change_points(
    rows: npt.NDArray[np.floating],
    penalty: float = 1.0,
    *,
    shortest: int = 1,
    longest: int | None = None,
    max_shots: int | None = None,
    tie: float = 1e-10,
) -> list[int]:
    """Rows at which a new shot starts, by O(m n^2) dynamic programming; costs within `tie` are equal."""
    n = len(rows)
    exact = rows.astype(np.float64)
    cost = scatters(exact @ exact.T)
    lengths = np.arange(n + 1)[None, :] - np.arange(n)[:, None]
    cost[(lengths < shortest) | (lengths > (longest or n))] = np.inf
    layers = [np.full(n + 1, np.inf)]
    layers[0][0] = 0
    for _ in range(max_shots or n):
        layers.append((layers[-1][:n, None] + cost).min(axis=0))
    objective = [layer[n] / n + penalty_of(k, n, penalty) for k, layer in enumerate(layers[1:])]
    shots = 1 + next(k for k, value in enumerate(objective) if value <= min(objective) + tie)
    starts, end = [], n
    for k in range(shots - 1, 0, -1):
        totals = layers[k][:n] + cost[:, end]
        end = int(np.argmax(totals <= totals.min() + tie))
        starts.append(end)
    return starts[::-1]
