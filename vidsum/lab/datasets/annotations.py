"""Annotated videos of several files: h5 files of the field, features of our own with files of annotations.

TVSum's are those of `ydata-tvsum50.mat` (Song et al., "TVSum: Summarizing web videos using titles", CVPR
2015): 50 videos, each scored by 20 annotators. SumMe's are its evaluation protocol (Gygli et al.,
"Creating Summaries from User Videos", ECCV 2014) in one `.npz`, `video_1/user_summary`,
`video_1/change_points` and so on: 25 videos, each summarized by 15 to 18 people.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import h5py
import numpy as np

from vidsum.errors import InputError, UsageError
from vidsum.lab.datasets import group as fields
from vidsum.lab.datasets.group import Group, IntArray
from vidsum.lab.datasets.labels import Labels
from vidsum.lab.datasets.summaries import (
    AnnotatedVideo,
    by_number,
    dataset_name,
    lacks_importance,
    read_annotated,
)
from vidsum.numpy_files import existing, read_arrays, refusing
from vidsum.results.feature_h5 import PUBLISHED_STRIDE, checked, member, members, opened
from vidsum.text_files import named
from vidsum.types import FloatArray

_FIELDS = ("video", "title", "category", "length", "nframes", "user_anno", "gt_score")


@dataclass(frozen=True, eq=False)
class TVSumAnnotations:
    """The annotations of one video of TVSum."""

    name: str
    """`tvsum/video_1` and so on, in the order of the file, which is that of the published h5 files."""
    video: str
    """Name of its file, as on the site that it comes from."""
    title: str
    category: str
    """Two letters, such as `VT`."""
    length_s: float
    n_frames: int
    user_scores: FloatArray
    """[U, n_frames] importance of each frame to each annotator, 1 to 5."""
    gt_score: FloatArray
    """[n_frames] the annotators' mean."""

    @property
    def labels(self) -> Labels:
        """The same, as it is joined with features."""
        return Labels(self.name, self.video, self.n_frames, self.length_s, user_scores=self.user_scores)


def read_tvsum_mat(path: str | os.PathLike[str]) -> dict[str, TVSumAnnotations]:
    """Read the annotations of all videos in `ydata-tvsum50.mat`: by name, in the order of the file.

    Raises:
        InputError: the file is missing, is not MATLAB 7.3, or lacks a field; or scores and frames disagree.
    """
    source = Path(path)
    with opened(source, "MATLAB 7.3 file of TVSum") as file:
        return _all_annotations(file, source)


def _all_annotations(file: h5py.File, source: Path) -> dict[str, TVSumAnnotations]:
    table = member(file, "tvsum50")
    if not isinstance(table, h5py.Group):
        raise InputError(f"{source}: tvsum50 is missing")
    columns = members(table)
    if missing := [field for field in _FIELDS if field not in columns]:
        raise InputError(f"{source}: tvsum50: {missing[0]} is missing")
    annotations = {}
    for row in range(len(columns["title"])):
        # each cell of the table is a reference to an array elsewhere in the file
        cells = {field: checked(file[columns[field][row, 0]])[()] for field in _FIELDS}
        name = f"tvsum/video_{row + 1}"
        annotations[name] = _annotations(name, cells, source)
    return annotations


def _annotations(name: str, cells: Mapping[str, Any], source: Path) -> TVSumAnnotations:
    n_frames = int(cells["nframes"].item())
    scores = cells["user_anno"].astype(np.float32)  # h5py shows MATLAB's arrays transposed
    mean = np.ravel(cells["gt_score"]).astype(np.float32)
    if scores.shape[-1] != n_frames or mean.shape != (n_frames,):
        raise InputError(
            f"{source}: {name}: nframes is {n_frames}, but user_anno is {list(scores.shape)} and gt_score "
            f"has {len(mean)} entries"
        )
    if not (np.isfinite(scores).all() and np.isfinite(mean).all()):
        raise InputError(f"{source}: {name}: the scores hold NaN or infinite values")
    video, title, category = (_text(cells[field]) for field in ("video", "title", "category"))
    length_s = float(cells["length"].item())
    if not 0 < length_s < np.inf:
        raise InputError(f"{source}: {name}: length is {length_s:g} seconds")
    return TVSumAnnotations(name, video, title, category, length_s, n_frames, scores, mean)


def _text(codes: Any) -> str:
    """Text of MATLAB: one UTF-16 unit an element."""
    units: bytes = np.ravel(codes).astype("<u2").tobytes()
    return units.decode("utf-16-le")


_KIND = "protocol of SumMe"


@dataclass(frozen=True, eq=False)
class SumMeVideo:
    """What people chose of one video of SumMe, and the shots that a summary is made of."""

    name: str
    """`summe/video_1` and so on, as in the published h5 files."""
    title: str
    """Name of its file, without the ending: `Base jumping`."""
    n_frames: int
    user_summary: FloatArray
    """[U, n_frames] summary of each annotator, 0 or 1."""
    change_points: IntArray
    """[S, 2] first and last frame of each shot, both inside it."""
    gtscore: FloatArray
    """[T] fraction of the annotators who chose the frame, at every 15th frame."""
    warnings: tuple[str, ...] = ()
    """Repairs made while it was read."""

    @property
    def picks(self) -> IntArray:
        """[T] frame number of each score."""
        return np.arange(0, self.n_frames, PUBLISHED_STRIDE, dtype=np.int64)

    @property
    def labels(self) -> Labels:
        """The same, as it is joined with features; its file's name has underscores in place of blanks."""
        return Labels(
            self.name,
            self.title.replace(" ", "_"),
            self.n_frames,
            gtscore=self.gtscore,
            change_points=self.change_points,
            user_summary=self.user_summary,
        )


def read_summe_protocol(path: str | os.PathLike[str]) -> dict[str, SumMeVideo]:
    """Read what people chose of all videos: by name, video_2 before video_10.

    Raises InputError: the file is missing, is not an `.npz` or holds no video; or an array of a video is
    missing or does not match the others. The message names the file, the video and the array.
    """
    source = Path(path)
    videos: dict[str, dict[str, Any]] = {}
    with refusing(existing(source), _KIND):
        for member, array in read_arrays(source).items():
            video, slash, key = member.partition("/")
            if not slash:
                raise UsageError(f"{named(member)} is not an array of a video")
            videos.setdefault(video, {})[key] = array
        if not videos:
            raise UsageError("it holds no video")
        names = sorted(videos, key=by_number)
    return {f"summe/{name}": _video(Group(source, named(name), videos[name]), name) for name in names}


def _video(group: Group, name: str) -> SumMeVideo:
    shape = group.needed("user_summary").shape
    if len(shape) != 2:
        raise group.fault(f"user_summary must be [U, n_frames], not {list(shape)}")
    n_frames = shape[1]
    summaries = fields.annotator_summaries(group, n_frames)
    assert summaries is not None
    picks = np.arange(0, n_frames, PUBLISHED_STRIDE)
    gtscore = fields.importance(group, picks, n_frames)
    change_points = fields.shot_frames(group, n_frames)
    warnings = tuple(group.warnings)
    return SumMeVideo(f"summe/{name}", _title(group), n_frames, summaries, change_points, gtscore, warnings)


def _title(group: Group) -> str:
    """The array `name`, one text."""
    if "name" not in group.arrays:
        raise group.fault("name is missing")
    stored = group.arrays["name"]
    if stored.size != 1 or stored.dtype.kind != "U" or not stored.item().strip():
        raise group.fault("name is not one text")
    return str(stored.item())


DATASETS: Final = {".mat": "tvsum", ".npz": "summe"}
"""The data set of a file of annotations, by its suffix."""


def read_labels(path: Path) -> dict[str, Labels]:
    """What people think of the videos of TVSum (`ydata-tvsum50.mat`) or SumMe (protocol, `.npz`), by name.

    Raises:
        InputError: see `read_tvsum_mat` and `read_summe_protocol`.
        UsageError: the suffix is that of neither.
    """
    if path.suffix == ".mat":
        return {name: video.labels for name, video in read_tvsum_mat(path).items()}
    if path.suffix == ".npz":
        return {name: video.labels for name, video in read_summe_protocol(path).items()}
    raise UsageError(
        f"{path}: annotations are TVSum's .mat file or SumMe's protocol (.npz)",
        hint="--annotations ydata-tvsum50.mat",
    )


def paired(paths: Sequence[Path], annotations: Sequence[Path]) -> dict[Path, Path | None]:
    """The annotations of each h5 file or folder: in their order, for those whose videos lack a gtscore.

    Raises:
        UsageError: two go by one name of a dataset, or there are more or fewer annotations than needed.
        InputError: see `read_annotated`.
    """
    sources: dict[str, Path] = {}
    for path in paths:
        other = sources.setdefault(dataset_name(path), path)
        if other is not path:
            raise UsageError(f"{other} and {path} both go by the name {dataset_name(path)}")
    bare = [path for path in paths if lacks_importance(path)] if annotations else []
    if len(bare) != len(annotations):
        counts = f"{len(bare)} of {len(paths)} --data lack gtscore, but --annotations are {len(annotations)}"
        raise UsageError(counts, hint="one --annotations for each of these, in the same order")
    return {**dict.fromkeys(paths), **dict(zip(bare, annotations, strict=True))}


def read_all(pairs: Mapping[Path, Path | None]) -> dict[str, AnnotatedVideo]:
    """The videos of several files or folders, by name; `pairs` is from `paired`.

    Raises InputError, UsageError: see `read_annotated` and `read_labels`.
    """
    videos: dict[str, AnnotatedVideo] = {}
    for path, annotations in pairs.items():
        videos |= read_annotated(path, read_labels(annotations) if annotations else None)
    return videos
