"""Features of annotated videos in the layouts in which the field publishes them, and of their queries.

- HDF5, a dataset per video (TACoS C3D, Charades VGG: [N, 4096]) or a group (ActivityNet C3D: `c3d_features`);
- a folder of VIDEO.npz with `features` (QVHighlights, `vidsum extract`), VIDEO.npy ([N, D] or [N, 1, 1, D],
  Charades I3D) or VIDEO.pt;
- captions of clips, which MiniLM embeds (`vidsum.lab.datasets.clip_captions`).

Rows are brought to length 1, as the published models take them; several sources are put side by side.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from vidsum.errors import InputError, WeightsError, safe_name
from vidsum.grounding.windows import resample
from vidsum.io.arrays import convert_errors, read_array, read_arrays
from vidsum.lab.datasets.clip_captions import embed_captions, is_captions, read_clip_captions
from vidsum.lab.datasets.moments import Query
from vidsum.models.scaling import mean_of_normalised, unit_rows
from vidsum.results.feature_h5 import member, open_h5, read_dataset
from vidsum.types import FloatArray, Progress

_H5_KEYS = ("c3d_features", "features")
_FOLDER_SUFFIXES = (".npz", ".npy", ".pt")
_VIDEO_KEYS = ("features",)
_WORDS_KEY = "last_hidden_state"
_QUERY_KEYS = (*_VIDEO_KEYS, _WORDS_KEY)
_MOST_APART = 2
"""Rows that the published sources of one video differ by: networks round its end in their ways."""


def read_parts(sources: Sequence[Path], video: str) -> tuple[FloatArray, ...]:
    """Return the features of one video, an [N, D] with rows of length 1 for each source.

    Raises InputError: a source lacks the video, holds no [N, D] of finite numbers, or has another rate.
    """
    parts = [_check_array(*_read_stored(source, video)) for source in sources]
    lengths = [len(part) for part in parts]
    if max(lengths) - min(lengths) > _MOST_APART:
        rows = ", ".join(f"{source} {length}" for source, length in zip(sources, lengths, strict=True))
        raise InputError(
            f"{video}: features have different rates, by their rows: {rows}", hint="features of the same rate"
        )
    return tuple(part[: min(lengths)] for part in parts)


def read_moment_features(sources: Sequence[Path], video: str) -> FloatArray:
    """Return the same side by side: [N, D], where D is the sum of theirs."""
    return np.concatenate(read_parts(sources, video), axis=1)


def read_clips(sources: Sequence[Path], video: str, n_clips: int) -> FloatArray:
    """Return the same averaged into a fixed number of clips over the whole video: [n_clips, D]."""
    return resample(read_moment_features(sources, video), n_clips)


def check_features(sources: Sequence[Path], videos: Collection[str]) -> None:
    """Raise InputError, before any work, where a source lacks some videos or is none of the layouts."""
    for source in sources:
        if source.is_dir():
            held = _names_in(source)
        elif is_captions(source):
            held = set(read_clip_captions(source))
        else:
            with open_h5(_h5_file(source)) as file:
                held = set(file)
        missing = [video for video in videos if video not in held]
        if missing:
            raise InputError(
                f"{source}: has no features of {len(missing)} of {len(videos)} videos, such as {missing[0]}"
            )


def _names_in(folder: Path) -> set[str]:
    return {file.stem for file in folder.iterdir() if file.suffix in _FOLDER_SUFFIXES}


def embed_sources(sources: Sequence[Path], device: str, progress: Progress | None = None) -> None:
    """Embed the captions of those sources that hold some, which takes long: `read_parts` then does not."""
    for source in sources:
        if not source.is_dir() and is_captions(source):
            embed_captions(source, device, progress)


def _h5_file(source: Path) -> Path:
    if not source.is_file():
        reason = "is neither file nor folder" if source.exists() else "no such file or folder"
        raise InputError(f"{source}: {reason}")
    return source


def read_words(folder: Path, qid: str) -> FloatArray:
    """Return [L, D] words of a query, rows of length 1, of `folder/qid{N}.npz`; InputError without."""
    file = folder / f"qid{qid}.npz"
    if not file.is_file():
        raise InputError(f"{folder}: has no words of query {qid} ({file.name})")
    return _check_array(*_from_npz(file, (_WORDS_KEY,)))


def read_queries(folder: Path, queries: Sequence[Query]) -> FloatArray:
    """Return [M, D] of queries from files called `Query.features_name`, as MRNet's public code reads them.

    A file holds a vector, taken as it is, or L tokens or frames [L, D]: their mean, each normalised
    (LayerNorm without weights). Raises InputError: a file is missing, nameless or of another size, or holds
    something else.
    """
    if nameless := next((query for query in queries if not query.features_name), None):
        fault = f"{folder}: no file name for the query {safe_name(nameless.text)} of {nameless.video}"
        raise InputError(fault, hint="annotations with audios, as MRNet's authors publish them, or with qid")
    if not folder.is_dir():
        raise InputError(f"{folder}: not a folder with a file per query")
    held = _names_in(folder)
    if missing := [query.features_name for query in queries if query.features_name not in held]:
        raise InputError(
            f"{folder}: has no features of {len(missing)} of {len(queries)} queries, such as {missing[0]}"
        )
    vectors = [_query_vector(*_from_folder(folder, query.features_name, _QUERY_KEYS)) for query in queries]
    for query, vector in zip(queries, vectors, strict=True):
        if len(vector) != len(vectors[0]):
            sizes = f"{len(vector)} numbers, {queries[0].features_name} {len(vectors[0])}"
            raise InputError(f"{folder}: {query.features_name} has {sizes}")
    return np.stack(vectors)


def _query_vector(where: str, stored: Any) -> FloatArray:
    """Return [D]; see `read_queries`."""
    array = np.asarray(stored)
    if array.dtype.kind not in "fiu" or 0 in (*array.shape, array.ndim) or np.prod(array.shape[:-2]) != 1:
        shape = f"{list(array.shape)} {array.dtype}"
        raise InputError(f"{where}: features of a query must be [D] or [L, D] numbers, not {shape}")
    rows = _finite(where, array.reshape(-1, array.shape[-1]))
    return mean_of_normalised(rows) if len(rows) > 1 else np.asarray(rows[0], np.float32)


def _check_array(where: str, stored: Any) -> FloatArray:
    """Return [N, D] rows of length 1."""
    array = np.asarray(stored)
    if array.dtype.kind not in "fiu" or array.ndim < 2 or 0 in array.shape:
        raise InputError(f"{where}: features must be [N, D] numbers, not {list(array.shape)} {array.dtype}")
    if array.ndim > 2 and array.size != array.shape[0] * array.shape[-1]:
        raise InputError(f"{where}: features must be [N, D], not {list(array.shape)}")
    return unit_rows(_finite(where, array.reshape(len(array), -1)))


def _finite(where: str, rows: npt.NDArray[Any]) -> FloatArray:
    floats = rows.astype(np.float32)
    if not np.isfinite(floats).all():
        raise InputError(f"{where}: holds NaN or infinite values")
    return floats


def _read_stored(source: Path, video: str) -> tuple[str, Any]:
    """Return the name of a video's features in a source, and the features."""
    if source.is_dir():
        return _from_folder(source, video, _VIDEO_KEYS)
    if not is_captions(source):
        return _from_h5(source, video)
    videos = embed_captions(source)
    if video not in videos:
        raise InputError(f"{source}: has no features of {video}")
    return f"{source}: {video}", videos[video]


def _from_h5(source: Path, video: str) -> tuple[str, Any]:
    """Return the same of an HDF5 file."""
    with open_h5(_h5_file(source)) as file:
        entry = member(file, video)
        if entry is None:
            raise InputError(f"{source}: has no features of {video}")
        entries = {video: entry}
        if isinstance(entry, h5py.Group):
            entries = {f"{video}/{key}": member(entry, key) for key in _H5_KEYS}
        for name, dataset in entries.items():
            if isinstance(dataset, h5py.Dataset):
                return f"{source}: {name}", read_dataset(dataset)
        raise InputError(f"{source}: {video}: has no dataset {' or '.join(_H5_KEYS)}")


def _from_folder(folder: Path, name: str, keys: Sequence[str]) -> tuple[str, Any]:
    """Return the same of a folder; `keys` are those that the array may have in its file."""
    candidates = [folder / f"{name}{suffix}" for suffix in _FOLDER_SUFFIXES]
    file = next((file for file in candidates if file.is_file()), None)
    if file is None:
        raise InputError(f"{folder}: has no features of {name} ({', '.join(_FOLDER_SUFFIXES)})")
    if file.suffix == ".pt":
        return str(file), _from_torch(file, keys)
    if file.suffix == ".npz":
        return _from_npz(file, keys)
    with convert_errors(file):
        return str(file), read_array(file)


def _from_npz(file: Path, keys: Sequence[str]) -> tuple[str, Any]:
    """Return the same of an array of a file, the first that it has."""
    with convert_errors(file):
        stored = read_arrays(file, keys)
    for key in keys:
        if key in stored:
            return f"{file}: {key}", stored[key]
    raise InputError(f"{file}: has no array named {' or '.join(keys)}")


def _from_torch(file: Path, keys: Sequence[str]) -> Any:
    """Return the tensor of a `.pt` file, or the first under a key; nothing else in it is run."""
    from vidsum.checkpoints.torch_files import StoredTensor, TorchFile

    try:
        with convert_errors(file):
            torch_file = TorchFile(file, str(file))
    except WeightsError as error:
        raise InputError(f"{file}: holds more than tensors, or is damaged") from error
    stored = torch_file.content
    if isinstance(stored, dict):
        stored = next((stored[key] for key in keys if key in stored), None)
    if not isinstance(stored, StoredTensor):
        raise InputError(f"{file}: holds no tensor, alone or named {' or '.join(keys)}")
    try:
        return torch_file.arrays({"its tensor": stored})["its tensor"].astype(np.float32)
    except WeightsError as error:
        raise InputError(error.message) from error
