"""Feature files by their suffix: `.npz` of our own, `.h5` in the layout of the published SumMe and TVSum."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vidsum.errors import InputError, OutputError, UsageError, require_type
from vidsum.io.arrays import convert_errors
from vidsum.results.features import Features, read_npz, write_npz

FrameArray = npt.NDArray[np.int64]  # frame numbers

SUFFIXES = (".npz", ".h5", ".hdf5")


def is_feature_file(name: str) -> bool:
    """Return whether a name is that of a feature file: `x.npz`, `x.h5`, or `x.h5#video`."""
    return Path(name.partition("#")[0]).suffix in SUFFIXES


def write_features(
    features: Features,
    path: str | os.PathLike[str],
    *,
    change_points: FrameArray | None = None,
    overwrite: bool = False,
) -> None:
    """Write one video's features to `.npz`, or to `.h5` under the name of its file's stem.

    `change_points`, [S, 2] first and last frame of each shot, go into an h5 file only. Raises UsageError:
    another suffix. OutputError: it cannot be written, or a file of something else is in the way (`overwrite`
    replaces it).
    """
    require_type(features, Features)
    target = Path(path)
    if not overwrite and target.is_file() and is_feature_file(target.name):
        try:
            read_features(target)
        except (InputError, UsageError) as error:
            fault = f"{target}: already exists, and vidsum did not write it"
            raise OutputError(fault, hint="overwrite=True replaces it") from error
    if target.suffix == ".npz":
        write_npz(features, target)
    elif target.suffix in SUFFIXES:
        from vidsum.results.feature_h5 import write_h5  # h5py takes .1 s to import

        name = Path(features.video.path).stem if features.video else target.stem
        shots = {} if change_points is None else {name: {"change_points": change_points}}
        write_h5({name: features}, target, shots)
    else:
        named = target.parent / target.stem
        raise UsageError(f"{target}: not a feature file", hint=f"name it {named}.npz or {named}.h5")


def read_features(path: str | os.PathLike[str], video: str | None = None) -> Features:
    """Read features of one video, named where an h5 file has several. Raises InputError, UsageError."""
    source = Path(path)
    if source.suffix == ".npz":
        return read_npz(source)
    from vidsum.results.feature_h5 import group_features, group_names, read_group

    names = group_names(source)
    example = f"{source}#{names[0]}"
    if video is None and len(names) > 1:
        raise UsageError(f"{source}: has {len(names)} videos", hint=f"name one, such as {example}")
    if video is not None and video not in names:
        raise InputError(f"{source}: has no video {video!r}", hint=f"name another, such as {example}")
    arrays = read_group(source, video or names[0])
    with convert_errors(source):
        return group_features(arrays)
