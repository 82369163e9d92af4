"""Finished summaries as rows of an evaluation, and the provenance of its report."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from vidsum.errors import InputError, Mention, safe_name
from vidsum.io.atomic import as_utf8
from vidsum.io.file_names import missing_file
from vidsum.io.provenance import identify_file
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.lab.datasets.labels import ODD_FRACTION, ODD_S, Labels, labels_of, plain_name
from vidsum.lab.evaluation.reference import BUDGET
from vidsum.lab.evaluation.settings import Request, SummaryRequest, checkpoint_of
from vidsum.lab.evaluation.summary_evaluation import Videos
from vidsum.outputs.output_records import ENDING
from vidsum.results.load import kind_of, read_document, read_result
from vidsum.results.summary import Summary
from vidsum.summary.score import weights_sha256
from vidsum.types import BoolArray, FloatArray
from vidsum.version import __version__

_SIZED = ("features", "query_features", "text_features")
"""Inputs whose size is recorded: hashing takes as long as using them."""
_NOT_RECORDED = ("device", "model", "plot", "write_predictions")


def provenance(request: Request) -> dict[str, Any]:
    """Return the sources and settings of a report, known before it is made.

    Raises InputError: an unreadable file. WeightsError: no checkpoint.
    """
    files: list[dict[str, Any]] = []
    facts: dict[str, Any] = {}
    for entry in fields(request):
        name, value = entry.name, getattr(request, entry.name)
        values = value if isinstance(value, tuple) else (value,)
        if name in _NOT_RECORDED or value in (None, ()):
            continue
        if name in _SIZED:
            facts[name] = [_size(path) for path in values]
        elif isinstance(values[0], Path):
            for path in values:
                files += _identify(path, is_run=name in ("run", "runs"))
        else:
            facts[name] = list(value) if isinstance(value, tuple) else value
    if isinstance(request, SummaryRequest):
        facts["models"] = {model: weights_sha256([model]).get("model_sha256") for model in request.models}
    return {"vidsum": __version__, "files": files, **facts}


def _identify(path: Path, *, is_run: bool) -> list[dict[str, Any]]:
    """Return name and hash of a file, or of the files of a folder that are read."""
    if not path.is_dir():
        file = checkpoint_of(path) if is_run else path
        if is_run and not file.exists():
            raise InputError(
                "no such run", hint=("give the ", Mention("out"), " of `vidsum train`"), subject=path
            )
        return [{"name": as_utf8(path.name), **identify_file(file)}]
    kinds = ("run.json", "**/best.safetensors") if is_run else ("*.json", "*.h5", "*.hdf5")
    files = sorted(file for kind in kinds for file in path.glob(kind) if not _is_hidden(file))
    names = [as_utf8(f"{path.name}/{file.relative_to(path)}") for file in files]
    return [{"name": name, **identify_file(file)} for name, file in zip(names, files, strict=True)]


def _is_hidden(file: Path) -> bool:
    return file.name.startswith(".") or file.name.endswith(ENDING)


def _size(source: Path) -> dict[str, Any]:
    """Return the size of features. Raises InputError: unreadable."""
    files = [file for file in source.iterdir() if file.is_file()] if source.is_dir() else [source]
    try:
        size = sum(file.stat().st_size for file in files)
    except FileNotFoundError as error:
        raise missing_file(source) from error
    except OSError as error:
        raise InputError(
            f"cannot be read ({(error.strerror or str(error)).lower()})", subject=source
        ) from error
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


def read_finished(path: Path, videos: Videos, labels: Mapping[str, Labels]) -> Finished:
    """Read the summaries of a row, of videos known by the video file's name or the summary's own.

    Raises InputError: none, not a summary, an unknown video or one of another length, or two of one video.
    """
    names = dict(_names_of(videos, labels))
    scores: dict[str, FloatArray] = {}
    selections: dict[str, BoolArray] = {}
    for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
        if path.is_dir() and kind_of(read_document(file)) != "summary":
            continue
        summary = read_result(file)
        if not isinstance(summary, Summary):
            raise InputError("is not a summary", hint="give what vidsum summarize wrote", subject=file)
        of_video = [Path(summary.video.path).stem] if summary.video else []
        keys = map(plain_name, (*of_video, file.stem.removesuffix("_summary")))
        name = next((names[key] for key in keys if key in names), None)
        if name is None:
            raise InputError(
                "its video is not in the data", hint=f"such as {next(iter(names))}", subject=file
            )
        if name in scores:
            raise InputError(f"is the second summary of {safe_name(name)}", subject=file)
        video, own_s = videos[name], summary.video_duration_s
        if isinstance(video, Labels):
            times_s, length_s = video.picks / video.fps, video.n_frames / video.fps
        else:
            times_s, length_s = video.features.timestamps, video.features.duration_s
        if abs(own_s - length_s) > max(ODD_S, ODD_FRACTION * length_s):
            lengths = f"{own_s:g} s, but {safe_name(name)} has {length_s:g} s"
            raise InputError(f"is of a video of {lengths}", subject=file)
        # the score of the last sample before each time lasts until the next
        at = np.searchsorted(summary.timestamps, times_s + 1e-6, side="right") - 1
        scores[name] = summary.importance[np.maximum(at, 0)]
        selections[name] = np.zeros(video.n_frames, np.bool_)
        fps = video.n_frames / length_s
        for start_s, end_s in summary.segments:
            selections[name][round(start_s * fps) : round(end_s * fps)] = True
    if not scores:
        raise InputError("has no summary", hint="vidsum summarize VIDEOS --output-dir FOLDER", subject=path)
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
