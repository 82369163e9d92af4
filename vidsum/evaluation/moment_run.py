"""An evaluation of moment retrieval from files: which queries, which rows, and what it was made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vidsum.datasets.moments import read_moments
from vidsum.errors import InputError, UsageError
from vidsum.evaluation.moment_metrics import Comparison
from vidsum.evaluation.moment_report import MomentPredictions, MomentReport, evaluate_moments
from vidsum.evaluation.submissions import read_predictions
from vidsum.outputs import as_utf8
from vidsum.provenance import of_file
from vidsum.types import Progress
from vidsum.version import __version__


@dataclass(frozen=True)
class MomentsAsked:
    """What to measure on a file of annotated videos."""

    predictions: tuple[Path, ...] = ()
    """Each is a row that goes by the file's stem."""
    checkpoints: Mapping[str, Path] = field(default_factory=dict)
    """Trained models, by the names of their rows."""
    features: tuple[Path, ...] = ()
    """That the models read, put side by side; see `vidsum.datasets.published_features`."""
    max_iou: float = 0.5
    """Largest IoU of two moments that a model gives a query."""
    comparison: Comparison = "mmn"
    n_seeds: int = 10
    device: str = "auto"
    """That the models run on."""


def run_moments(
    source: Path,
    asked: MomentsAsked,
    progress: Progress | None = None,
    plot: Path | None = None,
    label: str | None = None,
) -> MomentReport:
    """Evaluate rows of moments on the queries of a file.

    Args:
        source: annotations, see `vidsum.datasets.moments.read_moments`.
        asked: the rows, and how they are measured.
        progress: called while models run.
        plot: where to draw R@1 over the IoU.
        label: of the plot, see `vidsum.labels`.

    Raises:
        InputError: a file cannot be read, or does not go with the data.
        UsageError: two rows have one name; or see `evaluate_moments`.
        WeightsError: see `vidsum.evaluation.models.moments_by`.
    """
    videos = read_moments(source)
    rows: dict[str, MomentPredictions] = {}
    for path in asked.predictions:
        if path.stem in rows or path.stem in asked.checkpoints:
            raise UsageError(f"{path}: another row is called {path.stem!r} too", hint="rename the file")
        rows[path.stem] = read_predictions(path, videos)
    for row, checkpoint in asked.checkpoints.items():
        from vidsum.evaluation.models import moments_by  # with PyTorch, which the rest can do without

        rows[row] = moments_by(
            checkpoint, asked.features, videos, max_iou=asked.max_iou, device=asked.device, progress=progress
        )
    report = evaluate_moments(videos, rows, comparison=asked.comparison, n_seeds=asked.n_seeds)
    if plot:
        from vidsum.evaluation.moment_plot import plot_recall

        plot_recall(report, f"{source.name}: {report.n_queries} queries", plot, label)
    return report


def provenance(source: Path, asked: MomentsAsked) -> dict[str, Any]:
    """What a report is made from, known before it is made.

    Raises:
        InputError: a file cannot be read.
    """
    # a checkpoint by its row: files of runs are all called the same
    read = [*((file.name, file) for file in (source, *asked.predictions)), *asked.checkpoints.items()]
    return {
        "vidsum": __version__,
        "files": [{"name": as_utf8(name), **of_file(file)} for name, file in read],
        "features": [extent_of(folder) for folder in asked.features],
        "max_iou": asked.max_iou,
        "comparison": asked.comparison,
        "n_seeds": asked.n_seeds,
    }


def extent_of(source: Path) -> dict[str, Any]:
    """What is said of features, their size: hashing those of a data set takes as long as using them.

    Raises:
        InputError: there are none, or they cannot be read.
    """
    files = [file for file in source.iterdir() if file.is_file()] if source.is_dir() else [source]
    try:
        sizes = [file.stat().st_size for file in files]
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({(error.strerror or str(error)).lower()})") from error
    return {"name": as_utf8(source.name), "files": len(files), "bytes": sum(sizes)}
