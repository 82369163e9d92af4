"""Annotated videos of SumMe, TVSum, OVP, YouTube and Mr. HiSum, as the h5 files of the field hold them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vidsum.errors import InputError, Mention, UsageError, safe_name
from vidsum.lab.datasets import group as fields
from vidsum.lab.datasets.group import H5Group, by_number
from vidsum.lab.datasets.labels import Labels, labels_of, read_labels
from vidsum.models.scaling import standardise
from vidsum.results.feature_h5 import PUBLISHED_STRIDE, group_names, read_group
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.shots.segmentation import find
from vidsum.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class AnnotatedVideo:
    """One video's features, its shots, and what annotators think of it."""

    name: str  # name of the dataset, then of the h5 group: `tvsum/video_1`
    features: Features  # [T, D]; `features.warnings` says what in the file was repaired
    picks: IntArray  # [T] frame number of each feature
    n_frames: int
    change_points: IntArray  # [S, 2] first and last frame of each shot, both inside it
    gtscore: FloatArray  # [T] mean importance of the annotators
    user_summary: FloatArray | None = None
    """[U, n_frames] key-shot summary of each annotator, 0 or 1; OVP and YouTube have none."""
    user_scores: FloatArray | None = None
    """[U, T] importance scores of each annotator at the picks; the published files have none."""


def read_annotated(
    path: Path, labels: Mapping[str, Labels] | None = None, *, find_shots: bool = True
) -> dict[str, AnnotatedVideo]:
    """Read all videos of one dataset, an h5 file or a folder of them: by name, video_2 before video_10.

    A video without gtscore gets the gtscore of its `labels` and the published name; a video with gtscore gets
    each annotator's scores. With `find_shots`, a video without change points gets the change points of KTS.
    Raises InputError, which names the group: not HDF5, or datasets or labels are missing or inconsistent.
    UsageError: two videos of one name.
    """
    dataset = dataset_name(path)
    groups = sorted(_groups_in(path), key=lambda group: by_number(group.name))
    videos: dict[str, AnnotatedVideo] = {}
    for group in groups:
        label = None if labels is None else labels_of(labels, group.name)
        if labels is not None and label is None:
            first = next(iter(labels.values())).file_name
            hint = f"name it as its file, such as {first}, or as the published files do: video_1"
            fault = f"the annotations have no video {safe_name(group.name)}"
            raise InputError(fault, hint=hint, subject=group.path)
        video = _video(group, label, find_shots)
        name = f"{dataset}/{video.name}"
        if name in videos:
            raise UsageError(f"{group.name} is the second video that is {name}", subject=group.path)
        videos[name] = replace(video, name=name)
    return dict(sorted(videos.items(), key=lambda item: by_number(item[0])))


def pair_annotations(paths: Sequence[Path], annotations: Sequence[Path]) -> dict[Path, Path | None]:
    """Return the annotations of each h5 file or folder: in their order, for those that lack a gtscore.

    Raises UsageError: two go by one name of a dataset, or there are more or fewer annotations than needed.
    """
    sources: dict[str, Path] = {}
    for path in paths:
        other = sources.setdefault(dataset_name(path), path)
        if other is not path:
            raise UsageError(f"{other} and {path} both go by the name {dataset_name(path)}")
    bare = [path for path in paths if annotations and not all(map(fields.has_importance, _groups_in(path)))]
    if len(bare) != len(annotations):
        of_all = f"{len(bare)} of {len(paths)}"
        counts = (
            f"{of_all} ",
            Mention("data"),
            " lack gtscore, but ",
            Mention("annotations"),
            f" are {len(annotations)}",
        )
        raise UsageError(
            counts, hint=("one ", Mention("annotations"), " for each of these, in the same order")
        )
    return {**dict.fromkeys(paths), **dict(zip(bare, annotations, strict=True))}


def read_all(pairs: Mapping[Path, Path | None]) -> dict[str, AnnotatedVideo]:
    """Return the videos of several files or folders, by name; `pairs` is from `pair_annotations`."""
    videos: dict[str, AnnotatedVideo] = {}
    for path, annotations in pairs.items():
        videos |= read_annotated(path, read_labels(annotations) if annotations else None)
    return videos


def annotated_files(path: Path) -> list[Path]:
    """Return the h5 files of a folder, or the one file. Raises InputError: the folder has none."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in (".h5", ".hdf5"))
    if not files:
        raise InputError("has no h5 file", hint="vidsum extract VIDEOS --format h5", subject=path)
    return files


def _groups_in(path: Path) -> Iterator[H5Group]:
    for file in annotated_files(path):
        groups = (H5Group(file, name, read_group(file, name)) for name in group_names(file))
        yield from map(fields.with_frame_numbers, groups)


def _video(group: H5Group, label: Labels | None, find_shots: bool) -> AnnotatedVideo:
    """Read one group, with scores from `label` where it has none of its own, or not each annotator's.

    Shots of the label set the frame numbers. The first OVP and YouTube files are bare.
    """
    is_scored = fields.has_importance(group)
    if label is None and not is_scored:
        hint = (
            "add annotators' scores: ",
            Mention("annotations", "FILE"),
            ", see docs/formats.md#annotated-videos-h5",
        )
        raise InputError(f"{group.name} has no gtscore", hint, subject=group.path)
    rows = fields.feature_rows(group)
    bare = is_scored and not {"picks", "n_frames", "change_points", "user_summary"} & group.arrays.keys()
    n_frames = len(rows) * PUBLISHED_STRIDE - 1 if bare else fields.count(group, "n_frames")
    picks = fields.sample_picks(group, len(rows), n_frames)
    features = fields.timed_features(group, rows, picks, n_frames)
    points, name = None, group.name
    if label is None or is_scored:
        gtscore = fields.importance(group, picks, n_frames)
        summaries = fields.annotator_summaries(group, n_frames)
        scores = fields.annotator_scores(group, picks, n_frames)
        if label is not None and label.user_scores is not None:
            if label.n_frames != n_frames:
                raise group.fault(f"has {n_frames} frames, but the annotations {label.n_frames}")
            scores = label.user_scores[:, picks]
    else:
        label.check_same(f"{group.path}: {group.name}", features, n_frames)
        name, frames = label.name.partition("/")[2], label.frames_of(picks, n_frames)
        summaries, (gtscore, scores) = label.user_summary, label.scores_at(frames)
        if label.change_points is not None:
            picks, n_frames, points = frames, label.n_frames, label.change_points
    if points is None and ("change_points" in group.arrays or not (find_shots or bare)):
        points = fields.shot_frames(group, n_frames)
    elif points is None:
        points = np.minimum(find(features).change_points, n_frames - 1)
        missing = "frame numbers: every 15th frame is assumed" if bare else "change_points"
        group.warnings.append(f"no {missing}: KTS finds the shots")
    # what was repaired, now or when they were written
    of_label = label.warnings if label and not is_scored else ()
    warnings = dict.fromkeys([*features.warnings, *group.warnings, *of_label])
    features = replace(features, warnings=tuple(warnings))
    return AnnotatedVideo(name, features, picks, n_frames, points, gtscore, summaries, scores)


def shots_of(video: AnnotatedVideo) -> Shots:
    """Return the shots in seconds; frames between two shots belong to the earlier one."""
    edges = np.concatenate([[0], video.change_points[1:, 0], [video.n_frames]])
    fps = video.features.video_fps
    return Shots(edges_s=edges / fps, method="change points", video_fps=fps)


def shot_of_sample(video: AnnotatedVideo) -> IntArray:
    """Return [T] number of the shot that each sample lies in."""
    return shots_of(video).numbers_at(video.features.timestamps)


def target_of(video: AnnotatedVideo) -> FloatArray:
    """Return [T] the standardised mean of the annotators' standardised scores, or of `gtscore` alone."""
    scores = video.gtscore[None] if video.user_scores is None else video.user_scores
    return standardise(standardise(scores).mean(axis=0))


def dataset_name(path: Path) -> str:
    """Return the dataset of a file: `tvsum` for `eccv16_dataset_tvsum_google_pool5.h5`, else the stem."""
    if published := re.match(r"eccv16_dataset_([^_.]+)_", path.name):
        return published[1]
    return path.stem if path.suffix in (".h5", ".hdf5") else path.name
