"""Videos with timed sentences: ActivityNet Captions, Charades-STA, TACoS and QVHighlights, read alike.

What cannot be used is mended or left out as the field does it (2D-TAN and those after it): a window that ends
at or before its start is dropped, one that reaches out of its video is cut, a sentence without words is
dropped. Each video tells what was done, and `mended` counts it over all.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vidsum.datasets.highlights import CLIP_S
from vidsum.datasets.moment_files import Annotation, read_annotations
from vidsum.errors import InputError
from vidsum.text_files import named
from vidsum.types import Interval

_INVERTED = "annotations left out that end at or before their start"
_OUTSIDE = "annotations left out that lie outside their video"
_CUT = "annotations cut that reach out of their video"
_WORDLESS = "annotations left out whose sentence has no words"
_WINDOWLESS = "annotations left out that have no window"


@dataclass(frozen=True)
class MomentQuery:
    """A sentence, and where in its video it is true."""

    text: str
    """Without space at its ends; never empty."""
    windows: tuple[Interval, ...]
    """One or more [start_s, end_s) inside the video, none of them empty; only QVHighlights has several."""
    qid: str | None = None
    """The query's number where the file has one: QVHighlights."""
    saliency: tuple[float, ...] = ()
    """What annotators gave each clip of `vidsum.datasets.highlights.CLIP_S`, added up, from the first clip to
    the last that they scored; empty where the file has none."""


@dataclass(frozen=True)
class MomentVideo:
    """A video and the sentences that are said of it."""

    name: str
    duration_s: float
    queries: tuple[MomentQuery, ...]
    """In the order of the file; empty where none could be used."""
    mended: tuple[str, ...] = ()
    """What was done to its annotations, one entry for each that was mended or left out."""


def read_moments(path: str | os.PathLike[str]) -> dict[str, MomentVideo]:
    """Read the timed sentences of one split of a data set.

    Args:
        path: a file in one of the layouts that `vidsum.datasets.moment_files` lists.

    Returns:
        The videos by name, in the order of the file. What was mended in them, `mended` tells.

    Raises:
        InputError: the file cannot be read, is of no known layout, holds nothing, or lacks something; the
            message names the entry.
    """
    source = Path(path)
    annotations: dict[str, list[Annotation]] = {}
    for annotation in read_annotations(source):
        annotations.setdefault(annotation.video, []).append(annotation)
    if not annotations:
        raise InputError(f"{source}: holds no annotation")
    for name, of_video in annotations.items():
        if len({one.duration_s for one in of_video}) > 1:
            raise InputError(f"{source}: {named(name)}: two of its entries give it different durations")
    return {name: _video(of_video) for name, of_video in annotations.items()}


def mended(videos: Mapping[str, MomentVideo]) -> tuple[str, ...]:
    """One sentence for each kind of fault in the annotations: how many, and in which video first."""
    found: dict[str, list[str]] = {}
    for name, video in videos.items():
        for note in video.mended:
            found.setdefault(note, []).append(name)
    return tuple(f"{note}: {len(names)}, first in {named(names[0])}" for note, names in found.items())


def _video(annotations: list[Annotation]) -> MomentVideo:
    notes: list[str] = []
    queries = (_query(annotation, notes) for annotation in annotations)
    return MomentVideo(
        name=annotations[0].video,
        duration_s=annotations[0].duration_s,
        queries=tuple(query for query in queries if query),
        mended=tuple(notes),
    )


def _query(annotation: Annotation, notes: list[str]) -> MomentQuery | None:
    """The query of an annotation, if it can be used; what was done to it is added to the notes."""
    text = annotation.text.strip()
    if not text or not annotation.windows:
        notes.append(_WINDOWLESS if text else _WORDLESS)
        return None
    windows = [_window(window, annotation.duration_s, notes) for window in annotation.windows]
    kept = tuple(window for window in windows if window)
    return MomentQuery(text, kept, annotation.qid, _saliency(annotation)) if kept else None


def _saliency(annotation: Annotation) -> tuple[float, ...]:
    scored = annotation.saliency or {}
    if scored and max(scored) * CLIP_S >= annotation.duration_s:
        raise InputError(
            f"{annotation.where}: has clip {max(scored)} in relevant_clip_ids, which begins after the end"
        )
    return tuple(float(sum(scored.get(clip, ()))) for clip in range(max(scored, default=-1) + 1))


def _window(window: Interval, duration_s: float, notes: list[str]) -> Interval | None:
    start, end = window
    inside = max(start, 0.0), min(end, duration_s)
    if start >= end or inside[0] >= inside[1]:
        notes.append(_INVERTED if start >= end else _OUTSIDE)
        return None
    if inside != window:
        notes.append(_CUT)
    return inside
