"""`vidsum search`: the moments of an archive that a text or a picture describes."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vidsum.archive.wishes import ArchiveFile, Wishes
from vidsum.commands.export import save, save_text
from vidsum.commands.options import Only, Outputs, View, command
from vidsum.commands.outputs import check_outputs, require_suffix
from vidsum.commands.own_files import require_ours
from vidsum.commands.result import Result, Table, run_alone
from vidsum.errors import UsageError
from vidsum.options import option
from vidsum.outputs import make_folder
from vidsum.settings import UNLIKELY
from vidsum.times import format_time

if TYPE_CHECKING:
    from vidsum.archive.archive import Archive, Match

SCHEMA = "vidsum.search/1"


@dataclass(frozen=True)
class SearchOutputs:
    """What is written beside the list."""

    PANEL = "Output"

    export: Path | None = option(
        "Also one timeline of all moments: .otio, .edl, .fcpxml, .xml, .kdenlive or .mlt.",
        None,
        metavar="FILE",
        shared=False,
        writes=True,
    )

    clips: Path | None = option(
        "Also an MP4 of each moment, {rank}_{video}.mp4, in this folder.", None, metavar="FOLDER"
    )
    pictures: Path | None = option(
        "Also a small JPEG of each moment, {rank}_{video}.jpg, in this folder.",
        None,
        metavar="FOLDER",
        shared=False,
    )


@command
def search(
    where: ArchiveFile,
    wishes: Wishes,
    outputs: Annotated[Outputs, Only(("output", "overwrite"))],
    extra: SearchOutputs,
    view: View,
    text: Annotated[
        str | None, typer.Argument(help="What to look for, in English.", show_default=False, metavar="TEXT")
    ] = None,
) -> None:
    """Find the moments that a text describes, in all videos of an archive.

    Prints them, most probable first. vidsum index makes the archive.

    vidsum search "a birthday cake"

    vidsum search "a dog runs" --and "snow" --not "people" --per-video 1

    vidsum search "a car arrives" --then "a man gets out" -o found.csv

    vidsum search --like holiday.mp4@1:20-1:25
    """

    target = _target(outputs, extra)

    def step() -> Result:
        from vidsum.archive.answers import as_csv, cuts_of
        from vidsum.archive.archive import Archive
        from vidsum.pipelines.timelines import film_format, film_text

        with Archive(where.archive, create=False) as archive:
            matches = archive.find(text, wishes)
            rows = [{"rank": rank, **asdict(match)} for rank, match in enumerate(matches, 1)]
            messages = [*archive.doubts(text, wishes)]
            messages += _save_files(archive, matches, rows, extra, outputs)
            if outdated := archive.n_outdated():
                messages.append(f"{outdated} videos were indexed with other weights: run vidsum index again")
            facts = {"schema": SCHEMA, "archive": str(archive.path), "query": text}
        document = {**facts, "moments": rows}
        shown = document if outputs.to_stdout else None
        lines = _remarks(matches, extra)
        if extra.export:
            cuts = cuts_of(matches, text or "")
            timeline, warnings = film_text(cuts, film_format(extra.export), extra.export)
            lines.append(save_text(timeline, extra.export, replaces=outputs.replaces))
            messages += warnings
        if target:
            content = as_csv(rows) if target.suffix == ".csv" else json.dumps(document, indent=1) + "\n"
            lines.append(save_text(content, target, replaces=outputs.replaces))
        return Result("search", text, document, tuple(lines), _table(matches), shown, tuple(messages))

    run_alone("search", view, step)


def _target(outputs: Outputs, extra: SearchOutputs) -> Path | None:
    """The file of `--output`, checked before any work."""
    if outputs.to_stdout and (extra.clips or extra.pictures or extra.export):
        raise UsageError("-o - writes the JSON alone", hint="-o FILE.json, with other files")
    target = None if outputs.to_stdout or outputs.output is None else Path(outputs.output)
    if target:
        require_suffix(target, (".json", ".csv"))
    if extra.export:
        from vidsum.pipelines.timelines import film_format

        film_format(extra.export)
    check_outputs([("the archive", [path for path in (target, extra.export) if path])])
    return target


def _save_files(
    archive: "Archive",
    matches: Sequence["Match"],
    rows: Sequence[dict[str, Any]],
    extra: SearchOutputs,
    outputs: Outputs,
) -> list[str]:
    """Write pictures and clips, and note them in the rows; return warnings."""
    warnings = list[str]()
    for kind, folder, suffix in (("picture", extra.pictures, ".jpg"), ("clip", extra.clips, ".mp4")):
        if folder is None:
            continue
        make_folder(folder)
        for match, row in zip(matches, rows, strict=True):
            path = folder / f"{row['rank']:02}_{Path(match.video).stem}{suffix}"
            if kind == "picture":
                save(archive.picture(match), path, outputs.replaces, folder)
            else:
                require_ours(path, overwrite=outputs.overwrite)
                warnings += archive.write_clip(match, path)
            row[kind] = str(path)
    return warnings


def _remarks(matches: Sequence["Match"], extra: SearchOutputs) -> list[str]:
    lines = [] if matches else ["nothing found"]
    if any(match.present is not None and match.present < UNLIKELY for match in matches):
        lines.append(f"below {100 * UNLIKELY:.0f} %: probably something else")
    for kind, folder in (("pictures", extra.pictures), ("clips", extra.clips)):
        lines += [f"{len(matches)} {kind} in {folder}"] if folder else []
    return lines


def _table(matches: Sequence["Match"]) -> Table:
    has_speech = any(match.evidence == "said" for match in matches)
    rows = []
    for rank, match in enumerate(matches, 1):
        is_probable = match.present is not None
        score = f"{100 * match.score:.0f} %" if is_probable else f"{match.score:.2f}"
        times = (format_time(match.start_s), format_time(match.end_s))
        copies = f" (and {len(match.also)} more)" if match.also else ""
        said = (match.text,) if has_speech else ()
        here = Path(match.video)
        here = here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here
        rows.append((str(rank), score, *times, f"{here}{copies}", *said))
    is_known = all(match.present is not None for match in matches)
    columns = ("rank", "match" if is_known else "score", "start", "end", "video")
    return Table((*columns, *(["said"] if has_speech else [])), tuple(rows))
