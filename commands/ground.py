"""`vidsum ground`: the moments of a video that match text queries."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Exit

from vidsum.batch.deliver import ResultSpec, deliver
from vidsum.batch.inputs import BatchInput, read_inputs
from vidsum.batch.reply import Reply, Rows, explained
from vidsum.batch.runner import Progress
from vidsum.batch.settings import CommonOptions
from vidsum.batch.states import Columns
from vidsum.batch.targets import clip_place, clip_stem, plan_moment_files
from vidsum.commands.batch import Clipping, Videos, keep_subtitles, run_verb
from vidsum.commands.options import Without, command
from vidsum.commands.result import MOMENT_COLUMNS, PlotFormat, Sheet, collect_table, moment_row, render
from vidsum.commands.suggestions import suggest_space
from vidsum.errors import InputError, Mention, Problem, UsageError, fill, printable
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import UNLIKELY, Retrieval
from vidsum.options import option
from vidsum.video.settings import Clips

if TYPE_CHECKING:
    from vidsum.pipelines.queries import Queries
    from vidsum.results.moments import Grounding, QueryMoments
    from vidsum.results.transcript import SpokenQuery

app = typer.Typer(add_completion=False)

_COLUMNS: Columns = {
    "length_s": "duration_s",
    "queries": "queries",
    "moments": lambda data: sum(len(query["moments"]) for query in data["queries"]),
    "model": "model",
    "space": "space",
}
_SCORES_NOTE = "scores rank the moments of one video; they do not rank videos"


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """Queries: texts, files and recordings."""

    PANEL = "Queries and moments"

    query: tuple[str, ...] = option("What to look for.", (), metavar="TEXT")
    queries: str | None = option("File with one query per line; - for stdin.", None, metavar="FILE")
    query_audio: tuple[str, ...] = option("Recording of a spoken query; - for stdin.", (), metavar="FILE")


@dataclass(frozen=True, kw_only=True)
class GroundOutputs:
    """Outputs in addition to the JSON."""

    PANEL = "Output"

    clips: bool = option("Save each moment as MP4.", False)
    clip_settings: Clips = field(default_factory=Clips)
    plot: bool = option("Save a plot of curve and moments.", False)
    plot_format: PlotFormat = "png"
    sheet: Sheet = False
    saliency: bool = option("Include the saliency curves in the JSON.", False, flag_on=())


@command(
    app,
    'vidsum ground film.mp4 --query "a red cup"',
    'vidsum ground film.mp4 --query "snow" --query "a dog" --plot --clips',
    "vidsum ground *.mp4 --queries queries.txt --output-dir moments",
    "vidsum ground film.mp4 --query-audio question.wav",
)
def ground(
    sources: Videos,
    query_options: QueryOptions,
    retrieval: Retrieval,
    common: Clipping,
    extra: GroundOutputs,
    extraction: Annotated[
        Extraction, Without(("extractor", "fps", "clip_frames", "stride_frames", "logits"))
    ],
) -> None:
    """Find moments in videos that match a text query.

    Writes {video}_moments.json into the current folder and prints the moments, best first. Many queries cost
    one pass over the video, and none once its features are in the cache.

    A score ranks the moments of one query in one video. `match`, the
    probability that a moment shows the query, compares videos and queries.
    """
    _require_one_stdin(common, query_options)
    inputs = read_inputs(sources, common)
    common = keep_subtitles(inputs, extraction, common)
    _require_query([item.path for item in inputs], query_options)
    queries = _read_queries(query_options, extraction, common)
    refused = tuple(map(Problem.of, queries.refused))
    if refused:
        render(explained(Reply("ground", errors=refused, exit_code=1), common), common)
    more = {"plot": f"moments.{extra.plot_format}"} if extra.plot else {}
    more |= {"sheet": "moments_sheet.png"} if extra.sheet else {}
    planned, common, table = plan_moment_files(
        "moments", inputs, common, more, extra.clip_settings, clips=extra.clips
    )
    work = partial(
        ground_one,
        queries,
        retrieval,
        extraction,
        extra,
        common,
        has_table=table is not None,
        is_batch=len(inputs) > 1,
    )
    run_verb(
        "ground",
        work,
        planned,
        common,
        device=extraction.device,
        columns=_COLUMNS,
        rank=partial(_rank_videos, queries.texts),
        collect=collect_table(table, common),
    )
    if refused:
        raise Exit(1)


def _require_one_stdin(common: CommonOptions, options: QueryOptions) -> None:
    """Raise a UsageError where several options would read stdin."""
    if [common.from_file, options.queries, *options.query_audio].count("-") > 1:
        readers = map(Mention, ("from_file", "queries", "query_audio"))
        fault = fill("only one of {}, {} and {} can read stdin", *readers)
        raise UsageError(fault, hint="write the others to files")


def _require_query(sources: Sequence[str], options: QueryOptions) -> None:
    """Raise a UsageError where the words of a query stand where files do."""
    words = [name for name in sources if not (Path(name).suffix or Path(name).exists())]
    if words and not (options.query or options.queries or options.query_audio):
        text = " ".join(words)
        fault = ("a query needs ", Mention("query"), f"; there is no file {' or '.join(words)}")
        raise UsageError(fault, hint=Mention("query", text))


def ground_one(
    queries: "Queries",
    retrieval: Retrieval,
    extraction: Extraction,
    extra: GroundOutputs,
    common: CommonOptions,
    item: BatchInput,
    progress: Progress | None,
    *,
    has_table: bool,
    is_batch: bool,
) -> Reply:
    """Find the moments of the queries in a video."""
    from vidsum.outputs.clips import clips_of, moment_writers
    from vidsum.pipelines.ground import plan_moments
    from vidsum.pipelines.queries import find_outdated, merge_groundings, other_queries, without_queries
    from vidsum.results.moments import Grounding

    plan, stem = plan_moments(item.path, queries, retrieval, extraction), clip_stem("moments", item, common)
    is_added = not common.to_stdout  # to the moments of earlier queries
    if is_added and item.artifacts:
        document, _ = item.artifacts.read()
        if earlier := find_outdated(document, plan.provenance, with_saliency=extra.saliency):
            plan = plan_moments(item.path, queries.with_earlier(earlier), retrieval, extraction)
    has_clips = is_added and (extra.clips or common.clips_dir is not None)
    clips = partial(clips_of, item.artifacts, stem)
    spec = ResultSpec(
        plan.provenance,
        partial(plan.run, progress),
        Grounding.from_dict,
        moment_writers(stem, extra.clip_settings, extraction, progress),
        lambda result, keys: result.to_dict(with_saliency=extra.saliency or "timestamps_s" in keys),
        clips=clips,
        tags={"clips": extra.clip_settings.tag},
    )
    if is_added:
        spec = replace(
            spec,
            select=queries.select,
            merge=merge_groundings,
            shared=without_queries,
            other_clips=lambda earlier, part: clips(other_queries(earlier, part)),
        )
    answer = deliver(
        item,
        common,
        spec,
        partial(_answer, has_clips=has_clips),
        page_clips=clip_place(item, stem),
        prints_only=has_table,
    )
    compares_videos = is_batch and is_added and not has_table
    return answer if item.number else _with_notes(answer, retrieval, common, compares_videos=compares_videos)


def _with_notes(
    answer: Reply, retrieval: Retrieval, common: CommonOptions, *, compares_videos: bool
) -> Reply:
    """Add what else could be searched, a better space, and what scores of several videos do not say."""
    queries, lines = answer.data["queries"], list(answer.lines)
    if retrieval.evidence == "auto" and not retrieval.without:
        lines = [*_missing_evidence(answer.data), *lines]
    matches = [query.get("present") for query in queries]
    if retrieval.space == "auto" and retrieval.model in ("auto", "similarity"):
        lines += suggest_space(answer.data["space"], matches, common)
    notes = (_SCORES_NOTE,) if compares_videos and None in matches else ()
    return replace(answer, lines=tuple(lines), messages=(*answer.messages, *notes))


def _answer(grounding: "Grounding", names: str, *, has_clips: bool) -> Reply:
    notes = _low_confidence_notes(grounding, has_clips=has_clips)
    lines = (*notes, f"{names} (model: {grounding.model}, space: {grounding.space})")
    return Reply(lines=lines, table=_table(grounding))


def _missing_evidence(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what `--in auto` did not search, each kind with the command that makes it available."""
    if document["video"] is None:
        return
    ways = {"text": "--in text"}
    if document["video"]["audio_codec"]:
        ways |= {"sound": "--in sound", "speech": "vidsum transcribe"}
    missing = [f"{kind} ({way})" for kind, way in ways.items() if kind not in document.get("evidence", ())]
    if missing:
        yield f"not searched: {', '.join(missing)}"


def _read_queries(options: QueryOptions, extraction: Extraction, common: CommonOptions) -> "Queries":
    """Read the queries, and print the texts of spoken ones."""
    from vidsum.pipelines.queries import read_queries

    spoken = list["SpokenQuery"]()
    if options.query_audio:
        from vidsum.pipelines.transcribe import transcribe_query

        spoken = [transcribe_query(file, extraction) for file in options.query_audio]
    for query in () if common.quiet else spoken:
        print(f"{query.file}: '{printable(query.text)}' ({query.confidence:.0%} sure)", file=sys.stderr)
    return read_queries(options.query, options.queries, spoken, skip=True)


def _table(grounding: "Grounding") -> Rows:
    """List the moments of each query, with its text and match probability (if known) in the first row."""
    from vidsum.results.clock import to_player_time
    from vidsum.results.moments import shorten

    is_known = any(
        present is not None
        for query in grounding.queries
        for present in (query.present, *(moment.present for moment in query.moments))
    )
    has_evidence = grounding.evidence != ("picture",)
    rows = []
    for query in to_player_time(grounding).queries:
        for rank, moment in enumerate(query.moments, 1):
            match = [_match(moment.present)] if is_known else []
            evidence = [moment.evidence] if has_evidence else []
            rows.append(
                (shorten(query.query) if rank == 1 else "", *match, *moment_row(rank, moment), *evidence)
            )
    columns = ("query", *(["match"] if is_known else []), *MOMENT_COLUMNS, *(["in"] if has_evidence else []))
    return (columns, *rows)


def _low_confidence_notes(grounding: "Grounding", *, has_clips: bool) -> Iterator[str]:
    """Yield a note on each query that has no moments, or is probably not in the video."""
    from vidsum.results.moments import NO_BELOW, shorten

    for query in grounding.queries:
        name = f"'{shorten(query.query)}'"
        if note := _doubt(grounding, query, name, has_clips=has_clips):
            yield f"{name}: {note}"
        n_wrong = sum(moment.present is not None and moment.present < NO_BELOW for moment in query.moments)
        if has_clips and n_wrong and query.verdict != "no":
            yield f"{name}: {n_wrong} of {len(query.moments)} clips probably do not show it"


def _doubt(grounding: "Grounding", query: "QueryMoments", name: str, *, has_clips: bool) -> str:
    """Return what is doubtful about the answer to a query; empty if nothing is."""
    from vidsum.pipelines.listening import names_sound
    from vidsum.results.moments import NO_BELOW, format_match

    moments, present, evidence = query.moments, query.present, grounding.evidence
    if evidence == ("speech",):
        return "probably not said in this video" if moments and moments[0].score < UNLIKELY else ""
    if evidence == ("sound",):
        language = grounding.provenance["grounding"].get("language", "auto")
        is_missing = not moments and names_sound(query.query, language)
        return "no such sound in this video" if is_missing else ""
    if evidence == ("text",) and (present or 0) < UNLIKELY:
        return "probably not written in this video"
    if present is None or any(moment.evidence != "picture" for moment in moments):
        return ""
    is_below = present < grounding.provenance["grounding"].get("min_present", 0.0)
    match = f"{format_match(present)}{', below --min-present: no moments' if is_below else ''}"
    if query.verdict == "no":
        saved = f"; clips saved (--min-present {NO_BELOW:g} skips them)" if has_clips and moments else ""
        return f"probably not in this video ({match}){saved}"
    return "" if moments else f"may be in this video ({match})"


def _rank_videos(texts: Sequence[str], answers: Sequence[Reply]) -> Reply | None:
    """Rank the videos of a batch for each query; None without match probabilities."""
    from vidsum.results.moments import format_match, shorten

    matches: dict[str, list[tuple[float, str]]] = {}
    queries = set(texts)
    for answer in answers:
        for query in _queries_of(answer):
            if query.get("present") is not None and query["query"] in queries:
                matches.setdefault(query["query"], []).append((query["present"], str(answer.input)))
    rows = [
        (shorten(query) if rank == 0 else "", format_match(present), video)
        for query, videos in matches.items()
        for rank, (present, video) in enumerate(sorted(videos, key=lambda match: -match[0]))
    ]
    table = (("query", "match", "video"), *rows)
    return Reply(table=table, title="videos, best match first:") if rows else None


def _queries_of(answer: Reply) -> Sequence[Mapping[str, Any]]:
    """Return the queries of an answer; for a skipped video, read them from its JSON."""
    if not answer.data.get("skipped"):
        return list(answer.data.get("queries", ()))
    from vidsum.results.load import read_result

    try:
        return list(read_result(answer.data["outputs"]["json"]).to_dict().get("queries", ()))
    except InputError:  # not a result of vidsum: skipped all the same
        return ()


def _match(probability: float | None) -> str:
    from vidsum.results.moments import format_match, verdict_on

    return "?" if probability is None else f"{verdict_on(probability)} {format_match(probability)}"
