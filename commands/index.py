"""`vidsum index`: add videos to an archive that `vidsum search` searches."""

import contextlib
import os
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Exit

from vidsum.archive.settings import ArchiveFile, Indexing, is_server
from vidsum.commands.batch import Batch, Verb, Videos, run_verb
from vidsum.commands.options import Without, command
from vidsum.commands.result import Columns, CommandResult, View, render
from vidsum.errors import UsageError, VidsumError
from vidsum.features.settings import Extraction
from vidsum.io.paths import register_input
from vidsum.options import option
from vidsum.pipelines.tasks import Progress, Task
from vidsum.times import format_short_time

if TYPE_CHECKING:
    from vidsum.archive.archive import Archive

app = typer.Typer(add_completion=False)

_COLUMNS: Columns = {"length_s": "duration_s", "shots": "shots", "change": "change"}
_POLL_S = 5.0


@dataclass(frozen=True, kw_only=True)
class Upkeep:
    """Work in addition to adding videos."""

    PANEL = "Archive"

    prune: bool = option("Remove videos that no longer exist from the archive.", False)
    watch: bool = option("Keep running, and add new files.", False)


@command(app)
def index(
    sources: Videos,
    batch: Batch,
    where: ArchiveFile,
    indexing: Indexing,
    upkeep: Upkeep,
    extraction: Annotated[
        Extraction, Without(("extractor", "fps", "clip_frames", "stride_frames", "logits"))
    ],
    view: View,
) -> None:
    """Add videos to an archive, for vidsum search.

    Adds new videos, updates changed ones, and marks moved and missing ones. A run that was stopped resumes.

    vidsum index ~/Videos --recursive

    vidsum index recordings --archive recordings.vidsum --watch
    """
    named = list(sources)
    if upkeep.watch and any("://" in name for name in named):
        raise UsageError("--watch looks at files and folders, not at URLs", hint="leave out --watch")
    if batch.ray not in (None, "local") and not is_server(where.archive):
        hint = "--jobs N, --ray local, or --archive postgresql://..."
        raise UsageError("a file is written on one machine", hint=hint)
    if where.archive and not is_server(where.archive):  # no other output may have its name
        register_input(where.archive, "--archive")
    from vidsum.archive.archive import Archive

    with Archive(where.archive) as archive, _without_remains(archive):
        if archive.is_there:
            archive.require_whole()
        for note in () if view.quiet else archive.notes:
            print(note, file=sys.stderr)
        work = partial(index_one, where.archive, extraction, indexing, secrets.token_hex(16))
        verb = Verb("index", work, extraction.device, _COLUMNS, isolated=True, retry=archive.wait_for)
        for inputs in _iter_stable(named, batch, archive) if upkeep.watch else [batch.inputs(named)]:
            # failed videos are tried again when they change
            with contextlib.suppress(*([Exit] if upkeep.watch else [])):
                try:
                    if len(inputs) == 1:  # a batch counts unchanged videos at its end
                        run_verb(replace(verb, work=partial(work, list_unchanged=True)), inputs, view, batch)
                    elif inputs:
                        run_verb(verb, inputs, view, batch)
                finally:  # moved videos are known by now
                    if archive.is_there:
                        _report_missing(archive, named, view, prune=upkeep.prune)


@contextlib.contextmanager
def _without_remains(archive: "Archive") -> Iterator[None]:
    """Remove a new archive to which nothing could be added, such as on a full disk."""
    is_new = not archive.is_there
    try:
        yield
    finally:
        if is_new:
            with contextlib.suppress(VidsumError):
                archive.remove_if_empty()


def index_one(
    name: str | None,
    extraction: Extraction,
    indexing: Indexing,
    run: str,
    task: Task,
    progress: Progress | None,
    *,
    list_unchanged: bool = False,
) -> CommandResult:
    from vidsum.archive.archive import Archive

    with Archive(name) as archive:
        owner = f"{run} {task.number}"  # a second try has the claim of a first that was killed
        added = archive.add_video(task.path, extraction, indexing, progress, owner)
        name = archive.name
    is_left, is_unchanged = added.state == "claimed", added.state == "unchanged"
    data = {
        "archive": name,
        "video": added.video,
        "change": added.state,
        "duration_s": added.duration_s,
        "shots": added.shots,
        "moved_from": added.moved_from,
        "up_to_date": is_unchanged,
        "left": is_left,
    }
    origin = f" from {added.moved_from}" if added.moved_from else ""
    length = format_short_time(added.duration_s)
    is_listed = not is_left and (list_unchanged or not is_unchanged)
    lines = (f"{task.path}: {added.state}{origin}, {length}",) if is_listed else ()
    messages = ("left to another process, which is adding it",) if is_left else added.warnings
    return CommandResult("index", task.path, data, lines, messages=messages)


def _report_missing(archive: "Archive", named: Sequence[str], view: View, *, prune: bool) -> None:
    """Mark the videos that are missing from folders, or remove them, and print them."""
    before = set(archive.videos())
    gone = archive.mark_gone(*[path for path in named if Path(path).is_dir()])
    new = gone if prune else [path for path in gone if path in before]
    if prune:
        archive.remove(*gone)
    if new:
        state = "removed" if prune else "missing"
        hint = () if prune else ("--prune removes missing videos",)
        lines = (*(f"{path}: {state}" for path in new), *hint)
        data = {"archive": archive.name, "removed" if prune else "gone": new}
        render(CommandResult("index", data=data, lines=lines), view)


def _iter_stable(named: Sequence[str], batch: Batch, archive: "Archive") -> Iterator[list[str]]:
    """Yield at each poll the new or changed videos that have not changed since the poll before.

    Videos claimed by another process, which may have been killed, are yielded again.
    """
    done, before = dict[str, tuple[int, int]](), dict[str, tuple[int, int]]()
    while True:
        now = {}
        for path in batch.inputs(named):
            with contextlib.suppress(OSError):
                status = os.stat(path)  # noqa: PTH116  # a path that no Path takes
                if not Path(path).is_dir():
                    now[path] = (status.st_size, status.st_mtime_ns)
        ready = [path for path, facts in now.items() if before.get(path) == facts != done.get(path)]
        yield ready
        keys = archive.read_rows(["claims.path"], "FROM claims") if ready and archive.is_there else []
        left = {os.fsdecode(key) for (key,) in keys}
        done |= {path: now[path] for path in ready if os.path.abspath(path) not in left}  # noqa: PTH100
        before = now
        time.sleep(_POLL_S)
