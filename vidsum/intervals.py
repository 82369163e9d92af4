"""The overlap of intervals: one IoU for proposals, non-maximum suppression, training and evaluation."""

import numpy as np
import numpy.typing as npt

from vidsum.types import TimeArray


def iou(a: npt.ArrayLike, b: npt.ArrayLike) -> TimeArray:
    """Temporal intersection over union of each interval of one set with each of another.

    Args:
        a: [N, 2] pairs (start, end), in seconds or any other unit.
        b: [M, 2]

    Returns:
        [N, M] in [0, 1]; 0 where the two together are empty.
    """
    left, right = np.asarray(a, np.float64).reshape(-1, 2), np.asarray(b, np.float64).reshape(-1, 2)
    begin = np.maximum(left[:, None, 0], right[None, :, 0])
    end = np.minimum(left[:, None, 1], right[None, :, 1])
    common = np.maximum(end - begin, 0.0)
    lengths = [np.maximum(one[:, 1] - one[:, 0], 0.0) for one in (left, right)]
    union = lengths[0][:, None] + lengths[1][None, :] - common
    return np.divide(common, union, out=np.zeros_like(common), where=union > 0)
