"""`vidsum highlights`: what stands out in a video, without a query."""

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import typer

from vidsum.batch.deliver import ResultSpec, deliver
from vidsum.batch.inputs import BatchInput, read_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import CommonOptions
from vidsum.batch.states import Columns
from vidsum.batch.targets import clip_place, clip_stem, plan_moment_files
from vidsum.commands.batch import Clipping, Videos, keep_subtitles, run_verb
from vidsum.commands.options import Without, command
from vidsum.commands.result import MOMENT_COLUMNS, Sheet, collect_table, moment_row
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import HighlightSettings
from vidsum.options import option
from vidsum.video.settings import Clips

app = typer.Typer(add_completion=False)

_COLUMNS: Columns = {"length_s": "duration_s", "highlights": "moments", "model": "model"}


@dataclass(frozen=True, kw_only=True)
class HighlightOutputs:
    """Outputs in addition to the JSON."""

    PANEL = "Output"

    clips: bool = option("Save each highlight as MP4.", False)
    clip_settings: Clips = field(default_factory=Clips)
    plot: bool = option("Save a plot of the saliency curve.", False)
    sheet: Sheet = False


@command(
    app,
    "vidsum highlights film.mp4",
    "vidsum highlights *.mp4 --top-k 3 --plot --clips",
)
def highlights(
    sources: Videos,
    settings: HighlightSettings,
    common: Clipping,
    extra: HighlightOutputs,
    extraction: Annotated[Extraction, Without(("fps", "clip_frames", "stride_frames", "logits"))],
) -> None:
    """Find what stands out in videos, without a query.

    Writes {video}_highlights.json into the current folder, with the saliency of every two seconds, and prints
    the segments that stand out, best first. Saliency is relative to the video.
    """
    inputs = read_inputs(sources, common)
    common = keep_subtitles(inputs, extraction, common)
    more = {"plot": "highlights.png"} if extra.plot else {}
    more |= {"sheet": "highlights_sheet.png"} if extra.sheet else {}
    planned, common, table = plan_moment_files(
        "highlights", inputs, common, more, extra.clip_settings, clips=extra.clips
    )
    work = partial(
        find_highlights, settings, extraction, extra.clip_settings, common, has_table=table is not None
    )
    run_verb(
        "highlights",
        work,
        planned,
        common,
        device=extraction.device,
        columns=_COLUMNS,
        collect=collect_table(table, common),
    )


def find_highlights(
    settings: HighlightSettings,
    extraction: Extraction,
    clip_settings: Clips,
    common: CommonOptions,
    item: BatchInput,
    progress: Progress | None,
    *,
    has_table: bool,
) -> Reply:
    from vidsum.outputs.clips import clips_of, moment_writers
    from vidsum.pipelines.highlights import plan_highlights
    from vidsum.results.clock import to_player_time
    from vidsum.results.moments import Highlights

    plan, stem = plan_highlights(item.path, settings, extraction), clip_stem("highlights", item, common)

    def describe(highlights: Highlights, names: str) -> Reply:
        moments = enumerate(to_player_time(highlights).moments, 1)
        rows = (moment_row(rank, moment) for rank, moment in moments)
        return Reply(lines=(names,), table=(MOMENT_COLUMNS, *rows))

    spec = ResultSpec(
        plan.provenance,
        partial(plan.run, progress),
        Highlights.from_dict,
        moment_writers(stem, clip_settings, extraction, progress),
        clips=partial(clips_of, item.artifacts, stem),
        tags={"clips": clip_settings.tag},
    )
    return deliver(item, common, spec, describe, page_clips=clip_place(item, stem), prints_only=has_table)
