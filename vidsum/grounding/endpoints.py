"""The two numbers that tell a model without a sense of order where in its window a clip lies."""

import numpy as np

from vidsum.types import FloatArray


def with_endpoints(rows: FloatArray) -> FloatArray:
    """[T, D + 2]: row t of the clips [T, D], then t / T and (t + 1) / T, as for Moment-DETR."""
    starts = np.arange(len(rows), dtype=np.float32) / np.float32(len(rows))
    return np.column_stack([rows, starts, starts + np.float32(1 / len(rows))])
