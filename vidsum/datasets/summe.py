"""SumMe's evaluation protocol in one `.npz`: `video_1/user_summary`, `video_1/change_points` and so on.

Gygli et al., "Creating Summaries from User Videos", ECCV 2014: 25 videos, each summarized by 15 to 18 people.
The arrays are those of `eccv16_dataset_summe_google_pool5.h5` without its features.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vidsum.datasets import group as fields
from vidsum.datasets.group import Group, IntArray
from vidsum.datasets.labels import Labels
from vidsum.datasets.summaries import by_number
from vidsum.errors import UsageError
from vidsum.features.h5 import PUBLISHED_STRIDE
from vidsum.numpy_files import existing, read_arrays, refusing
from vidsum.text_files import named
from vidsum.types import FloatArray

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

    Raises:
        InputError: the file is missing, is not an `.npz` or holds no video; or an array of a video is
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
