"""Damaged files of arrays: npz, h5 and safetensors."""

import io
import json
import random
import zipfile
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.fuzz.mutations import damage, damage_json, damage_text

Array = npt.NDArray[Any]

_DTYPES = ("float16", "float64", "int8", "uint64", "complex64", "bool", "S3", "U3", "datetime64[s]")
_FILLS = (np.nan, np.inf, -np.inf, -1, 0, 1e300)


def npz(rng: random.Random) -> bytes:
    """A feature file, by its bytes, by one of its members, or with an array of another kind."""
    arrays, chosen = _features(), rng.random()
    if chosen < 0.3:
        return damage(_npz(arrays), rng)
    if chosen < 0.6:
        return _npz(_damaged(arrays, rng))
    members = {name: _npy(array) for name, array in arrays.items()}
    name = rng.choice(list(members))
    # numbers of the header, or any byte; the checksum of the archive still fits
    header = damage_text(members[name].decode("latin-1"), rng).decode("latin-1", "replace")
    members[name] = rng.choice([header.encode("latin-1", "replace"), damage(members[name], rng)])
    return _zipped(members)


def h5(rng: random.Random) -> bytes:
    """An annotated video, by its bytes or with a dataset of another kind."""
    return damage(_h5(_video()), rng) if rng.random() < 0.5 else _h5(_damaged(_video(), rng))


def checkpoint(rng: random.Random) -> bytes:
    """A small model, by its bytes, its header, what it tells of itself, or its tensors."""
    chosen = rng.random()
    if chosen < 0.25:
        return damage(_saved(*_model()), rng)
    tensors, facts = _model()
    if chosen < 0.6:
        return _saved(tensors, damage_json(facts, rng).decode("utf-8", "replace"))
    if chosen < 0.8:
        return _saved(_damaged(tensors, rng), facts)
    content = _saved(tensors, facts)
    size = int.from_bytes(content[:8], "little")
    header = damage_json(json.loads(content[8 : 8 + size]), rng)
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def _damaged(arrays: dict[str, Array], rng: random.Random) -> dict[str, Array]:
    """One or two arrays left out, renamed, or of another type, shape or content."""
    changed = dict(arrays)
    for _ in range(rng.randint(1, 2)):
        name = rng.choice(list(arrays))
        array = changed.pop(name, arrays[name])
        change = rng.randrange(8)
        if change == 1:
            changed[f"{name}x"] = array
        elif change > 1:
            with np.errstate(all="ignore"):
                changed[name] = _changed(array, rng)
    return changed


def _changed(array: Array, rng: random.Random) -> Array:
    """An array of another type, content, shape, length or order, or an empty one."""
    change, flat = rng.randrange(6), array.reshape(-1)
    if change == 0:
        with suppress(TypeError, ValueError):
            return array.astype(rng.choice(_DTYPES))
        return np.zeros(array.shape, np.int64)
    if change == 1 and array.dtype.kind in "iufb" and array.size:
        filled = flat.astype(np.float64)
        filled[rng.randrange(array.size) :] = rng.choice(_FILLS)
        return filled.reshape(array.shape)
    if change == 2:
        return rng.choice([array[None], array[..., None], flat, array.T, flat[:1]])
    if change == 3:
        return array[: rng.randrange(len(array) + 1)] if array.ndim else array[None][:0]
    if change == 4:
        return array[::-1] if array.ndim else -array if array.dtype.kind in "if" else array
    return np.zeros(rng.choice([(0,), (0, 4), (4, 0), (1, 1, 1, 1)]), array.dtype)


@cache
def _metadata() -> str:
    from vidsum.results.features import Features

    return json.dumps(Features.from_array(np.zeros((8, 4), np.float32)).metadata)


def _features() -> dict[str, Array]:
    return {
        "features": np.arange(32, dtype=np.float32).reshape(8, 4),
        "timestamps": np.arange(8) / 2,
        "metadata": np.array(_metadata()),
    }


def _video() -> dict[str, Array]:
    from tests.lab.datasets.h5_files import published

    arrays = {key: np.asarray(value) for key, value in published().items() if not isinstance(value, str)}
    return {**arrays, "timestamps": np.arange(8) / 2}


@cache
def _model() -> tuple[dict[str, Array], Any]:
    from dataclasses import asdict

    import torch

    from vidsum.models.configs import DETRConfig
    from vidsum.models.detr_models import build

    config = DETRConfig(dim_video=6, dim_query=3, clips=4, words=3, d=16, heads=2, d_ff=8, layers=1)
    torch.manual_seed(0)
    tensors = {name: tensor.numpy() for name, tensor in build("moment-detr", config).state_dict().items()}
    facts = {
        "schema": "vidsum.checkpoint/1",
        "model": "moment-detr",
        "config": asdict(config),
        "features": {"space": "features", "clip_s": 2.0},
        "training": {"seed": 0},
    }
    return tensors, facts


def _saved(tensors: dict[str, Array], facts: Any) -> bytes:
    from safetensors import SafetensorError
    from safetensors.numpy import save

    metadata = {"vidsum": facts if isinstance(facts, str) else json.dumps(facts)}
    stored = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    try:
        return save(stored, metadata=metadata)
    except (KeyError, SafetensorError):  # a type that the format does not have
        return save(
            {name: array.astype(np.float64) for name, array in stored.items() if array.dtype.kind in "iufb"},
            metadata,
        )


def _npy(array: Array) -> bytes:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    return content.getvalue()


def _npz(arrays: dict[str, Array]) -> bytes:
    return _zipped({name: _npy(array) for name, array in arrays.items()})


def _zipped(members: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, member in members.items():
            archive.writestr(f"{name}.npy", member)
    return content.getvalue()


def _h5(arrays: dict[str, Array]) -> bytes:
    import h5py

    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        for name, array in arrays.items():
            fits = array.dtype.kind not in "UM"
            file[f"video_1/{name}"] = array if fits else array.astype("S40")
    return content.getvalue()
