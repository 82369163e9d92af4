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
from vidsum.batch.inputs import BatchInput, read_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import CommonOptions
from vidsum.batch.states import Columns
from vidsum.commands.batch import Reading, Videos, run_verb
from vidsum.commands.options import Without, command
from vidsum.commands.result import render
from vidsum.errors import Mention, UsageError, VidsumError, fill
from vidsum.features.settings import Extraction
from vidsum.io.paths import reads_of
from vidsum.options import option
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


@command(
    app,
    "vidsum index ~/Videos --recursive",
    "vidsum index recordings --archive recordings.vidsum --watch",
)
def index(
    sources: Videos,
    common: Reading,
    where: ArchiveFile,
    indexing: Indexing,
    upkeep: Upkeep,
    extraction: Annotated[
        Extraction, Without(("extractor", "fps", "clip_frames", "stride_frames", "logits"))
    ],
) -> None:
    """Add videos to an archive, for vidsum search.

    Adds new videos, updates changed ones, and marks moved and missing ones. A run that was stopped resumes.
    """
    named = list(sources)
    _check_options(named, common, where, upkeep)
    if where.archive and not is_server(where.archive):  # no other output may have its name
        common = replace(common, reads={**common.reads, **reads_of([where.archive], option="archive")})
    from vidsum.archive.archive import Archive

    with Archive(where.archive) as archive, _without_remains(archive):
        if archive.is_there:
            archive.require_whole()
        for note in () if common.quiet else archive.notes:
            print(note, file=sys.stderr)
        work = partial(index_one, where.archive, extraction, indexing, secrets.token_hex(16))
        run = partial(
            run_verb,
            "index",
            common=common,
            device=extraction.device,
            columns=_COLUMNS,
            is_isolated=True,
            retry=archive.wait_for,
        )
        batches = _iter_stable(named, common, archive) if upkeep.watch else [read_inputs(named, common)]
        for inputs in batches:
            extraction.require_subtitles_of(len(inputs))
            # failed videos are tried again when they change
            with contextlib.suppress(*([Exit] if upkeep.watch else [])):
                try:
                    if len(inputs) == 1:  # a batch counts unchanged videos at its end
                        run(partial(work, list_unchanged=True), inputs)
                    elif inputs:
                        run(work, inputs)
                finally:  # moved videos are known by now
                    _report_missing(archive, named, common, prune=upkeep.prune)
                    if not upkeep.watch:
                        _report_photographs(archive, named, common)


def _check_options(named: Sequence[str], common: CommonOptions, where: ArchiveFile, upkeep: Upkeep) -> None:
    """Raise a UsageError where URLs are to be watched, or several machines would write a file."""
    if upkeep.watch and any("://" in name for name in named):
        fault = (Mention("watch"), " looks at files and folders, not at URLs")
        raise UsageError(fault, hint=("leave out ", Mention("watch")))
    if common.ray not in (None, "local") and not is_server(where.archive):
        ways = Mention("jobs", "N"), Mention("ray", "local"), Mention("archive", "postgresql://...")
        hint = fill("{}, {}, or {}", *ways)
        raise UsageError("a file is written on one machine", hint=hint)


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
    item: BatchInput,
    progress: Progress | None,
    *,
    list_unchanged: bool = False,
) -> Reply:
    """Add a video to the archive with this name; `run` names the run among those of other processes."""
    from vidsum.archive.archive import Archive
    from vidsum.pipelines.subtitles import find_subtitles

    with Archive(name) as archive:
        owner = f"{run} {item.number}"  # a second try has the claim of a first that was killed
        added = archive.add_video(item.path, extraction, indexing, progress, owner)
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
    lines = [f"{item.path}: {added.state}{origin}, {length}"] if is_listed else []
    if added.state in ("added", "changed") and (subtitles := find_subtitles(item.path, extraction)):
        lines.append(f"transcript: {subtitles.facts['subtitles']}")
    messages = ("left to another process, which is adding it",) if is_left else added.warnings
    return Reply("index", item.path, data, tuple(lines), messages=messages)


def _report_missing(archive: "Archive", named: Sequence[str], common: CommonOptions, *, prune: bool) -> None:
    """Mark the videos that are missing from folders, or remove them, and print them."""
    if not archive.is_there:
        return
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
        render(Reply("index", data=data, lines=lines), common)


def _report_photographs(archive: "Archive", named: Sequence[str], common: CommonOptions) -> None:
    """Print how many photographs of folders are left out, which a user may expect to be there."""
    from vidsum.pipelines.sources import count_photographs
    from vidsum.results.result import count_text

    folders = [path for path in named if Path(path).is_dir()]
    if count := count_photographs(folders, recursive=common.recursive):
        line = f"{count_text(count, 'photograph')} {'is' if count == 1 else 'are'} not indexed"
        lines = (f"{line}: an archive holds videos",)
        render(Reply("index", data={"archive": archive.name, "photographs": count}, lines=lines), common)


def _iter_stable(
    named: Sequence[str], common: CommonOptions, archive: "Archive"
) -> Iterator[list[BatchInput]]:
    """Yield at each poll the new or changed videos that have not changed since the poll before.

    Videos claimed by another process, which may have been killed, are yielded again.
    """
    done, before = dict[str, tuple[int, int]](), dict[str, tuple[int, int]]()
    while True:
        now = {}
        inputs = {item.path: item for item in read_inputs(named, common)}
        common = replace(common, quiet=True)  # of its warnings, each is printed at the first poll
        for path in inputs:
            with contextlib.suppress(OSError):
                status = os.stat(path)  # noqa: PTH116  # a path that no Path takes
                if not Path(path).is_dir():
                    now[path] = (status.st_size, status.st_mtime_ns)
        ready = [path for path, facts in now.items() if before.get(path) == facts != done.get(path)]
        yield [replace(inputs[path], number=number) for number, path in enumerate(ready)]
        keys = archive.read_rows(["claims.path"], "FROM claims") if ready and archive.is_there else []
        left = {os.fsdecode(key) for (key,) in keys}
        done |= {path: now[path] for path in ready if os.path.abspath(path) not in left}  # noqa: PTH100
        before = now
        time.sleep(_POLL_S)
