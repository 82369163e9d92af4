"""Moments that other code or `vidsum ground` found: read from a file, by the queries of the data.

Two kinds of JSON lines are read, told apart by what is in them:

- QVHighlights' submissions: {"qid", "query", "vid", "pred_relevant_windows": [[start_s, end_s, score], ...]};
- what `vidsum ground --json` prints, or the document that it writes, for the videos of the data.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidsum.datasets.entries import Entry, entry_of, parse_lines
from vidsum.datasets.moments import MomentVideo
from vidsum.errors import InputError
from vidsum.evaluation.moment_report import MomentPredictions
from vidsum.text_files import is_lines, named, parse_json, read_text, shown
from vidsum.types import Moment

_Place = tuple[str, int]
"""Name of a video of the data, and the number of the query in it."""

_MOMENT = ("start_s", "end_s", "score")


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
            too often, or not at all; a moment ends before its start, or is not of finite numbers. The message
            names the line.
    """
    found: dict[_Place, tuple[Moment, ...]] = {}
    for places, answers in _by_places(_answers(path), videos).items():
        if len(answers) not in (1, len(places)):
            last, video = answers[-1], places[0][0]
            raise InputError(f"{last.where}: answers {shown(last.query)} of {named(video)} again")
        moments = [answer.moments for answer in answers]
        found |= dict(zip(places, moments * (len(places) // len(moments)), strict=True))
    wanted = [(name, number) for name, video in videos.items() for number in range(len(video.queries))]
    if missing := [place for place in wanted if place not in found]:
        name, number = missing[0]
        raise InputError(
            f"{path}: lacks {len(missing)} of {len(wanted)} queries, such as "
            f"{shown(videos[name].queries[number].text)} of {named(name)}"
        )
    return {
        name: [found[name, number] for number in range(len(video.queries))] for name, video in videos.items()
    }


def _by_places(
    answers: Iterator[_Answer], videos: Mapping[str, MomentVideo]
) -> dict[tuple[_Place, ...], list[_Answer]]:
    """Answers by the queries that they are for: more than one where the data asks the same again."""
    by_qid: dict[str, list[_Place]] = {}
    by_text: dict[tuple[str, str], list[_Place]] = {}
    for name, video in videos.items():
        for number, query in enumerate(video.queries):
            by_text.setdefault((name, _plain(query.text)), []).append((name, number))
            if query.qid is not None:
                by_qid.setdefault(query.qid, []).append((name, number))
    found: dict[tuple[_Place, ...], list[_Answer]] = {}
    for answer in answers:
        called = _name(answer.video, videos)
        if by_qid and answer.qid is not None:
            known = f"qid {named(answer.qid)}"
            places = [place for place in by_qid.get(answer.qid, []) if place[0] == called]
        else:
            known = shown(answer.query)
            places = by_text.get((called, _plain(answer.query)), [])
        if not places:
            raise InputError(f"{answer.where}: {known} of {named(answer.video)} is not in the data")
        found.setdefault(tuple(places), []).append(answer)
    return found


def _name(video: str, videos: Mapping[str, MomentVideo]) -> str:
    """The name that the data has for a video or its file."""
    file = Path(video)
    return next((name for name in (video, file.name) if name in videos), file.stem)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _answers(path: Path) -> Iterator[_Answer]:
    for entry in _entries(path):
        if "pred_relevant_windows" in entry.values:
            yield _of_submission(entry)
        else:
            yield from _of_grounding(entry)


def _entries(path: Path) -> Iterator[Entry]:
    """The JSON objects of a file: one over several lines, or one a line."""
    text = read_text(path)
    if is_lines(text) or "\n" not in text.strip():
        return parse_lines(path, text)
    return iter([entry_of(str(path), parse_json(text, str(path)))])


def _of_submission(entry: Entry) -> _Answer:
    has_number = entry.values.get("qid") is not None
    return _Answer(
        where=entry.where,
        video=entry.text("vid"),
        query=entry.text("query"),
        qid=entry.number_or_text("qid") if has_number else None,
        moments=_moments(entry, entry.list("pred_relevant_windows")),
    )


def _of_grounding(entry: Entry) -> Iterator[_Answer]:
    """The answers in a document of `vidsum ground`, or in the result that holds it."""
    if entry.values.get("ok") is False:
        raise entry.fault("is the result of a command that failed")
    document = entry.entry("data") if "data" in entry.values else entry
    if "queries" not in document.values:
        raise entry.fault("has neither pred_relevant_windows nor the queries of `vidsum ground`")
    video = document.entry("video").text("path")
    for asked in document.entries("queries"):
        rows = [[one.values.get(key) for key in _MOMENT] for one in asked.entries("moments")]
        yield _Answer(entry.where, video, asked.text("query"), None, _moments(entry, rows))


def _moments(entry: Entry, rows: Sequence[Any]) -> tuple[Moment, ...]:
    """Moments, best first; those of one score in their order."""
    return tuple(sorted((moment_of(entry, row) for row in rows), key=lambda moment: -moment.score))


def moment_of(entry: Entry, row: Any) -> Moment:
    """A moment from [start_s, end_s, score]; it may be empty, as those that published models give at times.

    Raises:
        InputError: it is something else, or ends before its start.
    """
    try:
        start, end, score = entry.numbers(row, "a moment")
    except (InputError, ValueError) as error:
        raise entry.fault(f"has a moment that is not a start, end and score: {shown(row)}") from error
    if end < start:
        raise entry.fault(f"has a moment that ends before its start: {shown(row)}")
    return Moment(start, end, score)
