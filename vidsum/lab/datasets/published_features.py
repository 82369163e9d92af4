"""Features of annotated videos in the layouts in which the field publishes them, and of their queries.

- HDF5, a dataset per video (TACoS C3D, Charades VGG: [N, 4096]) or a group (ActivityNet C3D: `c3d_features`);
- a folder of VIDEO.npz with `features` (QVHighlights, `vidsum extract`), VIDEO.npy ([N, D] or [N, 1, 1, D],
  Charades I3D) or VIDEO.pt;
- captions of clips, which MiniLM embeds (`vidsum.lab.datasets.clip_captions`).

Rows are brought to length 1, as the published models take them; several sources are put side by side.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from vidsum.errors import InputError, WeightsError, safe_name
from vidsum.io.arrays import convert_errors, read_array, read_arrays
from vidsum.io.file_names import missing_file
from vidsum.lab.datasets.clip_captions import Captions, embed_captions, is_captions, read_clip_captions
from vidsum.lab.datasets.timed_sentences import Query
from vidsum.models.scaling import mean_of_normalised, unit_rows
from vidsum.results.feature_h5 import member, open_h5, read_dataset
from vidsum.types import FloatArray, Progress

ReadParts = Callable[[str], tuple[FloatArray, ...]]

_H5_KEYS = ("c3d_features", "features")
_FOLDER_SUFFIXES = (".npz", ".npy", ".pt")
_VIDEO_KEYS = ("features",)
_WORDS_KEY = "last_hidden_state"
_QUERY_KEYS = (*_VIDEO_KEYS, _WORDS_KEY)
_MOST_APART = 2
"""Rows that the published sources of one video differ by: networks round its end in their ways."""


def open_features(
    sources: Sequence[Path], videos: Collection[str], progress: Progress | None = None
) -> ReadParts:
    """Return a function that reads the features of a video, an [N, D] with rows of length 1 for each source.

    Captions of clips are embedded at once. Raises InputError: a source lacks a video or is none of the
    layouts. The function raises it where a source holds no [N, D] of finite numbers, or has another rate or
    D than for the first video that is read.
    """
    readers = [_open_source(source, videos, progress) for source in sources]
    dims: dict[Path, tuple[str, int]] = {}

    def read(video: str) -> tuple[FloatArray, ...]:
        parts = [_check_array(*reader(video)) for reader in readers]
        for source, part in zip(sources, parts, strict=True):
            _check_dim(source, video, part, dims)
        lengths = [len(part) for part in parts]
        if max(lengths) - min(lengths) > _MOST_APART:
            rows = ", ".join(f"{source} {length}" for source, length in zip(sources, lengths, strict=True))
            fault = f"features have different rates, by their rows: {rows}"
            raise InputError(fault, hint="features of the same rate", subject=video)
        return tuple(part[: min(lengths)] for part in parts)

    return read


def _open_source(
    source: Path, videos: Collection[str], progress: Progress | None
) -> Callable[[str], tuple[str, Any]]:
    """Return what gives the name of a video's features in a source, and the features."""
    captions: Captions = {}
    if source.is_dir():
        held = _names_in(source)
    elif not source.is_file():
        if not source.exists():
            raise missing_file(source, "no such file or folder")
        raise InputError("is neither file nor folder", subject=source)
    elif is_captions(source):
        captions = read_clip_captions(source)
        held = set(captions)
    else:
        with open_h5(source) as file:
            held = set(file)
    if missing := [video for video in videos if video not in held]:
        counts = f"{len(missing)} of {len(videos)} videos, such as {missing[0]}"
        raise InputError(f"has no features of {counts}", subject=source)
    if captions:
        embedded = embed_captions(captions, progress)
        return lambda video: (f"{source}: {video}", embedded[video])
    return partial(_from_folder if source.is_dir() else _from_h5, source)


def _names_in(folder: Path) -> set[str]:
    return {file.stem for file in folder.iterdir() if file.suffix in _FOLDER_SUFFIXES}


def read_words(folder: Path, qids: Iterable[str]) -> list[FloatArray]:
    """Return [L, D] words of each query, rows of length 1, of `folder/qid{N}.npz`.

    Raises InputError: a file is missing, or has another D than the first.
    """
    words: list[FloatArray] = []
    dims: dict[Path, tuple[str, int]] = {}
    for qid in qids:
        file = folder / f"qid{qid}.npz"
        if not file.is_file():
            raise InputError(f"has no words of query {qid} ({file.name})", subject=folder)
        words.append(_check_array(*_from_npz(file, (_WORDS_KEY,))))
        _check_dim(folder, file.stem, words[-1], dims)
    return words


def _check_dim(source: Path, name: str, rows: FloatArray, dims: dict[Path, tuple[str, int]]) -> None:
    """Raise InputError where rows have another size than the first of their source, which is kept."""
    dim = rows.shape[-1]
    first, expected = dims.setdefault(source, (name, dim))
    if dim != expected:
        raise InputError(f"{name} has {dim} numbers, {first} {expected}", subject=source)


def read_queries(folder: Path, queries: Sequence[Query]) -> FloatArray:
    """Return [M, D] of queries from files called `Query.features_name`, as MRNet's public code reads them.

    A file holds a vector, taken as it is, or L tokens or frames [L, D]: their mean, each normalised
    (LayerNorm without weights). Raises InputError: a file is missing, nameless or of another size, or holds
    something else.
    """
    if nameless := next((query for query in queries if not query.features_name), None):
        fault = f"no file name for the query {safe_name(nameless.text)} of {nameless.video}"
        raise InputError(
            fault,
            hint="annotations with audios, as MRNet's authors publish them, or with qid",
            subject=folder,
        )
    if not folder.is_dir():
        raise InputError("not a folder with a file per query", subject=folder)
    held = _names_in(folder)
    if missing := [query.features_name for query in queries if query.features_name not in held]:
        raise InputError(
            f"has no features of {len(missing)} of {len(queries)} queries, such as {missing[0]}",
            subject=folder,
        )
    vectors = [_query_vector(*_from_folder(folder, query.features_name, _QUERY_KEYS)) for query in queries]
    dims: dict[Path, tuple[str, int]] = {}
    for query, vector in zip(queries, vectors, strict=True):
        _check_dim(folder, query.features_name, vector, dims)
    return np.stack(vectors)


def _query_vector(where: str, stored: Any) -> FloatArray:
    """Return [D]; see `read_queries`."""
    array = np.asarray(stored)
    if array.dtype.kind not in "fiu" or 0 in (*array.shape, array.ndim) or np.prod(array.shape[:-2]) != 1:
        shape = f"{list(array.shape)} {array.dtype}"
        raise InputError(f"features of a query must be [D] or [L, D] numbers, not {shape}", subject=where)
    rows = _finite(where, array.reshape(-1, array.shape[-1]))
    return mean_of_normalised(rows) if len(rows) > 1 else np.asarray(rows[0], np.float32)


def _check_array(where: str, stored: Any) -> FloatArray:
    """Return [N, D] rows of length 1."""
    array = np.asarray(stored)
    if array.dtype.kind not in "fiu" or array.ndim < 2 or 0 in array.shape:
        raise InputError(
            f"features must be [N, D] numbers, not {list(array.shape)} {array.dtype}", subject=where
        )
    if array.ndim > 2 and array.size != array.shape[0] * array.shape[-1]:
        raise InputError(f"features must be [N, D], not {list(array.shape)}", subject=where)
    return unit_rows(_finite(where, array.reshape(len(array), -1)))


def _finite(where: str, rows: npt.NDArray[Any]) -> FloatArray:
    floats = rows.astype(np.float32)
    if not np.isfinite(floats).all():
        raise InputError("holds NaN or infinite values", subject=where)
    return floats


def _from_h5(source: Path, video: str) -> tuple[str, Any]:
    with open_h5(source) as file:
        entry = member(file, video)
        entries = {video: entry}
        if isinstance(entry, h5py.Group):
            entries = {f"{video}/{key}": member(entry, key) for key in _H5_KEYS}
        for name, dataset in entries.items():
            if isinstance(dataset, h5py.Dataset):
                return f"{source}: {name}", read_dataset(dataset)
        raise InputError(f"{video}: has no dataset {' or '.join(_H5_KEYS)}", subject=source)


def _from_folder(folder: Path, name: str, keys: Sequence[str] = _VIDEO_KEYS) -> tuple[str, Any]:
    """Return an array of a folder; `keys` are those that it may have in its file."""
    file = next(file for suffix in _FOLDER_SUFFIXES if (file := folder / f"{name}{suffix}").exists())
    if file.suffix == ".pt":
        return str(file), _from_torch(file, keys)
    if file.suffix == ".npz":
        return _from_npz(file, keys)
    with convert_errors(file):
        return str(file), read_array(file)


def _from_npz(file: Path, keys: Sequence[str]) -> tuple[str, Any]:
    with convert_errors(file):
        stored = read_arrays(file, keys)
    for key in keys:
        if key in stored:
            return f"{file}: {key}", stored[key]
    raise InputError(f"has no array named {' or '.join(keys)}", subject=file)


def _from_torch(file: Path, keys: Sequence[str]) -> Any:
    """Return the tensor of a `.pt` file, or the first under a key; nothing else in it is run."""
    from vidsum.checkpoints.torch_files import StoredTensor, TorchFile

    try:
        with convert_errors(file):
            torch_file = TorchFile(file, str(file))
        stored = torch_file.content
        if isinstance(stored, dict):
            stored = next((stored[key] for key in keys if key in stored), None)
        if isinstance(stored, StoredTensor):
            return torch_file.arrays({"its tensor": stored})["its tensor"].astype(np.float32)
    except WeightsError as error:
        raise InputError("holds more than tensors, or is damaged", subject=file) from error
    raise InputError(f"holds no tensor, alone or named {' or '.join(keys)}", subject=file)
