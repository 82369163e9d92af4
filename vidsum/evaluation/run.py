"""An evaluation from files: which videos, which rows, and what the report was made from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from vidsum.datasets.summaries import AnnotatedVideo, read_annotated
from vidsum.datasets.tvsum import read_tvsum_mat, with_user_scores
from vidsum.errors import UsageError
from vidsum.evaluation.predictions import Tested, read_scores, scored_by
from vidsum.evaluation.report import Predictions, SummaryReport, evaluate_annotations, evaluate_summaries
from vidsum.evaluation.segmentation import CHANGE_POINTS, SEGMENTATIONS
from vidsum.outputs import as_utf8
from vidsum.provenance import of_file
from vidsum.summary.score import checkpoint_sha256
from vidsum.types import Progress
from vidsum.version import __version__

Videos = Mapping[str, AnnotatedVideo]
Predict = Callable[[Path, Videos], Tested]
"""predict(folder of a run, videos) -> its test videos, scored."""

KNAPSACK_OF_ANNOTATIONS = "pgl-sum"
"""Annotations alone are measured with one knapsack: they have no shots that either was published with."""


@dataclass(frozen=True)
class Asked:
    """What to measure on a file of annotated videos, or of annotations."""

    annotations: Path | None = None
    """TVSum's own, to join to the videos of an h5 file."""
    models: tuple[str, ...] = ()
    """Names of `vidsum.summary.score.MODELS`, or paths of checkpoints."""
    scores: tuple[Path, ...] = ()
    """JSON files of scores; each is a row that goes by the file's stem."""
    segmentations: tuple[str, ...] = ()
    """Those of the data if not given: its change points, or for annotations all that need none."""
    n_seeds: int = 10
    runs: tuple[Path, ...] = ()
    """Folders of training runs; each is a row that goes by the folder's name."""
    protocol: Literal["auto", "paper"] = "auto"
    """How the models of runs are asked, see `vidsum.training.predict`."""
    beams: int = 1
    device: str = "auto"
    """That trained models run on."""


def run_data(
    source: Path,
    asked: Asked,
    predict: Predict | None = None,
    progress: Progress | None = None,
    plot: Path | None = None,
    label: str | None = None,
) -> SummaryReport:
    """Evaluate rows of scores on an h5 file of annotated videos: on those that all rows have.

    Args:
        source: the h5 file.
        asked: the rows, and how they are measured.
        predict: scores the test videos of a run; needed where `asked.runs` has any.
        progress: called after each video.
        plot: where to draw the rows' scores, see `vidsum.evaluation.plots`.
        label: of the plot, see `vidsum.labels`.

    Raises:
        InputError: a file cannot be read, or does not go with the data.
        UsageError: two rows have one name or no video in common; or see `evaluate_summaries`.
    """
    videos: Videos = read_annotated(source)
    n_read = len(videos)
    if asked.annotations:
        videos = with_user_scores(videos, read_tvsum_mat(asked.annotations))
    rows = _read_rows(asked, videos)
    tests = [predict(run, videos) for run in asked.runs] if predict else []
    if tests:
        videos = _tested_by_all(tests)
        rows = {row: _by_key(scores, videos) for row, scores in rows.items()}
        rows |= {tested.row: tested.scores for tested in tests}
    videos = {name: video for name, video in videos.items() if all(name in row for row in rows.values())}
    if not videos:
        raise UsageError(f"{source}: the files of --scores and the runs have no video in common")
    rows |= {
        model: scored_by(model, videos, beams=asked.beams, device=asked.device) for model in asked.models
    }
    report = evaluate_summaries(
        videos,
        rows,
        segmentations=asked.segmentations or (CHANGE_POINTS,),
        n_seeds=asked.n_seeds,
        progress=progress,
    )
    if plot:
        from vidsum.evaluation.plots import plot_scores

        plot_scores(videos, rows, plot, label=label)
    notes = [*_coverage_notes(source, report, n_read), *_training_notes(source, asked.models, videos)]
    return replace(report, warnings=(*notes, *report.warnings))


def _coverage_notes(source: Path, report: SummaryReport, n_read: int) -> list[str]:
    notes = []
    if report.n_videos < n_read:
        notes.append(f"{source}: evaluated on {report.n_videos} of {n_read} videos, those that all rows have")
    if report.n_tests > report.n_videos:
        notes.append(
            f"{source}: {report.n_tests} tests of {report.n_videos} videos: what several splits test counts "
            "for each of them, in every row"
        )
    return notes


def _training_notes(source: Path, models: Sequence[str], videos: Videos) -> list[str]:
    """Which checkpoints have been trained on, or chosen by, what they are tested on here."""
    notes = []
    for model in models:
        if not model.endswith(".safetensors"):
            continue
        from vidsum.checkpoints.trained import read_trained

        training = read_trained(model).training
        split = training.get("split", {})
        known = {*split.get("train", ()), *split.get("validation", ())}
        n_known = len(known & {video.name for video in videos.values()})
        same = of_file(source)["sha256"] in [data.get("sha256") for data in training.get("data", ())]
        if same and n_known:
            notes.append(f"{model}: was trained on {n_known} of these videos; --run tests on the others only")
    return notes


def run_annotations(source: Path, asked: Asked, progress: Progress | None = None) -> SummaryReport:
    """Evaluate what needs no features on TVSum's own annotations: the annotators, and chance.

    Raises:
        InputError: the file cannot be read.
        UsageError: see `evaluate_annotations`.
    """
    return evaluate_annotations(
        read_tvsum_mat(source),
        segmentations=asked.segmentations or tuple(SEGMENTATIONS),
        knapsacks=(KNAPSACK_OF_ANNOTATIONS,),
        n_seeds=asked.n_seeds,
        progress=progress,
    )


def provenance(source: Path, asked: Asked, run_files: Sequence[Path] = ()) -> dict[str, Any]:
    """What a report is made from, known before it is made.

    Args:
        source: the file of videos or annotations.
        asked: see `run_data`.
        run_files: what scores by the runs come from.

    Raises:
        InputError: a file cannot be read.
    """
    files = [source, *([asked.annotations] if asked.annotations else []), *asked.scores]
    return {
        "vidsum": __version__,
        "files": [{"name": as_utf8(file.name), **of_file(file)} for file in files],
        "models": {model: checkpoint_sha256(model) for model in asked.models},
        "segmentations": list(asked.segmentations),
        "n_seeds": asked.n_seeds,
        "runs": {
            "protocol": asked.protocol,
            "beams": asked.beams,
            "files": [{"name": as_utf8(str(file)), **of_file(file)} for file in run_files],
        },
    }


def _tested_by_all(tests: Sequence[Tested]) -> Videos:
    """The test videos of several runs, which have to be the same."""
    for other in tests[1:]:
        if other.videos.keys() != tests[0].videos.keys():
            raise UsageError(
                f"the runs {tests[0].row} and {other.row} test on other videos", hint="one --run at a time"
            )
        if other.row == tests[0].row:
            raise UsageError(f"two runs are called {other.row}", hint="rename a folder")
    return tests[0].videos


def _by_key(scores: Predictions, videos: Videos) -> Predictions:
    """Scores by the names of a run's tests, in which a video may be there more than once."""
    return {key: scores[video.name] for key, video in videos.items() if video.name in scores}


def _read_rows(asked: Asked, videos: Mapping[str, AnnotatedVideo]) -> dict[str, Predictions]:
    rows: dict[str, Predictions] = {}
    for path in asked.scores:
        if path.stem in rows or path.stem in asked.models:
            raise UsageError(f"{path}: another row is called {path.stem!r} too", hint="rename the file")
        rows[path.stem] = read_scores(path, videos)
    return rows
