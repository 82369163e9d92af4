"""QVHighlights' official evaluation from files, and what a report of it was made from."""

from pathlib import Path
from typing import Any

from vidsum import __version__
from vidsum.datasets.highlights import read_highlights
from vidsum.evaluation.highlight_predictions import read_highlight_predictions
from vidsum.evaluation.highlight_report import HighlightReport, evaluate_highlights
from vidsum.outputs import as_utf8
from vidsum.provenance import of_file


def run_highlights(predictions: Path, data: Path, n_seeds: int = 10) -> HighlightReport:
    """Evaluate a submission against annotations; its row goes by the file's stem.

    Args:
        predictions: see `read_highlight_predictions`.
        data: see `read_highlights`.
        n_seeds: how many draws the random row is the mean of.

    Raises:
        InputError: a file cannot be read, or they do not go together.
        UsageError: see `evaluate_highlights`.
    """
    queries = read_highlights(data)
    found = read_highlight_predictions(predictions, queries)
    return evaluate_highlights(queries, found, name=predictions.stem, n_seeds=n_seeds)


def highlight_provenance(predictions: Path, data: Path, n_seeds: int) -> dict[str, Any]:
    """What a report is made from, known before it is made.

    Raises:
        InputError: a file cannot be read.
    """
    return {
        "vidsum": __version__,
        "files": [{"name": as_utf8(file.name), **of_file(file)} for file in (predictions, data)],
        "n_seeds": n_seeds,
    }
