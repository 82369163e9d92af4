"""What an evaluation reads: the checkpoints of its rows, and the provenance of its report."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from vidsum.checkpoints.named import BEST, named_file
from vidsum.datasets.people import people_files
from vidsum.datasets.summaries import annotated_files
from vidsum.errors import InputError, UsageError
from vidsum.evaluation import submissions
from vidsum.evaluation.finished import summary_files
from vidsum.evaluation.settings import MomentsRequest, Request, SummaryRequest, VSERequest
from vidsum.outputs import as_utf8
from vidsum.provenance import of_file
from vidsum.summary.score import checkpoint_sha256
from vidsum.version import __version__


def checkpoint_of(run: Path) -> tuple[str, Path]:
    """The name of a run's row, and its checkpoint: the best of a training's folder, a file, or a named one.

    Raises:
        WeightsError: see `vidsum.checkpoints.named.named_file`.
    """
    return (run.resolve().name, run / BEST) if run.is_dir() else (run.stem, named_file(str(run)))


def checkpoints_of(runs: Sequence[Path]) -> dict[str, Path]:
    """The checkpoint of each run by the name of its row."""
    pairs = [checkpoint_of(run) for run in runs]
    refuse_twins([row for row, _ in pairs])
    return dict(pairs)


def refuse_twins(runs: Sequence[str]) -> None:
    """Raise UsageError where two rows of runs have one name."""
    for number, row in enumerate(runs):
        if row in runs[:number]:
            raise UsageError(f"two runs are called {row}", hint="rename a folder")


class SummaryRuns(Protocol):
    """What reads runs of `vidsum train fulltransnet`: the module `vidsum.training.predict`, a layer above."""

    def run_files(self, out: Path) -> list[Path]:
        """The files that the scores of a run come from."""

    @property
    def predict_run(self) -> Callable[..., submissions.TestedVideos]:
        """Scores the test videos of a run."""


def provenance(request: Request, runs: SummaryRuns | None = None) -> dict[str, Any]:
    """The sources and settings of a report, known before it is made.

    Args:
        request: what to evaluate.
        runs: reads the runs of a `SummaryRequest`; needed where it has any.

    Raises:
        InputError: a file cannot be read.
        UsageError: two runs have one name.
        WeightsError: a run is the name of a published checkpoint that was not added.
    """
    if isinstance(request, SummaryRequest):
        facts = _summary_provenance(request, runs)
    elif isinstance(request, MomentsRequest):
        answers = people_files(request.people) if request.people else []
        files = [*_files(request.data, *request.predictions), *_checkpoint_files(request.runs)]
        facts = {
            "files": [*files, *_files(*answers)],
            "features": [_extent(source) for source in request.features],
            **({"query_features": _extent(queries)} if (queries := request.query_features) else {}),
            "max_iou": request.max_iou,
            "comparison": request.comparison,
        }
    elif isinstance(request, VSERequest):
        sources = (request.captions, request.pictures)
        captions = _files(*(path for path in sources[:1] if not path.is_dir()))
        facts = {
            "files": [*captions, *_checkpoint_files([request.checkpoint])],
            "folders": [_extent(path) for path in sources if path.is_dir()],
            "split": request.split,
        }
    elif request.run:
        words = request.text_features
        facts = {
            "features": [_extent(source) for source in request.features],
            "text_features": _extent(words) if words else None,
            "files": [*_checkpoint_files([request.run]), *_files(request.annotations)],
        }
    else:
        facts = {"files": _files(request.predictions or Path(), request.annotations)}
    facts.setdefault("n_seeds", request.seeds)  # last, but for summaries
    return {"vidsum": __version__, **facts}


def _file(name: str, file: Path) -> dict[str, Any]:
    return {"name": as_utf8(name), **of_file(file)}


def _files(*files: Path) -> list[dict[str, Any]]:
    return [_file(file.name, file) for file in files]


def _checkpoint_files(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """Checkpoints by their rows: files of runs all have the same name."""
    return [_file(row, checkpoint) for row, checkpoint in checkpoints_of(runs).items()]


def _summary_provenance(request: SummaryRequest, runs: SummaryRuns | None) -> dict[str, Any]:
    annotations = [request.annotations] if request.data and request.annotations else []
    captions = [request.captions] if request.captions else []
    finished = [file for path in request.summaries for file in summary_files(path)]
    run_files = [file for run in request.runs for file in runs.run_files(run)] if runs else []
    files = [_file(str(file), file) for file in run_files]
    return {
        "files": _files(
            *annotated_files(request.source), *captions, *annotations, *request.scores, *finished
        ),
        "models": {model: checkpoint_sha256(model) for model in request.models},
        "segmentations": list(request.segmentation),
        "n_seeds": request.seeds,
        "runs": {"protocol": request.protocol, "beams": request.beams, "files": files},
        **({"space": request.space} if captions else {}),
    }


def _extent(source: Path) -> dict[str, Any]:
    """The size of features: hashing those of a data set takes as long as using them.

    Raises:
        InputError: there are none, or they cannot be read.
    """
    files = [file for file in source.iterdir() if file.is_file()] if source.is_dir() else [source]
    try:
        size = sum(file.stat().st_size for file in files)
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({(error.strerror or str(error)).lower()})") from error
    return {"name": as_utf8(source.name), "files": len(files), "bytes": size}
