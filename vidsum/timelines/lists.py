"""Cuts as text: CSV, subtitles (SRT, WebVTT) and chapters. All times are of the source video."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from vidsum.timelines.cuts import Cut

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
        times = _clock(cut.start_s), _clock(cut.end_s), cut.start_s, cut.end_s
        about = cut.label, cut.query, cut.rank, cut.score, cut.evidence
        rows.writerow([number, *times, round(cut.end_s - cut.start_s, 6), *about])
    return text.getvalue()


def to_srt(cuts: Sequence[Cut]) -> str:
    """SubRip subtitles: each cut's label while it lasts."""
    cues = enumerate(_in_time(cuts), 1)
    return "\n".join(f"{number}\n{_span(cut, ',')}\n{cut.label}\n" for number, cut in cues)


def to_vtt(cuts: Sequence[Cut]) -> str:
    """WebVTT cues: each cut's label while it lasts."""
    escaped = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
    cues = [f"{_span(cut, '.')}\n{cut.label.translate(escaped)}\n" for cut in _in_time(cuts)]
    return "\n".join(["WEBVTT\n", *cues])


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


def _span(cut: Cut, point: str) -> str:
    return f"{_clock(cut.start_s, point)} --> {_clock(cut.end_s, point)}"


def _clock(seconds: float, point: str = ".") -> str:
    """`01:02:03.500`."""
    milliseconds = round(seconds * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest // 1000:02d}{point}{rest % 1000:03d}"


def _short_clock(seconds: float) -> str:
    """`2:03` or `1:02:03`: whole seconds, as chapters have them."""
    minutes, whole = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{whole:02d}" if hours else f"{minutes}:{whole:02d}"
