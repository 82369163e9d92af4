"""`vidsum search`: find the moments of an archive that match a text or a picture."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vidsum.archive.settings import SearchedArchives, SearchOptions, describe_missing
from vidsum.batch.reply import Reply, Rows
from vidsum.batch.targets import attempt, only_json_error
from vidsum.commands.batch import Printing
from vidsum.commands.options import command
from vidsum.commands.suggestions import suggest_space
from vidsum.errors import Problem, VidsumError, message_of
from vidsum.features.settings import Extraction
from vidsum.io.atomic import make_folder, stems_of
from vidsum.io.paths import Reads, reads_of
from vidsum.options import option
from vidsum.outputs.alone import own_record, save_text
from vidsum.outputs.names import Written, check_outputs, require_not_written, require_suffix
from vidsum.times import format_time
from vidsum.video.settings import SoundLevel

if TYPE_CHECKING:
    from vidsum.archive.archive import Archive
    from vidsum.archive.matches import Match
    from vidsum.results.cut_list import Cut

app = typer.Typer(add_completion=False)

SCHEMA = "vidsum.search/1"


@dataclass(frozen=True, kw_only=True)
class SearchOutputs:
    """The list, and outputs in addition."""

    PANEL = "Output"

    output: str | None = option(
        "Save the list as .json or .csv; - for stdout.",
        None,
        flags=("--output", "-o"),
        metavar="FILE",
        writes=True,
    )
    overwrite: bool = option("Replace existing outputs.", False)
    timeline: Path | None = option(
        "Save a timeline of all moments.",
        None,
        metavar="FILE",
        writes=True,
        more=".otio, .edl, .fcpxml, .xml, .kdenlive or .mlt.",
    )
    page: Path | None = option("Save a page with the moments (.html).", None, metavar="FILE", writes=True)
    clips_dir: Path | None = option("Save each moment as MP4 in this folder.", None, metavar="FOLDER")
    sound: SoundLevel = field(default_factory=SoundLevel)


@command(
    app,
    'vidsum search "a birthday cake"',
    'vidsum search "a dog runs" --and "snow" --not "people" --per-video 1',
    'vidsum search "a car arrives" --then "a man gets out" -o found.csv',
    "vidsum search --like holiday.mp4@1:20-1:25",
)
def search(
    where: SearchedArchives,
    filters: SearchOptions,
    extra: SearchOutputs,
    common: Printing,
    text: Annotated[str | None, typer.Argument(None, metavar="TEXT", help="What to look for.")],
) -> Reply:
    """Find moments in all videos of an archive, or of several, that match a text query.

    Prints them, most probable first. vidsum index makes the archive.
    """
    from vidsum.archive.answers import to_csv
    from vidsum.archive.archive import Archive
    from vidsum.archive.several import find_in_all

    written = Written()
    target = _target(extra, common.reads, written)
    messages, problems, lines = list[str](), list[Problem](), list[str]()
    with ExitStack() as stack:
        named = dict.fromkeys(where.archive) or [None]
        archives = [stack.enter_context(Archive(name, create=False)) for name in named]
        matches = find_in_all(archives, text, filters)
        rows = _rows(matches, extra.clips_dir)
        document = _to_document([archive.name for archive in archives], text, filters, rows)
        for archive in archives:
            warnings, missing = _describe_archive(archive, text, filters, matches, is_only=len(archives) == 1)
            messages += warnings
            lines += missing
        spaces = [archive.space for archive in archives]
        texts = _texts(archives, matches, text, filters, extra, messages, problems)
        reads = {**_read_videos(matches, written), **common.reads}
        if extra.clips_dir:
            _save_clips(archives, matches, rows, extra, reads, messages, problems)
    if target:  # rows of failed clips have changed
        is_json = target.suffix == ".json"
        texts[target] = json.dumps(document, indent=1) + "\n" if is_json else to_csv(rows)
    lines += _closing_lines(matches, rows, extra.clips_dir)
    if text and (not matches or matches[0].evidence == "picture"):
        present = matches[0].present if matches else 0.0
        lines += suggest_space("vse" if "vse" in spaces else spaces[0], [present], common)
    lines += [
        save_text(content, path, overwrite=extra.overwrite, reads=reads) for path, content in texts.items()
    ]
    return Reply(
        "search",
        text,
        document,
        tuple(lines),
        _table(matches),
        document=document if extra.output == "-" else None,
        messages=tuple(dict.fromkeys(messages)),
        errors=tuple(dict.fromkeys(problems)),
        exit_code=1 if problems else 0,
    )


def _to_document(
    archives: Sequence[str], text: str | None, filters: SearchOptions, rows: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the JSON of an answer; `archive` is a list where there are several."""
    terms = {"like": filters.like, "and": filters.also, "not": filters.without, "then": filters.then}
    names = archives if len(archives) > 1 else archives[0]
    return {"schema": SCHEMA, "archive": names, "query": text, **terms, "moments": rows}


def _describe_archive(
    archive: "Archive",
    text: str | None,
    filters: SearchOptions,
    matches: Sequence["Match"],
    *,
    is_only: bool,
) -> tuple[list[str], list[str]]:
    """Return the warnings about an archive and a query in it, and lines on what it has no evidence of."""
    about = "" if is_only else f"{archive.name}: "
    mine = [match for match in matches if match.archive == archive.name]
    warnings = [*archive.notes, *archive.query_warnings(text, filters, mine)]
    if outdated := archive.n_outdated():
        fault = f"{about}{outdated} files are not in the archive's space, {archive.space}"
        warnings.append(f"{fault}: run vidsum index on them")
    missing = describe_missing(archive, filters)
    return warnings, [f"{about}{missing}"] if missing else []


def _texts(
    archives: Sequence["Archive"],
    matches: Sequence["Match"],
    text: str | None,
    filters: SearchOptions,
    extra: SearchOutputs,
    messages: list[str],
    problems: list[Problem],
) -> dict[Path, str]:
    """Return the contents of the timeline and the page; add warnings and errors to the lists."""
    from vidsum.archive.answers import make_cuts, render_page
    from vidsum.outputs.timelines import joint_format, joint_timeline_text

    texts = dict[Path, str]()
    if extra.timeline:
        cuts = _nameable(make_cuts(matches, text or ""), extra.timeline, problems)
        timeline = attempt(partial(joint_timeline_text, cuts, joint_format(extra.timeline), extra.timeline))
        if isinstance(timeline, VidsumError):
            problems.append(Problem.of(timeline))
        else:
            texts[extra.timeline] = timeline[0]
            messages += timeline[1]
    if extra.page:
        texts[extra.page] = render_page(archives, _title(text, filters), matches, extra.page)
    return texts


def _nameable(
    cuts: "Sequence[tuple[str, Cut]]", target: Path, problems: list[Problem]
) -> "list[tuple[str, Cut]]":
    """Return the cuts of videos that are there and that a timeline can name; add the problems of others."""
    from vidsum.outputs.timelines import joint_format, require_nameable
    from vidsum.pipelines.sources import probe_video

    def check(video: str) -> None:
        require_nameable(joint_format(target), video, target, "absolute")
        probe_video(video, Extraction())

    faults = {video: attempt(partial(check, video)) for video in dict(cuts)}
    problems += [Problem.of(fault) for fault in faults.values() if fault]
    return [cut for cut in cuts if faults[cut[0]] is None]


def _target(extra: SearchOutputs, reads: Reads, written: Written) -> Path | None:
    """Return the file of `--output`, checked before any work."""
    others = {"clips": extra.clips_dir, "timeline": extra.timeline, "page": extra.page}
    if extra.output == "-" and any(others.values()):
        raise only_json_error([name for name, path in others.items() if path])
    target = None if extra.output in (None, "-") else Path(str(extra.output))
    if target:
        require_suffix(target, (".json", ".csv"))
    if extra.timeline:
        from vidsum.outputs.timelines import joint_format

        joint_format(extra.timeline)
    if extra.page:
        require_suffix(extra.page, (".html",), "page")
    files = [path for path in (target, extra.timeline, extra.page) if path]
    check_outputs("the archive", files, reads, written)
    for path in () if extra.overwrite else files:  # before clips are written
        own_record(path).require_ours([path])
    return target


def _read_videos(matches: Sequence["Match"], written: Written) -> Reads:
    """Return the videos of moments as files that are read. Raises UsageError: an output is one of them."""
    videos = {path for match in matches for path in (match.video, *match.also)}
    for video in videos:
        require_not_written(video, written)
    return reads_of(videos)


def _title(text: str | None, filters: SearchOptions) -> str:
    parts = [text or "", *(f"like {Path(like).name}" for like in filters.like)]
    named = (("and", filters.also), ("not", filters.without), ("then", filters.then))
    parts += [f"{word} {query}" for word, texts in named for query in texts]
    return ", ".join(part for part in parts if part)


def _rows(matches: Sequence["Match"], clips: Path | None) -> list[dict[str, Any]]:
    """Return the moments as data, each with the name of its clip if clips are to be written."""
    rows = []
    for rank, match in enumerate(matches, 1):
        name = f"{rank:02}_{stems_of(match.video)[0]}.mp4"
        rows.append({"rank": rank, **asdict(match), **({"clip": str(clips / name)} if clips else {})})
    return rows


def _save_clips(
    archives: Sequence["Archive"],
    matches: Sequence["Match"],
    rows: Sequence[dict[str, Any]],
    extra: SearchOutputs,
    reads: Reads,
    messages: list[str],
    problems: list[Problem],
) -> None:
    """Write a clip of each moment; where that fails, the moment's row loses its clip."""
    by_name = {archive.name: archive for archive in archives}

    def save(match: "Match", path: Path) -> tuple[str, ...]:
        make_folder(path.parent)
        level, archive = extra.sound.loudness, by_name[match.archive]
        return archive.write_clip(match, path, loudness=level, overwrite=extra.overwrite, reads=reads)

    for match, row in zip(matches, rows, strict=True):
        warnings = attempt(partial(save, match, Path(row["clip"])))
        if isinstance(warnings, VidsumError):
            del row["clip"]
            problems.append(Problem.of(warnings))
        else:
            messages += (message_of(match.video, warning) for warning in warnings)


def _closing_lines(
    matches: Sequence["Match"], rows: Sequence[dict[str, Any]], clips: Path | None
) -> list[str]:
    from vidsum.results.moments import UNLIKELY_BELOW
    from vidsum.results.result import count_text

    lines = [] if matches else ["no moments found"]
    if any(match.present is not None and match.present < UNLIKELY_BELOW for match in matches):
        lines.append(f"matches below {100 * UNLIKELY_BELOW:.0f} % are unlikely to show it")
    if clips:
        lines.append(f"{count_text(sum('clip' in row for row in rows), 'clip')} in {clips}")
    return lines


def _table(matches: Sequence["Match"]) -> Rows:
    from vidsum.archive.answers import to_player_time
    from vidsum.results.moments import format_match

    has_texts = any(match.text for match in matches)
    has_kinds = any(match.evidence != "picture" for match in matches)
    rows = []
    for rank, match in enumerate(map(to_player_time, matches), 1):
        score = f"{match.score:.2f}" if match.present is None else format_match(match.present)
        times = (format_time(match.start_s), format_time(match.end_s))
        copies = f" (and {len(match.also)} more)" if match.also else ""
        text = (match.text,) if has_texts else ()
        kind = (match.evidence,) if has_kinds else ()
        here = Path(match.video)
        here = here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here
        rows.append((str(rank), score, *times, *kind, f"{here}{copies}", *text))
    is_known = all(match.present is not None for match in matches)
    columns = ("rank", "match" if is_known else "score", "start", "end", *(["in"] if has_kinds else []))
    return ((*columns, "video", *(["text"] if has_texts else [])), *rows)
