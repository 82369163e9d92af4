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
from vidsum.commands.result import MOMENT_COLUMNS, CommandResult, Table, View, moment_row
from vidsum.commands.saving import Saving, document_result, save_result, write_moments
from vidsum.features.settings import Extraction
from vidsum.options import option
from vidsum.video.settings import Clips

if TYPE_CHECKING:
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
    plot: bool = option("Save a plot of the saliency curve.", False, implied_value="highlights")
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


def find_highlights(job: HighlightJob, task: Task, progress: "Progress | None") -> CommandResult:
    """Find what stands out in a video."""
    from vidsum.pipelines.highlights import plan_highlights
    from vidsum.results.clock import to_player_time
    from vidsum.results.moments import Highlights

    plan = plan_highlights(task.path, job.top_k, job.extraction)
    if job.outputs.to_stdout:
        return document_result(plan.run(progress), in_table=not job.has_document)

    def answer(highlights: Highlights, names: str) -> CommandResult:
        moments = enumerate(to_player_time(highlights).moments, 1)
        rows = tuple(moment_row(rank, moment) for rank, moment in moments)
        return CommandResult(lines=(names,), table=Table(MOMENT_COLUMNS, rows))

    saving = Saving(
        plan.provenance,
        lambda: plan.run(progress),
        lambda highlights, _: highlights.to_dict(),
        partial(write_moments, progress=progress, extraction=job.extraction),
        answer,
        Highlights.from_dict,
    )
    result = save_result(task.files, saving, job.outputs)
    return job.exports.write(result, task.files, overwrite=job.outputs.overwrite)
