"""Coverage: how much of what the annotators agree on a summary holds."""

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]


def coverages(summaries: npt.ArrayLike, votes: npt.ArrayLike, lengths: npt.ArrayLike) -> Numbers:
    """The votes that a summary holds, over the most votes that as many frames could hold.

    A frame has a vote of each annotator whose summary it is in. 1 is a summary of the frames that most
    annotators chose; unlike the F-measure it can be reached where annotators disagree, and a longer summary
    has no advantage. 0 where the summary is empty or there are no votes.

    Args:
        summaries: [A, P] for each stretch of frames, 0 or 1.
        votes: [P] annotators who chose the stretch, whole numbers; or [A, P] where they differ by summary.
        lengths: [P] frames in each stretch.

    Returns:
        [A] in [0, 1].
    """
    chosen, counts = np.atleast_2d(summaries), np.asarray(votes, np.int64)
    frames = np.asarray(lengths, np.float64)
    # frames with at least 1, 2 ... votes: as many of each as there is room for is the best that can be had
    levels = np.arange(1, counts.max() + 1)
    at_least = (counts[..., None, :] >= levels[:, None]) @ frames
    best = np.minimum((chosen @ frames)[:, None], at_least).sum(axis=1)
    shares: Numbers = np.divide((chosen * counts) @ frames, best, out=np.zeros(len(chosen)), where=best > 0)
    return shares
