"""`vidsum highlights`: what stands out in a video, without a query."""

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import typer

from vidsum.commands.batch import Batch, Verb, Videos, run_verb
from vidsum.commands.options import Without, command
from vidsum.commands.outputs import ClipOutputs, Destination, Exports, Outputs, Sheet, plan_files
from vidsum.commands.result import MOMENT_COLUMNS, Columns, CommandResult, Table, View, moment_row
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import HighlightSettings
from vidsum.options import option
from vidsum.outputs.saving import Saving, write_moments
from vidsum.outputs.tasks import Progress, Task
from vidsum.video.settings import Clips

app = typer.Typer(add_completion=False)

_COLUMNS: Columns = {"length_s": "duration_s", "highlights": "moments", "model": "model"}


@dataclass(frozen=True, kw_only=True)
class HighlightOutputs(ClipOutputs):
    """Outputs in addition to the JSON."""

    clips: bool = option("Save each highlight as MP4.", False)
    clip_settings: Clips = field(default_factory=Clips)
    plot: bool = option("Save a plot of the saliency curve.", False)
    sheet: Sheet = False


@command(app)
def highlights(
    sources: Videos,
    batch: Batch,
    settings: HighlightSettings,
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
    more = {"plot": "highlights.png"} if extra.plot else {}
    more |= {"sheet": "highlights_sheet.png"} if extra.sheet else {}
    destination, targets = plan_files(
        "highlights", sources, outputs, exports, extra, more, extra.clip_settings
    )
    work = partial(find_highlights, settings, extraction, destination)
    verb = Verb("highlights", work, extraction.device, _COLUMNS, collect=destination.collect)
    run_verb(verb, sources, view, batch, destination.outputs, targets)


def find_highlights(
    settings: HighlightSettings,
    extraction: Extraction,
    destination: Destination,
    task: Task,
    progress: Progress | None,
) -> CommandResult:
    from vidsum.pipelines.highlights import plan_highlights
    from vidsum.results.clock import to_player_time
    from vidsum.results.moments import Highlights

    plan = plan_highlights(task.path, settings, extraction)

    def answer(highlights: Highlights, names: str) -> CommandResult:
        moments = enumerate(to_player_time(highlights).moments, 1)
        rows = tuple(moment_row(rank, moment) for rank, moment in moments)
        return CommandResult(lines=(names,), table=Table(MOMENT_COLUMNS, rows))

    write = partial(write_moments, progress=progress, extraction=extraction)
    saving = Saving(plan.provenance, partial(plan.run, progress), Highlights.from_dict, write)
    return destination.deliver(task, saving, answer)
