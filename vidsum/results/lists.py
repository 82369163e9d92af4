"""Cuts as lists: a table, subtitles, chapters, and what players skip; in players' time."""

import math
import re
from bisect import bisect
from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter

from vidsum import times
from vidsum.errors import InputError
from vidsum.io.text import csv_text
from vidsum.results.cut_list import Cut
from vidsum.results.shots import MIN_CHAPTER_S, MIN_CHAPTERS
from vidsum.times import format_short_time

_TAGS = ("video", "query", "rank", "score", "present", "evidence")
_MARKUP, _ESCAPED = re.compile(r"[=;#\\]"), r"\\\g<0>"  # special characters of FFmpeg's metadata


def to_csv(cuts: Sequence[Cut], *_: float) -> str:
    """One row per cut, as LosslessCut has them: Start and End in seconds, Name, then its tags."""
    tags = attrgetter(*_TAGS)
    rows = ((cut.start_s, cut.end_s, cut.label, *tags(cut)) for cut in cuts)
    return csv_text([("Start", "End", "Name", *_TAGS), *rows])


def to_srt(cuts: Sequence[Cut], *_: float) -> str:
    """SubRip subtitles: each cut's label while it lasts."""
    return times.to_srt(_cues(cuts))


def to_vtt(cuts: Sequence[Cut], *_: float) -> str:
    """WebVTT cues: each cut's label while it lasts."""
    return times.to_vtt(_cues(cuts))


def to_chapters(cuts: Sequence[Cut], length_s: float, *_: float) -> str:
    """YouTube's chapters: from 0:00, in order, three at least (else InputError), each 10 s or longer.

    Of those that begin less than 10 s apart, the later one, or the moment of lower rank, is left out.
    """
    labels: dict[float, str] = {}
    edges = [length_s]
    inside = (cut for cut in cuts if cut.start_s < length_s)
    for cut in sorted(inside, key=lambda cut: (cut.rank or 0, cut.start_s)):
        start_s = 0.0 if cut.start_s < MIN_CHAPTER_S else float(int(cut.start_s))
        place = bisect(edges, start_s)
        if all(abs(start_s - edge) >= MIN_CHAPTER_S for edge in edges[max(0, place - 1) : place + 1]):
            edges.insert(place, start_s)
            labels[start_s] = cut.label
    labels.setdefault(0.0, "Start")
    if len(labels) < MIN_CHAPTERS:
        raise InputError(
            f"YouTube wants {MIN_CHAPTERS} chapters of at least {MIN_CHAPTER_S:g} s; these cuts make "
            f"{len(labels)}",
            hint="use the format ffmetadata, which has no such limit",
        )
    return "".join(f"{format_short_time(start_s)} {labels[start_s]}\n" for start_s in sorted(labels))


def to_ffmetadata(cuts: Sequence[Cut], length_s: float, first_s: float = 0.0) -> str:
    """FFmpeg's metadata file with a chapter per cut, for `ffmpeg -i film.mp4 -i FILE -map_metadata 1`."""
    entries = (
        f"[CHAPTER]\nTIMEBASE=1/1000\nSTART={round(start_s * 1000)}\nEND={round(end_s * 1000)}\n"
        f"title={_MARKUP.sub(_ESCAPED, label)}\n"
        for start_s, end_s, label in chapters_of(cuts, length_s, first_s)
    )
    return ";FFMETADATA1\n" + "".join(entries)


def chapters_of(cuts: Sequence[Cut], length_s: float, first_s: float = 0.0) -> list[times.Cue]:
    """Chapters in order of time, to the video's end: each lasts until the next begins.

    Of cuts that begin together, the one of the best rank stays; one that begins with the first picture, at
    `first_s`, has the sound ahead of it too. Times are rounded up to whole milliseconds, for players.
    """
    ranked = sorted(cuts, key=lambda cut: -(cut.rank or 0))
    starts = {cut.start_s if cut.start_s > first_s else 0.0: cut.label for cut in ranked}
    if starts and min(starts) > 0:
        starts[0.0] = "Start"
    edges = [*sorted(start_s for start_s in starts if start_s < length_s), length_s]
    rounded = (math.ceil(1000 * edge - 0.001) / 1000 for edge in edges)
    return [(*span, starts[start_s]) for span, start_s in zip(pairwise(rounded), edges, strict=False)]


def to_kodi(cuts: Sequence[Cut], length_s: float, *_: float) -> str:
    """Kodi's and MPlayer's edit list: what a summary leaves out is skipped, other cuts are markers."""
    if cuts and all(cut.is_kept for cut in cuts):
        edges = [0.0, *(edge for start_s, end_s, _ in _cues(cuts) for edge in (start_s, end_s)), length_s]
        gaps = zip(edges[::2], edges[1::2], strict=True)
        lines = ((start_s, end_s, 0) for start_s, end_s in gaps if start_s < end_s)
    else:
        lines = ((start_s, start_s, 2) for start_s in sorted({cut.start_s for cut in cuts}))
    return "".join(f"{start_s:.3f}\t{end_s:.3f}\t{action}\n" for start_s, end_s, action in lines)


def _cues(cuts: Sequence[Cut]) -> list[times.Cue]:
    return sorted((cut.start_s, cut.end_s, cut.label) for cut in cuts)
