"""Moments that other code or `vidsum ground` found: read from a file, by the queries of the data.

Two kinds of JSON lines are read, told apart by what is in them:

- QVHighlights' submissions: {"qid", "query", "vid", "pred_relevant_windows": [[start_s, end_s, score], ...]};
- what `vidsum ground --json` prints, or the document that it writes, for the videos of the data.
"""

import json
import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidsum.datasets.moments import MomentVideo
from vidsum.errors import InputError
from vidsum.evaluation.moment_report import MomentPredictions
from vidsum.features.arrays import existing
from vidsum.types import Moment

_Place = tuple[str, int]
"""Name of a video of the data, and the number of the query in it."""


@dataclass(frozen=True)
class _Answer:
    """The moments of one query, as a file has them."""

    where: str
    """File and line."""
    video: str
    """Name of the video, or path of its file."""
    query: str
    qid: str | None
    moments: tuple[Moment, ...]
    """Best first."""


def read_predictions(path: Path, videos: Mapping[str, MomentVideo]) -> MomentPredictions:
    """Moments for all queries of the data.

    Where the data asks the same of a video several times, one answer serves for all, or as many as there are
    stand for them in order.

    Args:
        path: the file. A query is known by its `qid`, or by its video and text (white space aside).
        videos: the data.

    Raises:
        InputError: the file cannot be read, or is of another layout; a query is not in the data, is answered
            too often, or not at all; a moment ends at or before its start, or is not of finite numbers. The
            message names the line.
    """
    found: dict[_Place, tuple[Moment, ...]] = {}
    for places, answers in _by_places(_answers(path), videos).items():
        if len(answers) not in (1, len(places)):
            raise InputError(f"{answers[-1].where}: answers {answers[-1].query!r} of {places[0][0]} again")
        moments = [answer.moments for answer in answers]
        found |= dict(zip(places, moments * (len(places) // len(moments)), strict=True))
    wanted = [(name, number) for name, video in videos.items() for number in range(len(video.queries))]
    if missing := [place for place in wanted if place not in found]:
        name, number = missing[0]
        raise InputError(
            f"{path}: lacks {len(missing)} of {len(wanted)} queries, such as "
            f"{videos[name].queries[number].text!r} of {name}"
        )
    return {
        name: [found[name, number] for number in range(len(video.queries))] for name, video in videos.items()
    }


def _by_places(
    answers: Iterator[_Answer], videos: Mapping[str, MomentVideo]
) -> dict[tuple[_Place, ...], list[_Answer]]:
    """Answers by the queries that they are for: more than one where the data asks the same again."""
    by_qid: dict[str, _Place] = {}
    by_text: dict[tuple[str, str], list[_Place]] = {}
    for name, video in videos.items():
        for number, query in enumerate(video.queries):
            by_text.setdefault((name, _plain(query.text)), []).append((name, number))
            if query.qid is not None:
                by_qid[query.qid] = (name, number)
    found: dict[tuple[_Place, ...], list[_Answer]] = {}
    for answer in answers:
        if by_qid and answer.qid is not None:
            places = [by_qid[answer.qid]] if answer.qid in by_qid else []
        else:
            places = by_text.get((_name(answer.video, videos), _plain(answer.query)), [])
        if not places:
            known = f"qid {answer.qid}" if by_qid and answer.qid is not None else repr(answer.query)
            raise InputError(f"{answer.where}: {known} of {answer.video} is not in the data")
        found.setdefault(tuple(places), []).append(answer)
    return found


def _name(video: str, videos: Mapping[str, MomentVideo]) -> str:
    """The name that the data has for a video or its file."""
    file = Path(video)
    return next((name for name in (video, file.name) if name in videos), file.stem)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _answers(path: Path) -> Iterator[_Answer]:
    for where, values in _objects(path):
        if "pred_relevant_windows" in values:
            yield _of_submission(where, values)
        else:
            yield from _of_grounding(where, values)


def _objects(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The JSON objects of a file, one a line or one in all, and where they are."""
    try:
        text = existing(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not a text file") from error
    if "\n" in text.strip():
        try:
            yield str(path), _object(str(path), json.loads(text))
            return
        except ValueError:  # more than one object
            pass
    for number, line in enumerate(text.split("\n"), 1):
        where = f"{path}: line {number}"
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except ValueError as error:
            raise InputError(f"{where}: cannot be read as JSON ({error})") from error
        yield where, _object(where, values)


def _object(where: str, values: Any) -> Mapping[str, Any]:
    if not isinstance(values, dict):
        raise InputError(f"{where}: holds no JSON object")
    return values


def _of_submission(where: str, values: Mapping[str, Any]) -> _Answer:
    qid = values.get("qid")
    return _Answer(
        where=where,
        video=_text(where, values, "vid"),
        query=_text(where, values, "query"),
        qid=None if qid is None else str(qid),
        moments=_moments(where, _list(where, values, "pred_relevant_windows")),
    )


def _of_grounding(where: str, values: Mapping[str, Any]) -> Iterator[_Answer]:
    """The answers in a document of `vidsum ground`, or in the result that holds it."""
    if values.get("ok") is False:
        raise InputError(f"{where}: is the result of a command that failed")
    document = _object(where, values.get("data", values))
    if "queries" not in document:
        raise InputError(f"{where}: has neither pred_relevant_windows nor the queries of `vidsum ground`")
    video = _text(where, _object(where, document.get("video")), "path")
    for query in _list(where, document, "queries"):
        asked = _object(where, query)
        given = [_object(where, one) for one in _list(where, asked, "moments")]
        rows = [[one.get("start_s"), one.get("end_s"), one.get("score")] for one in given]
        yield _Answer(where, video, _text(where, asked, "query"), None, _moments(where, rows))


def _text(where: str, values: Mapping[str, Any], key: str) -> str:
    value = values.get(key)
    if not isinstance(value, str):
        raise InputError(f"{where}: has no text {key}")
    return value


def _list(where: str, values: Mapping[str, Any], key: str) -> list[Any]:
    value = values.get(key)
    if not isinstance(value, list):
        raise InputError(f"{where}: has no list {key}")
    return value


def _moments(where: str, rows: Sequence[Any]) -> tuple[Moment, ...]:
    """Moments, best first; those of one score in their order."""
    return tuple(sorted((_moment(where, row) for row in rows), key=lambda moment: -moment.score))


def _moment(where: str, row: Any) -> Moment:
    try:
        start, end, score = map(float, row)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: has a moment that is no start, end and score: {row!r}") from error
    if not all(map(math.isfinite, (start, end, score))):
        raise InputError(f"{where}: has a moment with NaN or infinite numbers: {row!r}")
    if end <= start:
        raise InputError(f"{where}: has a moment that ends at or before its start: {row!r}")
    return Moment(start, end, score)
