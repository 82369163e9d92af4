"""An evaluation of files, for any task. PyTorch is loaded only where a model runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from vidsum.errors import Mention, UsageError, fill
from vidsum.io.provenance import identify_file
from vidsum.lab.datasets.annotated_videos import annotated_files, read_annotated, shots_of
from vidsum.lab.datasets.described_items import read_captions, read_described
from vidsum.lab.datasets.labels import Labels, read_labels
from vidsum.lab.datasets.timed_sentences import read_highlights, read_moments
from vidsum.lab.evaluation import captions, moment_evaluation, submissions, summary_metrics
from vidsum.lab.evaluation.captions import evaluate_captions
from vidsum.lab.evaluation.evaluation_report import Report
from vidsum.lab.evaluation.moment_evaluation import evaluate_highlights, evaluate_moments
from vidsum.lab.evaluation.reference import BUDGET, CHANGE_POINTS, KNAPSACKS, SEGMENTATIONS
from vidsum.lab.evaluation.settings import (
    CaptionsRequest,
    HighlightsRequest,
    MomentsRequest,
    Request,
    SummaryRequest,
    checkpoint_of,
)
from vidsum.lab.evaluation.summary_evaluation import Scores, Videos, evaluate_summaries
from vidsum.lab.finished_summaries import Finished, read_finished
from vidsum.summary.score import score
from vidsum.summary.settings import Selection
from vidsum.types import Progress


def evaluate(request: Request, progress: Progress | None = None) -> Report:
    """Evaluate the rows of a request, on those videos of the data that all rows have.

    Raises InputError: a file cannot be read, or does not go with the data. UsageError: two rows have one
    name, or no video in common; or see the evaluation of the task.
    """
    _refuse_equal_names(request)
    if isinstance(request, SummaryRequest):
        return _summary(request, progress)
    if isinstance(request, MomentsRequest):
        return _moments(request, progress)
    if isinstance(request, HighlightsRequest):
        return _highlights(request, progress)
    items = read_described(request.data)
    rows = {_row(path): read_captions(path, items) for path in request.predictions}
    return evaluate_captions(request, items, rows)


def _row(path: Path) -> str:
    """Return the name of the row of a file, a folder or a checkpoint."""
    return path.resolve().name if path.is_dir() else path.stem


_BASELINES: Mapping[type[Request], Sequence[str]] = {
    SummaryRequest: summary_metrics.BASELINES,
    MomentsRequest: moment_evaluation.BASELINES,
    HighlightsRequest: moment_evaluation.BASELINES,
    CaptionsRequest: captions.BASELINES,
}


def _refuse_equal_names(request: Request) -> None:
    names = [*_BASELINES[type(request)], *getattr(request, "models", ())]
    for kind in ("predictions", "scores", "summaries", "run", "runs"):
        value = getattr(request, kind, None) or ()
        for path in (value,) if isinstance(value, Path) else value:
            if _row(path) in names:
                raise UsageError(f"another row is called {_row(path)!r} too", hint="rename it", subject=path)
            names.append(_row(path))


def _summary(request: SummaryRequest, progress: Progress | None) -> Report:
    labels = read_labels(request.annotations) if request.annotations else {}
    data = _videos(request, labels, progress)
    rows, finished, tested = _read_rows(request, data, labels, progress)
    videos = _in_all(rows, tested, request.source)
    for model in request.models:  # as `vidsum summarize --model` computes it
        selection = Selection(model=model)
        rows[model] = {
            name: score(video.features, shots_of(video), selection, BUDGET, request.device)
            for name, video in videos.items()
        }
    has_shots = all(video.change_points is not None for video in videos.values())
    if request.plot_of == "segments" and not has_shots:
        raise UsageError(
            "has no shots, which segments are made of",
            hint=Mention("data", "FILE.h5"),
            subject=request.source,
        )
    report = evaluate_summaries(
        videos,
        rows,
        segmentations=request.segmentation or ((CHANGE_POINTS,) if has_shots else tuple(SEGMENTATIONS)),
        # without shots there are none that either knapsack was published with
        knapsacks=KNAPSACKS if has_shots else ("pgl-sum",),
        n_seeds=request.seeds,
        selections={
            row: {test: summaries.selections[video.name] for test, video in videos.items()}
            for row, summaries in finished.items()
        },
        progress=progress,
    )

    def plot(target: Path) -> None:
        from vidsum.lab.evaluation.plots import plot_scores, plot_segments

        if request.plot_of == "scores":
            plot_scores(videos, rows, target)
        else:
            chosen = {row: summaries.selections for row, summaries in finished.items()}
            plot_segments(videos, rows, chosen, target)

    shares = (f"{row}: {warning}" for row, summaries in finished.items() for warning in summaries.warnings)
    notes = _notes(request, videos, report.facts, len(data))
    return replace(report, warnings=(*notes, *shares, *report.warnings), writers={"plot": plot})


def _in_all(rows: Mapping[str, Scores], videos: Any, source: Path) -> Any:
    """Return the videos that all rows have. Raises UsageError: there is none."""
    common = {name: video for name, video in videos.items() if all(name in row for row in rows.values())}
    if not common:
        kinds = map(Mention, ("scores", "summaries", "runs"))
        raise UsageError(fill("{}: the rows of {}, {} and {} have no video in common", str(source), *kinds))
    return common


def _videos(request: SummaryRequest, labels: Mapping[str, Labels], progress: Progress | None) -> Videos:
    """Return the annotated videos of a request; the annotations alone where it has no features."""
    if not request.has_features:
        return labels
    if request.captions:
        from vidsum.lab.datasets.captioned import in_space, read_captioned

        assert request.annotations
        videos = read_captioned([request.captions], [request.annotations], progress)
        return in_space(videos, request.space)
    named = request.segmentation
    find_shots = bool(named) and CHANGE_POINTS not in named  # else the measures need the shots of the file
    return read_annotated(request.source, labels or None, find_shots=find_shots)


def _read_rows(
    request: SummaryRequest, data: Any, labels: Mapping[str, Labels], progress: Progress | None
) -> tuple[dict[str, Scores], dict[str, Finished], Any]:
    """Return the rows of files and of runs, the finished summaries among them, and the videos to test on."""
    rows: dict[str, Scores] = {_row(path): submissions.read_scores(path, data) for path in request.scores}
    finished = {_row(path): read_finished(path, data, labels) for path in request.summaries}
    rows |= {row: summaries.scores for row, summaries in finished.items()}
    if not request.runs:
        return rows, finished, data
    from vidsum.lab.training.predict import predict_run

    predict = partial(predict_run, device=request.device, progress=progress)
    tests = [predict(run, data, request.protocol) for run in request.runs]
    for other in tests[1:]:
        if other.videos.keys() != tests[0].videos.keys():
            fault = f"the runs {tests[0].row} and {other.row} test on different videos"
            raise UsageError(fault, hint=("one ", Mention("runs"), " at a time"))
    videos = tests[0].videos  # a run may test a video several times, each under a name of its own
    rows = {
        row: {test: scores[video.name] for test, video in videos.items() if video.name in scores}
        for row, scores in rows.items()
    }
    return {**rows, **{tested.row: tested.scores for tested in tests}}, finished, videos


def _notes(request: SummaryRequest, videos: Videos, facts: Mapping[str, Any], n_read: int) -> Iterator[str]:
    """Yield notes on the videos that count, and on checkpoints that were trained on them."""
    source, n_videos, n_tests = request.source, facts["n_videos"], facts["n_tests"]
    if n_videos < n_read:
        yield f"evaluated on {n_videos} of {n_read} videos, those that all rows have"
    if n_tests > n_videos:
        yield (
            f"{n_tests} tests of {n_videos} videos: what several splits test counts "
            "for each of them, in every row"
        )
    for model in request.models:
        if not model.endswith(".safetensors"):
            continue
        from vidsum.checkpoints.trained import read_trained

        training = read_trained(model).training
        split = training.get("split", {})
        seen = {*split.get("train", ()), *split.get("validation", ())}
        n_seen = len(seen & {video.name for video in videos.values()})
        trained_on = {data.get("sha256") for data in training.get("data", ())}
        same = any(identify_file(file)["sha256"] in trained_on for file in annotated_files(source))
        if same and n_seen:
            yield f"{model}: was trained on {n_seen} of these videos; its run tests on the others only"


def _moments(request: MomentsRequest, progress: Progress | None) -> Report:
    videos = read_moments(request.data)
    rows = {_row(path): submissions.read_predictions(path, videos) for path in request.predictions}
    for run in request.runs:
        from vidsum.lab.evaluation.models import ModelRun, moments_by

        model = ModelRun(checkpoint_of(run), request.features, None, request.device, request.query_features)
        rows[_row(run)] = moments_by(model, videos, max_iou=request.max_iou, progress=progress)
    return evaluate_moments(videos, rows, comparison=request.comparison, n_seeds=request.seeds)


def _highlights(request: HighlightsRequest, progress: Progress | None) -> Report:
    queries = read_highlights(request.annotations)
    measured = request.predictions or request.run or Path()
    if request.predictions:
        predictions = submissions.read_highlight_predictions(request.predictions, queries)
    else:
        from vidsum.lab.evaluation.models import ModelRun, highlights_by

        checkpoint = checkpoint_of(measured)
        run = ModelRun(checkpoint, request.features, request.text_features, request.device)
        predictions = highlights_by(run, queries, progress)
    report = evaluate_highlights(queries, predictions, name=_row(measured), n_seeds=request.seeds)
    write = partial(submissions.write_predictions, predictions=predictions.values())
    return replace(report, writers={"predictions": write})
