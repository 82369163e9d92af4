"""The files in which the field keeps timed sentences: the annotations in them, one by one, as they stand.

Told apart by what is in them, not by name:

- ActivityNet Captions and Charades-STA, JSON: {video: {"duration", "timestamps", "sentences"}}, in seconds;
- TACoS, JSON: {video: {"fps", "num_frames", "timestamps", "sentences"}}, in frames;
- QVHighlights, JSON lines: {"qid", "query", "vid", "duration", "relevant_windows"}, in seconds;
- Charades-STA as first published, text: `VIDEO START END##SENTENCE`. It has no lengths of videos: they come
  from Charades' own `Charades_v1_*.csv` (columns `id` and `length`) beside it.
"""

import csv
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidsum.errors import InputError
from vidsum.features.arrays import existing
from vidsum.types import Interval

_CHARADES_LINE = re.compile(r"(\S+) (\S+) (\S+?)##(.*)")


@dataclass(frozen=True)
class Annotation:
    """One sentence and when it is true, unchecked: windows may be inverted or leave the video."""

    video: str
    duration_s: float
    """Positive."""
    text: str
    windows: tuple[Interval, ...]
    """(start_s, end_s), finite."""
    qid: str | None = None


def read_annotations(path: Path) -> Iterator[Annotation]:
    """The annotations of a file, in its order.

    Raises:
        InputError: the file cannot be read, is of no known layout, or an entry lacks something; the message
            names the entry.
    """
    try:
        text = existing(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not a text file") from error
    yield from _layout(text)(path, text)


def _layout(text: str) -> Callable[[Path, str], Iterator[Annotation]]:
    first = text.lstrip().partition("\n")[0]
    if not first.startswith("{"):
        return _of_charades_text
    try:
        return _of_lines if "vid" in json.loads(first) else _of_json
    except ValueError:  # an object over several lines
        return _of_json


def _of_json(path: Path, text: str) -> Iterator[Annotation]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InputError(f"{path}: cannot be read as JSON ({error})") from error
    for name, entry in document.items():
        with_name = _Entry(path, name, entry)
        windows, sentences = with_name.list("timestamps"), with_name.list("sentences")
        if len(windows) != len(sentences):
            raise with_name.fault(f"has {len(windows)} timestamps, but {len(sentences)} sentences")
        per_s = with_name.positive("fps") if "num_frames" in with_name.values else 1.0
        length = with_name.positive("num_frames" if "num_frames" in with_name.values else "duration")
        for window, sentence in zip(windows, sentences, strict=True):
            if not isinstance(sentence, str):
                raise with_name.fault(f"has a sentence that is no text: {sentence!r}")
            start, end = with_name.window(window)
            yield Annotation(name, length / per_s, sentence, ((start / per_s, end / per_s),))


def _of_lines(path: Path, text: str) -> Iterator[Annotation]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            entry = _Entry(path, f"line {number}", json.loads(line))
        except ValueError as error:
            raise InputError(f"{path}: line {number}: cannot be read as JSON ({error})") from error
        if "relevant_windows" not in entry.values:
            raise entry.fault("has no relevant_windows: the file is of a test split without annotations")
        yield Annotation(
            video=entry.text("vid"),
            duration_s=entry.positive("duration"),
            text=entry.text("query"),
            windows=tuple(entry.window(window) for window in entry.list("relevant_windows")),
            qid=str(entry.values["qid"]) if "qid" in entry.values else None,
        )


def _of_charades_text(path: Path, text: str) -> Iterator[Annotation]:
    lengths: dict[str, float] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        found = _CHARADES_LINE.fullmatch(line.strip())
        if not found:
            raise InputError(f"{path}: line {number}: is neither JSON nor `VIDEO START END##SENTENCE`")
        name, start, end, sentence = found.groups()
        if lengths is None:  # not before the file is known to be of this layout
            lengths = _charades_lengths(path)
        if name not in lengths:
            raise InputError(f"{path}: line {number}: no Charades_v1_*.csv tells the length of {name}")
        entry = _Entry(path, f"line {number}", {"length": lengths[name]})
        yield Annotation(name, entry.positive("length"), sentence, (entry.window([start, end]),))


def _charades_lengths(path: Path) -> dict[str, float]:
    """Seconds of each video, by the tables of Charades beside the annotations."""
    tables = sorted(path.parent.glob("Charades_v1_*.csv"))
    if not tables:
        raise InputError(
            f"{path}: this layout has no lengths of videos",
            hint=f"put Charades_v1_train.csv and Charades_v1_test.csv of Charades into {path.parent}",
        )
    lengths: dict[str, float] = {}
    for table in tables:
        with table.open(encoding="utf-8", newline="") as file:
            try:
                lengths |= {row["id"]: float(row["length"]) for row in csv.DictReader(file)}
            except (KeyError, TypeError, ValueError, csv.Error) as error:
                raise InputError(f"{table}: has no columns id and length in seconds") from error
    return lengths


class _Entry:
    """One object of a file, whose faults say where it is."""

    def __init__(self, path: Path, where: str, values: Any) -> None:
        self.path, self.where = path, where
        if not isinstance(values, Mapping):
            raise self.fault("is no JSON object")
        self.values = values

    def fault(self, reason: str) -> InputError:
        """The error that says what is wrong with this entry."""
        return InputError(f"{self.path}: {self.where}: {reason}")

    def text(self, key: str) -> str:
        """A value that must be a text."""
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.fault(f"has no text {key}")
        return value

    def list(self, key: str) -> list[Any]:
        """A value that must be a list."""
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.fault(f"has no list {key}")
        return value

    def positive(self, key: str) -> float:
        """A value that must be a positive number."""
        value = self.values.get(key)
        if not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self.fault(f"has no positive number {key}")
        return float(value)

    def window(self, value: Any) -> Interval:
        """A start and an end, which must be finite numbers."""
        try:
            start, end = map(float, value)
        except (TypeError, ValueError):
            start = end = math.nan
        if not (math.isfinite(start) and math.isfinite(end)):
            raise self.fault(f"has a window that is no start and end: {value!r}")
        return start, end
