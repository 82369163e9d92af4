"""Annotated videos of SumMe, TVSum, OVP and YouTube, as the h5 files of the field hold them.

The layout is that of `eccv16_dataset_{summe,tvsum,ovp,youtube}_google_pool5.h5`: one group a video. Which
datasets a group must have, and in which variants, is in `vidsum.datasets.group`.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vidsum import shots
from vidsum.datasets import group as fields
from vidsum.datasets.group import Group, IntArray
from vidsum.errors import UsageError
from vidsum.features.h5 import PUBLISHED_STRIDE, H5Video, h5_arrays, read_groups, write_groups
from vidsum.outputs import as_utf8
from vidsum.types import Features, FloatArray, Shots


@dataclass(frozen=True, eq=False)
class AnnotatedVideo:
    """One video's features, its shots, and what annotators think of it."""

    name: str
    """Name of the dataset, then of the h5 group: `tvsum/video_1`."""
    features: Features
    """[T, D]; `features.warnings` says what in the file was repaired."""
    picks: IntArray
    """[T] frame number of each feature."""
    n_frames: int
    change_points: IntArray
    """[S, 2] first and last frame of each shot, both inside it."""
    gtscore: FloatArray
    """[T] mean importance of the annotators."""
    user_summary: FloatArray | None = None
    """[U, n_frames] key-shot summary of each annotator, 0 or 1; OVP and YouTube have none."""
    user_scores: FloatArray | None = None
    """[U, T] importance scores of each annotator at the picks; the published files have none."""


def read_annotated(path: str | os.PathLike[str]) -> dict[str, AnnotatedVideo]:
    """Read all videos of one dataset.

    Args:
        path: an h5 file. The name of the dataset comes from it, see `dataset_name`.

    Returns:
        The videos by name, video_2 before video_10.

    Raises:
        InputError: the file is missing or not HDF5, or a dataset of a group is missing, or does not go with
            the others; the message names the group and the dataset.
    """
    dataset = dataset_name(path)
    groups = sorted(read_groups(path).items(), key=lambda item: by_number(item[0]))
    videos = (_video(Group(Path(path), name, arrays), f"{dataset}/{name}") for name, arrays in groups)
    return {video.name: video for video in videos}


def read_all(paths: Sequence[Path]) -> dict[str, AnnotatedVideo]:
    """The videos of several files, by name.

    Raises:
        UsageError: two files go by one name of a dataset.
        InputError: see `read_annotated`.
    """
    videos: dict[str, AnnotatedVideo] = {}
    sources: dict[str, Path] = {}
    for path in paths:
        other = sources.setdefault(dataset_name(path), path)
        if other is not path:
            raise UsageError(f"{other} and {path} both go by the name {dataset_name(path)}")
        videos.update(read_annotated(path))
    return videos


def _video(group: Group, name: str) -> AnnotatedVideo:
    """Read one group.

    One with neither frame numbers nor summaries is of the first OVP and YouTube files, which hold only
    features, gtscore and gtsummary.
    """
    rows = fields.feature_rows(group)
    bare = not {"picks", "n_frames", "change_points", "user_summary"} & group.arrays.keys()
    n_frames = len(rows) * PUBLISHED_STRIDE - 1 if bare else fields.count(group, "n_frames")
    picks = fields.sample_picks(group, len(rows), n_frames)
    features = fields.timed_features(group, rows, picks, n_frames)
    if bare:
        change_points = shots.find(features).change_points
        group.warnings.append("no frame numbers: every 15th frame is assumed, and KTS finds the shots")
    else:
        change_points = fields.shot_frames(group, n_frames)
    gtscore = fields.importance(group, picks, n_frames)
    summaries = fields.annotator_summaries(group, n_frames)
    scores = fields.annotator_scores(group, picks, n_frames)
    # written files carry the warnings of the file that they were read from
    warnings = tuple(dict.fromkeys([*features.warnings, *group.warnings]))
    features = replace(features, warnings=warnings)
    return AnnotatedVideo(name, features, picks, n_frames, change_points, gtscore, summaries, scores)


def write_annotated(videos: Mapping[str, AnnotatedVideo], path: str | os.PathLike[str]) -> None:
    """Write videos in the layout of the published files.

    Args:
        videos: of one dataset. `read_annotated` names the dataset by the file, so they come back under the
            same names from a file that is named as the dataset is.
        path: the file.

    Raises:
        UsageError: two videos would be written under one name.
        OutputError: the file cannot be written.
    """
    groups = {}
    for video in videos.values():
        group = video.name.partition("/")[2] or video.name
        if group in groups:
            raise UsageError(f"{path}: two of the videos are called {group}")
        layout = h5_arrays(H5Video(video.features, video.change_points, video.gtscore, video.user_summary))
        layout |= {"picks": video.picks, "n_frames": np.int64(video.n_frames)}
        film = video.features.video
        layout["video_name"] = as_utf8(Path(film.path).stem if film else group)
        if video.user_scores is not None:
            layout["user_scores"] = video.user_scores
        groups[group] = (video.features, layout)
    write_groups(groups, path)


def shots_of(video: AnnotatedVideo) -> Shots:
    """The shots of the change points, in seconds; frames between two shots belong to the one before."""
    edges = np.concatenate([[0], video.change_points[1:, 0], [video.n_frames]])
    fps = video.features.video_fps
    return Shots(edges_s=edges / fps, method="change points", video_fps=fps)


def shot_of_sample(video: AnnotatedVideo) -> IntArray:
    """[T] number of the shot that each sample lies in."""
    return shots_of(video).numbers_at(video.features.timestamps)


def dataset_name(path: str | os.PathLike[str]) -> str:
    """The dataset of a file: `tvsum` for `eccv16_dataset_tvsum_google_pool5.h5`, else the file's stem."""
    file = Path(path)
    if published := re.match(r"eccv16_dataset_([^_.]+)_", file.name):
        return published[1]
    return file.stem if file.suffix in (".h5", ".hdf5") else file.name


def by_number(name: str) -> list[str | int]:
    """A key that sorts names as people count: video_2 before video_10."""
    return [int(part) if index % 2 else part for index, part in enumerate(re.split(r"(\d+)", name))]
