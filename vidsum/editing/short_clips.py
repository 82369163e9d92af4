"""Shorts while somebody corrects them: what is said in one, its title, and its clip as it will be saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Lock
from typing import Any
from weakref import finalize

import numpy as np

from vidsum.description.opening_titles import title_of
from vidsum.features.settings import Extraction
from vidsum.outputs.clips import clip_paths, save_clips
from vidsum.outputs.edited_files import SavedClips
from vidsum.results.edited_parts import Part, most_in, overlap_s, subtract_spans
from vidsum.results.sentences import SpokenSentence
from vidsum.results.shorts import Short, Shorts
from vidsum.summary.speech_units import with_silence
from vidsum.times import format_time
from vidsum.types import Interval


class ShortClips:
    """The clips of shorts as *Save* writes them. They are made when they are asked for, and then copied."""

    def __init__(self, record: Path, extraction: Extraction) -> None:
        # by the look of the clips that are saved, which may change
        self._made = dict[str, dict[Interval, Path]]()
        self._record, self._extraction = record, extraction
        self._lock = Lock()

    def made(self, saved: Shorts) -> Mapping[Interval, Path]:
        """Return the clips that were made and look as the saved ones do, by their spans."""
        return self._made.get(SavedClips.of(saved, self._record).settings.tag, {})

    def clip(self, saved: Shorts, span: Interval) -> Path:
        """Return the clip of a span: the saved one, or another. Raises InputError, WeightsError."""
        with self._lock:
            clips = SavedClips.of(saved, self._record)
            made = self._made.setdefault(clips.settings.tag, {})
            known = {**made, **clips.paths}
            if span not in known or not known[span].is_file():
                alone = replace(saved, shorts=(Short(*span, 0.0, "short", ""),))
                folder = Path(mkdtemp(prefix="vidsum-edit-"))
                finalize(self, rmtree, folder, ignore_errors=True)  # also at the end of the program
                save_clips(alone, folder, clips.stem, clips.settings, self._extraction)
                made[span] = known[span] = clip_paths(alone, folder, clips.stem)[0][0]
            return known[span]


def complete_short(
    decision: Mapping[str, Any], parts: Sequence[Part], sentences: Sequence[SpokenSentence]
) -> dict[str, Any]:
    """Return a decision about shorts with what is said in the short, and a title unless it has another one.

    Of a span that overlaps others of `parts` the longest rest is taken; of a short that is moved, the rest
    that shares most with where it was.
    """
    complete = {**decision}
    if decision["action"] not in ("take", "move"):
        return complete
    is_new = decision["action"] == "take"
    names = ("start_s", "end_s") if is_new else ("to_start_s", "to_end_s")
    moved = None if is_new else most_in(parts, (decision["start_s"], decision["end_s"]))
    others = [part.interval for part in parts if part is not moved]
    rests = subtract_spans([(decision[names[0]], decision[names[1]])], others)
    if not rests:
        return complete
    span = max(rests, key=lambda rest: overlap_s(rest, moved.interval) if moved else rest[1] - rest[0])
    if sentences:
        complete["text"] = " ".join(_texts_in(sentences, span))
    if moved is None or moved.title == _title_in(sentences, moved.interval):
        complete["title"] = _title_in(sentences, span)
    return {**complete, **dict(zip(names, span, strict=True))}


def _title_in(sentences: Sequence[SpokenSentence], span: Interval) -> str:
    texts = _texts_in(sentences, span)
    return (title_of(texts) if texts else "") or f"Scene at {format_time(span[0])}"


def _texts_in(sentences: Sequence[SpokenSentence], span: Interval) -> list[str]:
    """Return the sentences of which the most is in a span."""
    return [said.text for said in sentences if span[0] <= (said.start_s + said.end_s) / 2 < span[1]]


def sentence_pieces(
    units: Sequence[Interval], sentences: Sequence[SpokenSentence], edges_s: Sequence[Interval]
) -> list[Interval]:
    """Return what a click adds of each unit to shorts of speech: the sentences that have their middle in it.

    `edges_s` are those of shorts of each sentence. Of a unit with no such sentence, the one that it is in
    the middle of; of a unit in which nothing is said, all of it.
    """
    pieces = list[Interval]()
    for unit in units:
        inside = [
            edges
            for said, edges in zip(sentences, edges_s, strict=True)
            if unit[0] <= (said.start_s + said.end_s) / 2 < unit[1]
        ] or [edges for edges in edges_s if edges[0] < (unit[0] + unit[1]) / 2 < edges[1]]
        pieces.append((inside[0][0], inside[-1][1]) if inside else unit)
    return pieces


def sentence_edges(
    sentences: Sequence[SpokenSentence], cuts_s: Sequence[float], duration_s: float
) -> list[Interval]:
    """Return where a short of each sentence begins and ends: with silence, but none across a cut."""
    units, cuts = range(len(sentences)), np.asarray(cuts_s, np.float64)
    return [with_silence(sentences, at, at, 0.0, duration_s).between_cuts(cuts) for at in units]
