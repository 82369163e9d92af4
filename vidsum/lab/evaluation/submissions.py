"""Predictions of other code, of `vidsum ground` or of our models, read from files by the data's names.

Moments: JSON lines of QVHighlights' submissions, {"qid", "query", "vid", "pred_relevant_windows": [[start_s,
end_s, score], ...], "pred_saliency_scores": [score of each clip]}, or results and documents of `vidsum
ground`. Importance scores: the JSON of PGL-SUM.
"""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vidsum.errors import InputError, quote, safe_name
from vidsum.io.atomic import as_utf8, atomic_write
from vidsum.io.text import is_json_lines, parse_json, read_json, read_text
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.lab.datasets.entries import DataEntry, entry_of, parse_lines
from vidsum.lab.datasets.timed_sentences import CLIP_S, MomentVideo, Query
from vidsum.results.moments import Moment
from vidsum.types import FloatArray

MomentPredictions = Mapping[str, Sequence[Sequence[Moment]]]
"""Name of a video -> for each of its queries, in their order, its moments, best first."""

_WINDOWS, _SALIENCY = "pred_relevant_windows", "pred_saliency_scores"
_MOMENT = ("start_s", "end_s", "score")


@dataclass(frozen=True)
class QueryPrediction:
    qid: str
    query: str
    video: str
    moments: tuple[Moment, ...] | None = None  # the first is the answer; None: not predicted
    saliency: tuple[float, ...] | None = None  # of each clip of `CLIP_S`, perhaps but the last; None as above


def read_predictions(path: Path, videos: Mapping[str, MomentVideo]) -> MomentPredictions:
    """Read moments for all queries of the data; they are sorted by their scores.

    A query is known by its `qid`, or by its video and text (white space aside). Where the data asks the same
    of a video several times, there is one answer for all, or one for each in order. Raises InputError:
    another layout; an unknown query, or too few or many answers; a moment that is inverted or not finite.
    """
    queries = [query for video in videos.values() for query in video.queries]
    numbers: dict[tuple[str, ...], list[int]] = {}  # of the queries that go by a key: qid, or text
    for number, query in enumerate(queries):
        numbers.setdefault((query.video, "", _normalise(query.text)), []).append(number)
        if query.qid:
            numbers.setdefault((query.video, query.qid), []).append(number)
    has_qids = any(query.qid for query in queries)
    answers: dict[tuple[str, ...], list[tuple[DataEntry, QueryPrediction]]] = {}
    for entry, answer in _answers(path):
        file, qid = Path(answer.video), answer.qid if has_qids else ""
        video = next((name for name in (answer.video, file.name) if name in videos), file.stem)
        key: tuple[str, ...] = (video, qid) if qid else (video, "", _normalise(answer.query))
        if key not in numbers:
            query_name = f"qid {safe_name(qid)}" if qid else quote(answer.query)
            raise entry.fault(f"{query_name} of {safe_name(answer.video)} is not in the data")
        answers.setdefault(key, []).append((entry, answer))
    moments: dict[int, tuple[Moment, ...]] = {}
    for key, entries in answers.items():
        if len(entries) not in (1, len(numbers[key])):
            entry, answer = entries[-1]
            raise entry.fault(f"answers {quote(answer.query)} of {safe_name(key[0])} again")
        ranked = [
            tuple(sorted(prediction.moments or (), key=lambda moment: -moment.score))
            for _, prediction in entries
        ]
        moments |= dict(zip(numbers[key], ranked * (len(numbers[key]) // len(entries)), strict=True))
    _check_complete(path, [query for number, query in enumerate(queries) if number not in moments], queries)
    ordered = (moments[number] for number in range(len(queries)))
    return {name: [next(ordered) for _ in video.queries] for name, video in videos.items()}


def read_highlight_predictions(path: Path, queries: Mapping[str, Query]) -> dict[str, QueryPrediction]:
    """Read a submission for all queries of the data, in the data's order; moments keep the order of the file.

    Raises InputError: a query is unknown, of another video, answered twice or not at all; lines differ in
    their parts; a moment is inverted, or there is not one finite saliency score for each clip.
    """
    predictions: dict[str, QueryPrediction] = {}
    parts: tuple[str, ...] = ()
    for entry in parse_lines(path, read_text(path)):
        present = tuple(key for key in (_WINDOWS, _SALIENCY) if key in entry.values)
        parts = parts or present
        if not present or present != parts:
            none = f"neither {_WINDOWS} nor {_SALIENCY}"
            here, first = (" and ".join(keys) or none for keys in (present, parts))
            raise entry.fault(f"has {here}; the first line has {first}")
        prediction = _read_submission(entry, entry.number_or_text("qid"))
        _check_query(entry, prediction, queries)
        if prediction.qid in predictions:
            raise entry.fault(f"answers qid {safe_name(prediction.qid)} again")
        predictions[prediction.qid] = prediction
    _check_complete(path, [query for qid, query in queries.items() if qid not in predictions], queries)
    return {qid: predictions[qid] for qid in queries}


def write_predictions(path: Path, predictions: Iterable[QueryPrediction]) -> None:
    """Write answers as a submission of QVHighlights. Raises OutputError: the file cannot be written."""
    with atomic_write(path) as part:
        part.write_text("".join(map(_format_line, predictions)), encoding="utf-8")


def read_scores(path: Path, videos: Mapping[str, AnnotatedVideo]) -> dict[str, FloatArray]:
    """Read importance scores in the JSON layout of PGL-SUM: {video: [T scores at its picks]}.

    A video goes by its name, `tvsum/video_1`, or the part after the slash; videos of other datasets are
    ignored. Raises InputError: another layout, an unknown video, none of the data, or another number of
    scores.
    """
    entry = DataEntry(str(path), {})
    document = read_json(path)
    if not isinstance(document, dict):
        raise entry.fault("must be a JSON object {video: [scores]}")
    by_name = {alias: name for name in videos for alias in (name, name.split("/", 1)[-1])}
    datasets = {name.partition("/")[0] for name in videos}
    hint = f"its videos: {', '.join(list(videos)[:3])}{' ...' if len(videos) > 3 else ''}"
    rows: dict[str, FloatArray] = {}
    for name, scores in document.items():
        if name in by_name:
            video, of_row = videos[by_name[name]], DataEntry(f"{path}: {name}", {})
            row, n_samples = of_row.numbers(scores, "scores"), len(video.picks)
            if len(row) != n_samples:
                raise of_row.fault(f"has {len(row)} scores, but the video has {n_samples} features")
            rows[by_name[name]] = np.array(row, np.float32)
        elif "/" not in name or name.partition("/")[0] in datasets:
            raise InputError(f"{safe_name(name)} is not in the data", hint=hint, subject=path)
    if not rows:
        raise InputError("has no scores for any video in the data", hint=hint, subject=path)
    return {name: rows[name] for name in videos if name in rows}


def _normalise(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _check_complete(path: Path, missing: Sequence[Query], queries: Sized) -> None:
    if missing:
        example = f"{quote(missing[0].text)} of {safe_name(missing[0].video)}"
        raise InputError(f"lacks {len(missing)} of {len(queries)} queries, such as {example}", subject=path)


def _answers(path: Path) -> Iterator[tuple[DataEntry, QueryPrediction]]:
    """Yield the answers in a file, and where they are; an answer without `qid` has an empty one."""
    text = read_text(path)
    if is_json_lines(text) or "\n" not in text.strip():
        entries = parse_lines(path, text)
    else:  # one object over several lines
        entries = iter([entry_of(str(path), parse_json(text, str(path)))])
    for entry in entries:
        if _WINDOWS in entry.values:
            qid = "" if entry.values.get("qid") is None else entry.number_or_text("qid")
            yield entry, _read_submission(entry, qid, saliency=False)
        else:
            yield from ((entry, answer) for answer in _read_document(entry))


def _read_submission(entry: DataEntry, qid: str, *, saliency: bool = True) -> QueryPrediction:
    moments = clips = None
    if _WINDOWS in entry.values:
        moments = tuple(_moment(entry, row) for row in entry.list(_WINDOWS))
    if saliency and _SALIENCY in entry.values:
        clips = entry.numbers(entry.values[_SALIENCY], _SALIENCY)
    return QueryPrediction(qid, entry.text("query"), entry.text("vid"), moments, clips)


def _read_document(entry: DataEntry) -> Iterator[QueryPrediction]:
    """Yield the answers in a document of `vidsum ground`, or in the result that holds it."""
    if entry.values.get("ok") is False:
        raise entry.fault("is the result of a command that failed")
    document = entry.entry("data") if "data" in entry.values else entry
    if "queries" not in document.values:
        raise entry.fault(f"has neither {_WINDOWS} nor the queries of `vidsum ground`")
    video = document.entry("video").text("path")
    for query in document.entries("queries"):
        rows = [[moment.values.get(key) for key in _MOMENT] for moment in query.entries("moments")]
        yield QueryPrediction("", query.text("query"), video, tuple(_moment(entry, row) for row in rows))


def _moment(entry: DataEntry, row: Any) -> Moment:
    """Return a moment from [start_s, end_s, score]; it may be empty, as in published predictions."""
    start, end, score = entry.row(row, 3, "a moment that is not a start, end and score")
    if end < start:
        raise entry.fault(f"has a moment that ends before its start: {quote(row)}")
    return Moment(start, end, score)


def _check_query(entry: DataEntry, prediction: QueryPrediction, queries: Mapping[str, Query]) -> None:
    """Features often end within the last clip: the official evaluation takes its score for 0."""
    query = queries.get(prediction.qid)
    if query is None:
        raise entry.fault(f"qid {safe_name(prediction.qid)} is not in the data")
    if prediction.video != query.video:
        vid, qid, video = safe_name(prediction.video), prediction.qid, safe_name(query.video)
        raise entry.fault(f"vid {vid} is not the video of qid {qid} in the data, {video}")
    n_scores = None if prediction.saliency is None else len(prediction.saliency)
    if n_scores == 0 or n_scores not in (None, query.n_clips, query.n_clips - 1):
        clips = f"{query.n_clips} clips of {CLIP_S:g} s of {safe_name(query.video)}"
        raise entry.fault(f"has {n_scores} {_SALIENCY} for the {clips}")


def _format_line(prediction: QueryPrediction) -> str:
    values: dict[str, Any] = {
        "qid": int(prediction.qid) if prediction.qid.isdecimal() else prediction.qid,
        "query": prediction.query,
        "vid": prediction.video,
    }
    if prediction.moments is not None:
        values[_WINDOWS] = [[moment.start_s, moment.end_s, moment.score] for moment in prediction.moments]
    if prediction.saliency is not None:
        values[_SALIENCY] = prediction.saliency
    return as_utf8(json.dumps(values, ensure_ascii=False, allow_nan=False)) + "\n"
