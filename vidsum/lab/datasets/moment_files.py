"""The annotations in the field's files of timed sentences, one by one, as they stand.

The content tells them apart, not the name:

- ActivityNet Captions and Charades-STA, JSON: {video: {"duration", "timestamps", "sentences"}}, in seconds;
- TACoS, JSON: {video: {"fps", "num_frames", "timestamps", "sentences"}}, in frames;
- both with "audios" too, a recording for each sentence, as MRNet's authors publish them;
- QVHighlights, JSON lines: {"qid", "query", "vid", "duration", "relevant_windows"}, in seconds, and for
  each of "relevant_clip_ids" what annotators gave the clip, "saliency_scores";
- Charades-STA as first published, text: `VIDEO START END##SENTENCE`. It has no lengths of videos: they come
  from Charades' own `Charades_v1_*.csv` (columns `id` and `length`) beside it.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vidsum.errors import InputError
from vidsum.lab.datasets.entries import Entry, entry_of, parse_lines
from vidsum.text_files import is_lines, named, numbered, parse_json, read_text, shown
from vidsum.types import Interval

LONGEST_S = 1e6
"""A longer video (this is eleven days) is a fault of its file: some arrays have an entry for each clip."""

_CHARADES_LINE = re.compile(r"(\S+) (\S+) (\S+?)##(.*)")


@dataclass(frozen=True)
class Annotation:
    """One sentence and when it is true, unchecked: windows may be inverted or leave the video."""

    where: str
    """File, and line or name in it."""
    video: str
    duration_s: float
    """Positive, at most `LONGEST_S`."""
    text: str
    windows: tuple[Interval, ...]
    """(start_s, end_s), finite."""
    qid: str | None = None
    audio: str = ""
    """File name of the recording of the sentence; empty where the file names none."""
    saliency: Mapping[int, tuple[float, ...]] | None = None
    """Number of a clip -> what each annotator gave it: QVHighlights."""

    def fault(self, reason: str, hint: str | None = None) -> InputError:
        """The error that says what is wrong with it."""
        return InputError(f"{self.where}: {reason}", hint)


def read_annotations(path: Path) -> Iterator[Annotation]:
    """The annotations of a file, in its order.

    Raises InputError: the file cannot be read, is of no known layout, or an entry lacks something; the
    message names the entry.
    """
    text = read_text(path)
    yield from _layout(text)(path, text)


def _layout(text: str) -> Callable[[Path, str], Iterator[Annotation]]:
    first = text.lstrip().partition("\n")[0]
    if not first.startswith("{"):
        return _of_charades_text
    if is_lines(text):
        return _of_lines
    try:
        return _of_lines if "vid" in parse_json(first, "") else _of_json
    except InputError:  # an object over several lines, or what the reader of one will complain of
        return _of_json


def _of_json(path: Path, text: str) -> Iterator[Annotation]:
    document = entry_of(str(path), parse_json(text, str(path)))
    for name, values in document.values.items():
        entry = entry_of(f"{path}: {named(name)}", values)
        windows, sentences = entry.list("timestamps"), entry.list("sentences")
        if len(windows) != len(sentences):
            raise entry.fault(f"has {len(windows)} timestamps, but {len(sentences)} sentences")
        audios = entry.list("audios") if "audios" in entry.values else [""] * len(sentences)
        if len(audios) != len(sentences):
            raise entry.fault(f"has {len(audios)} audios, but {len(sentences)} sentences")
        in_frames = "num_frames" in entry.values
        per_s = entry.positive("fps") if in_frames else 1.0
        duration_s = _duration(entry, "num_frames" if in_frames else "duration", per_s)
        for window, sentence, audio in zip(windows, sentences, audios, strict=True):
            if not isinstance(sentence, str):
                raise entry.fault(f"has a sentence that is not a text: {shown(sentence)}")
            if not isinstance(audio, str):
                raise entry.fault(f"has an audio that is not the name of a file: {shown(audio)}")
            start, end = entry.window(window)
            seconds = (start / per_s, end / per_s)
            yield Annotation(entry.where, name, duration_s, sentence, (seconds,), audio=audio)


def _duration(entry: Entry, key: str, per_s: float = 1.0) -> float:
    """Seconds of a video, by a length of so many units a second."""
    length = entry.positive(key)
    if key == "num_frames" and not length.is_integer():
        raise entry.fault(f"has num_frames that are not a whole number: {length:g}")
    if length > per_s * LONGEST_S:
        raise entry.fault(f"has a duration of more than {LONGEST_S:g} s")
    return length / per_s


def _of_lines(path: Path, text: str) -> Iterator[Annotation]:
    for entry in parse_lines(path, text):
        if "relevant_windows" not in entry.values:
            raise entry.fault("has no relevant_windows: the file is of a test split without annotations")
        yield Annotation(
            entry.where,
            entry.text("vid"),
            _duration(entry, "duration"),
            entry.text("query"),
            tuple(entry.window(window) for window in entry.list("relevant_windows")),
            entry.number_or_text("qid") if "qid" in entry.values else None,
            saliency=_saliency(entry) if "saliency_scores" in entry.values else None,
        )


def _saliency(entry: Entry) -> dict[int, tuple[float, ...]]:
    clips, scores = entry.list("relevant_clip_ids"), entry.list("saliency_scores")
    if len(clips) != len(scores):
        raise entry.fault(f"has {len(clips)} relevant_clip_ids, but {len(scores)} saliency_scores")
    by_clip = {}
    for clip, of_clip in zip(clips, scores, strict=True):
        is_number = isinstance(clip, int) and not isinstance(clip, bool) and 0 <= clip < LONGEST_S
        if not is_number or clip in by_clip:
            raise entry.fault(f"has relevant_clip_ids that are not numbers of different clips: {shown(clip)}")
        by_clip[clip] = entry.numbers(of_clip, "saliency_scores")
    return by_clip


def _of_charades_text(path: Path, text: str) -> Iterator[Annotation]:
    lengths: dict[str, float] | None = None
    for number, line in numbered(text):
        where = f"{path}: line {number}"
        match = _CHARADES_LINE.fullmatch(line)
        if not match:
            raise InputError(f"{where}: is neither JSON nor `VIDEO START END##SENTENCE`")
        name, *times, sentence = match.groups()
        if lengths is None:  # not before the file is known to be of this layout
            lengths = _charades_lengths(path)
        if name not in lengths:
            raise InputError(f"{where}: no Charades_v1_*.csv has the length of {named(name)}")
        entry = Entry(where, {"length": lengths[name]})
        with suppress(ValueError):  # `window` refuses other texts
            times = [float(time) for time in times]
        yield Annotation(where, name, _duration(entry, "length"), sentence, (entry.window(times),))


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
        rows = csv.DictReader(io.StringIO(read_text(table), newline=""))
        try:
            lengths |= {row["id"]: float(row["length"]) for row in rows}
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            raise InputError(f"{table}: has no columns id and length in seconds") from error
    return lengths
