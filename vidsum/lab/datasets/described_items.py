"""Items that people described, and captions of them: pictures, videos, or moments of videos.

What is described, by its content rather than its name:

- COCO's JSON (`annotations` with `image_id` and `caption`), MSR-VTT's (`sentences` with `video_id`)
- the layouts of `vidsum.lab.datasets.timed_sentences`; MAD's JSON; CSV with the columns of `TIMED`
- pictures: CSV of a name and a caption, a row for each sentence

Captions: COCO's list of results; CSV of an id and a caption; and with times, which meet the moments that they
overlap most: CSV as above, ActivityNet's `results`, {video}_descriptions.json or a folder of these.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from vidsum.errors import InputError, quote, safe_name
from vidsum.io.text import is_json_lines, parse_json, read_packed_text
from vidsum.lab.datasets.clip_captions import is_unicode
from vidsum.lab.datasets.entries import DataEntry, entry_of, table_of
from vidsum.lab.datasets.timed_sentences import read_moments
from vidsum.types import Interval, iou

_VIDEO = ("video", "video_id", "movie", "imdbid", "cmd_filename")
_ID = ("id", "image_id", "image", "file", *_VIDEO)
_TEXT = ("caption", "text", "sentence", "text_named", "text_unnamed", "text_gen", "text_gt")
TIMED: Final = (_VIDEO, ("start", "start_s"), ("end", "end_s"), _TEXT)
"""Names of the columns of timed sentences."""
_SUFFIX = "_descriptions"


@dataclass(frozen=True)
class Described:
    """A picture, a video, or a moment of one."""

    sentences: tuple[str, ...]  # sentences of people, at least one
    video: str = ""
    window: Interval | None = None  # seconds of the moment


class _Said(NamedTuple):
    where: str
    name: str  # name of the item, or of its video if there is a window
    text: str
    window: Interval | None = None


def read_described(path: Path) -> dict[str, Described]:
    """Return the items of a file by name, in its order; a moment is called `VIDEO#N`, N from 0 in each video.

    Raises InputError: it cannot be read, is of no known layout, or an entry lacks something.
    """
    items: dict[str, Described] = {}
    counts = Counter[str]()
    for said in _sentences(path):
        if not said.text.strip() or not is_unicode(said.text):
            raise InputError(f"has no sentence for {safe_name(said.name)}", subject=said.where)
        name, video = said.name, ""
        if said.window:
            name, video = f"{said.name}#{counts[said.name]}", said.name
            counts[video] += 1
        others = items[name].sentences if name in items else ()
        items[name] = Described((*others, said.text.strip()), video, said.window)
    if not items:
        raise InputError("holds no sentences", subject=path)
    return items


def read_captions(path: Path, items: Mapping[str, Described]) -> dict[str, str]:
    """Return the caption of each item that has one; an empty text is one, too.

    Raises InputError: an unreadable file, an unknown item or time, or not one caption of an item.
    """
    files = sorted(path.glob(f"*{_SUFFIX}.json")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"holds no file NAME{_SUFFIX}.json", subject=path)
    said = [sentence for file in files for sentence in _sentences(file)]
    captions = _by_time(said, items) if any(sentence.window for sentence in said) else _by_name(said, items)
    if not captions:
        raise InputError("has no caption of the data", subject=path)
    return captions


def _by_name(said: Iterable[_Said], items: Mapping[str, Described]) -> dict[str, str]:
    captions: dict[str, str] = {}
    for sentence in said:
        if sentence.name not in items:
            raise InputError(f"{safe_name(sentence.name)} is not in the data", subject=sentence.where)
        if sentence.name in captions:
            raise InputError(f"{safe_name(sentence.name)} has a second caption", subject=sentence.where)
        captions[sentence.name] = sentence.text
    return captions


def _by_time(said: Iterable[_Said], items: Mapping[str, Described]) -> dict[str, str]:
    """Return the caption of each moment: the one that overlaps it most, if any does."""
    of_video: dict[str, list[_Said]] = {item.video: [] for item in items.values() if item.window}
    for sentence in said:
        if sentence.name not in of_video:
            reason = "is not in the data" if of_video else "has times, which the data has not"
            raise InputError(f"{safe_name(sentence.name)} {reason}", subject=sentence.where)
        of_video[sentence.name].append(sentence)
    captions = {}
    for name, item in items.items():
        if spoken := of_video.get(item.video):
            overlaps = iou([sentence.window or (0, 0) for sentence in spoken], [item.window or (0, 0)])[:, 0]
            if overlaps.max() > 0:
                captions[name] = spoken[int(overlaps.argmax())].text
    return captions


def _sentences(path: Path) -> Iterator[_Said]:
    """Yield the sentences of a file of people, or of captions."""
    text = read_packed_text(path)
    suffix = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if suffix == "csv":
        return map(_of_row, _table(path, text))
    if suffix == "json" and not is_json_lines(text):
        values = parse_json(text, str(path))
        if isinstance(values, list):
            return _of_entries(entry_of(f"{path}: entry {n}", value) for n, value in enumerate(values))
        entry = entry_of(str(path), values)
        if "descriptions" in values:
            return _of_descriptions(path, entry)
        if "results" in values:
            results = entry.entry("results")
            return (
                _Said(item.where, video, item.text("sentence"), item.window(item.values.get("timestamp")))
                for video in results.values
                for item in results.entries(video)
            )
        for key in ("annotations", "sentences"):
            if key in values:
                return _of_entries(entry.entries(key))
        if any(isinstance(value, Mapping) and "movie" in value for value in values.values()):
            return _of_mad(entry)
    queries = (query for video in read_moments(path).values() for query in video.queries)
    return (_Said(str(path), query.video, query.text, query.windows[0]) for query in queries)


def _table(path: Path, text: str) -> list[DataEntry]:
    """Return the rows of a CSV file. Raises InputError: it cannot be read, or has no columns that we know."""
    columns, table = table_of(path, text)
    if table and not _names(table[0], _ID, _TEXT):
        header = quote(", ".join(columns))
        raise InputError(f"line 1: has the columns {header}, not an id and a caption", subject=path)
    return table


def _names(row: DataEntry, *columns: Sequence[str]) -> list[str] | None:
    """Return the names that the columns have in a row; None where it lacks one."""
    names = [next((name for name in known if name in row.values), None) for known in columns]
    return None if None in names else [name for name in names if name]


def _of_row(row: DataEntry) -> _Said:
    if not (names := _names(row, *TIMED)):
        name, text = _names(row, _ID, _TEXT) or ("", "")
        return _Said(row.where, row.values[name], row.values[text])
    video, *times, text = (row.values[name] for name in names)
    with suppress(ValueError):  # `window` refuses other texts
        times = [float(time) for time in times]
    return _Said(row.where, video, text, row.window(times))


def _of_entries(entries: Iterable[DataEntry]) -> Iterator[_Said]:
    for entry in entries:
        name = next((name for name in _ID if name in entry.values and name != "id"), "id")
        yield _Said(entry.where, entry.number_or_text(name), entry.text("caption"))


def _of_mad(entry: DataEntry) -> Iterator[_Said]:
    for name, values in entry.values.items():
        item = entry_of(f"{entry.where}: {safe_name(name)}", values)
        window = item.window(item.values.get("timestamps"))
        yield _Said(item.where, item.text("movie"), item.text("sentence"), window)


def _of_descriptions(path: Path, entry: DataEntry) -> Iterator[_Said]:
    """Yield the sentences of {video}_descriptions.json."""
    video = entry.values.get("video")
    named_in = Path(str(video.get("path"))).stem if isinstance(video, Mapping) else ""
    for item in entry.entries("descriptions"):
        window = item.window([item.values.get("start_s"), item.values.get("end_s")])
        yield _Said(item.where, named_in or path.stem.removesuffix(_SUFFIX), item.text("text"), window)
