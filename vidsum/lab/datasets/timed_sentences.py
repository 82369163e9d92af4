"""Videos with timed sentences: ActivityNet Captions, Charades-STA, TACoS and QVHighlights, read alike.

The content tells the layouts apart, not the name of the file:

- ActivityNet Captions and Charades-STA, JSON: {video: {"duration", "timestamps", "sentences"}}, in seconds;
- TACoS, JSON: {video: {"fps", "num_frames", "timestamps", "sentences"}}, in frames;
- TimeLens-Bench, JSON: {video: {"duration", "spans", "queries"}}, in seconds;
- the first two with "audios" too, a recording for each sentence, as MRNet's authors publish them;
- QVHighlights, JSON lines: {"qid", "query", "vid", "duration", "relevant_windows"}, in seconds, and for
  each of "relevant_clip_ids" what annotators gave the clip, "saliency_scores";
- Charades-STA as first published, text: `VIDEO START END##SENTENCE`; the lengths of videos come from
  Charades' `Charades_v1_*.csv` (columns `id` and `length`) next to it.

`read_moments` drops empty windows and sentences and cuts windows at the end of the video, as the field does;
`read_highlights` is strict, as the official evaluation of QVHighlights.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vidsum.errors import InputError, quote, safe_name
from vidsum.io.text import is_json_lines, number_lines, parse_json, read_text
from vidsum.lab.datasets.entries import DataEntry, entry_of, parse_lines, table_of
from vidsum.types import FloatArray, Interval

CLIP_S = 2.0  # length of the clips whose saliency QVHighlights' annotators scored
LONGEST_S = 1e6
"""A longer video (this is eleven days) is a fault of its file: some arrays have an entry for each clip."""
_CHARADES_LINE = re.compile(r"(\S+) (\S+) (\S+?)##(.*)")


@dataclass(frozen=True, eq=False)
class Query:
    """A sentence, where in its video it is true, and how well each clip shows it."""

    qid: str  # the query's number; empty where the file has none: only QVHighlights does
    text: str
    video: str
    duration_s: float
    windows: tuple[Interval, ...]
    """One or more [start_s, end_s) inside the video, none of them empty; only QVHighlights has several."""
    saliency: FloatArray | None = None
    """[C, U] score of each clip of `CLIP_S` by each of U annotators, 0 (very bad, outside) to 4, if known."""
    audio: str = ""  # file name of its recording; empty where the file has none: only MRNet's authors' do

    @property
    def features_name(self) -> str:
        """File name, less the suffix, of the query's published features; empty where nothing tells it."""
        return Path(self.audio).stem or (f"qid{self.qid}" if self.qid else "")

    @property
    def n_annotators(self) -> int:
        return 0 if self.saliency is None else self.saliency.shape[1]

    @property
    def n_clips(self) -> int:
        """The whole clips of the video; a rest at its end does not count."""
        return int(self.duration_s / CLIP_S)


@dataclass(frozen=True)
class MomentVideo:
    name: str
    duration_s: float
    queries: tuple[Query, ...]  # in the order of the file; empty where none could be used
    repairs: tuple[str, ...] = ()  # repairs and omissions, an entry for each annotation


def read_moments(path: Path) -> dict[str, MomentVideo]:
    """Read and repair the timed sentences of one split, in its order.

    Raises InputError, which names the entry: no known layout, nothing in it, or something is missing.
    """
    queries: dict[str, list[Query]] = {}
    for _, query in _read_queries(path):
        queries.setdefault(query.video, []).append(query)
    videos = {}
    for name, of_video in queries.items():
        if len({query.duration_s for query in of_video}) > 1:
            raise InputError(
                f"{safe_name(name)}: two of its entries give it different durations", subject=path
            )
        repairs: list[str] = []
        repaired = [usable for query in of_video if (usable := _repair(query, repairs))]
        videos[name] = MomentVideo(name, of_video[0].duration_s, tuple(repaired), tuple(repairs))
    return videos


def read_highlights(path: Path) -> dict[str, Query]:
    """Read the queries of one split of QVHighlights strictly, by number; all or none have saliency [C, U].

    Raises InputError: a line lacks something or repeats a number; a window is empty or outside its video; or
    the annotators do not go with the clips.
    """
    queries: dict[str, Query] = {}
    n_annotators: int | None = None
    for where, query in _read_queries(path):
        if not query.qid:
            raise InputError("has no qid", hint="annotations in QVHighlights' layout", subject=where)
        if query.qid in queries:
            raise InputError(f"has qid {safe_name(query.qid)} again", subject=where)
        if not query.windows:
            raise InputError("has no window", subject=where)
        for start, end in query.windows:
            if not 0 <= start < end <= query.duration_s:
                video = f"its video of {query.duration_s:g} s: {[start, end]}"
                raise InputError(f"has a window that is inverted, empty or outside {video}", subject=where)
        if query.saliency is not None and (clip := len(query.saliency) - 1) >= query.n_clips:
            last = f"the last is {query.n_clips - 1}"
            raise InputError(f"has clip {clip} in relevant_clip_ids; {last}", subject=where)
        if n_annotators not in (None, query.n_annotators):
            raise InputError("has another number of annotators than those before it", subject=where)
        n_annotators = query.n_annotators
        queries[query.qid] = query
    return queries


def _read_queries(path: Path) -> Iterator[tuple[str, Query]]:
    """Yield the place and content of each annotation; windows may be inverted or leave the video.

    Raises InputError: there is none.
    """
    text = read_text(path)
    queries = _layout(text)(path, text)
    if (first := next(queries, None)) is None:
        raise InputError("holds no annotation", subject=path)
    yield first
    yield from queries


def describe_repairs(videos: Mapping[str, MomentVideo]) -> tuple[str, ...]:
    """Return a sentence for each kind of repair: how many annotations, and the first video."""
    names: dict[str, list[str]] = {}
    for name, video in videos.items():
        for repair in video.repairs:
            names.setdefault(repair, []).append(name)
    return tuple(
        f"{repair}: {len(videos)}, first in {safe_name(videos[0])}" for repair, videos in names.items()
    )


def _repair(query: Query, repairs: list[str]) -> Query | None:
    """Return the usable part of a query, if there is any; what was done to it is added to the repairs."""
    text = query.text.strip()
    if not text or not query.windows:
        reason = "that have no window" if text else "whose sentence has no words"
        repairs.append(f"annotations left out {reason}")
        return None
    windows = [_clip_window(window, query.duration_s, repairs) for window in query.windows]
    usable = tuple(window for window in windows if window)
    return replace(query, text=text, windows=usable) if usable else None


def _clip_window(window: Interval, duration_s: float, repairs: list[str]) -> Interval | None:
    start, end = window
    inside = max(start, 0.0), min(end, duration_s)
    if start >= end or inside[0] >= inside[1]:
        reason = "that end at or before their start" if start >= end else "that lie outside their video"
        repairs.append(f"annotations left out {reason}")
        return None
    if inside != window:
        repairs.append("annotations cut that reach out of their video")
    return inside


def _layout(text: str) -> Callable[[Path, str], Iterator[tuple[str, Query]]]:
    first = text.lstrip().partition("\n")[0]
    if not first.startswith("{"):
        return _of_charades_text
    if is_json_lines(text):
        return _of_lines
    try:
        return _of_lines if "vid" in parse_json(first, "") else _of_json
    except InputError:  # an object over several lines, or what the reader of one will complain of
        return _of_json


def _of_json(path: Path, text: str) -> Iterator[tuple[str, Query]]:
    document = entry_of(str(path), parse_json(text, str(path)))
    for name, values in document.values.items():
        entry = entry_of(f"{path}: {safe_name(name)}", values)
        times, texts = ("spans", "queries") if "queries" in entry.values else ("timestamps", "sentences")
        windows, sentences = entry.list(times), entry.list(texts)
        audios = entry.list("audios") if "audios" in entry.values else [""] * len(sentences)
        for key, values in ((times, windows), ("audios", audios)):
            if len(values) != len(sentences):
                raise entry.fault(f"has {len(values)} {key}, but {len(sentences)} {texts}")
        in_frames = "num_frames" in entry.values
        per_s = entry.positive("fps") if in_frames else 1.0
        duration_s = _duration(entry, "num_frames" if in_frames else "duration", per_s)
        for window, sentence, audio in zip(windows, sentences, audios, strict=True):
            if not isinstance(sentence, str):
                raise entry.fault(f"has a sentence that is not a text: {quote(sentence)}")
            if not isinstance(audio, str):
                raise entry.fault(f"has an audio that is not the name of a file: {quote(audio)}")
            start, end = entry.window(window)
            seconds = (start / per_s, end / per_s)
            yield entry.where, Query("", sentence, name, duration_s, (seconds,), audio=audio)


def _duration(entry: DataEntry, key: str, per_s: float = 1.0) -> float:
    """Return seconds of a video from its length in units of a given rate."""
    length = entry.positive(key)
    if key == "num_frames" and not length.is_integer():
        raise entry.fault(f"has num_frames that are not a whole number: {length:g}")
    if length > per_s * LONGEST_S:
        raise entry.fault(f"has a duration of more than {LONGEST_S:g} s")
    return length / per_s


def _of_lines(path: Path, text: str) -> Iterator[tuple[str, Query]]:
    for entry in parse_lines(path, text):
        if "relevant_windows" not in entry.values:
            raise entry.fault("has no relevant_windows: the file is of a test split without annotations")
        duration_s = _duration(entry, "duration")
        windows = tuple(entry.window(window) for window in entry.list("relevant_windows"))
        qid = entry.number_or_text("qid") if "qid" in entry.values else ""
        saliency = _saliency(entry, duration_s) if "saliency_scores" in entry.values else None
        yield entry.where, Query(qid, entry.text("query"), entry.text("vid"), duration_s, windows, saliency)


def _saliency(entry: DataEntry, duration_s: float) -> FloatArray:
    """Return [C, U] scores; clips that annotators did not score have 0."""
    clips, scores = entry.list("relevant_clip_ids"), entry.list("saliency_scores")
    if len(clips) != len(scores):
        raise entry.fault(f"has {len(clips)} relevant_clip_ids, but {len(scores)} saliency_scores")
    of_clips = [entry.numbers(of_clip, "saliency_scores") for of_clip in scores]
    if not all(of_clips) or len(set(map(len, of_clips))) != 1:
        raise entry.fault("has saliency_scores that are not one of each annotator for each clip")
    wrong = [clip for clip in clips if type(clip) is not int or not 0 <= clip < LONGEST_S]
    if wrong or len(set(clips)) < len(clips):
        fault = f"has relevant_clip_ids that are not numbers of different clips: {quote((wrong or clips)[0])}"
        raise entry.fault(fault)
    if max(clips) * CLIP_S >= duration_s:
        raise entry.fault(f"has clip {max(clips)} in relevant_clip_ids, which begins after the end")
    saliency = np.zeros((max(int(duration_s / CLIP_S), max(clips) + 1), len(of_clips[0])), np.float32)
    saliency[clips] = of_clips
    return saliency


def _of_charades_text(path: Path, text: str) -> Iterator[tuple[str, Query]]:
    lengths: dict[str, float] | None = None
    for number, line in number_lines(text):
        where = f"{path}: line {number}"
        match = _CHARADES_LINE.fullmatch(line)
        if not match:
            raise InputError("is neither JSON nor `VIDEO START END##SENTENCE`", subject=where)
        name, *times, sentence = match.groups()
        if lengths is None:  # not before the file is known to be of this layout
            lengths = _charades_lengths(path)
        if name not in lengths:
            raise InputError(f"no Charades_v1_*.csv has the length of {safe_name(name)}", subject=where)
        entry = DataEntry(where, {"length": lengths[name]})
        with suppress(ValueError):  # `window` refuses other texts
            times = [float(time) for time in times]
        yield where, Query("", sentence, name, _duration(entry, "length"), (entry.window(times),))


def _charades_lengths(path: Path) -> dict[str, float]:
    """Return seconds of each video, by the tables of Charades next to the annotations."""
    tables = sorted(path.parent.glob("Charades_v1_*.csv"))
    if not tables:
        raise InputError(
            "this layout has no lengths of videos",
            hint=f"put Charades_v1_train.csv and Charades_v1_test.csv of Charades into {path.parent}",
            subject=path,
        )
    lengths: dict[str, float] = {}
    for table in tables:
        try:
            rows = table_of(table, read_text(table))[1]
            lengths |= {row.values["id"]: float(row.values["length"]) for row in rows}
        except (KeyError, ValueError) as error:
            raise InputError("has no columns id and length in seconds", subject=table) from error
    return lengths
