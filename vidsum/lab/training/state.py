"""The folder of a training run: its state after the last epoch, with the history, and its log to read."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from vidsum.checkpoints.named import BEST as BEST
from vidsum.checkpoints.trained import read_tensors, read_trained, write_tensors
from vidsum.errors import InputError, Mention, OutputError, fill
from vidsum.io.atomic import atomic_write
from vidsum.io.provenance import flat

SCHEMA = "vidsum.training_state/2"
LAST, LOG = "last.safetensors", "log.csv"
_ANEW = fill("{} starts over, or choose another {}", Mention("overwrite", True), Mention("out"))


@dataclass(frozen=True)
class Epoch:
    """One line of the log."""

    epoch: int  # counted from 1
    loss: float  # mean over the training examples
    validation: float | None  # higher is better; None where there is no validation part


def save_state(
    folder: Path,
    model: nn.Module,
    optimizer: Optimizer,
    facts: Mapping[str, Any],
    history: Sequence[Epoch],
    *,
    finished: bool,
) -> None:
    """Write the log, then history, weights and optimizer state after the last epoch."""
    with atomic_write(folder / LOG) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Epoch))
        writer.writerows(astuple(epoch) for epoch in history)
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": tensor for key, tensor in state.items()}
    header = {"run": dict(facts), "history": list(map(asdict, history)), "finished": finished}
    write_tensors(folder / LAST, SCHEMA, header, tensors)


def load_state(
    folder: Path, model: nn.Module, optimizer: Optimizer, facts: Mapping[str, Any]
) -> tuple[Epoch, ...]:
    """Load the state in the folder, if any, into model and optimizer; return its epochs.

    Raises OutputError: a run with other facts. InputError: a file of the run is damaged or missing.
    """
    if not (folder / LAST).exists():
        return ()
    try:
        header, tensors = read_tensors(folder / LAST, SCHEMA)
        require_same(header.get("run", {}), facts, folder)
        history = _history(header, folder / LAST)
        if not (folder / BEST).is_file():
            raise InputError(f"{folder / BEST}: is missing, though the run has got to epoch {len(history)}")
    except InputError as error:
        raise InputError(error.text, hint=_ANEW) from error
    model.load_state_dict(_with_prefix("model.", tensors))
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in _with_prefix("optimizer.", tensors).items():
        index, _, key = name.partition(".")
        state.setdefault(int(index), {})[key] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    return history


def clear(folder: Path) -> None:
    """Remove the run in a folder; the state first, so that no half of it is taken for a run.

    The checkpoint goes last: files beside one are of a run.
    """
    for name in (LAST, LOG, BEST):
        (folder / name).unlink(missing_ok=True)
    for path in folder.glob(epoch_file("*")):
        if _is_checkpoint(path):
            path.unlink()


def epoch_file(epoch: int | str) -> str:
    return f"epoch_{epoch}.safetensors"


def refuse_foreign(folder: Path) -> None:
    """Raise OutputError where files have the names of a run's, and neither state nor checkpoint is there."""
    named = [path for name in (BEST, LOG) if (path := folder / name).exists()]
    if named and not (folder / LAST).exists() and not _is_checkpoint(folder / BEST):
        raise OutputError(f"{named[0]}: already exists, and is not of a training run", hint=_ANEW)


def _is_checkpoint(path: Path) -> bool:
    try:
        read_trained(path)
    except InputError:
        return False
    return True


def clear_parts(folder: Path) -> None:
    """Remove the temporary files that a killed run left."""
    for part in folder.glob(".*.part.*"):
        part.unlink(missing_ok=True)


def require_same(before: Mapping[str, Any], now: Mapping[str, Any], place: Path) -> None:
    """Raise OutputError, which names the differences, unless the run recorded at a place has these facts."""
    as_read = json.loads(json.dumps(now))  # lists in place of tuples
    old, new = ({".".join(path): value for path, value in flat(facts)} for facts in (before, as_read))
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    if changed:
        named = [f"{key} was {_shorten(old.get(key))}, is {_shorten(new.get(key))}" for key in changed[:3]]
        more = f"; and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise OutputError(f"{place}: holds a run with other settings ({'; '.join(named)}{more})", hint=_ANEW)


def is_finished(folder: Path) -> bool:
    """Return whether a folder has a checkpoint, and no state of a training that would go on."""
    if not (folder / LAST).is_file():
        return (folder / BEST).is_file()
    return bool(read_tensors(folder / LAST, SCHEMA)[0].get("finished"))


def _history(header: Mapping[str, Any], source: Path) -> tuple[Epoch, ...]:
    """Return the epochs of a state, from 1 on. Raises InputError where it does not have them."""
    try:
        history = tuple(Epoch(**epoch) for epoch in header["history"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{source}: has no history of a training run") from error
    if not history or [epoch.epoch for epoch in history] != list(range(1, len(history) + 1)):
        raise InputError(f"{source}: does not hold all epochs from 1 on")
    return history


def _with_prefix(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}


def _shorten(value: object) -> str:
    text = "absent" if value is None else str(value)
    return text if len(text) <= 24 else f"{text[:20]} ..."
