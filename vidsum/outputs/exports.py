"""Exports of a result next to its JSON: timelines, lists, a page; one table of several results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vidsum.outputs.staging import save_text

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


def write_export(
    result: Cutting, record: Path, kind: str, target: Path, media: MediaPaths, *, overwrite: bool
) -> tuple[str, tuple[str, ...]]:
    """Write an export of the result in a record; return a line about it, and warnings."""
    from vidsum.outputs.pages import report_text
    from vidsum.outputs.timelines import timeline_text

    if kind == "html":
        text, warnings = report_text([(str(record), result)], target)
    else:
        text, warnings = timeline_text(result, kind, target, media)
    return save_text(text, target, overwrite=overwrite), warnings


def save_table(results: Sequence[Cutting], path: Path, *, overwrite: bool) -> tuple[int, str]:
    """Write the moments or shots of several results as one CSV; return the number of rows, and a line.

    Raises OutputError: see `save_text`.
    """
    from vidsum.results.clock import to_player_time
    from vidsum.results.cut_list import cuts_of
    from vidsum.results.lists import to_csv

    rows = [cut for result in results for cut in cuts_of(to_player_time(result))]
    line = save_text(to_csv(rows), path, overwrite=overwrite)
    n_rows = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    n_videos = f"{len(results)} video{'' if len(results) == 1 else 's'}"
    return len(rows), f"{line}: {n_rows}, {n_videos}"
