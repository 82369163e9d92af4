"""`vidsum ground`: the moments of a video that texts describe."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from vidsum.commands.options import Outputs, Videos, View, Without, command
from vidsum.commands.outputs import moment_files
from vidsum.commands.records import unless_up_to_date, write_moments
from vidsum.commands.result import MOMENT_COLUMNS, Result, Table, moment_row, run_batch
from vidsum.errors import OutputError
from vidsum.options import Option
from vidsum.settings import Extraction, Retrieval

if TYPE_CHECKING:
    from vidsum.types import Grounding, Progress

_OF_SEVERAL = "scores rank the moments of one video; they do not tell which of several videos fits best"


@dataclass(frozen=True)
class QueryOptions:
    """What to look for."""

    PANEL = "Queries and moments"

    query: Annotated[
        tuple[str, ...], Option("What to look for, in English. Can be repeated.", metavar="TEXT")
    ] = ()
    queries: Annotated[
        str | None, Option("File with one query per line (UTF-8); - for stdin.", metavar="FILE")
    ] = None


@dataclass(frozen=True)
class GroundOutputs:
    """What is written beside the JSON."""

    PANEL = "Output"

    clips: Annotated[
        str | None,
        Option(
            "Also an MP4 of each moment, {video}_{query number}_{rank}.mp4, in this folder or beside the "
            "JSON.",
            metavar="[FOLDER]",
        ),
    ] = None
    plot: Annotated[
        bool, Option("Also {video}_moments.png: the saliency curve and the moments of each query.")
    ] = False
    saliency: Annotated[bool, Option("Include the saliency curves in the JSON.")] = False


@command
def ground(
    sources: Videos,
    asked: QueryOptions,
    retrieval: Retrieval,
    outputs: Outputs,
    extra: GroundOutputs,
    extraction: Annotated[
        Extraction, Without(("extractor", "fps", "clip_frames", "stride_frames", "logits"))
    ],
    view: View,
) -> None:
    """Find the moments of videos that texts describe.

    Writes {video}_moments.json into the current folder and prints the moments, best first. Many queries cost
    one pass over the video, and none once its features are in the cache.

    vidsum ground film.mp4 --query "a person flips a pancake"

    vidsum ground film.mp4 --query "a dog in the snow" --query "two people dance" --plot --clips

    vidsum ground *.mp4 --queries queries.txt --output-dir moments

    A score ranks the moments of one query in one video. It does not tell which of several videos fits best.
    """
    from vidsum.pipelines.moments import plan_moments, read_queries

    queries = read_queries(asked.query, asked.queries)
    targets = moment_files(sources, outputs, extra.plot, extra.clips, "moments")

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.documents import grounding_document, to_text

        plan, files = plan_moments(source, queries, retrieval, extraction), targets[source]

        def make() -> Result:
            grounding = plan.run(progress)
            document = grounding_document(grounding, with_saliency=extra.saliency)
            if outputs.to_stdout:
                text, warnings = to_text(document), grounding.warnings
                return Result("ground", source, document, document=text, messages=warnings)
            by = f"(model: {grounding.model}, space: {grounding.space})"
            line, messages = write_moments(grounding, document, files, outputs.overwrite, progress)
            facts = {**files.facts(files.clips(document)), **document}
            return Result("ground", source, facts, (f"{line} {by}",), _table(grounding), messages=messages)

        def needs(document: Mapping[str, Any]) -> None:
            if extra.saliency and "timestamps_s" not in document:
                raise OutputError(
                    f"{files.record}: already exists, without saliency curves", hint="--overwrite"
                )

        result = (
            make()
            if outputs.to_stdout
            else unless_up_to_date(
                "ground", source, files, plan.provenance, make, overwrite=outputs.overwrite, needs=needs
            )
        )
        if len(sources) > 1 and source == sources[0]:  # once is enough
            return replace(result, messages=(*result.messages, _OF_SEVERAL))
        return result

    run_batch("ground", sources, view, step, fail_fast=outputs.fail_fast)


def _table(grounding: "Grounding") -> Table:
    """The moments of each query, its text beside the best."""
    from vidsum.pipelines.moments import in_short

    rows = [
        (in_short(query.query) if rank == 1 else "", *moment_row(rank, moment))
        for query in grounding.queries
        for rank, moment in enumerate(query.moments, 1)
    ]
    return Table(("query", *MOMENT_COLUMNS), tuple(rows))
