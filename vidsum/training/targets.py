"""What FullTransNet is trained towards: the key frames of the summary that an annotated video should have."""

import numpy as np
import numpy.typing as npt

from vidsum.datasets.summaries import AnnotatedVideo
from vidsum.evaluation.key_shots import BUDGET, at_every_frame
from vidsum.summary.knapsack import knapsack, values_of

IntArray = npt.NDArray[np.int64]


def key_frames(video: AnnotatedVideo) -> IntArray:
    """[L] indices of the samples in the key shots, in order of time; none where no shot fits the budget.

    Algorithm 1 of FullTransNet: the shots of the highest sum of mean `gtscore` within 15 % of the frames, and
    of their frames those that are samples.
    """
    first, last = video.change_points.T
    scores = at_every_frame(video.gtscore, video.picks, video.n_frames)
    sums = np.concatenate([[0.0], np.cumsum(scores, dtype=np.float64)])
    lengths = last - first + 1
    means = np.maximum((sums[last + 1] - sums[first]) / lengths, 0)
    chosen = knapsack(values_of(means), lengths, int(BUDGET * video.n_frames))
    in_summary = np.zeros(video.n_frames, np.bool_)
    for start, end in zip(first[chosen], last[chosen], strict=True):
        in_summary[start : end + 1] = True
    return np.flatnonzero(in_summary[video.picks])
