"""An evaluation of moment retrieval from files: which queries, which rows, and what it was made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidsum import __version__
from vidsum.datasets.moments import MomentVideo, read_moments
from vidsum.errors import UsageError
from vidsum.evaluation.moment_predictions import read_predictions
from vidsum.evaluation.moment_report import MomentPredictions, MomentReport, evaluate_moments
from vidsum.evaluation.moments import Comparison
from vidsum.outputs import as_utf8
from vidsum.provenance import of_file

Predict = Callable[[Path, Mapping[str, MomentVideo]], MomentPredictions]
"""predict(run or checkpoint, videos) -> the moments that it finds."""


@dataclass(frozen=True)
class MomentsAsked:
    """What to measure on a file of annotated videos."""

    predictions: tuple[Path, ...] = ()
    """Each is a row that goes by the file's stem."""
    comparison: Comparison = "mmn"
    n_seeds: int = 10


def run_moments(source: Path, asked: MomentsAsked, plot: Path | None = None) -> MomentReport:
    """Evaluate rows of moments on the queries of a file.

    Args:
        source: annotations, see `vidsum.datasets.moments.read_moments`.
        asked: the rows, and how they are measured.
        plot: where to draw R@1 over the IoU.

    Raises:
        InputError: a file cannot be read, or does not go with the data.
        UsageError: two rows have one name; or see `evaluate_moments`.
    """
    videos = read_moments(source)
    rows: dict[str, MomentPredictions] = {}
    for path in asked.predictions:
        if path.stem in rows:
            raise UsageError(f"{path}: another row is called {path.stem!r} too", hint="rename the file")
        rows[path.stem] = read_predictions(path, videos)
    report = evaluate_moments(videos, rows, comparison=asked.comparison, n_seeds=asked.n_seeds)
    if plot:
        from vidsum.evaluation.moment_plot import plot_recall

        plot_recall(report, f"{source.name}: {report.n_queries} queries", plot)
    return report


def provenance(source: Path, asked: MomentsAsked) -> dict[str, Any]:
    """What a report is made from, known before it is made.

    Raises:
        InputError: a file cannot be read.
    """
    return {
        "vidsum": __version__,
        "files": [{"name": as_utf8(file.name), **of_file(file)} for file in (source, *asked.predictions)],
        "comparison": asked.comparison,
        "n_seeds": asked.n_seeds,
    }
