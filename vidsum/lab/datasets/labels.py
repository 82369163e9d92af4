"""What people think of a video, whatever file says it, and features of the video joined with it.

A video is found by the name in the published files (`video_7`) or by the name of its own file,
which `vidsum extract` gives to groups: the YouTube id in TVSum, the title in SumMe.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vidsum.errors import InputError
from vidsum.lab.datasets.group import TOLERANCE, IntArray
from vidsum.results.feature_h5 import PUBLISHED_FPS, PUBLISHED_STRIDE
from vidsum.results.features import Features
from vidsum.types import FloatArray

_ODD_S, _ODD_FRACTION = 2.0, 0.02
"""A copy of a video may be longer or shorter by this, or by this fraction of it."""


@dataclass(frozen=True, eq=False)
class Labels:
    """What the annotators of a data set think of one video."""

    name: str
    """`tvsum/video_1` and so on, as in the published h5 files."""
    file_name: str
    """Of the video's own file, without the suffix."""
    n_frames: int
    length_s: float | None = None
    """None where the file does not say; then it has 30 frames per second."""
    gtscore: FloatArray | None = None
    """[every 15th frame]; None where it is the mean of the annotators' scores."""
    change_points: IntArray | None = None
    user_summary: FloatArray | None = None
    user_scores: FloatArray | None = None
    """[U, n_frames] from 1 to 5."""

    @property
    def fps(self) -> float:
        """Frames per second."""
        return PUBLISHED_FPS if self.length_s is None else self.n_frames / self.length_s

    def frames_of(self, picks: IntArray, n_frames: int) -> IntArray:
        """The frames of the labels for frames of another copy of the video, which may have another rate."""
        if n_frames == self.n_frames:
            return picks
        return np.minimum(picks * self.n_frames // n_frames, self.n_frames - 1)

    def scores_at(self, frames: IntArray) -> tuple[FloatArray, FloatArray | None]:
        """gtscore [T], in [0, 1], and each annotator's scores [U, T] if they are known, at frames."""
        scores = None if self.user_scores is None else self.user_scores[:, frames]
        if self.gtscore is not None:
            return self.gtscore[np.minimum(frames // PUBLISHED_STRIDE, len(self.gtscore) - 1)], scores
        assert scores is not None
        return (scores.mean(axis=0) - 1) / 4, scores  # as the published h5 files have it

    def check_same(self, name: str, features: Features, n_frames: int) -> None:
        """See to it that features are of this video.

        Raises InputError: it is longer or shorter than their video.
        """
        if self.length_s is None:
            if abs(n_frames - self.n_frames) > TOLERANCE:
                raise InputError(f"{name}: has {n_frames} frames, but the annotations {self.n_frames}")
        elif abs(features.duration_s - self.length_s) > max(_ODD_S, _ODD_FRACTION * self.length_s):
            lengths = f"{features.duration_s:g} s, but the annotations {self.length_s:g} s"
            raise InputError(f"{name}: has {lengths}")


def labels_of(labels: Mapping[str, Labels], name: str) -> Labels | None:
    """The labels of a video by the name of its group in an h5 file; None where there are none."""
    numbered = (label for label in labels.values() if label.name.partition("/")[2] == name)
    by_file = (label for label in labels.values() if plain_name(label.file_name) == plain_name(name))
    return next(numbered, None) or next(by_file, None)


def plain_name(name: str) -> str:
    """A name as it is compared: blanks and underscores are one."""
    return name.replace(" ", "_")
