"""`vidsum highlights`: what stands out in a video, without a query."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vidsum.commands.batch import Batch, run_batch
from vidsum.commands.export import Exports, one_table
from vidsum.commands.options import Videos, Without, command
from vidsum.commands.outputs import Outputs, Sheet, moment_files
from vidsum.commands.progress import Facts
from vidsum.commands.records import unless_up_to_date, write_moments
from vidsum.commands.result import MOMENT_COLUMNS, Result, Table, View, moment_row
from vidsum.features.settings import Extraction
from vidsum.options import option
from vidsum.video.settings import Clips

if TYPE_CHECKING:
    from vidsum.types import Progress

app = typer.Typer(add_completion=False)

_FACTS: Facts = {
    "length_s": lambda data: data["duration_s"],
    "highlights": lambda data: len(data["moments"]),
    "model": lambda data: data["model"],
}


@dataclass(frozen=True, kw_only=True)
class HighlightOptions:
    """Number of highlights."""

    PANEL = "Highlights"

    top_k: int = option("Maximum number of highlights.", 5, flags=("--top-k", "-k"), min=1)


@dataclass(frozen=True, kw_only=True)
class HighlightOutputs:
    """Outputs in addition to the JSON."""

    PANEL = "Output"

    clips: str | None = option(
        "Save each highlight as MP4, highlight_{video}_{time}.mp4, in this folder or next to the JSON.",
        None,
        metavar="[FOLDER]",
        alone="",
    )
    clip_settings: Clips = field(default_factory=Clips)
    plot: bool = option("Plot the saliency curve and the highlights as {video}_highlights.png.", False)
    sheet: Sheet = False


@command(app)
def highlights(
    sources: Videos,
    batch: Batch,
    settings: HighlightOptions,
    outputs: Outputs,
    extra: HighlightOutputs,
    exports: Exports,
    extraction: Annotated[Extraction, Without(("fps", "clip_frames", "stride_frames", "logits"))],
    view: View,
) -> None:
    """Find what stands out in videos, without a query.

    Writes {video}_highlights.json into the current folder, with the saliency of every two seconds, and prints
    the segments that stand out, best first. Saliency is relative to the video.

    vidsum highlights film.mp4

    vidsum highlights *.mp4 --top-k 3 --plot --clips
    """
    sources = batch.inputs(sources, allow_playlists=extraction.allow_playlists)
    is_more = extra.clips is not None or extra.plot or extra.sheet
    outputs, table = one_table(outputs, exports, asks_more=is_more)
    more = {"plot": "highlights.png"} if extra.plot else {}
    more |= {"sheet": "highlights_sheet.png"} if extra.sheet else {}
    targets = moment_files(sources, outputs, "highlights", more, extra.clips, extra.clip_settings)
    targets = exports.with_exports(targets, outputs)

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.pipelines.highlights import plan_highlights
        from vidsum.results.clock import to_player_time

        plan, files = plan_highlights(source, settings.top_k, extraction), targets[source]

        def make() -> Result:
            found = plan.run(progress)
            document = found.to_dict()
            if outputs.to_stdout:
                text = None if table else document
                return Result(data=document, document=text, messages=found.warnings)
            line, messages = write_moments(
                found, document, files, outputs.replaces, progress, extraction=extraction
            )
            facts = {**files.facts(files.clips(document)), **document}
            rows = tuple(
                moment_row(rank, moment) for rank, moment in enumerate(to_player_time(found).moments, 1)
            )
            return Result(data=facts, lines=(line,), table=Table(MOMENT_COLUMNS, rows), messages=messages)

        result = unless_up_to_date(source, files, plan.provenance, make, outputs)
        return exports.write(result, files, outputs.replaces)

    how: dict[str, Any] = {"batch": batch, "outputs": outputs, "targets": targets, "facts": _FACTS}
    run_batch("highlights", sources, view, step, **how, collect=table)
