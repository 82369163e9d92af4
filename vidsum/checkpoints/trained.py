"""Checkpoints of vidsum's training: safetensors, with the JSON of `Trained` in the metadata `vidsum`."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from safetensors import SafetensorError, safe_open

from vidsum.errors import InputError, quote, safe_name
from vidsum.io.atomic import atomic_write
from vidsum.io.file_names import missing_file
from vidsum.io.text import parse_json

if TYPE_CHECKING:
    from torch import nn

Model = TypeVar("Model", bound="nn.Module")

SCHEMA = "vidsum.checkpoint/1"
NUMPY_MODELS = ("ridge", "vse")  # models that run without torch, which takes seconds to import
_KEY = "vidsum"


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model: its weights, and what is needed to build and to feed it."""

    model: str  # for example `fulltransnet`
    config: Mapping[str, Any]  # the fields of the model's own configuration
    features: Mapping[str, Any]  # `extractor`, `dim` and `fps` of the features that it was trained on
    training: Mapping[str, Any]  # settings of the training, its data, and how it went
    tensors: "Mapping[str, Any]"  # state dict, on the CPU; arrays for `NUMPY_MODELS`


def save_trained(path: str | os.PathLike[str], trained: Trained) -> None:
    """Write a checkpoint; the same content gives the same bytes. Raises OutputError."""
    facts: dict[str, Any] = {key: dict(getattr(trained, key)) for key in ("config", "features", "training")}
    facts["model"] = trained.model
    write_tensors(path, SCHEMA, facts, trained.tensors)


def read_trained(path: str | os.PathLike[str]) -> Trained:
    """Read a checkpoint of `save_trained`. Raises InputError where the file is missing or something else."""
    facts, tensors = read_tensors(path, SCHEMA)
    kinds = {"model": str, "config": dict, "features": dict, "training": dict}
    for key, kind in kinds.items():
        if not isinstance(facts.get(key), kind):
            raise InputError(f"not a checkpoint of vidsum (its metadata has no {key})", subject=path)
    return Trained(**{key: facts[key] for key in kinds}, tensors=tensors)


def build_trained(
    trained: Trained, model: str, make: Callable[[Mapping[str, Any]], Model], name: str
) -> Model:
    """Build the expected `model` by `make` with its weights. Raises InputError: another, or misfits."""
    if trained.model != model:
        raise InputError(f"a checkpoint of {safe_name(trained.model)}, not of {model}", subject=name)
    try:
        network = make(trained.config)
        if any(tensor.is_complex() for tensor in trained.tensors.values()):
            raise TypeError("weights cannot be complex numbers")
        network.load_state_dict({key: tensor.float() for key, tensor in trained.tensors.items()})
    except (TypeError, ValueError, RuntimeError, OverflowError, MemoryError) as error:
        raise InputError("its tensors and its configuration do not fit together", subject=name) from error
    if not all(tensor.isfinite().all() for tensor in network.state_dict().values()):
        raise InputError("its tensors hold NaN or infinite values", subject=name)
    return network.eval()


def write_tensors(
    path: str | os.PathLike[str], schema: str, facts: Mapping[str, Any], tensors: Mapping[str, Any]
) -> None:
    """Write tensors or arrays, with JSON-ready facts about them, as safetensors. Raises OutputError."""
    metadata = {_KEY: json.dumps({"schema": schema, **facts}, sort_keys=True)}
    if facts.get("model") in NUMPY_MODELS:
        import numpy as np
        from safetensors.numpy import save as save_arrays

        # which writes the memory of an array in column order as it lies
        rows = {name: np.asarray(array, order="C") for name, array in tensors.items()}
        content = save_arrays(rows, metadata=metadata)
    else:
        from safetensors.torch import save

        # clones: safetensors refuses tensors that share memory
        owned = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
        content = save(owned, metadata=metadata)
    with atomic_write(path) as part:
        # not save_file, which makes a temporary file of its own that a killed run would leave
        part.write_bytes(content)


def read_tensors(path: str | os.PathLike[str], schema: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facts and tensors that `write_tensors` wrote under this schema; errors as `read_trained`."""
    source = Path(path)
    if not source.exists():
        raise missing_file(source)
    if not source.is_file():
        raise InputError("is not a file", subject=source)
    try:
        with safe_open(source, framework="numpy") as file:
            text = (file.metadata() or {}).get(_KEY)
        if text is None:
            fault = f"has tensors, but does not say of which model (no {_KEY!r} metadata)"
            raise InputError(fault, subject=source)
        facts = parse_json(text, f"{source}: its {_KEY!r} metadata")
        if not isinstance(facts, dict):
            raise InputError(f"its {_KEY!r} metadata is not a JSON object", subject=source)
        if facts.get("schema") != schema:
            fault = f"has the schema {quote(facts.get('schema'))}, not {schema!r}"
            raise InputError(
                fault, hint="the checkpoint of a trained split is its best.safetensors", subject=source
            )
        with safe_open(source, framework="numpy" if facts.get("model") in NUMPY_MODELS else "pt") as file:
            return facts, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (OSError, SafetensorError, TypeError) as error:  # NumPy knows no bfloat16
        raise InputError(
            "cannot be read as safetensors (damaged, or another format)", subject=source
        ) from error
