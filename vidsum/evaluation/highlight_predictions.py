"""QVHighlights' submissions: the moments and the saliency of each query, a JSON object a line.

{"qid", "query", "vid", "pred_relevant_windows": [[start_s, end_s, score], ...],
 "pred_saliency_scores": [score of each clip]}
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidsum.datasets.entries import Entry, parse_lines
from vidsum.datasets.highlights import CLIP_S, HighlightQuery
from vidsum.errors import InputError
from vidsum.evaluation.submissions import moment_of
from vidsum.outputs import as_utf8, atomic_write
from vidsum.text_files import named, read_text, shown
from vidsum.types import Moment

_WINDOWS, _SALIENCY = "pred_relevant_windows", "pred_saliency_scores"


@dataclass(frozen=True)
class HighlightPrediction:
    """What was found for one query."""

    qid: str
    query: str
    video: str
    moments: tuple[Moment, ...] | None = None
    """The first is the answer; none at all where moments were not asked for."""
    saliency: tuple[float, ...] | None = None
    """Of each clip of `CLIP_S` that the video has; the last may be missing."""


def read_highlight_predictions(
    path: Path, queries: Mapping[str, HighlightQuery]
) -> dict[str, HighlightPrediction]:
    """The answers to all queries of the data, in the data's order.

    Moments stay in the order of the file. All lines have moments or none has; so with saliency.

    Args:
        path: the file.
        queries: the data.

    Raises:
        InputError: the file cannot be read; a query is not in the data, is asked of another video, is
            answered twice or not at all; a line has neither moments nor saliency, or not what the first has;
            a moment ends before its start; there is not one saliency score for each clip; or a number
            is NaN or infinite. The message names the line.
    """
    found: dict[str, HighlightPrediction] = {}
    parts: tuple[str, ...] = ()
    for entry in parse_lines(path, read_text(path)):
        given = tuple(key for key in (_WINDOWS, _SALIENCY) if key in entry.values)
        parts = parts or given
        if not given or given != parts:
            raise entry.fault(f"has {_named(given)}; the first line has {_named(parts)}")
        prediction = _prediction(entry, queries)
        if prediction.qid in found:
            raise entry.fault(f"answers qid {named(prediction.qid)} again")
        found[prediction.qid] = prediction
    if missing := [query for qid, query in queries.items() if qid not in found]:
        raise InputError(
            f"{path}: lacks {len(missing)} of {len(queries)} queries, such as qid {named(missing[0].qid)}, "
            f"{shown(missing[0].text)} of {named(missing[0].video)}"
        )
    return {qid: found[qid] for qid in queries}


def write_highlight_predictions(
    path: str | os.PathLike[str], predictions: Iterable[HighlightPrediction]
) -> None:
    """Write answers as a submission that this and other tools' evaluations read.

    Raises:
        OutputError: the file cannot be written.
    """
    with atomic_write(path) as part:
        part.write_text("".join(map(_line, predictions)), encoding="utf-8")


def _line(prediction: HighlightPrediction) -> str:
    values: dict[str, Any] = {
        "qid": int(prediction.qid) if prediction.qid.isdecimal() else prediction.qid,
        "query": prediction.query,
        "vid": prediction.video,
    }
    if prediction.moments is not None:
        values[_WINDOWS] = [[one.start_s, one.end_s, one.score] for one in prediction.moments]
    if prediction.saliency is not None:
        values[_SALIENCY] = prediction.saliency
    return as_utf8(json.dumps(values, ensure_ascii=False, allow_nan=False)) + "\n"


def _prediction(entry: Entry, queries: Mapping[str, HighlightQuery]) -> HighlightPrediction:
    qid, video = entry.number_or_text("qid"), entry.text("vid")
    if qid not in queries:
        raise entry.fault(f"qid {named(qid)} is not in the data")
    if video != queries[qid].video:
        right = named(queries[qid].video)
        raise entry.fault(f"vid {named(video)} is not the video of qid {qid} in the data, {right}")
    moments = saliency = None
    if _WINDOWS in entry.values:
        moments = tuple(moment_of(entry, row) for row in entry.list(_WINDOWS))
    if _SALIENCY in entry.values:
        saliency = entry.numbers(entry.values[_SALIENCY], _SALIENCY)
        _check_clips(entry, len(saliency), queries[qid])
    return HighlightPrediction(qid, entry.text("query"), video, moments, saliency)


def _check_clips(entry: Entry, n_scores: int, query: HighlightQuery) -> None:
    """Features often end within the last clip: the official evaluation takes its score for 0."""
    if n_scores not in (query.n_clips, query.n_clips - 1) or not n_scores:
        clips = f"{query.n_clips} clips of {CLIP_S:g} s of {named(query.video)}"
        raise entry.fault(f"has {n_scores} {_SALIENCY} for the {clips}")


def _named(parts: tuple[str, ...]) -> str:
    return " and ".join(parts) or f"neither {_WINDOWS} nor {_SALIENCY}"
