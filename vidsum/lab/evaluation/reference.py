"""The reference of one video: its annotators, and the shots of summaries by the two published conventions.

The published numbers depend on ties and rounding, hence this dynamic programme of the published code and not
`vidsum.summary.knapsack`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.errors import Mention, UsageError
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.lab.datasets.labels import Labels
from vidsum.types import BoolArray, FloatArray, IntArray, TimeArray

BUDGET: Final = 0.15  # maximum fraction of the video in a summary

KNAPSACKS: Final = ("dsnet", "pgl-sum")
"""`dsnet` (li-plus/DSNet by OR-Tools): a shot is worth int(1000 * mean), the budget is int(0.15 * n_frames).
`pgl-sum` (PGL-SUM, CA-SUM): its mean, and int(0.15 * (last frame of the last shot + 1))."""


def at_every_frame(scores: npt.ArrayLike, picks: IntArray, n_frames: int) -> FloatArray:
    """Return [..., n_frames] of scores [..., T]: each frame has the score of the last pick, 0 before any."""
    frames = np.repeat(np.asarray(scores, np.float32), np.diff(np.append(picks, n_frames)), axis=-1)
    return np.pad(frames, [(0, 0)] * (frames.ndim - 1) + [(int(picks[0]), 0)])


def key_shots(frame_scores: FloatArray, change_points: IntArray, knapsack: str) -> BoolArray:
    """Return [R, n_frames] bool summaries: shots with the highest sum of means that fit 15 % of the video.

    Of float32 scores [R, n_frames], shots [S, 2] (first and last frame), and one of `KNAPSACKS`.
    """
    n_frames = frame_scores.shape[1]
    lengths = change_points[:, 1] - change_points[:, 0] + 1
    sums = np.stack([frame_scores[:, first : last + 1].sum(axis=1) for first, last in change_points], axis=1)
    # both published codes take means in float32, but multiply and add them as float64
    values = (sums / lengths).astype(np.float32).astype(np.float64)
    if knapsack == "dsnet":
        values, budget = np.trunc(1000 * values), int(n_frames * BUDGET)
        taken = _solve(values, lengths, budget)
        # OR-Tools reads "no shot" as the first: it takes a first shot of value 0 if it fits
        taken[:, 0] |= (values[:, 0] == 0) & (taken @ lengths + lengths[0] <= budget)
    else:
        taken = _solve(values, lengths, int((change_points[-1, 1] + 1) * BUDGET))
    summaries = np.zeros(frame_scores.shape, np.bool_)
    for shot, (first, last) in enumerate(change_points):
        summaries[:, first : last + 1] = taken[:, shot, None]
    return summaries


def _solve(values: TimeArray, lengths: IntArray, budget: int) -> BoolArray:
    """Return which shots each row of values takes.

    As in the published code, of several best choices it is that which does without the last shot, then
    without the last but one, and so on.
    """
    n_rows, n_shots = values.shape
    # a row of the table is one of room: shifted by a shot it stays a single run of memory, which is fast
    best, with_shot = np.zeros((2, budget + 1, n_rows))
    larger = np.zeros((n_shots, budget + 1, n_rows), np.bool_)
    for shot, length in enumerate(lengths):
        if length <= budget:
            without, candidates = best[length:], with_shot[length:]
            np.add(best[: budget + 1 - length], values[:, shot], out=candidates)
            np.greater(candidates, without, out=larger[shot, length:])
            np.maximum(candidates, without, out=without)
    taken = np.zeros(values.shape, np.bool_)
    room = np.full(n_rows, budget)
    for shot in range(n_shots - 1, -1, -1):
        taken[:, shot] = larger[shot, room, np.arange(n_rows)]
        room -= np.where(taken[:, shot], lengths[shot], 0)
    return taken


def f_measures(summaries: npt.ArrayLike, references: npt.ArrayLike, lengths: npt.ArrayLike) -> TimeArray:
    """Return [A, B] F-measure in frames: Eq. 14 and 15 of FullTransNet; 0 where both are empty.

    F = 2 P R / (P + R) = 2 |S & G| / (|S| + |G|), P = |S & G| / |S|, R = |S & G| / |G|. Summaries [A, P] and
    references [B, P] are 0 or 1 for each segment of frames, of which there are `lengths` [P].
    """
    frames = np.asarray(lengths, np.float64)
    first, second = (np.atleast_2d(summary).astype(np.float64) for summary in (summaries, references))
    overlaps = (first * frames) @ second.T
    totals = np.add.outer(first @ frames, second @ frames)
    return np.asarray(np.divide(2 * overlaps, totals, out=np.zeros_like(overlaps), where=totals > 0))


def captured(summaries: BoolArray, scores: npt.ArrayLike) -> TimeArray:
    """Return [R] mean of the standardised scores [n_frames] in each summary [R, n_frames]; 0 of an empty one.

    In deviations of the scores: 0 is what a summary has whose frames are drawn.
    """
    values = np.asarray(scores, np.float64)
    spread = float(values.std())
    standard = (values - values.mean()) / spread if spread > 1e-9 else np.zeros_like(values)
    # each row by itself: a product of matrices would round by how many rows there are
    return np.array([standard[chosen].mean() if chosen.any() else 0.0 for chosen in summaries])


CHANGE_POINTS: Final = "change-points"  # name of the segmentation that comes with the data


@dataclass(frozen=True, eq=False)
class Reference:
    """A video's annotators."""

    name: str
    picks: IntArray  # [T] frame number of each sample
    n_frames: int
    mean_scores: FloatArray  # [T] mean importance of the annotators at the picks
    user_scores: FloatArray | None  # [U, T] importance scores of each annotator at the picks
    frame_scores: FloatArray | None  # [U, n_frames] at every frame; None: only those at the picks are known
    user_summary: BoolArray | None  # [U, n_frames] key shots of each annotator, of `change_points`
    change_points: IntArray | None

    @property
    def n_annotators(self) -> int:
        rows = self.user_summary if self.user_scores is None else self.user_scores
        return 0 if rows is None else len(rows)

    def shots(self, segmentation: str, rng: np.random.Generator) -> IntArray:
        """Return [S, 2] first and last frame of each shot. Raises UsageError: the data has no shots."""
        if segmentation != CHANGE_POINTS:
            return SEGMENTATIONS[segmentation](self.n_frames, rng)
        if self.change_points is None:
            hint = Mention("segmentation", next(iter(SEGMENTATIONS)))
            raise UsageError("annotations alone have no change points", hint, subject=self.name)
        return self.change_points

    def summaries(self, segmentation: str) -> BoolArray | None:
        """Return [U, n_frames] the annotators' own, which the data may have for its change points."""
        return self.user_summary if segmentation == CHANGE_POINTS else None

    def scores_of_frames(self, segmentation: str) -> FloatArray:
        """Return [U, n_frames] scores of each annotator. Raises UsageError: neither summaries nor scores."""
        if self.frame_scores is not None:
            return self.frame_scores
        if self.user_scores is None:
            what = "no user_summary" if segmentation == CHANGE_POINTS else "no scores of each annotator"
            raise UsageError(
                f"the data has {what}: nothing to compare summaries with",
                hint=("for TVSum: ", Mention("annotations", "ydata-tvsum50.mat")),
                subject=self.name,
            )
        return at_every_frame(self.user_scores, self.picks, self.n_frames)


def reference_of(name: str, video: AnnotatedVideo | Labels, *, scored: bool = True) -> Reference:
    """Return the annotators of a video of an h5 file, or of annotations alone.

    `name` differs by split; `scored` is whether to use the annotators' scores, and not their mean alone.
    """
    summary = video.user_summary
    of_frames = None
    if isinstance(video, Labels):
        mean, scores = video.scores_at(video.picks)
        of_frames = video.user_scores
    else:
        mean, scores = video.gtscore, video.user_scores
    user_scores = scores if scored else None
    return Reference(
        name,
        video.picks,
        video.n_frames,
        mean_scores=mean if user_scores is None else user_scores.mean(axis=0),
        user_scores=user_scores,
        frame_scores=of_frames if scored else None,
        user_summary=None if summary is None else summary > 0,
        change_points=video.change_points,
    )


def _change_points(starts: npt.NDArray[np.signedinteger], n_frames: int) -> IntArray:
    return np.stack([starts, np.append(starts[1:], n_frames) - 1], axis=1).astype(np.int64)


def _poisson(means: tuple[int, ...], n_frames: int, rng: np.random.Generator) -> IntArray:
    """Shots of Poisson(mean) frames, each mean equally likely."""
    starts = [0]
    while starts[-1] < n_frames:
        starts.append(starts[-1] + int(rng.poisson(means[rng.integers(len(means))])))
    return _change_points(np.unique(starts[:-1]), n_frames)  # unique: a Poisson draw may be 0


SEGMENTATIONS: Final[dict[str, Callable[[int, np.random.Generator], IntArray]]] = {
    "uniform-60": lambda n_frames, rng: _change_points(np.arange(0, n_frames, 60), n_frames),
    "one-peak": partial(_poisson, (60,)),
    "two-peak": partial(_poisson, (30, 90)),
    "two-peak-30-300": partial(_poisson, (30, 300)),
}
"""By name: segmentation(n_frames, rng) -> [S, 2] first and last frame of each shot. They ignore the video, to
show how much of an F-measure comes from the lengths of shots (Otani et al., CVPR 2019)."""

DRAWN: Final = frozenset(SEGMENTATIONS) - {"uniform-60"}  # segmentations that differ from seed to seed
