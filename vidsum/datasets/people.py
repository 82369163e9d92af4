"""Several people's answers to the same queries: a folder of CSV files, a line per answer.

The layout of github.com/mayu-ot/hidden-challenges-MR (Otani et al., "Uncovering Hidden Challenges in
Query-Based Video Moment Retrieval", BMVC 2020): columns video_id, description, start, end; times are per
cent of the video.
"""

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vidsum.errors import InputError
from vidsum.text_files import named, read_text, shown
from vidsum.types import Interval

_COLUMNS = ("video_id", "description", "start", "end")


@dataclass(frozen=True)
class PeopleAnswers:
    """Where several people saw what one query describes."""

    video: str
    """As in the file: the name of the video, with or without its suffix."""
    text: str
    windows: tuple[Interval, ...]
    """One per person, two or more: start and end in per cent of the video, none of them empty. They are not
    divided by 100: most are whole numbers, whose IoU is often a threshold."""


def read_people(folder: str | os.PathLike[str]) -> tuple[PeopleAnswers, ...]:
    """Read the answers of all CSV files of a folder: one entry per query, in the order of their first lines.

    Raises InputError: the folder is missing or has no CSV file; a file cannot be read, lacks a column, or
    holds no answer; an answer is not a start and a later end between 0 and 100; or a query has a single
    answer. The message names the file, and the line or query.
    """
    source = Path(folder)
    if not source.is_dir():
        raise InputError(f"{source}: {'is not a folder' if source.exists() else 'no such folder'}")
    windows: dict[tuple[str, str], list[Interval]] = {}
    for file in people_files(source):
        for video, text, window in _answers(file):
            windows.setdefault((video, text), []).append(window)
    for (video, text), of_query in windows.items():
        if len(of_query) < 2:
            raise InputError(f"{source}: {named(video)}: {shown(text)} has one answer: agreement needs two")
    return tuple(PeopleAnswers(video, text, tuple(each)) for (video, text), each in windows.items())


def people_files(folder: Path) -> list[Path]:
    """The CSV files of a folder, by name. Raises InputError: there is none, or the folder cannot be read."""
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix == ".csv")
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({(error.strerror or str(error)).lower()})") from error
    if not files:
        raise InputError(
            f"{folder}: has no CSV file", hint=f"CSV files with the columns {', '.join(_COLUMNS)}"
        )
    return files


def _answers(file: Path) -> Iterator[tuple[str, str, Interval]]:
    """Video, text and window of each line."""
    rows = csv.DictReader(io.StringIO(read_text(file), newline=""), strict=True)
    found = False
    try:
        if missing := [column for column in _COLUMNS if column not in (rows.fieldnames or ())]:
            raise InputError(f"{file}: has no column {missing[0]}")
        for row in rows:
            found = True
            yield _answer(f"{file}: line {rows.line_num}", row)
    except csv.Error as error:
        raise InputError(f"{file}: cannot be read as CSV after line {rows.line_num} ({error})") from error
    if not found:
        raise InputError(f"{file}: holds no answer")


def _answer(where: str, row: dict[str, str | None]) -> tuple[str, str, Interval]:
    video, text, *times = (row[column] or "" for column in _COLUMNS)
    if not video.strip() or not text.strip():
        raise InputError(f"{where}: has no video_id or no description")
    try:
        start, end = map(float, times)
    except ValueError as error:
        raise InputError(f"{where}: start and end are not numbers: {shown(times)}") from error
    if not 0 <= start < end <= 100:
        raise InputError(f"{where}: {start:g} to {end:g} is not a part of the video in per cent")
    return video.strip(), text, (start, end)
