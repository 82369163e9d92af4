"""Features of a video of any length as a fixed number of clips, by the rule of the published models."""

import numpy as np
import numpy.typing as npt

from vidsum.types import FloatArray


def resample(features: npt.ArrayLike, n_clips: int) -> FloatArray:
    """Average features into a fixed number of clips, as 2D-TAN, MMN and MRNet do.

    Clip i is the mean of the features from border i up to border i + 1, or the feature at border i where the
    two are one. The borders are round(i * N / n_clips), but at most N - 1: as published, the last feature of
    a longer video goes into no clip.

    From [N, D], N >= 1, of clips of equal length that follow each other over the whole video, to
    [n_clips, D], fewer or more.
    """
    rows = np.asarray(features, np.float32)
    # in float32, and halves to the even number, as PyTorch computes the published borders
    fractions = np.arange(n_clips + 1, dtype=np.float32) / np.float32(n_clips)
    borders = np.minimum(np.rint(fractions * np.float32(len(rows))).astype(np.int64), len(rows) - 1)
    sums = np.add.reduceat(rows, borders, axis=0)[:-1]  # an empty range gives the row that it begins at
    return np.asarray(sums / np.maximum(np.diff(borders), 1)[:, None], np.float32)
