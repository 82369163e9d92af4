"""The files in which the field keeps timed sentences: the annotations in them, one by one, as they stand.

Told apart by what is in them, not by name:

- ActivityNet Captions and Charades-STA, JSON: {video: {"duration", "timestamps", "sentences"}}, in seconds;
- TACoS, JSON: {video: {"fps", "num_frames", "timestamps", "sentences"}}, in frames;
- QVHighlights, JSON lines: {"qid", "query", "vid", "duration", "relevant_windows"}, in seconds, and for
  each of "relevant_clip_ids" what annotators gave the clip, "saliency_scores";
- Charades-STA as first published, text: `VIDEO START END##SENTENCE`. It has no lengths of videos: they come
  from Charades' own `Charades_v1_*.csv` (columns `id` and `length`) beside it.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vidsum.datasets.entries import Entry, entry_of, numbered, parse_lines, read_text
from vidsum.errors import InputError
from vidsum.types import Interval

_CHARADES_LINE = re.compile(r"(\S+) (\S+) (\S+?)##(.*)")


@dataclass(frozen=True)
class Annotation:
    """One sentence and when it is true, unchecked: windows may be inverted or leave the video."""

    where: str
    """File, and line or name in it."""
    video: str
    duration_s: float
    """Positive."""
    text: str
    windows: tuple[Interval, ...]
    """(start_s, end_s), finite."""
    qid: str | None = None
    saliency: Mapping[int, tuple[float, ...]] | None = None
    """Number of a clip -> what each annotator gave it: QVHighlights."""


def read_annotations(path: Path) -> Iterator[Annotation]:
    """The annotations of a file, in its order.

    Raises:
        InputError: the file cannot be read, is of no known layout, or an entry lacks something; the message
            names the entry.
    """
    text = read_text(path)
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
    for name, values in document.items():
        entry = entry_of(f"{path}: {name}", values)
        windows, sentences = entry.list("timestamps"), entry.list("sentences")
        if len(windows) != len(sentences):
            raise entry.fault(f"has {len(windows)} timestamps, but {len(sentences)} sentences")
        in_frames = "num_frames" in entry.values
        per_s = entry.positive("fps") if in_frames else 1.0
        length = entry.positive("num_frames" if in_frames else "duration")
        for window, sentence in zip(windows, sentences, strict=True):
            if not isinstance(sentence, str):
                raise entry.fault(f"has a sentence that is no text: {sentence!r}")
            start, end = entry.window(window)
            yield Annotation(entry.where, name, length / per_s, sentence, ((start / per_s, end / per_s),))


def _of_lines(path: Path, text: str) -> Iterator[Annotation]:
    for entry in parse_lines(path, text):
        if "relevant_windows" not in entry.values:
            raise entry.fault("has no relevant_windows: the file is of a test split without annotations")
        yield Annotation(
            where=entry.where,
            video=entry.text("vid"),
            duration_s=entry.positive("duration"),
            text=entry.text("query"),
            windows=tuple(entry.window(window) for window in entry.list("relevant_windows")),
            qid=str(entry.values["qid"]) if "qid" in entry.values else None,
            saliency=_saliency(entry) if "saliency_scores" in entry.values else None,
        )


def _saliency(entry: Entry) -> dict[int, tuple[float, ...]]:
    clips, scores = entry.list("relevant_clip_ids"), entry.list("saliency_scores")
    if len(clips) != len(scores):
        raise entry.fault(f"has {len(clips)} relevant_clip_ids, but {len(scores)} saliency_scores")
    found = {}
    for clip, of_clip in zip(clips, scores, strict=True):
        if not isinstance(clip, int) or clip < 0 or clip in found:
            raise entry.fault(f"has relevant_clip_ids that are not numbers of different clips: {clip!r}")
        found[clip] = entry.numbers(of_clip, "saliency_scores")
    return found


def _of_charades_text(path: Path, text: str) -> Iterator[Annotation]:
    lengths: dict[str, float] | None = None
    for number, line in numbered(text):
        where = f"{path}: line {number}"
        found = _CHARADES_LINE.fullmatch(line)
        if not found:
            raise InputError(f"{where}: is neither JSON nor `VIDEO START END##SENTENCE`")
        name, start, end, sentence = found.groups()
        if lengths is None:  # not before the file is known to be of this layout
            lengths = _charades_lengths(path)
        if name not in lengths:
            raise InputError(f"{where}: no Charades_v1_*.csv tells the length of {name}")
        entry = Entry(where, {"length": lengths[name]})
        window = entry.window([start, end])
        yield Annotation(where, name, entry.positive("length"), sentence, (window,))


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
