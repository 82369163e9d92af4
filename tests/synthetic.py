"""Annotated videos as files in the layout of the published ones."""

import os
from collections.abc import Mapping
from pathlib import Path

from vidsum.io.atomic import as_utf8
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.results.feature_h5 import write_h5


def write_annotated(videos: Mapping[str, AnnotatedVideo], path: str | os.PathLike[str]) -> None:
    """Write videos of one dataset; `read_annotated` names the dataset by the file."""
    features, annotations = {}, {}
    for video in videos.values():
        group, film = video.name.partition("/")[2] or video.name, video.features.video
        assert group not in features
        features[group] = video.features
        names = ("change_points", "gtscore", "user_summary", "picks", "n_frames", "user_scores")
        known = {name: getattr(video, name) for name in names}
        annotations[group] = {name: value for name, value in known.items() if value is not None}
        annotations[group]["video_name"] = as_utf8(Path(film.path).stem if film else group)
    write_h5(features, path, annotations)
