"""Cuts as text: CSV, subtitles (SRT, WebVTT) and chapters. All times are of the source video."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from vidsum import times
from vidsum.results.cuts import Cut
from vidsum.times import clock

_COLUMNS = (
    "number",
    "start",
    "end",
    "start_s",
    "end_s",
    "seconds",
    "label",
    "query",
    "rank",
    "score",
    "evidence",
)


def to_csv(cuts: Sequence[Cut]) -> str:
    """One row per cut under a row of names; empty cells for what a kind of result does not have."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_COLUMNS)
    for number, cut in enumerate(cuts, 1):
        times = clock(cut.start_s), clock(cut.end_s), cut.start_s, cut.end_s
        about = cut.label, cut.query, cut.rank, cut.score, cut.evidence
        rows.writerow([number, *times, round(cut.end_s - cut.start_s, 6), *about])
    return text.getvalue()


def to_srt(cuts: Sequence[Cut]) -> str:
    """SubRip subtitles: each cut's label while it lasts."""
    return times.to_srt(_cues(cuts))


def to_vtt(cuts: Sequence[Cut]) -> str:
    """WebVTT cues: each cut's label while it lasts."""
    return times.to_vtt(_cues(cuts))


def to_chapters(cuts: Sequence[Cut]) -> str:
    """One line per cut: when it begins, and its label. The first is at 0:00, as YouTube requires."""
    ordered = _in_time(cuts)
    opening = [] if ordered and ordered[0].start_s < 1 else ["0:00 Start"]
    return "\n".join([*opening, *(f"{_short_clock(cut.start_s)} {cut.label}" for cut in ordered)]) + "\n"


LISTS: Mapping[str, Callable[[Sequence[Cut]], str]] = {
    "csv": to_csv,
    "srt": to_srt,
    "vtt": to_vtt,
    "chapters": to_chapters,
}
"""Writers of the formats that need neither the video nor another package."""


def _in_time(cuts: Sequence[Cut]) -> list[Cut]:
    return sorted(cuts, key=attrgetter("start_s", "end_s"))


def _cues(cuts: Sequence[Cut]) -> list[times.Cue]:
    return [(cut.start_s, cut.end_s, cut.label) for cut in _in_time(cuts)]


def _short_clock(seconds: float) -> str:
    """`2:03` or `1:02:03`: whole seconds, as chapters have them."""
    minutes, whole = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{whole:02d}" if hours else f"{minutes}:{whole:02d}"
