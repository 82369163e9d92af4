"""The rows of a video, of which nobody knows how many come."""

import numpy as np

from vidsum.types import FloatArray


class GrowingRows:
    """[N, D] rows in a growing array: joining batches in the end would take twice the memory."""

    def __init__(self) -> None:
        """Begin with no rows."""
        self._array: FloatArray = np.empty((0, 0), np.float32)
        self._count = 0

    def add(self, rows: FloatArray) -> None:
        """Append [n, D] rows."""
        end = self._count + len(rows)
        if end > len(self._array):
            self._array.resize((end + end // 16, rows.shape[1]), refcheck=False)
        self._array[self._count : end] = rows
        self._count = end

    def array(self) -> FloatArray:
        """Return all rows [N, D]; none may be added later."""
        self._array.resize((self._count, self._array.shape[1]), refcheck=False)
        return self._array
