"""What can be evaluated: a request per task, whose fields are the options of `vidsum evaluate TASK`.

Nothing here loads NumPy or PyTorch: `vidsum --help` reads it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vidsum.errors import UsageError

Segmentation = Literal["change-points", "uniform-60", "one-peak", "two-peak", "two-peak-30-300"]
"""Shots of key-shot summaries: those of the data, or those that know nothing of the video."""

Protocol = Literal["auto", "paper"]
"""Whether models of `--run` see no labels, or the test video's key frames, see `vidsum.training.predict`."""

Comparison = Literal["mmn", "2d-tan"]
"""When a moment counts as found: its IoU is at least the threshold (MMN, MRNet), or above it (2D-TAN)."""


@dataclass(frozen=True)
class SummaryRequest:
    """Rows of importance scores to compare with the annotators of one file.

    Raises:
        UsageError: there is nothing to evaluate on, or the annotations alone are not enough for a row.
    """

    data: Path | None = None
    """An h5 file of annotated videos."""
    annotations: Path | None = None
    """TVSum's own: joined to the videos of `data`, or on their own."""
    model: tuple[str, ...] = ()
    """Names of `vidsum.summary.score.MODELS`, or paths of checkpoints."""
    scores: tuple[Path, ...] = ()
    """JSON files of scores; the row goes by the file's stem."""
    runs: tuple[Path, ...] = ()
    """Folders of training runs; the row goes by the folder's name."""
    protocol: Protocol = "auto"
    beams: int = 1
    segmentation: tuple[Segmentation, ...] = ()
    """Those of the data if not given: its change points, or for annotations alone all others."""
    seeds: int = 10
    device: str = "auto"

    def __post_init__(self) -> None:
        if not (self.data or self.annotations):
            raise UsageError("nothing to evaluate on", hint="--data FILE.h5, or --annotations FILE.mat")
        if not self.data and (self.model or self.scores or self.runs):
            raise UsageError("--model, --scores and --run need videos with features", hint="--data FILE.h5")
        if "auto" in self.model:
            raise UsageError(
                "--model auto may be any of several models: name the one to measure",
                hint="--model fulltransnet",
            )
        if self.protocol == "paper" and not self.runs:
            raise UsageError("--protocol paper is for models of a training run", hint="--run FOLDER")

    @property
    def source(self) -> Path:
        """The file that is evaluated on."""
        source = self.data or self.annotations
        assert source is not None
        return source

    @property
    def models(self) -> tuple[str, ...]:
        """The models to measure: if there are neither models nor scores, those that need no training."""
        if self.model or self.scores or not self.data:
            return self.model
        return "contrastive", "cluster"


@dataclass(frozen=True)
class MomentsRequest:
    """Rows of moments to compare with annotated ones.

    Raises:
        UsageError: there are models without features, or features without models.
    """

    data: Path
    """See `vidsum.datasets.moments.read_moments`."""
    predictions: tuple[Path, ...] = ()
    """See `vidsum.evaluation.submissions.read_predictions`; the row goes by the file's stem."""
    runs: tuple[Path, ...] = ()
    """Runs or checkpoints of `vidsum train mrnet` or `vidsum train detr`."""
    features: tuple[Path, ...] = ()
    """Inputs of the models, side by side; see `vidsum.datasets.published_features`."""
    max_iou: float = 0.5
    """Largest IoU of two moments that a model gives a query."""
    comparison: Comparison = "mmn"
    seeds: int = 10
    device: str = "auto"

    def __post_init__(self) -> None:
        if bool(self.runs) != bool(self.features):
            raise UsageError("--run and --features go together", hint="--run FOLDER --features FILE")

    @property
    def source(self) -> Path:
        """The file that is evaluated on."""
        return self.data


@dataclass(frozen=True)
class HighlightsRequest:
    """Answers to QVHighlights' queries: a submission, or those of a model.

    Raises:
        UsageError: there is neither or both, or an option of a model without one.
    """

    annotations: Path
    """See `vidsum.datasets.highlights.read_highlights`."""
    predictions: Path | None = None
    """See `vidsum.evaluation.submissions.read_highlight_predictions`."""
    run: Path | None = None
    """A run or a checkpoint, as of `MomentsRequest.runs`, in place of predictions."""
    features: tuple[Path, ...] = ()
    text_features: Path | None = None
    """Folder of the words of queries, see `vidsum.datasets.published_features.read_words`."""
    seeds: int = 10
    device: str = "auto"
    write_predictions: Path | None = None
    """JSON lines to write the model's answers to."""

    def __post_init__(self) -> None:
        if bool(self.predictions) == bool(self.run):
            raise UsageError(
                "give PREDICTIONS, or a model by --run, and then ANNOTATIONS",
                hint="vidsum evaluate highlights PREDICTIONS ANNOTATIONS",
            )
        model = "--run FOLDER --features FOLDER"
        if bool(self.run) != bool(self.features):
            raise UsageError("--run and --features go together", hint=model)
        if self.text_features and not self.run:
            raise UsageError("--text-features is for a model of --run", hint=model)
        if self.write_predictions and not self.run:
            raise UsageError("--write-predictions is for a model of --run", hint=model)

    @property
    def source(self) -> Path:
        """The file that is evaluated on."""
        return self.annotations


Request = SummaryRequest | MomentsRequest | HighlightsRequest
