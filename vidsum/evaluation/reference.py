"""The reference of one video: its annotators, and the shots of summaries."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.datasets.labels import Labels
from vidsum.datasets.summaries import AnnotatedVideo
from vidsum.errors import UsageError
from vidsum.evaluation.key_shots import BoolArray, IntArray, at_every_frame
from vidsum.types import FloatArray

STEP = 15
"""Frames from one sample to the next where there are annotations alone."""

CHANGE_POINTS: Final = "change-points"
"""Name of the segmentation that comes with the data."""


@dataclass(frozen=True, eq=False)
class Reference:
    """A video's annotators."""

    name: str
    picks: IntArray
    """[T] frame number of each sample."""
    n_frames: int
    mean_scores: FloatArray
    """[T] mean importance of the annotators at the picks."""
    user_scores: FloatArray | None
    """[U, T] importance scores of each annotator at the picks."""
    frame_scores: Callable[[], FloatArray] | None
    """Gives the annotators' scores at every frame, [U, n_frames]."""
    user_summary: BoolArray | None
    """[U, n_frames] key-shot summary of each annotator, made with `change_points`."""
    change_points: IntArray | None

    @property
    def n_annotators(self) -> int:
        """U"""
        rows = self.user_summary if self.user_scores is None else self.user_scores
        return 0 if rows is None else len(rows)

    def shots(self, segmentation: str, rng: np.random.Generator) -> IntArray:
        """[S, 2] first and last frame of each shot.

        Raises:
            UsageError: the data has no shots.
        """
        if segmentation != CHANGE_POINTS:
            return SEGMENTATIONS[segmentation](self.n_frames, rng)
        if self.change_points is None:
            hint = f"--segmentation {next(iter(SEGMENTATIONS))}"
            raise UsageError(f"{self.name}: annotations alone have no change points", hint)
        return self.change_points

    def summaries(self, segmentation: str) -> BoolArray | None:
        """[U, n_frames] the annotators' own, which the data may have for its change points."""
        return self.user_summary if segmentation == CHANGE_POINTS else None

    def scores_of_frames(self, segmentation: str) -> FloatArray:
        """[U, n_frames] importance scores of each annotator, to make the summaries that the data lacks.

        Raises:
            UsageError: the data lacks them too.
        """
        if self.frame_scores is None:
            what = "no user_summary" if segmentation == CHANGE_POINTS else "no scores of each annotator"
            raise UsageError(
                f"{self.name}: the data has {what}: nothing to compare summaries with",
                hint="for TVSum: --annotations ydata-tvsum50.mat",
            )
        return self.frame_scores()


def reference_of(name: str, video: AnnotatedVideo | Labels, *, scored: bool = True) -> Reference:
    """The annotators of a video of an h5 file, where scores stay the same between the picks, or alone.

    Args:
        name: it may be another than the video's own: one that several splits test occurs for each of them.
        video: of annotations alone every 15th frame is a sample.
        scored: whether to use the annotators' scores, and not their mean alone.
    """
    summary = video.user_summary
    if isinstance(video, Labels):
        picks, every = np.arange(0, video.n_frames, STEP), video.user_scores if scored else None
        gtscore, scores = video.scores_at(picks)
        return Reference(
            name,
            picks,
            video.n_frames,
            mean_scores=gtscore if scores is None or not scored else scores.mean(axis=0),
            user_scores=scores if scored else None,
            frame_scores=None if every is None else lambda: every,
            user_summary=None if summary is None else summary > 0,
            change_points=video.change_points,
        )
    own = video.user_scores if scored else None
    return Reference(
        name,
        video.picks,
        video.n_frames,
        mean_scores=video.gtscore if own is None else own.mean(axis=0),
        user_scores=own,
        frame_scores=None if own is None else lambda: at_every_frame(own, video.picks, video.n_frames),
        user_summary=None if summary is None else summary > 0,
        change_points=video.change_points,
    )


def _change_points(starts: npt.NDArray[np.signedinteger], n_frames: int) -> IntArray:
    return np.stack([starts, np.append(starts[1:], n_frames) - 1], axis=1).astype(np.int64)


def _uniform(length: int, n_frames: int, rng: np.random.Generator) -> IntArray:
    """Shots of one length; the last has the rest."""
    return _change_points(np.arange(0, n_frames, length), n_frames)


def _poisson(means: tuple[int, ...], n_frames: int, rng: np.random.Generator) -> IntArray:
    """Shots of Poisson(mean) frames, each mean equally likely."""
    starts = [0]
    while starts[-1] < n_frames:
        starts.append(starts[-1] + int(rng.poisson(means[rng.integers(len(means))])))
    return _change_points(np.unique(starts[:-1]), n_frames)  # unique: a Poisson draw may be 0


SEGMENTATIONS: Final[dict[str, Callable[[int, np.random.Generator], IntArray]]] = {
    "uniform-60": partial(_uniform, 60),
    "one-peak": partial(_poisson, (60,)),
    "two-peak": partial(_poisson, (30, 90)),
    "two-peak-30-300": partial(_poisson, (30, 300)),
}
"""By name: segmentation(n_frames, rng) -> [S, 2] first and last frame of each shot, both inside it.

They ignore the video, and show how much of an F-measure comes from the lengths of shots. Otani et al.,
"Rethinking the Evaluation of Video Summaries", CVPR 2019: with shots of very different lengths the knapsack
prefers the short ones whatever the scores are, so that random scores come near to annotators.
"""

DRAWN: Final = frozenset(SEGMENTATIONS) - {"uniform-60"}
"""Segmentations that differ from seed to seed."""
