"""`vidsum index`: add videos to an archive that `vidsum search` searches."""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Exit

from vidsum.archive.wishes import ArchiveFile, find_secrets, is_server
from vidsum.commands import jobs
from vidsum.commands.batch import Batch, run_batch
from vidsum.commands.options import Videos, Without, command
from vidsum.commands.paths import register_input
from vidsum.commands.progress import Facts
from vidsum.commands.result import Result, View, render
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.options import option

if TYPE_CHECKING:
    from vidsum.archive.archive import Archive
    from vidsum.types import Progress

app = typer.Typer(add_completion=False)

_FACTS: Facts = {
    "length_s": lambda data: data["duration_s"],
    "shots": lambda data: data["shots"],
    "change": lambda data: data["change"],
}
_POLL_S = 5.0


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """Work in addition to adding videos."""

    PANEL = "Archive"

    transcribe: bool = option("Transcribe videos that have no cached transcript.", False)
    prune: bool = option("Remove videos that are missing from these folders.", False)
    watch: bool = option("Keep running: add files once their size is stable.", False, shared=False)


@command(app)
def index(
    sources: Videos,
    batch: Batch,
    where: ArchiveFile,
    settings: IndexOptions,
    extraction: Annotated[
        Extraction, Without(("extractor", "fps", "clip_frames", "stride_frames", "logits", "allow_playlists"))
    ],
    view: View,
) -> None:
    """Add videos to an archive, for vidsum search.

    Adds new videos, updates changed ones, and marks moved and missing ones. A run that was stopped resumes.

    vidsum index ~/Videos --recursive

    vidsum index recordings --archive recordings.vidsum --watch
    """
    named = list(sources)
    if settings.watch and any("://" in name for name in named):
        raise UsageError("--watch looks at files and folders, not at URLs", hint="leave out --watch")
    if batch.ray not in (None, "local") and not is_server(where.archive):
        hint = "--jobs N, --ray local, or --archive postgresql://..."
        raise UsageError("a file is written on one machine", hint=hint)
    _reserve_archive(where)
    from vidsum.archive.archive import Archive

    with Archive(where.archive) as archive:

        def step(source: str, progress: "Progress | None") -> Result:
            added = archive.add_one(source, extraction, transcribe=settings.transcribe, progress=progress)
            data = {
                "archive": archive.name,
                "video": added.video,
                "change": added.state,
                "duration_s": added.duration_s,
                "shots": added.shots,
                "moved_from": added.moved_from,
                "up_to_date": added.state == "unchanged",
                "left": (left := added.state == "claimed"),
            }
            origin = f" from {added.moved_from}" if added.moved_from else ""
            count = "1 shot" if added.shots == 1 else f"{added.shots} shots"
            line = f"{source}: {added.state}{origin}, {count}"
            lines = () if left or added.state == "unchanged" else (line,)
            warnings = ("left to another process, which is adding it",) if left else added.warnings
            return Result("index", source, data, lines, messages=warnings)

        def go_through(inputs: Sequence[str]) -> None:
            run_batch("index", inputs, view, step, batch=batch, facts=_FACTS, again=archive.wait_for)

        if jobs.current:
            go_through([])
            return
        for inputs in _iter_stable(named, batch, archive) if settings.watch else [batch.inputs(named)]:
            # what failed is tried again when it changes
            with contextlib.suppress(*([Exit] if settings.watch else [])):
                try:
                    if inputs:
                        go_through(inputs)
                finally:  # by now it is known what has moved
                    if archive.is_there:
                        _report_missing(archive, named, view, prune=settings.prune)
                        if not settings.watch and (secrets := find_secrets(archive)):
                            render(Result("index", data={"archive": archive.name}, messages=secrets), view)


def _reserve_archive(where: ArchiveFile) -> None:
    """Reserve the name of the archive, which may not exist yet: no other output may have it."""
    if where.archive and not is_server(where.archive):
        register_input(where.archive, "--archive")


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
        render(Result("index", data=data, lines=lines), view)


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
        keys = archive.rows("SELECT path FROM claims") if ready and archive.is_there else []
        left = {os.fsdecode(key) for (key,) in keys}
        done |= {path: now[path] for path in ready if os.path.abspath(path) not in left}  # noqa: PTH100
        before = now
        time.sleep(_POLL_S)
