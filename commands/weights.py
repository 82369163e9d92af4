"""`vidsum weights`: list, fetch, check and find the pretrained weights."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vidsum.batch.inputs import BatchInput, plain_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import PRINTING, CommonOptions
from vidsum.commands.batch import run_verb
from vidsum.commands.options import Flags, Only, command, complete
from vidsum.commands.usage import CommandGroup
from vidsum.errors import (
    Problem,
    WeightsError,
)
from vidsum.features.settings import EXTRACTORS
from vidsum.options import Option, option

if TYPE_CHECKING:
    from vidsum.checkpoints.registry import EntryStatus

app = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, add_completion=False, help="Download and check the models."
)


Printing = Annotated[CommonOptions, Only(PRINTING), Flags(("json", "quiet", "verbose"))]


def _known() -> Iterable[str]:
    from vidsum.checkpoints import registry

    return [*registry.builtin_entries(), *registry.user_entries()]


Names = Annotated[
    list[str],
    typer.Argument(
        None,
        metavar="NAME",
        help="Names as `vidsum weights list` shows them.",
        autocompletion=complete(_known),
    ),
]
Name = Annotated[
    str,
    typer.Argument(..., help="A name as `vidsum weights list` shows it.", autocompletion=complete(_known)),
]


@command(app)
def list_(common: Printing) -> Reply:
    """List all weights: purpose, size, licence, and whether they are installed."""
    from vidsum import checkpoints

    statuses, rows = checkpoints.entries(), []
    for status in statuses:
        entry, state = status.entry, _state(status).replace("present", "installed")
        rows.append((entry.name, state, _size(status), entry.licence, entry.purpose))
    table = (("name", "state", "size", "licence", "description"), *rows)
    return Reply(data={"weights": [_facts(status) for status in statuses]}, table=table)


@dataclass(frozen=True, kw_only=True)
class PullOptions:
    """Weights to fetch."""

    PANEL = "Weights"

    all: bool = option("Fetch all weights that can be fetched.", False)


@command(
    app,
    "vidsum weights pull i3d",
    "vidsum weights pull best",
)
def pull(options: PullOptions, common: Printing, names: Names) -> None:
    """Fetch weights and check their SHA-256; without a name, the weights of the default extractor.

    `best` is the most accurate image-text space that is free to use and fits this machine.
    """
    from vidsum import checkpoints
    from vidsum.checkpoints.best import BEST_SPACE, best_space, describe_cost
    from vidsum.features.settings import DEFAULT_EXTRACTOR

    every = [status.entry.name for status in checkpoints.entries()]
    wanted = every if options.all else names or [DEFAULT_EXTRACTOR]

    if BEST_SPACE in wanted:
        best = best_space()
        wanted = list(dict.fromkeys(best.name if name == BEST_SPACE else name for name in wanted))
        if not common.quiet:  # before the download, which takes minutes
            print(describe_cost(best), file=sys.stderr)

    def step(item: BatchInput, progress: Progress | None) -> Reply:
        path = checkpoints.fetch(item.path, progress)
        return Reply(data={"path": str(path)}, lines=(f"{item.path}: {path}",))

    run_verb("weights pull", step, plain_inputs(wanted), common, are_videos=False)


@command(app)
def verify(common: Printing, names: Names) -> None:
    """Check the SHA-256 of weights; without a name, of all installed ones."""
    from vidsum import checkpoints

    wanted = names or [status.entry.name for status in checkpoints.entries() if status.state != "missing"]

    def step(item: BatchInput, progress: Progress | None) -> Reply:
        status = checkpoints.verify(item.path)
        if status.state == "present":
            return Reply(data=_facts(status), lines=(f"{item.path}: verified",))
        fault, hint = status.reason or status.state, status.entry.repair_command
        problem = Problem.of(WeightsError(fault, hint, subject=item.path))
        return Reply(data=_facts(status), errors=(problem,), exit_code=WeightsError.exit_code)

    run_verb("weights verify", step, plain_inputs(wanted), common, are_videos=False)


@command(app)
def path(name: Name, common: Printing) -> Reply:
    """Print the path of a checkpoint (no download)."""
    from vidsum import checkpoints
    from vidsum.errors import WeightsError

    installed = checkpoints.find(name)
    if installed is None:
        raise WeightsError("its weights are not installed", hint=f"vidsum weights pull {name}", subject=name)
    return Reply(input=name, data={"path": str(installed)}, lines=(str(installed),))


@dataclass(frozen=True, kw_only=True)
class AddOptions:
    """Name and kind of the imported file."""

    PANEL = "Weights"

    name: Annotated[str, Option("Name of the checkpoint.", flags=("--as",))]
    network: str | None = option(
        "Network that these are your own weights of; --as then names a new extractor.",
        None,
        names=EXTRACTORS,
    )


@command(
    app,
    "vidsum weights add googlenet-1378be20.pth --as googlenet",
    "vidsum weights add finetuned.pth --as my_net --network googlenet",
)
def add(
    file: Annotated[Path, typer.Argument(..., help="Local weights file.")],
    options: AddOptions,
    common: Printing,
) -> Reply:
    """Import a weights file: a published one, checked by its SHA-256, or your own for a known network."""
    from vidsum.checkpoints.named import OFFICIAL
    from vidsum.checkpoints.registry import builtin_entries

    name = options.name
    if options.network is None and name in OFFICIAL and name not in builtin_entries():
        from vidsum.lab.importers import add_official

        path = add_official(file, name)
        return Reply(input=name, data={"name": name, "path": str(path)}, lines=(f"{name}: {path}",))
    from vidsum.pipelines.added_weights import add_published, add_weights

    status = add_weights(file, name, options.network) if options.network else add_published(file, name)
    return Reply(
        input=name, data=_facts(status), lines=(f"{name}: {status.reason or status.state}, {status.path}",)
    )


@command(
    app,
    "vidsum weights remove my_net",
)
def remove(name: Name, common: Printing) -> Reply:
    """Delete weights that you added."""
    from vidsum.checkpoints.obtain import remove_user_weights

    path = remove_user_weights(name)
    return Reply(input=name, data={"path": str(path)}, lines=(f"{name}: removed {path}",))


def _state(status: "EntryStatus") -> str:
    """Return the state of a checkpoint, or `shipped` for one that comes with vidsum."""
    return "shipped" if status.state == "present" and status.entry.shipped else status.state


def _facts(status: "EntryStatus") -> dict[str, Any]:
    entry = status.entry
    return {
        "name": entry.name,
        "state": _state(status),
        "reason": status.reason,
        "path": str(status.path),
        "purpose": entry.purpose,
        "licence": entry.licence,
        "files": [{"name": file.name, "sha256": file.sha256, "bytes": file.bytes} for file in entry.files],
    }


def _size(status: "EntryStatus") -> str:
    sizes = [file.bytes for file in status.entry.files]
    known = [size for size in sizes if size is not None]
    total = sum(known)
    text = f"{total / 1e6:.1f} MB" if total >= 1e5 else f"{total / 1e3:.0f} kB"
    return text if len(known) == len(sizes) else "unknown"
