"""Exports of a result next to its JSON: timelines, lists, a page; one table of several results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vidsum.errors import EmptyResultError, InputError, UsageError
from vidsum.pipelines.records import is_ours
from vidsum.pipelines.staging import require_replaceable, save_text

if TYPE_CHECKING:
    from vidsum.results.cuts import Cutting
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
    text, warnings = _export_text(result, record, kind, target, media)
    return save_text(text, target, overwrite=overwrite), warnings


def require_writable(
    document: Mapping[str, Any], record: Path, targets: Mapping[str, Path], media: MediaPaths
) -> None:
    """Raise OutputError where a file is there that `write_export` would refuse."""
    from vidsum.results.load import result_of

    for kind, target in targets.items():
        if target.is_file() and not is_ours(target):
            with suppress(EmptyResultError, InputError, UsageError):  # `write_export` reports these
                text, _ = _export_text(result_of(document), record, kind, target, media)
                require_replaceable(text.encode(), target, overwrite=False)


def _export_text(
    result: Cutting, record: Path, kind: str, target: Path, media: MediaPaths
) -> tuple[str, tuple[str, ...]]:
    from vidsum.pipelines.report import report_text
    from vidsum.pipelines.timelines import timeline_text

    if kind == "html":
        return report_text([(str(record), result)], target)
    return timeline_text(result, kind, target, media)


def save_table(results: Sequence[Cutting], path: Path, *, overwrite: bool) -> tuple[int, str]:
    """Write the moments or shots of several results as one CSV; return the number of rows, and a line.

    Raises OutputError: see `save_text`.
    """
    from vidsum.results.clock import to_player_time
    from vidsum.results.cuts import cuts_of
    from vidsum.results.lists import to_csv

    rows = [cut for result in results for cut in cuts_of(to_player_time(result))]
    line = save_text(to_csv(rows), path, overwrite=overwrite)
    n_rows = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    n_videos = f"{len(results)} video{'' if len(results) == 1 else 's'}"
    return len(rows), f"{line}: {n_rows}, {n_videos}"
