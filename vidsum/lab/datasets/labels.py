"""Annotators' scores and summaries from TVSum's and SumMe's own files, read alike.

TVSum: `ydata-tvsum50.mat` (Song et al., CVPR 2015), 50 videos, each scored by 20 people. SumMe: its protocol
(Gygli et al., ECCV 2014) in one `.npz`, 25 videos, each summarized by 15 to 18. A video goes by its published
name (`video_7`) or the name of its file: the YouTube id in TVSum, the title in SumMe.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import h5py
import numpy as np

from vidsum.errors import InputError, Mention, UsageError, safe_name
from vidsum.io.arrays import convert_errors, read_arrays, require_file
from vidsum.lab.datasets import group as fields
from vidsum.lab.datasets.group import TOLERANCE, H5Group, by_number
from vidsum.results.feature_h5 import PUBLISHED_FPS, PUBLISHED_STRIDE, check_storage, member, members, open_h5
from vidsum.results.features import Features
from vidsum.types import FloatArray, IntArray

ODD_S, ODD_FRACTION = 2.0, 0.02
"""A copy of a video may be longer or shorter by this, or by this fraction of it."""
DATASETS: Final = {".mat": "tvsum", ".npz": "summe"}  # the data set of a file of annotations, by its suffix
_TVSUM_FIELDS = ("video", "length", "nframes", "user_anno")


@dataclass(frozen=True, eq=False)
class Labels:
    """Scores and summaries that the annotators of a data set gave one video."""

    name: str  # `tvsum/video_1` and so on, as in the published h5 files
    file_name: str  # name of the video's file, without the suffix
    n_frames: int
    length_s: float | None = None  # None where the file does not say; then it has 30 frames per second
    gtscore: FloatArray | None = None
    """[every 15th frame]; None where it is the mean of the annotators' scores."""
    change_points: IntArray | None = None  # [S, 2] first and last frame of each shot, both inside it
    user_summary: FloatArray | None = None  # [U, n_frames] summary of each annotator, 0 or 1
    user_scores: FloatArray | None = None  # [U, n_frames] from 1 to 5
    warnings: tuple[str, ...] = ()  # repairs made while it was read

    @property
    def fps(self) -> float:
        return PUBLISHED_FPS if self.length_s is None else self.n_frames / self.length_s

    @property
    def picks(self) -> IntArray:
        """[T] every 15th frame."""
        return np.arange(0, self.n_frames, PUBLISHED_STRIDE, dtype=np.int64)

    def frames_of(self, picks: IntArray, n_frames: int) -> IntArray:
        """Return the frames of the labels for frames of a copy of the video, perhaps at another rate."""
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
        """Raise InputError where features are of a video that is longer or shorter."""
        if self.length_s is None:
            if abs(n_frames - self.n_frames) > TOLERANCE:
                raise InputError(f"has {n_frames} frames, but the annotations {self.n_frames}", subject=name)
        elif abs(features.duration_s - self.length_s) > max(ODD_S, ODD_FRACTION * self.length_s):
            lengths = f"{features.duration_s:g} s, but the annotations {self.length_s:g} s"
            raise InputError(f"has {lengths}", subject=name)


def read_labels(path: Path) -> dict[str, Labels]:
    """Read a file of TVSum (`.mat`) or SumMe (`.npz`); UsageError for another suffix."""
    if path.suffix not in DATASETS:
        raise UsageError(
            "annotations are TVSum's .mat file or SumMe's protocol (.npz)",
            hint=Mention("annotations", "ydata-tvsum50.mat"),
            subject=path,
        )
    return read_tvsum_mat(path) if path.suffix == ".mat" else read_summe_protocol(path)


def labels_of(labels: Mapping[str, Labels], name: str) -> Labels | None:
    """Return the labels of a video by the name of its group in an h5 file; None where there are none."""
    numbered = (label for label in labels.values() if label.name.partition("/")[2] == name)
    by_file = (label for label in labels.values() if plain_name(label.file_name) == plain_name(name))
    return next(numbered, None) or next(by_file, None)


def plain_name(name: str) -> str:
    """Return a name as it is compared: blanks and underscores are one."""
    return name.replace(" ", "_")


def read_tvsum_mat(source: Path) -> dict[str, Labels]:
    """Read `ydata-tvsum50.mat`, in its order. Raises InputError: not MATLAB 7.3, or inconsistent."""
    with open_h5(source, "MATLAB 7.3 file of TVSum") as file:
        table = member(file, "tvsum50")
        if not isinstance(table, h5py.Group):
            raise InputError("tvsum50 is missing", subject=source)
        columns = members(table)
        if missing := [field for field in _TVSUM_FIELDS if field not in columns]:
            raise InputError(f"tvsum50: {missing[0]} is missing", subject=source)
        annotations = {}
        for row in range(len(columns["video"])):
            # each cell of the table is a reference to an array elsewhere in the file
            cells = {field: check_storage(file[columns[field][row, 0]])[()] for field in _TVSUM_FIELDS}
            name = f"tvsum/video_{row + 1}"
            annotations[name] = _of_tvsum(name, cells, source)
        return annotations


def _of_tvsum(name: str, cells: Mapping[str, Any], source: Path) -> Labels:
    n_frames, length_s = int(cells["nframes"].item()), float(cells["length"].item())
    scores = cells["user_anno"].astype(np.float32)  # h5py shows MATLAB's arrays transposed
    if scores.shape[-1] != n_frames:
        shape = list(scores.shape)
        raise InputError(f"{name}: nframes is {n_frames}, but user_anno is {shape}", subject=source)
    if not np.isfinite(scores).all():
        raise InputError(f"{name}: the scores hold NaN or infinite values", subject=source)
    if not 0 < length_s < np.inf:
        raise InputError(f"{name}: length is {length_s:g} seconds", subject=source)
    # MATLAB has one UTF-16 unit an element
    video = np.ravel(cells["video"]).astype("<u2").tobytes().decode("utf-16-le")
    return Labels(name, video, n_frames, length_s, user_scores=scores)


def read_summe_protocol(source: Path) -> dict[str, Labels]:
    """Read SumMe's summaries, video_2 before video_10. Raises InputError: no `.npz` of consistent videos."""
    videos: dict[str, dict[str, Any]] = {}
    with convert_errors(require_file(source), "protocol of SumMe"):
        for key, array in read_arrays(source).items():
            video, slash, field = key.partition("/")
            if not slash:
                raise UsageError(f"{safe_name(key)} is not an array of a video")
            videos.setdefault(video, {})[field] = array
        if not videos:
            raise UsageError("it holds no video")
        names = sorted(videos, key=by_number)
    return {
        f"summe/{name}": _of_summe(H5Group(source, safe_name(name), videos[name]), name) for name in names
    }


def _of_summe(group: H5Group, name: str) -> Labels:
    shape = group.needed("user_summary").shape
    if len(shape) != 2:
        raise group.fault(f"user_summary must be [U, n_frames], not {list(shape)}")
    if "name" not in group.arrays:
        raise group.fault("name is missing")
    title = group.arrays["name"]
    if title.size != 1 or title.dtype.kind != "U" or not title.item().strip():
        raise group.fault("name is not one text")
    n_frames = shape[1]
    return Labels(
        f"summe/{name}",
        plain_name(title.item()),
        n_frames,
        gtscore=fields.importance(group, np.arange(0, n_frames, PUBLISHED_STRIDE), n_frames),
        change_points=fields.shot_frames(group, n_frames),
        user_summary=fields.annotator_summaries(group, n_frames),
        warnings=tuple(group.warnings),
    )
