"""QVHighlights' annotations as its official evaluation takes them: nothing is mended, faults are errors."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vidsum.datasets.moment_files import Annotation, read_annotations
from vidsum.errors import InputError
from vidsum.text_files import named
from vidsum.types import FloatArray, Interval

CLIP_S = 2.0
"""Length of the clips that annotators scored."""


@dataclass(frozen=True, eq=False)
class HighlightQuery:
    """A sentence, where in its video it is true, and how well each clip shows it."""

    qid: str
    text: str
    video: str
    duration_s: float
    windows: tuple[Interval, ...]
    """One or more [start_s, end_s), none of them empty."""
    saliency: FloatArray | None = None
    """[C, U] what each of U annotators gave each whole clip of `CLIP_S`, from 0 (very bad, or outside the
    windows) to 4 (very good)."""

    @property
    def n_clips(self) -> int:
        """C, the whole clips of the video; a rest at its end is none."""
        return int(self.duration_s / CLIP_S)


def read_highlights(path: str | os.PathLike[str]) -> dict[str, HighlightQuery]:
    """Read the annotated queries of one split.

    Args:
        path: JSON lines, {"qid", "query", "vid", "duration", "relevant_windows"} with or without
            {"relevant_clip_ids", "saliency_scores"}.

    Returns:
        The queries by their numbers, in the order of the file: all with saliency or all without.

    Raises:
        InputError: the file cannot be read, or holds nothing; a line lacks something, or repeats a number; a
            window is inverted, empty or outside its video; or the annotators do not go with the clips. The
            message names the line.
    """
    source = Path(path)
    queries: dict[str, HighlightQuery] = {}
    n_annotators = -1
    for annotation in read_annotations(source):
        query = _query(annotation)
        if query.qid in queries:
            raise InputError(f"{annotation.where}: has qid {named(query.qid)} again")
        queries[query.qid] = query
        n_now = 0 if query.saliency is None else query.saliency.shape[1]
        if n_annotators not in (-1, n_now):
            raise InputError(f"{annotation.where}: has {n_now} annotators, those before it {n_annotators}")
        n_annotators = n_now
    if not queries:
        raise InputError(f"{source}: holds no annotation")
    return queries


def _query(annotation: Annotation) -> HighlightQuery:
    if annotation.qid is None:
        raise InputError(f"{annotation.where}: has no qid", hint="annotations in QVHighlights' layout")
    _check_windows(annotation)
    query = HighlightQuery(
        annotation.qid, annotation.text, annotation.video, annotation.duration_s, annotation.windows
    )
    if annotation.saliency is None:
        return query
    return replace(query, saliency=_every_clip(annotation.where, annotation.saliency, query.n_clips))


def _check_windows(annotation: Annotation) -> None:
    if not annotation.windows:
        raise InputError(f"{annotation.where}: has no window")
    for start, end in annotation.windows:
        if not 0 <= start < end <= annotation.duration_s:
            raise InputError(
                f"{annotation.where}: has a window that is inverted, empty or outside its video of "
                f"{annotation.duration_s:g} s: {[start, end]}"
            )


def _every_clip(where: str, scores: Mapping[int, tuple[float, ...]], n_clips: int) -> FloatArray:
    """[C, U] of what annotators gave some clips; the others have 0."""
    if not scores or len({len(of_clip) for of_clip in scores.values()}) > 1 or () in scores.values():
        raise InputError(f"{where}: has saliency_scores that are not one of each annotator for each clip")
    if max(scores) >= n_clips:
        raise InputError(f"{where}: has clip {max(scores)} in relevant_clip_ids; the last is {n_clips - 1}")
    every = np.zeros((n_clips, len(scores[max(scores)])), np.float32)
    every[list(scores)] = list(scores.values())
    return every
