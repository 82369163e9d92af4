"""Requests for evaluations, one per task, whose fields are the options of `vidsum evaluate TASK`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from vidsum.device import Device
from vidsum.errors import Mention, UsageError, fill, unknown_name_error
from vidsum.grounding.settings import CaptionSpace
from vidsum.options import Option, check, option
from vidsum.summary.settings import SUMMARIZERS

Segmentation = Literal["change-points", "uniform-60", "one-peak", "two-peak", "two-peak-30-300"]
"""Shots of key-shot summaries: the shots of the data, or shots chosen without regard to the video."""

Comparison = Literal["mmn", "2d-tan"]
"""When a moment counts as found: its IoU is at least the threshold (MMN, MRNet), or above it (2D-TAN)."""

PANEL = "What to evaluate"

_SOURCES = "HDF5 file, folder with a file per video, or captions of clips (.jsonl, .jsonl.gz)."
_CHECKPOINTS = "Run or checkpoint of `vidsum train mrnet` or `detr`, run on --features"
_LABELS = "paper: they see the annotators' key frames, as in the paper."

Seeds = Annotated[int, Option("Number of random draws to average.", min=1, flag_on=())]
Features = Annotated[tuple[Path, ...], Option("Features that --run reads.", metavar="PATH", more=_SOURCES)]


@dataclass(frozen=True, kw_only=True)
class SummaryRequest:
    """Rows of importance scores to compare with the annotators of a file. UsageError: nothing to compare."""

    PANEL = PANEL

    data: Path | None = option(
        "h5 file of annotated videos, or a folder.",
        None,
        metavar="PATH",
        more="SumMe, TVSum or their layout.",
    )
    annotations: Path | None = option(
        "Scores of annotators.",
        None,
        metavar="FILE",
        more="ydata-tvsum50.mat or SumMe's protocol (.npz): alone, for --data without them, or with "
        "--captions.",
    )
    captions: Path | None = option("Captions of the frames, in place of --data.", None, metavar="FILE.json")
    space: CaptionSpace = option(
        "Features made from --captions.",
        "text",
        flags=("--captions-as",),
        more="See `vidsum train ridge`.",
    )
    model: tuple[str, ...] = option(
        "As in `vidsum summarize`, run on the features.",
        (),
        flags=("--model", "--scorer", "-m"),
        default_text="contrastive, without --scores and --summaries",
        metavar="NAME|FILE",
        names=SUMMARIZERS,
    )
    scores: tuple[Path, ...] = option("Your own scores, {video: [one per pick]}.", (), metavar="FILE.json")
    summaries: tuple[Path, ...] = option(
        "Finished summaries.",
        (),
        metavar="PATH",
        more="A folder of the JSON files of `vidsum summarize`, or one file. Their segments are "
        "compared as they are.",
    )
    runs: tuple[Path, ...] = option(
        "Folder of `vidsum train`.",
        (),
        flags=("--run",),
        metavar="FOLDER",
        more="Its models score their own test videos.",
    )
    protocol: Literal["auto", "paper"] = option(
        "auto: models of --run see no labels.", "auto", flag_on=(), more=_LABELS
    )
    segmentation: tuple[Segmentation, ...] = option(
        "Shots of the summaries.",
        (),
        default_text="change-points; without --data all others",
        flag_on=(),
    )
    seeds: Seeds = 10
    device: Device = "auto"
    plot: Path | None = option(
        "PNG or SVG plot of the report.",
        None,
        flags=("--plot-file",),
        panel="Output",
        metavar="FILE",
        writes=True,
    )
    plot_of: Literal["scores", "segments"] = option(
        "Content of --plot-file.",
        "scores",
        panel="Output",
        more="scores over time, or segments of each row under the annotators'.",
    )

    def __post_init__(self) -> None:
        check(self)
        if not (self.data or self.annotations):
            raise UsageError(
                "nothing to evaluate on",
                hint=fill("{}, or {}", Mention("data", "FILE.h5"), Mention("annotations", "FILE.mat")),
            )
        if self.captions and (self.data or not self.annotations):
            raise UsageError(
                fill(
                    "{} go with {}, without {}", Mention("captions"), Mention("annotations"), Mention("data")
                ),
                hint=Mention("annotations", "FILE"),
            )
        if self.space != "text" and not self.captions:
            raise UsageError(
                fill("{} has no effect without {}", Mention("space"), Mention("captions")),
                hint="leave it out",
            )
        if not self.has_features and (self.model or self.scores or self.runs):
            raise UsageError(
                fill(
                    "{}, {} and {} need videos with features",
                    Mention("model"),
                    Mention("scores"),
                    Mention("runs"),
                ),
                hint=Mention("data", "FILE.h5"),
            )
        if "auto" in self.model:
            hint = Mention("model", "ridge")
            raise UsageError((Mention("model", "auto"), " may be any model: name the one to measure"), hint)
        if self.protocol == "paper" and not self.runs:
            raise UsageError(
                (Mention("protocol", "paper"), " is for models of a training run"),
                hint=Mention("runs", "FOLDER"),
            )
        if self.plot_of == "segments" and not self.plot:
            raise UsageError(
                (Mention("plot_of"), " needs a file to plot to"), hint=Mention("plot", "FILE.png")
            )
        if self.plot and self.plot_of == "scores" and not self.has_features:
            raise UsageError(
                (Mention("plot"), " needs videos with features"), hint=Mention("data", "FILE.h5")
            )

    @property
    def source(self) -> Path:
        return self.data or self.annotations or Path()

    @property
    def has_features(self) -> bool:
        """Whether models can be run on the videos."""
        return bool(self.data or self.captions)

    @property
    def models(self) -> tuple[str, ...]:
        """The models to measure; without models and scores those that need no training."""
        is_enough = self.scores or self.summaries or not self.has_features
        return self.model or (() if is_enough else ("contrastive",))


@dataclass(frozen=True, kw_only=True)
class MomentsRequest:
    """Rows of moments to compare with annotated ones. UsageError: models without features, or the reverse."""

    PANEL = PANEL

    data: Annotated[
        Path,
        Option(
            "Annotations of the videos.",
            metavar="FILE",
            more="ActivityNet Captions, Charades-STA, TACoS or QVHighlights.",
        ),
    ]
    predictions: tuple[Path, ...] = ()  # see `vidsum.lab.evaluation.submissions.read_predictions`
    runs: tuple[Path, ...] = option(f"{_CHECKPOINTS}.", (), flags=("--run",), metavar="FOLDER|FILE")
    features: Features = ()
    query_features: Path | None = option(
        "Folder with a file per query.",
        None,
        default_text="embedded by the run's text encoder",
        metavar="FOLDER",
        flag_on=(),
        more="For models of --run trained on such files.",
    )
    max_iou: float = option("Maximum IoU of two moments of a model of --run.", 0.5, min=0, max=1, flag_on=())
    comparison: Comparison = option(
        "A moment is found if its IoU is >= the threshold (mmn: MMN, MRNet) or > (2d-tan).", "mmn", flag_on=()
    )
    seeds: Seeds = 10
    device: Device = "auto"

    def __post_init__(self) -> None:
        check(self)
        if bool(self.runs) != bool(self.features):
            raise UsageError(
                fill("{} and {} go together", Mention("runs"), Mention("features")),
                hint=fill("{} {}", Mention("runs", "FOLDER"), Mention("features", "FILE")),
            )
        if self.query_features and not self.runs:
            raise UsageError(
                fill("{} is for a model of {}", Mention("query_features"), Mention("runs")),
                hint=fill("{} {}", Mention("runs", "FOLDER"), Mention("features", "FILE")),
            )

    @property
    def source(self) -> Path:
        return self.data


@dataclass(frozen=True, kw_only=True)
class HighlightsRequest:
    """Answers to QVHighlights' queries: a submission, or answers of a model. UsageError: neither or both."""

    PANEL = PANEL

    annotations: Path  # see `vidsum.lab.datasets.timed_sentences.read_highlights`
    predictions: Path | None = None  # see `vidsum.lab.evaluation.submissions.read_highlight_predictions`
    run: Path | None = option(f"{_CHECKPOINTS}, in place of predictions.", None, metavar="FOLDER|FILE")
    features: Features = ()
    text_features: Path | None = option(
        "Folder with the words of queries (qid{N}.npz).",
        None,
        default_text="embedded by the run's text encoder",
        metavar="FOLDER",
    )
    seeds: Seeds = 10
    device: Device = "auto"
    write_predictions: Path | None = option(
        "Write the answers of --run as a submission.", None, panel="Output", metavar="FILE.jsonl", writes=True
    )

    def __post_init__(self) -> None:
        check(self)
        if bool(self.predictions) == bool(self.run):
            raise UsageError(
                ("give PREDICTIONS, or a model by ", Mention("run"), ", and then ANNOTATIONS"),
                hint="vidsum evaluate highlights PREDICTIONS ANNOTATIONS",
            )
        if bool(self.run) != bool(self.features):
            raise UsageError(
                fill("{} and {} go together", Mention("run"), Mention("features")),
                hint=fill("{} {}", Mention("run", "FOLDER"), Mention("features", "FOLDER")),
            )
        for name in ("text_features", "write_predictions"):
            if getattr(self, name) and not self.run:
                raise UsageError(
                    fill("{} is for a model of {}", Mention(name), Mention("run")),
                    hint=fill("{} {}", Mention("run", "FOLDER"), Mention("features", "FOLDER")),
                )

    @property
    def source(self) -> Path:
        return self.annotations


CAPTION_METRICS = ("cider-d", "bleu", "rouge-l")
_NEED_JAVA = {"meteor": "METEOR", "spice": "SPICE"}


@dataclass(frozen=True, kw_only=True)
class CaptionsRequest:
    """Captions to compare with sentences of people. UsageError: an unknown measure or one that needs Java."""

    PANEL = PANEL

    data: Annotated[
        Path,
        Option(
            "Sentences of people.",
            metavar="FILE",
            more="COCO or MSR-VTT (.json), a CSV of captions, ActivityNet Captions (.json) or MAD (.csv).",
        ),
    ]
    predictions: tuple[Path, ...] = ()  # see `vidsum.lab.datasets.described_items.read_captions`
    metric: tuple[str, ...] = option(
        "Measure.",
        CAPTION_METRICS,
        default_text="all",
        metavar="NAME",
        names=CAPTION_METRICS,
        more="cider-d, bleu or rouge-l.",
    )

    def __post_init__(self) -> None:
        check(self)
        for name in self.metric:
            if name.lower() in _NEED_JAVA:
                reason = f"{_NEED_JAVA[name.lower()]} needs Java programs, which vidsum does not have"
                raise UsageError(reason, hint="coco-caption computes it")
            if name not in CAPTION_METRICS:
                raise unknown_name_error("measure", name, CAPTION_METRICS)

    @property
    def source(self) -> Path:
        return self.data


Request = SummaryRequest | MomentsRequest | HighlightsRequest | CaptionsRequest


def checkpoint_of(run: Path) -> Path:
    """Return a run's checkpoint: in a folder, a file or a name. Raises WeightsError: no such."""
    from vidsum.checkpoints.named import BEST, checkpoint_file

    return run / BEST if run.is_dir() else checkpoint_file(str(run))
