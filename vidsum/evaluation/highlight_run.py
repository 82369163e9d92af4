"""QVHighlights' official evaluation from files, and what a report of it was made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidsum.datasets.highlights import HighlightQuery, read_highlights
from vidsum.evaluation.highlight_predictions import (
    HighlightPrediction,
    read_highlight_predictions,
    write_highlight_predictions,
)
from vidsum.evaluation.highlight_report import HighlightReport, evaluate_highlights
from vidsum.evaluation.moment_run import extent_of
from vidsum.outputs import as_utf8
from vidsum.provenance import of_file
from vidsum.types import Progress
from vidsum.version import __version__


@dataclass(frozen=True)
class ModelRun:
    """A trained model that answers, and what it reads."""

    name: str
    """Of its row."""
    checkpoint: Path
    features: tuple[Path, ...]
    """Of the videos, put side by side; see `vidsum.datasets.published_features`."""
    text_features: Path | None = None
    """Folder of the words of queries, see `read_words`; those of a text encoder if not given."""
    device: str = "auto"
    written: Path | None = None
    """Where its answers go, as a submission."""


def run_highlights(
    predictions: Path | ModelRun, data: Path, n_seeds: int = 10, progress: Progress | None = None
) -> HighlightReport:
    """Evaluate answers on annotations.

    Args:
        predictions: a submission, see `read_highlight_predictions`, whose row goes by the file's stem; or a
            model.
        data: see `read_highlights`.
        n_seeds: how many draws the random row is the mean of.
        progress: called while a model runs.

    Raises:
        InputError: a file cannot be read, or they do not go together.
        UsageError: see `evaluate_highlights`.
        WeightsError: see `vidsum.evaluation.highlight_model.highlights_by`.
    """
    queries = read_highlights(data)
    if isinstance(predictions, ModelRun):
        found = _answers(predictions, queries, progress)
        return evaluate_highlights(queries, found, name=predictions.name, n_seeds=n_seeds)
    found = read_highlight_predictions(predictions, queries)
    return evaluate_highlights(queries, found, name=predictions.stem, n_seeds=n_seeds)


def _answers(
    run: ModelRun, queries: Mapping[str, HighlightQuery], progress: Progress | None
) -> dict[str, HighlightPrediction]:
    from vidsum.evaluation.highlight_model import highlights_by  # with PyTorch, which the rest can do without

    found = highlights_by(run, queries, progress)
    if run.written:
        write_highlight_predictions(run.written, found.values())
    return found


def highlight_provenance(predictions: Path | ModelRun, data: Path, n_seeds: int) -> dict[str, Any]:
    """What a report is made from, known before it is made.

    Raises:
        InputError: a file cannot be read.
    """
    made_from: dict[str, Any] = {"vidsum": __version__}
    if isinstance(predictions, ModelRun):
        run = predictions
        read = [(run.name, run.checkpoint), (data.name, data)]
        made_from["features"] = [extent_of(source) for source in run.features]
        made_from["text_features"] = extent_of(run.text_features) if run.text_features else None
    else:
        read = [(file.name, file) for file in (predictions, data)]
    made_from["files"] = [{"name": as_utf8(name), **of_file(file)} for name, file in read]
    return {**made_from, "n_seeds": n_seeds}
