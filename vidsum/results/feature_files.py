"""Feature files by their suffix: `.npz` of our own, `.h5` in the layout of the published SumMe and TVSum."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vidsum.errors import InputError, UsageError
from vidsum.io.arrays import convert_errors
from vidsum.results.features import Features, read_npz, write_npz

FrameArray = npt.NDArray[np.int64]  # frame numbers

SUFFIXES = (".npz", ".h5", ".hdf5")


def is_feature_file(name: str) -> bool:
    """Return whether a name is the name of a feature file: `x.npz`, `x.h5`, or `x.h5#video`."""
    return Path(name.partition("#")[0]).suffix in SUFFIXES


def require_feature_name(path: str | os.PathLike[str]) -> None:
    """Raise a UsageError where a file has no suffix of feature files."""
    target = Path(path)
    if target.suffix not in SUFFIXES:
        named = target.parent / target.stem
        raise UsageError("not a feature file", hint=f"name it {named}.npz or {named}.h5", subject=target)


def write_feature_file(
    features: Features, path: Path, name: str, *, change_points: FrameArray | None = None
) -> None:
    """Write one video's features, by the suffix: see `vidsum.write_features`. Raises OutputError.

    An h5 file has them under the stem of the video, or under `name` where none is known.
    """
    if path.suffix == ".npz":
        write_npz(features, path)
    else:
        from vidsum.results.feature_h5 import write_h5  # h5py takes .1 s to import

        name = Path(features.video.path).stem if features.video else name
        shots = {} if change_points is None else {name: {"change_points": change_points}}
        write_h5({name: features}, path, shots)


def read_features(path: str | os.PathLike[str], video: str | None = None) -> Features:
    """Read features of one video, named where an h5 file has several. Raises InputError, UsageError."""
    source = Path(path)
    if source.suffix == ".npz":
        return read_npz(source)
    from vidsum.results.feature_h5 import group_features, group_names, read_group

    names = group_names(source)
    example = f"{source}#{names[0]}"
    if video is None and len(names) > 1:
        raise UsageError(f"has {len(names)} videos", hint=f"name one, such as {example}", subject=source)
    if video is not None and video not in names:
        raise InputError(f"has no video {video!r}", hint=f"name another, such as {example}", subject=source)
    arrays = read_group(source, video or names[0])
    with convert_errors(source):
        return group_features(arrays)
