"""Exports of a result next to its JSON: timelines, lists, a page; one table of several results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vidsum.io.paths import Reads
from vidsum.outputs.alone import save_text
from vidsum.outputs.artifacts import Artifacts, Writer

if TYPE_CHECKING:
    from vidsum.results.cut_list import Cutting
    from vidsum.results.settings import ExportName, MediaPaths


def export_targets(
    formats: Sequence[ExportName], record: Path, source: str, *, page: bool
) -> dict[str, Path]:
    """Return the file of each export of a result, by kind: a format, or `html`."""
    from vidsum.results.formats import FORMATS, PROGRAMS

    targets = {}
    for kind in dict.fromkeys(PROGRAMS.get(name, name) for name in formats):
        # Kodi looks for its file next to the video
        base = Path(source) if kind == "kodi" else record
        targets[kind] = base.with_suffix(".edl" if kind == "kodi" else FORMATS[kind].ending)
    if page:
        targets["html"] = record.with_suffix(".html")
    return targets


def export_writers(
    artifacts: Artifacts, kinds: Sequence[str], media: MediaPaths, clips: tuple[Path, str] | None = None
) -> dict[str, Writer]:
    """Return the writers of the exports of a result; `clips` are those that its page links to."""
    from vidsum.outputs.pages import page_writer
    from vidsum.outputs.timelines import timeline_writer

    return {
        kind: (
            page_writer(artifacts.record, artifacts.files[kind], clips)
            if kind == "html"
            else timeline_writer(kind, artifacts.files[kind], media)
        )
        for kind in kinds
    }


def save_table(results: Sequence[Cutting], path: Path, *, overwrite: bool, reads: Reads) -> tuple[int, str]:
    """Write the moments or shots of several results as one CSV; return the number of rows, and a line.

    Raises OutputError: see `save_text`.
    """
    from vidsum.results.clock import to_player_time
    from vidsum.results.cut_list import cuts_of
    from vidsum.results.lists import to_csv

    rows = [cut for result in results for cut in cuts_of(to_player_time(result))]
    line = save_text(to_csv(rows), path, overwrite=overwrite, reads=reads)
    n_rows = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    n_videos = f"{len(results)} video{'' if len(results) == 1 else 's'}"
    return len(rows), f"{line}: {n_rows}, {n_videos}"
