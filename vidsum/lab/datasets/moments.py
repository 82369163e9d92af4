"""Videos with timed sentences: ActivityNet Captions, Charades-STA, TACoS and QVHighlights, read alike.

`read_moments` repairs or leaves out what cannot be used, as the field does it (2D-TAN and those after it): a
window that ends at or before its start is dropped, one that reaches out of its video is cut, a sentence
without words is dropped. `read_highlights` is strict, as the official evaluation of QVHighlights: a fault
is an error.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vidsum.errors import InputError
from vidsum.lab.datasets.moment_files import Annotation, read_annotations
from vidsum.text_files import named
from vidsum.types import FloatArray, Interval

CLIP_S = 2.0
"""Length of the clips whose saliency QVHighlights' annotators scored."""


@dataclass(frozen=True, eq=False)
class Query:
    """A sentence, where in its video it is true, and how well each clip shows it."""

    qid: str
    """The query's number; empty where the file has none: only QVHighlights does."""
    text: str
    video: str
    duration_s: float
    windows: tuple[Interval, ...]
    """One or more [start_s, end_s) inside the video, none of them empty; only QVHighlights has several."""
    saliency: FloatArray | None = None
    """[C, U] score of each clip of `CLIP_S` by each of U annotators, from 0 (very bad, or outside the
    windows) to 4 (very good); None where the file has none."""
    audio: str = ""
    """File name of its recording; empty where the file has none: only MRNet's authors' do."""

    @property
    def features_name(self) -> str:
        """File name, less the suffix, of the query's published features; empty where nothing tells it."""
        return Path(self.audio).stem or (f"qid{self.qid}" if self.qid else "")

    @property
    def n_clips(self) -> int:
        """The whole clips of the video; a rest at its end does not count."""
        return int(self.duration_s / CLIP_S)


@dataclass(frozen=True)
class MomentVideo:
    """A video and its queries."""

    name: str
    duration_s: float
    queries: tuple[Query, ...]
    """In the order of the file; empty where none could be used."""
    repairs: tuple[str, ...] = ()
    """What was repaired or left out, an entry for each annotation."""


def read_moments(path: str | os.PathLike[str]) -> dict[str, MomentVideo]:
    """Read the timed sentences of one split of a data set, and repair them.

    Args:
        path: a file in one of the layouts that `vidsum.lab.datasets.moment_files` lists.

    Returns:
        The videos by name, in the order of the file; `repaired` counts their repairs.

    Raises InputError: the file cannot be read, has no known layout, holds nothing, or lacks something; the
    message names the entry.
    """
    annotations: dict[str, list[Annotation]] = {}
    for annotation in _annotations(path):
        annotations.setdefault(annotation.video, []).append(annotation)
    for name, of_video in annotations.items():
        if len({annotation.duration_s for annotation in of_video}) > 1:
            raise InputError(f"{path}: {named(name)}: two of its entries give it different durations")
    return {name: _video(of_video) for name, of_video in annotations.items()}


def read_highlights(path: str | os.PathLike[str]) -> dict[str, Query]:
    """Read the annotated queries of one split of QVHighlights, strictly.

    Args:
        path: JSON lines, {"qid", "query", "vid", "duration", "relevant_windows"} with or without
            {"relevant_clip_ids", "saliency_scores"}.

    Returns:
        The queries by number, in the order of the file: all with the saliency [C, U] of all whole clips, or
        all without.

    Raises InputError: the file cannot be read, or holds nothing; a line lacks something, or repeats a number;
    a window is inverted, empty or outside its video; or the annotators do not go with the clips. The message
    names the line.
    """
    queries: dict[str, Query] = {}
    n_annotators: int | None = None
    for annotation in _annotations(path):
        if annotation.qid is None:
            raise annotation.fault("has no qid", hint="annotations in QVHighlights' layout")
        if annotation.qid in queries:
            raise annotation.fault(f"has qid {named(annotation.qid)} again")
        _check_strictly(annotation)
        query = _query(annotation, annotation.text, annotation.windows)
        of_query = 0 if query.saliency is None else query.saliency.shape[1]
        if n_annotators not in (None, of_query):
            raise annotation.fault("has another number of annotators than those before it")
        n_annotators = of_query
        queries[annotation.qid] = query
    return queries


def _annotations(path: str | os.PathLike[str]) -> Iterator[Annotation]:
    """The annotations of a file; none is an InputError."""
    annotations = read_annotations(Path(path))
    if (first := next(annotations, None)) is None:
        raise InputError(f"{os.fspath(path)}: holds no annotation")
    yield first
    yield from annotations


def repaired(videos: Mapping[str, MomentVideo]) -> tuple[str, ...]:
    """A sentence for each kind of repair: how many annotations, and the first video."""
    names: dict[str, list[str]] = {}
    for name, video in videos.items():
        for repair in video.repairs:
            names.setdefault(repair, []).append(name)
    return tuple(f"{repair}: {len(each)}, first in {named(each[0])}" for repair, each in names.items())


def _query(annotation: Annotation, text: str, windows: tuple[Interval, ...]) -> Query:
    """The query; clips that annotators did not score, and annotators that are missing, have 0."""
    saliency = None
    if scores := annotation.saliency:
        n_clips = max(int(annotation.duration_s / CLIP_S), max(scores) + 1)
        saliency = np.zeros((n_clips, max(map(len, scores.values()))), np.float32)
        for clip, of_clip in scores.items():
            saliency[clip, : len(of_clip)] = of_clip
    facts = (annotation.qid or "", text, annotation.video, annotation.duration_s, windows, saliency)
    return Query(*facts, audio=annotation.audio)


def _check_strictly(annotation: Annotation) -> None:
    """Refuse windows outside the video, and scores that are not one of each annotator for whole clips."""
    duration_s, scores = annotation.duration_s, annotation.saliency
    if not annotation.windows:
        raise annotation.fault("has no window")
    for start, end in annotation.windows:
        if not 0 <= start < end <= duration_s:
            video = f"its video of {duration_s:g} s: {[start, end]}"
            raise annotation.fault(f"has a window that is inverted, empty or outside {video}")
    if scores is None:
        return
    if not scores or len({len(of_clip) for of_clip in scores.values()}) > 1 or () in scores.values():
        raise annotation.fault("has saliency_scores that are not one of each annotator for each clip")
    clip, last = max(scores), int(duration_s / CLIP_S) - 1
    if clip > last:
        raise annotation.fault(f"has clip {clip} in relevant_clip_ids; the last is {last}")


def _video(annotations: list[Annotation]) -> MomentVideo:
    repairs: list[str] = []
    queries = [_repaired(annotation, repairs) for annotation in annotations]
    name, duration_s = annotations[0].video, annotations[0].duration_s
    return MomentVideo(name, duration_s, tuple(query for query in queries if query), tuple(repairs))


def _repaired(annotation: Annotation, repairs: list[str]) -> Query | None:
    """The query of an annotation, if it can be used; what was done to it is added to the repairs."""
    text = annotation.text.strip()
    if not text or not annotation.windows:
        reason = "that have no window" if text else "whose sentence has no words"
        repairs.append(f"annotations left out {reason}")
        return None
    windows = [_inside(window, annotation.duration_s, repairs) for window in annotation.windows]
    kept = tuple(window for window in windows if window)
    if not kept:
        return None
    if annotation.saliency and (last := max(annotation.saliency)) * CLIP_S >= annotation.duration_s:
        raise annotation.fault(f"has clip {last} in relevant_clip_ids, which begins after the end")
    return _query(annotation, text, kept)


def _inside(window: Interval, duration_s: float, repairs: list[str]) -> Interval | None:
    start, end = window
    inside = max(start, 0.0), min(end, duration_s)
    if start >= end or inside[0] >= inside[1]:
        reason = "that end at or before their start" if start >= end else "that lie outside their video"
        repairs.append(f"annotations left out {reason}")
        return None
    if inside != window:
        repairs.append("annotations cut that reach out of their video")
    return inside
