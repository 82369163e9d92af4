"""Inputs of an evaluation (checkpoints of rows, finished summaries), and the provenance of its report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vidsum.errors import InputError, UsageError, safe_name
from vidsum.io.outputs import as_utf8
from vidsum.io.provenance import identify_file
from vidsum.lab.datasets.described import caption_files
from vidsum.lab.datasets.labels import ODD_FRACTION, ODD_S, Labels, labels_of, plain_name
from vidsum.lab.datasets.summaries import AnnotatedVideo, annotated_files
from vidsum.lab.evaluation.reference import BUDGET, BoolArray
from vidsum.lab.evaluation.settings import (
    CaptionsRequest,
    MomentsRequest,
    Request,
    SummaryRequest,
    checkpoint_of,
)
from vidsum.lab.evaluation.summaries import Videos
from vidsum.results.load import kind_of, read_document, read_result
from vidsum.results.summary import Summary
from vidsum.summary.score import weights_sha256
from vidsum.types import FloatArray
from vidsum.version import __version__


def checkpoints_of(runs: Sequence[Path]) -> dict[str, Path]:
    pairs = [checkpoint_of(run) for run in runs]
    refuse_equal_names([row for row, _ in pairs])
    return dict(pairs)


def refuse_equal_names(runs: Sequence[str]) -> None:
    """Raise UsageError where two rows of runs have one name."""
    for number, row in enumerate(runs):
        if row in runs[:number]:
            raise UsageError(f"two runs are called {row}", hint="rename a folder")


def provenance(request: Request) -> dict[str, Any]:
    """Return the sources and settings of a report, known before it is made.

    Raises InputError: an unreadable file. UsageError: two runs of one name. WeightsError: no checkpoint.
    """
    if isinstance(request, SummaryRequest):
        facts = _summary_provenance(request)
    elif isinstance(request, MomentsRequest):
        facts = {
            "files": [*_files(request.data, *request.predictions), *_checkpoint_files(request.runs)],
            "features": [_folder_size(source) for source in request.features],
            **({"query_features": _folder_size(queries)} if (queries := request.query_features) else {}),
            "max_iou": request.max_iou,
            "comparison": request.comparison,
        }
    elif isinstance(request, CaptionsRequest):
        predictions = [file for path in request.predictions for file in caption_files(path)]
        facts = {"files": _files(request.data, *predictions), "metric": list(request.metric)}
        return {"vidsum": __version__, **facts}
    elif request.run:
        words = request.text_features
        facts = {
            "features": [_folder_size(source) for source in request.features],
            "text_features": _folder_size(words) if words else None,
            "files": [*_checkpoint_files([request.run]), *_files(request.annotations)],
        }
    else:
        facts = {"files": _files(request.predictions or Path(), request.annotations)}
    facts.setdefault("n_seeds", request.seeds)  # last, except for summaries
    return {"vidsum": __version__, **facts}


def _file(name: str, file: Path) -> dict[str, Any]:
    return {"name": as_utf8(name), **identify_file(file)}


def _files(*files: Path) -> list[dict[str, Any]]:
    return [_file(file.name, file) for file in files]


def _checkpoint_files(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """Checkpoints by their rows: files of runs all have the same name."""
    return [_file(row, checkpoint) for row, checkpoint in checkpoints_of(runs).items()]


def _summary_provenance(request: SummaryRequest) -> dict[str, Any]:
    annotations = [request.annotations] if request.data and request.annotations else []
    captions = [request.captions] if request.captions else []
    finished = [file for path in request.summaries for file in summary_files(path)]
    files = []
    if request.runs:
        from vidsum.lab.training.predict import run_files  # with PyTorch, which the rest can do without

        files = [_file(str(file), file) for run in request.runs for file in run_files(run)]
    return {
        "files": _files(
            *annotated_files(request.source), *captions, *annotations, *request.scores, *finished
        ),
        "models": {model: weights_sha256([model]).get("model_sha256") for model in request.models},
        "segmentations": list(request.segmentation),
        "n_seeds": request.seeds,
        "runs": {"protocol": request.protocol, "files": files},
        **({"space": request.space} if captions else {}),
        **({} if request.plot_of == "scores" else {"plot_of": request.plot_of}),
    }


def _folder_size(source: Path) -> dict[str, Any]:
    """Return the size of features: hashing takes as long as using them. Raises InputError: unreadable."""
    files = [file for file in source.iterdir() if file.is_file()] if source.is_dir() else [source]
    try:
        size = sum(file.stat().st_size for file in files)
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({(error.strerror or str(error)).lower()})") from error
    return {"name": as_utf8(source.name), "files": len(files), "bytes": size}


_ODD_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Finished:
    """The summaries of one row, by the names of their videos."""

    scores: dict[str, FloatArray]  # [T] importance at the picks
    selections: dict[str, BoolArray]  # [n_frames] whether each frame is in the summary

    @property
    def warnings(self) -> tuple[str, ...]:
        """That they are longer or shorter than those that are made of annotators' scores."""
        share = float(np.mean([selected.mean() for selected in self.selections.values()]))
        if abs(share - BUDGET) <= _ODD_SHARE:
            return ()
        return (
            f"its summaries keep {share:.0%} of the videos, those of the other rows up to {BUDGET:.0%}: "
            "their F do not compare",
        )


def summary_files(path: Path) -> list[Path]:
    """Return the summaries of a row: those in a folder, or the file. Raises InputError: none readable."""
    if not path.is_dir():
        return [path]
    files = [file for file in sorted(path.glob("*.json")) if kind_of(read_document(file)) == "summary"]
    if not files:
        raise InputError(f"{path}: has no summary", hint="vidsum summarize VIDEOS --output-dir FOLDER")
    return files


def read_finished(path: Path, videos: Videos, labels: Mapping[str, Labels]) -> Finished:
    """Read the summaries of a row, of videos known by the video file's name or the summary's own.

    Raises InputError: not a summary, an unknown video or one of another length, or two of one video.
    """
    names = dict(_names_of(videos, labels))
    scores: dict[str, FloatArray] = {}
    selections: dict[str, BoolArray] = {}
    for file in summary_files(path):
        summary = read_result(file)
        if not isinstance(summary, Summary):
            raise InputError(f"{file}: is not a summary", hint="give what vidsum summarize wrote")
        of_video = [Path(summary.video.path).stem] if summary.video else []
        keys = map(plain_name, (*of_video, file.stem.removesuffix("_summary")))
        name = next((names[key] for key in keys if key in names), None)
        if name is None:
            raise InputError(f"{file}: its video is not in the data", hint=f"such as {next(iter(names))}")
        if name in scores:
            raise InputError(f"{file}: is the second summary of {safe_name(name)}")
        video, own_s = videos[name], summary.video_duration_s
        if isinstance(video, Labels):
            times_s, length_s = video.picks / video.fps, video.n_frames / video.fps
        else:
            times_s, length_s = video.features.timestamps, video.features.duration_s
        if abs(own_s - length_s) > max(ODD_S, ODD_FRACTION * length_s):
            raise InputError(
                f"{file}: is of a video of {own_s:g} s, but {safe_name(name)} has {length_s:g} s"
            )
        # the score of the last sample before each time lasts until the next
        at = np.searchsorted(summary.timestamps, times_s + 1e-6, side="right") - 1
        scores[name] = summary.importance[np.maximum(at, 0)]
        selections[name] = np.zeros(video.n_frames, np.bool_)
        fps = video.n_frames / length_s
        for start_s, end_s in summary.segments:
            selections[name][round(start_s * fps) : round(end_s * fps)] = True
    return Finished(scores, selections)


def _names_of(videos: Videos, labels: Mapping[str, Labels]) -> Iterator[tuple[str, str]]:
    """Yield possible names of each video, and its name in the data."""
    for name, video in videos.items():
        number = name.partition("/")[2]
        label = video if isinstance(video, Labels) else labels_of(labels, number)
        film = video.features.video if isinstance(video, AnnotatedVideo) else None
        for called in (name, number, label and label.file_name, film and Path(film.path).stem):
            if called:
                yield plain_name(called), name
