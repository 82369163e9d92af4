"""Rows of the report: scores by a training-free scorer, or read from a file that other code wrote."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vidsum.datasets.entries import Entry
from vidsum.datasets.summaries import AnnotatedVideo, shots_of
from vidsum.errors import InputError
from vidsum.evaluation.key_shots import BUDGET
from vidsum.settings import Selection
from vidsum.summary.score import score
from vidsum.text_files import named, read_json
from vidsum.types import FloatArray


@dataclass(frozen=True, eq=False)
class Tested:
    """The test videos of all splits of a training run, each scored by the model that has not seen it."""

    row: str
    """A name for the scores."""
    videos: dict[str, AnnotatedVideo]
    """By name; one that several splits test is there for each of them, with the split's name."""
    scores: dict[str, FloatArray]
    """[T] of each."""


def scored_by(
    model: str, videos: Mapping[str, AnnotatedVideo], *, beams: int = 1, device: str = "auto"
) -> dict[str, FloatArray]:
    """Importance of each video as `vidsum summarize --model` gives it.

    Args:
        model: one of `vidsum.summary.score.MODELS`, or the path of a checkpoint.
        videos: by name.
        beams: of a trained model.
        device: that a trained model runs on.

    Raises:
        UsageError, InputError: see `vidsum.summary.score.score`.
    """
    how = Selection(model=model, beams=beams)
    return {
        name: score(video.features, shots_of(video), how, BUDGET, device) for name, video in videos.items()
    }


def read_scores(path: str | os.PathLike[str], videos: Mapping[str, AnnotatedVideo]) -> dict[str, FloatArray]:
    """Scores from a JSON file in the layout of PGL-SUM: {video: [T scores at its picks]}.

    Args:
        path: the file. It may hold some of the videos only, such as those of a test split.
        videos: of one dataset, as `read_annotated` names them; in the file a video goes by this name or by
            its part after the slash. Names with another dataset's name before the slash are passed over.

    Returns:
        Name of the video -> [T], in the order of `videos`.

    Raises:
        InputError: the file cannot be read, is of another layout, has a video that is not in the dataset or
            none that is, or not as many scores as the video has features.
    """
    source = Path(path)
    by_name = {alias: name for name in videos for alias in (name.partition("/")[2] or name, name)}
    datasets = {name.partition("/")[0] for name in videos}
    found: dict[str, FloatArray] = {}
    for name, scores in _read_object(source).items():
        if name in by_name:
            found[by_name[name]] = _row(source, name, scores, len(videos[by_name[name]].picks))
        elif "/" not in name or name.partition("/")[0] in datasets:
            raise InputError(
                f"{source}: {named(name)} is not in the data", hint=f"its videos: {_some(videos)}"
            )
    if not found:
        raise InputError(
            f"{source}: holds no scores of a video in the data", hint=f"its videos: {_some(videos)}"
        )
    return {name: found[name] for name in videos if name in found}


def _read_object(source: Path) -> dict[str, Any]:
    document = read_json(source)
    if not isinstance(document, dict):
        raise InputError(f"{source}: must hold {{video: [scores]}}")
    return document


def _row(source: Path, name: str, scores: Any, n_samples: int) -> FloatArray:
    row = Entry(f"{source}: {name}", {}).numbers(scores, "scores")
    if len(row) != n_samples:
        raise InputError(f"{source}: {name}: has {len(row)} scores, but the video has {n_samples} features")
    return np.array(row, np.float32)


def _some(videos: Mapping[str, Any]) -> str:
    names = list(videos)
    return ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
