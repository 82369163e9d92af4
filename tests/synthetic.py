"""Annotated videos as files in the layout of the published ones."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vidsum.io.outputs import as_utf8
from vidsum.lab.datasets.summaries import AnnotatedVideo
from vidsum.results.feature_h5 import H5Video, h5_arrays, write_groups


def write_annotated(videos: Mapping[str, AnnotatedVideo], path: str | os.PathLike[str]) -> None:
    """Write videos of one dataset; `read_annotated` names the dataset by the file."""
    groups = {}
    for video in videos.values():
        group = video.name.partition("/")[2] or video.name
        assert group not in groups
        layout = h5_arrays(H5Video(video.features, video.change_points, video.gtscore, video.user_summary))
        layout |= {"picks": video.picks, "n_frames": np.int64(video.n_frames)}
        film = video.features.video
        layout["video_name"] = as_utf8(Path(film.path).stem if film else group)
        if video.user_scores is not None:
            layout["user_scores"] = video.user_scores
        groups[group] = (video.features, layout)
    write_groups(groups, path)
