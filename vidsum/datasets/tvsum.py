"""The annotations of TVSum as their authors published them: `ydata-tvsum50.mat`, MATLAB 7.3, which is HDF5.

Song et al., "TVSum: Summarizing web videos using titles", CVPR 2015: 50 videos, each scored by 20 annotators.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from vidsum.datasets.labels import Labels
from vidsum.errors import InputError
from vidsum.features.h5 import checked, member, members, opened
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
