"""`vidsum summarize`: the stretches of a video worth keeping, as MP4 and JSON."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer.core import TyperCommand

from vidsum.commands import options
from vidsum.commands.batch import run_batch
from vidsum.commands.outputs import SummaryFiles, claim, destinations, summary_files
from vidsum.commands.records import recorded, unfinished, up_to_date
from vidsum.commands.result import Result, Table, View
from vidsum.errors import UsageError
from vidsum.settings import DEFAULT_MODEL, parse_attention_part
from vidsum.times import format_time, parse_interval, parse_optional_time

if TYPE_CHECKING:
    from vidsum.types import Progress, Summary

Budget = Annotated[
    str,
    options.option(
        "--budget", "-b", help="Longest summary: 15%, 0.15, 45s or 1:30.", rich_help_panel=options.WHAT
    ),
]
Model = Annotated[
    str,
    options.option(
        "--model",
        "--scorer",
        "-m",
        help="What gives each moment its importance: contrastive, cluster, highlights, uniform, random, "
        "fulltransnet, or a checkpoint of `vidsum train` (.safetensors). auto is the first of highlights, "
        "fulltransnet and contrastive that is not flat on the video.",
        metavar="NAME|FILE",
        rich_help_panel=options.WHAT,
    ),
]
Seed = Annotated[
    int,
    options.option(
        "--seed", help="Random seed, for the scorers that use chance.", min=0, rich_help_panel=options.WHAT
    ),
]
Keep = Annotated[
    list[str] | None,
    options.option(
        "--keep",
        help="A stretch that must be in; repeatable.",
        metavar="START-END",
        rich_help_panel=options.WHAT,
    ),
]
Drop = Annotated[
    list[str] | None,
    options.option(
        "--drop",
        help="A stretch that must not be in; repeatable.",
        metavar="START-END",
        rich_help_panel=options.WHAT,
    ),
]
Copy = Annotated[
    bool,
    options.option(
        "--copy",
        help="Do not re-encode: fast, but cuts fall on key frames and segments grow.",
        rich_help_panel=options.OUT,
    ),
]
Storyboard = Annotated[
    bool,
    options.option(
        "--storyboard",
        help="Also {video}_storyboard.png and a JPEG of each segment.",
        rich_help_panel=options.OUT,
    ),
]
Plot = Annotated[
    list[options.PlotName] | None,
    options.option(
        "--plot",
        help="Also {video}_importance.png: the curve, shots, selection. With the value `attention`, "
        "{video}_attention.png: what a trained model looked at (--model fulltransnet). Repeatable.",
        metavar="[importance|attention]",
        show_default=False,
        rich_help_panel=options.OUT,
    ),
]
PlotFormat = Annotated[
    options.PlotFormat,
    options.option("--plot-format", help="Format of the plots.", rich_help_panel=options.OUT),
]
AttentionOf = Annotated[
    str,
    options.option(
        "--attention-of",
        help="Layers and heads that `--plot attention` shows: their mean, all of them each by itself, or "
        "one, such as 5.0 (layer 5, head 0, counted from 0).",
        metavar="mean|all|LAYER.HEAD",
        rich_help_panel=options.OUT,
    ),
]
DryRun = Annotated[
    bool, options.option("--dry-run", help="Print the segments, write nothing.", rich_help_panel=options.OUT)
]


class SummarizeCommand(TyperCommand):
    """`--plot` may stand alone, and means the importance curve then."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give a lone `--plot` its value."""
        names = {name.value for name in options.PlotName}
        following = [*args, ""][1:]
        said = [
            "--plot=importance" if word == "--plot" and after not in names else word
            for word, after in zip(args, following, strict=True)
        ]
        return super().parse_args(ctx, said)


def summarize(
    sources: options.VideosOrFeatures,
    budget: Budget = "15%",
    model: Model = DEFAULT_MODEL,
    seed: Seed = 0,
    beams: options.Beams = 1,
    keep: Keep = None,
    drop: Drop = None,
    shots: options.Shots = options.ShotMethod.kts,
    max_shots: options.MaxShots = None,
    min_shot: options.MinShot = None,
    max_shot: options.MaxShot = None,
    output: options.Output = None,
    output_dir: options.OutputDir = None,
    copy: Copy = False,
    storyboard: Storyboard = False,
    plot: Plot = None,
    plot_format: PlotFormat = options.PlotFormat.png,
    attention_of: AttentionOf = "mean",
    dry_run: DryRun = False,
    overwrite: options.Overwrite = False,
    fail_fast: options.FailFast = False,
    extractor: options.Extractor = options.ExtractorName.mobilenet_v2,
    fps: options.Fps = None,
    clip_frames: options.ClipFrames = None,
    stride_frames: options.StrideFrames = None,
    precision: options.Precision = options.PrecisionName.fp32,
    backend: options.Backend = options.BackendName.torch,
    device: options.Device = "auto",
    reader: options.Reader = options.ReaderName.pyav,
    strict: options.Strict = False,
    allow_playlists: options.AllowPlaylists = False,
    no_cache: options.NoCache = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    config: options.Config = None,
) -> None:
    """Summarize videos.

    Writes {video}_summary.mp4 and {video}_summary.json into the current folder. With -o FILE.mp4 they are
    FILE.mp4 and FILE.json; with -o FILE.json, or from feature files, there is no MP4.

    vidsum summarize film.mp4

    vidsum summarize film.mp4 --budget 45s --storyboard --plot

    vidsum summarize film.mp4 --keep 1:00-1:10 --drop 5:00-6:00 --dry-run
    """
    writes = output != "-" and not dry_run
    attention_part = parse_attention_part(attention_of)
    if attention_of != "mean" and options.PlotName.attention not in (plot or ()):
        raise UsageError("--attention-of says what is drawn of the attention", hint="add --plot attention")
    plots = [name.value for name in plot or ()]
    bases = destinations(sources, output, output_dir, "_summary.mp4", (".mp4", ".json"))
    targets = {
        source: summary_files(source, base, storyboard, plots, plot_format.value, attention_of)
        for source, base in bases.items()
    }
    if writes:
        _refuse_pictures_of_features(bases, targets, output)
        claim([(source, files.all) for source, files in targets.items()], output)

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.pipelines import summary as pipeline
        from vidsum.settings import Extraction, Selection, ShotSettings

        how = Extraction(
            extractor=extractor.value,
            fps=fps,
            clip_frames=clip_frames,
            stride_frames=stride_frames,
            precision=precision.value,
            backend=backend.value,
            device=device,
            reader=reader.value,
            strict=strict,
            cache=not no_cache,
            allow_playlists=allow_playlists,
        )
        cutting = ShotSettings(
            shots.value, max_shots, parse_optional_time(min_shot), parse_optional_time(max_shot)
        )
        stretches = [tuple(parse_interval(text) for text in texts or ()) for texts in (keep, drop)]
        selection = Selection(budget, model, seed, beams, *stretches)
        files = targets[source]
        if writes:
            if files.attention:
                pipeline.require_attention(model)
            provenance = pipeline.summary_provenance(source, selection, cutting, how)
            before = recorded(files.all, files.json, provenance, overwrite, copy=copy)
            if before is not None:
                return up_to_date("summarize", source, before, files.all, files.names)
        if not writes:
            summary = pipeline.run_summary(source, selection, cutting, how, progress)
            return _shown(source, summary, as_document=output == "-")
        with unfinished(files.all, files.json, provenance):
            summary = pipeline.run_summary(
                source,
                selection,
                cutting,
                how,
                progress,
                attention=files.attention,
                attention_part=attention_part,
            )
            return _written(source, summary, files, copy, progress)

    run_batch("summarize", sources, View(json, quiet, verbose), step, fail_fast=fail_fast)


def _refuse_pictures_of_features(
    bases: Mapping[str, Path], targets: Mapping[str, SummaryFiles], output: str | None
) -> None:
    """Raise a UsageError where an MP4 is asked for by name of a feature file."""
    for source, files in targets.items():
        if output is not None and bases[source].suffix == ".mp4" and files.video is None:
            raise UsageError(
                f"{source}: features hold no pictures to make {bases[source]} of", hint="give the video"
            )


def _shown(source: str, summary: "Summary", as_document: bool) -> Result:
    """The result of a run that writes no file."""
    from vidsum.documents import summary_document, to_text

    document = summary_document(summary)
    return Result(
        "summarize",
        source,
        document,
        lines=(_in_words(source, summary),),
        table=None if as_document else _table(summary),
        document=to_text(document) if as_document else None,
        messages=summary.warnings,
    )


def _written(
    source: str, summary: "Summary", files: SummaryFiles, copy: bool, progress: "Progress | None"
) -> Result:
    """Write all files, the JSON last: it tells that the others are there."""
    from vidsum.documents import summary_document, write_document
    from vidsum.pipelines import export

    messages = list(summary.warnings)
    if files.video:
        messages += export.write_video(summary, files.video, copy=copy, progress=progress)
    if files.storyboard and files.key_frames:
        export.write_storyboard(summary, files.storyboard, files.key_frames)
    if files.plot:
        export.write_plot(summary, files.plot)
    document = summary_document(summary)
    write_document(document, files.json)
    names = ", ".join(str(path) for path in files.all)
    return Result(
        "summarize",
        source,
        {**files.names, **document},
        lines=(_in_words(names, summary),),
        messages=tuple(dict.fromkeys(messages)),  # who reads and who writes may tell of the same
    )


def _in_words(name: str, summary: "Summary") -> str:
    count = len(summary.segments)
    segments = f"{count} segment{'s' if count > 1 else ''}"
    used, whole = format_time(summary.duration_s), format_time(summary.video_duration_s)
    reason = f" ({summary.model_reason})" if summary.model_reason.startswith("auto") else ""
    return f"{name}: {used} of {whole} in {segments}, by {summary.model}{reason}"


def _table(summary: "Summary") -> Table:
    rows = [
        (str(number), format_time(start), format_time(end), f"{end - start:.2f}")
        for number, (start, end) in enumerate(summary.segments, 1)
    ]
    return Table(("segment", "start", "end", "seconds"), tuple(rows))
