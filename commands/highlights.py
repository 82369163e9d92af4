"""`vidsum highlights`: what stands out in a video, without a query."""

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands.batch import Batch, Verb, run_verb
from vidsum.commands.export import Exports, one_table
from vidsum.commands.jobs import Task
from vidsum.commands.options import Videos, Without, command
from vidsum.commands.outputs import Outputs, Sheet, moment_files
from vidsum.commands.progress import Columns
from vidsum.commands.records import unless_up_to_date, write_moments
from vidsum.commands.result import MOMENT_COLUMNS, Result, Table, View, moment_row
from vidsum.features.settings import Extraction
from vidsum.options import option
from vidsum.video.settings import Clips

if TYPE_CHECKING:
    from vidsum.pipelines.plan import Plan
    from vidsum.results.moments import Highlights
    from vidsum.types import Progress

app = typer.Typer(add_completion=False)

_COLUMNS: Columns = {
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

    clips: bool = option("Save each highlight as MP4.", False, value_flag="--clips-dir")
    clips_dir: str | None = option(
        "Folder for the clips; implies --clips.", None, metavar="FOLDER", default_text="next to the JSON"
    )
    clip_settings: Clips = field(default_factory=Clips)
    plot: bool = option("Save a plot of the saliency curve.", False)
    sheet: Sheet = False

    @property
    def clip_folder(self) -> str | None:
        """The folder of the clips: empty for that of the JSON, None for no clips."""
        return self.clips_dir or ("" if self.clips else None)


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
    sources = batch.inputs(sources)
    is_more = extra.clip_folder is not None or extra.plot or extra.sheet
    outputs, table = one_table(outputs, exports, asks_more=is_more)
    more = {"plot": "highlights.png"} if extra.plot else {}
    more |= {"sheet": "highlights_sheet.png"} if extra.sheet else {}
    targets = moment_files(sources, outputs, "highlights", more, extra.clip_folder, extra.clip_settings)
    targets = exports.with_exports(targets, outputs)

    job = HighlightJob(settings.top_k, extraction, outputs, exports, has_document=table is None)
    verb = Verb("highlights", partial(find_highlights, job), extraction.device, _COLUMNS, collect=table)
    run_verb(verb, sources, view, batch, outputs, targets)


@dataclass(frozen=True)
class HighlightJob:
    """Settings of `find_highlights`."""

    top_k: int
    extraction: Extraction
    outputs: Outputs
    exports: Exports
    has_document: bool
    """Print a document to stdout, where results go there."""


def find_highlights(job: HighlightJob, task: Task, progress: "Progress | None") -> Result:
    """Find what stands out in a video."""
    from vidsum.pipelines.highlights import plan_highlights

    plan = plan_highlights(task.path, job.top_k, job.extraction)
    make = partial(_make, job, task, plan, progress)
    result = unless_up_to_date(task.path, task.files, plan.provenance, make, job.outputs)
    return job.exports.write(result, task.files, job.outputs.replaces)


def _make(job: HighlightJob, task: Task, plan: "Plan[Highlights]", progress: "Progress | None") -> Result:
    from vidsum.results.clock import to_player_time

    highlights, files = plan.run(progress), task.files
    document = highlights.to_dict()
    if job.outputs.to_stdout:
        text = document if job.has_document else None
        return Result(data=document, document=text, messages=highlights.warnings)
    line, messages = write_moments(
        highlights, document, files, job.outputs.replaces, progress, extraction=job.extraction
    )
    moments = enumerate(to_player_time(highlights).moments, 1)
    table = Table(MOMENT_COLUMNS, tuple(moment_row(rank, moment) for rank, moment in moments))
    data = {**files.facts(files.clips(document)), **document}
    return Result(data=data, lines=(line,), table=table, messages=messages)
