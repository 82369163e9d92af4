"""Features of annotated videos in the layouts in which the field publishes them.

A source is an HDF5 file with a dataset, or a group with one of features, for each video:

- `sub_activitynet_v1-3.c3d.hdf5` (ActivityNet C3D): group `v_...`, dataset `c3d_features` [N, 500];
- `tall_c3d_features.hdf5` (TACoS C3D), `vgg_rgb_features.hdf5` (Charades VGG): dataset per video, [N, 4096];

or a folder with a file for each video, named after it:

- `slowfast_features/VIDEO.npz`, `clip_features/VIDEO.npz` (QVHighlights), key `features`;
- `VIDEO.npy` (Charades I3D, also as [N, 1, 1, D]), `VIDEO.pt`, or the `.npz` of `vidsum extract`.

Rows are brought to length 1, as the published models take them; several sources are then put side by side.
"""

import pickle
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from vidsum.errors import InputError
from vidsum.features.h5 import array_of, member, opened
from vidsum.features.resample import resample
from vidsum.numpy_files import read_array, read_arrays, refusing
from vidsum.scaling import unit_rows
from vidsum.types import FloatArray

_H5_KEYS = ("c3d_features", "features")
_FOLDER_SUFFIXES = (".npz", ".npy", ".pt")
_WORDS_KEY = "last_hidden_state"
_MOST_APART = 2
"""Rows that the published sources of one video differ by: networks round its end in their ways."""


def read_parts(sources: Sequence[Path], video: str) -> tuple[FloatArray, ...]:
    """The features of one video, from each source.

    Args:
        sources: HDF5 files or folders. Where one has a row or two more than another, the first ones are
            taken.
        video: the video's name as the annotations have it.

    Returns:
        An [N, D] for each source, rows of length 1.

    Raises:
        InputError: a source lacks the video, or cannot be read, or holds no [N, D] of finite numbers, or the
            sources are of different rates.
    """
    parts = [unit_rows(_read(source, video)) for source in sources]
    lengths = [len(part) for part in parts]
    if max(lengths) - min(lengths) > _MOST_APART:
        told = ", ".join(f"{source} {length}" for source, length in zip(sources, lengths, strict=True))
        raise InputError(
            f"{video}: its features are not of one rate, by their rows: {told}",
            hint="features of one rate, whose rows stand for the same times",
        )
    return tuple(part[: min(lengths)] for part in parts)


def read_moment_features(sources: Sequence[Path], video: str) -> FloatArray:
    """The same side by side: [N, D], where D is the sum of theirs."""
    return np.concatenate(read_parts(sources, video), axis=1)


def read_clips(sources: Sequence[Path], video: str, n_clips: int) -> FloatArray:
    """The same averaged into a fixed number of clips over the whole video: [n_clips, D]."""
    return resample(read_moment_features(sources, video), n_clips)


def check_features(sources: Sequence[Path], videos: Collection[str]) -> None:
    """Make sure, before any work, that all sources have all videos.

    Raises:
        InputError: one lacks some, or is neither an HDF5 file nor a folder.
    """
    for source in sources:
        if source.is_dir():
            held = {file.stem for file in source.iterdir() if file.suffix in _FOLDER_SUFFIXES}
        else:
            with opened(_h5_file(source)) as file:
                held = set(file)
        missing = [video for video in videos if video not in held]
        if missing:
            raise InputError(
                f"{source}: has no features of {len(missing)} of {len(videos)} videos, such as {missing[0]}"
            )


def _h5_file(source: Path) -> Path:
    if not source.is_file():
        raise InputError(
            f"{source}: {'is neither file nor folder' if source.exists() else 'no such file or folder'}"
        )
    return source


def read_words(folder: Path, qid: str) -> FloatArray:
    """[L, D] the words of a query as QVHighlights' text features have them, rows of length 1.

    Args:
        folder: `clip_text_features` or the like, with `qid{N}.npz` for each query, key `last_hidden_state`.
        qid: the query's number.

    Raises:
        InputError: there is no such file, or it cannot be read, or holds no [L, D] of finite numbers.
    """
    file = folder / f"qid{qid}.npz"
    if not file.is_file():
        raise InputError(f"{folder}: has no words of query {qid} ({file.name})")
    return unit_rows(_checked(*_from_npz(file, _WORDS_KEY)))


def _read(source: Path, video: str) -> FloatArray:
    """[N, D] of one source, checked."""
    return _checked(*(_from_folder(source, video) if source.is_dir() else _from_h5(source, video)))


def _checked(where: str, stored: Any) -> FloatArray:
    array = np.asarray(stored)
    if array.dtype.kind not in "fiu" or array.ndim < 2 or 0 in array.shape:
        raise InputError(f"{where}: features must be [N, D] numbers, not {list(array.shape)} {array.dtype}")
    if array.ndim > 2 and array.size != array.shape[0] * array.shape[-1]:
        raise InputError(f"{where}: features must be [N, D], not {list(array.shape)}")
    rows = array.reshape(len(array), -1).astype(np.float32)
    if not np.isfinite(rows).all():
        raise InputError(f"{where}: holds NaN or infinite values")
    return rows


def _from_h5(source: Path, video: str) -> tuple[str, Any]:
    """What an HDF5 file has of a video, and the name of the place."""
    with opened(_h5_file(source)) as file:
        entry = member(file, video)
        if entry is None:
            raise InputError(f"{source}: has no features of {video}")
        places = {video: entry}
        if isinstance(entry, h5py.Group):
            places = {f"{video}/{key}": member(entry, key) for key in _H5_KEYS}
        for place, dataset in places.items():
            if isinstance(dataset, h5py.Dataset):
                return f"{source}: {place}", array_of(dataset)
        raise InputError(f"{source}: {video}: has no dataset {' or '.join(_H5_KEYS)}")


def _from_folder(folder: Path, video: str) -> tuple[str, Any]:
    """What a folder's file of a video holds, and the name of the place."""
    candidates = [folder / f"{video}{suffix}" for suffix in _FOLDER_SUFFIXES]
    file = next((file for file in candidates if file.is_file()), None)
    if file is None:
        endings = ", ".join(_FOLDER_SUFFIXES)
        raise InputError(f"{folder}: has no features of {video} ({endings})")
    if file.suffix == ".pt":
        return str(file), _from_torch(file)
    if file.suffix == ".npz":
        return _from_npz(file, "features")
    with refusing(file):
        return str(file), read_array(file)


def _from_npz(file: Path, key: str) -> tuple[str, Any]:
    """An array of a file, and the name of the place."""
    with refusing(file):
        stored = read_arrays(file, (key,))
    if key not in stored:
        raise InputError(f"{file}: has no array named {key}")
    return f"{file}: {key}", stored[key]


def _from_torch(file: Path) -> Any:
    """The tensor of a `.pt` file, or that called `features` of several; nothing else in it is ever run."""
    import torch

    from vidsum.checkpoints.tensors import fault_of, load_tensors

    try:
        with refusing(file):
            stored = load_tensors(file)
    except pickle.UnpicklingError as error:
        raise InputError(f"{file}: holds more than tensors, or is damaged") from error
    if isinstance(stored, dict):
        stored = stored.get("features")
    if not isinstance(stored, torch.Tensor):
        raise InputError(f"{file}: holds no tensor, alone or named features")
    if fault := fault_of(stored):
        raise InputError(f"{file}: its tensor {fault}")
    return stored.detach().float().numpy()
