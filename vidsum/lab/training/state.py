"""The folder of a training run: its state after the last epoch, with the history, and its log to read."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from vidsum.checkpoints.named import BEST as BEST
from vidsum.checkpoints.trained import Trained, read_tensors, save_trained, write_tensors
from vidsum.errors import InputError, Mention, OutputError, fill
from vidsum.io.provenance import flat
from vidsum.outputs.artifacts import Artifacts
from vidsum.outputs.output_records import record_of

SCHEMA = "vidsum.training_state/2"
LAST, LOG = "last.safetensors", "log.csv"
_ANEW = fill("{} starts over, or choose another {}", Mention("overwrite", True), Mention("out"))


@dataclass(frozen=True)
class Epoch:
    """One line of the log."""

    epoch: int  # counted from 1
    loss: float  # mean over the training examples
    validation: float | None  # higher is better; None where there is no validation part
    perplexity: float | None = None  # see `vidsum.lab.training.spread`; None where it is not measured
    deviation: float | None = None


def save_checkpoint(folder: Path, names: Sequence[str], checkpoint: Trained, *, overwrite: bool) -> None:
    """Write a checkpoint under some names. Raises OutputError: one is foreign, or cannot be written."""
    _write(folder, dict.fromkeys(names, lambda path: save_trained(path, checkpoint)), overwrite=overwrite)


def save_state(
    folder: Path,
    model: nn.Module,
    optimizer: Optimizer,
    facts: Mapping[str, Any],
    history: Sequence[Epoch],
    *,
    finished: bool,
    overwrite: bool,
) -> None:
    """Write the log, then history, weights and optimizer state after the last epoch.

    Raises OutputError: one is foreign, or cannot be written.
    """

    def write_log(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(field.name for field in fields(Epoch))
            writer.writerows(astuple(epoch) for epoch in history)

    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{key}": tensor for key, tensor in state.items()}
    header = {"run": dict(facts), "history": list(map(asdict, history)), "finished": finished}
    _write(folder, {LOG: write_log}, overwrite=overwrite)
    _write(folder, {LAST: lambda path: write_tensors(path, SCHEMA, header, tensors)}, overwrite=overwrite)


def _files(folder: Path, names: Iterable[str]) -> Artifacts:
    """Return some files of a run, which one record lists."""
    return Artifacts(record_of(folder / LAST), {name: folder / name for name in names})


def _write(folder: Path, writers: Mapping[str, Callable[[Path], None]], *, overwrite: bool) -> None:
    """Write some files of a run; the others stay, and stay listed."""

    def write(name: str, _: None, path: Path) -> tuple[str, ...]:
        writers[name](path)
        return ()

    _files(folder, writers).write(
        None,
        {name: partial(write, name) for name in writers},
        overwrite=overwrite,
        compose=lambda _: ({}, lambda name: True),
    )


def load_state(
    folder: Path, model: nn.Module, optimizer: Optimizer, facts: Mapping[str, Any]
) -> tuple[Epoch, ...]:
    """Load the state in the folder, if any, into model and optimizer; return its epochs.

    Raises OutputError: a run with other facts. InputError: a file of the run is damaged.
    """
    if not (folder / LAST).exists():
        return ()
    try:
        header, tensors = read_tensors(folder / LAST, SCHEMA)
        require_same(header.get("run", {}), facts, folder)
        history = _history(header, folder / LAST)
    except InputError as error:
        raise InputError(error.text, hint=_ANEW, subject=error.subject) from error
    model.load_state_dict(_with_prefix("model.", tensors))
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in _with_prefix("optimizer.", tensors).items():
        index, _, key = name.partition(".")
        state.setdefault(int(index), {})[key] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    return history


def clear(folder: Path) -> None:
    """Remove the files of the run in a folder that its record lists, unless somebody edited them."""
    _files(folder, ()).write(None, {}, overwrite=True, compose=lambda _: ({}, lambda name: False))


def drop_best(folder: Path) -> None:
    """Remove the checkpoint of the run in a folder; its log and the last epoch's state stay. See `clear`."""
    _files(folder, ()).write(None, {}, overwrite=True, compose=lambda _: ({}, lambda name: name != BEST))


def require_best(folder: Path, n_epochs: int) -> None:
    """Raise an InputError where the run in a folder, of some epochs, lacks its checkpoint."""
    if n_epochs and not (folder / BEST).is_file():
        fault = f"is missing, though the run has got to epoch {n_epochs}"
        raise InputError(fault, hint=_ANEW, subject=folder / BEST)


def clear_runs(out: Path) -> None:
    """Remove the runs in the folders of a folder; see `clear`."""
    for record in out.glob(f"*/{record_of(Path(LAST)).name}"):
        clear(record.parent)


def require_ours(folder: Path) -> None:
    """Raise an OutputError, before any work, where a file of a run is foreign."""
    try:
        _files(folder, ()).require_ours(folder / name for name in (LAST, LOG, BEST))
    except OutputError as error:
        raise OutputError(error.text, _ANEW, subject=error.subject) from error


def epoch_file(epoch: int) -> str:
    return f"epoch_{epoch}.safetensors"


def require_same(before: Mapping[str, Any], now: Mapping[str, Any], place: Path) -> None:
    """Raise OutputError, which names the differences, unless the run recorded at a place has these facts."""
    as_read = json.loads(json.dumps(now))  # lists in place of tuples
    old, new = ({".".join(path): value for path, value in flat(facts)} for facts in (before, as_read))
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    if changed:
        named = [f"{key} was {_shorten(old.get(key))}, is {_shorten(new.get(key))}" for key in changed[:3]]
        more = f"; and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise OutputError(
            f"holds a run with other settings ({'; '.join(named)}{more})", hint=_ANEW, subject=place
        )


def is_finished(folder: Path) -> bool:
    """Return whether a folder has a checkpoint, and no state of a training that would go on."""
    if not (folder / BEST).is_file():
        return False
    return not (folder / LAST).is_file() or bool(read_tensors(folder / LAST, SCHEMA)[0].get("finished"))


def _history(header: Mapping[str, Any], source: Path) -> tuple[Epoch, ...]:
    """Return the epochs of a state, from 1 on. Raises InputError where it does not have them."""
    try:
        history = tuple(Epoch(**epoch) for epoch in header["history"])
    except (KeyError, TypeError) as error:
        raise InputError("has no history of a training run", subject=source) from error
    if not history or [epoch.epoch for epoch in history] != list(range(1, len(history) + 1)):
        raise InputError("does not hold all epochs from 1 on", subject=source)
    return history


def _with_prefix(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}


def _shorten(value: object) -> str:
    text = "absent" if value is None else str(value)
    return text if len(text) <= 24 else f"{text[:20]} ..."
