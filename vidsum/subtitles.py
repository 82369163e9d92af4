"""Subtitles: texts with their times, as SubRip (.srt) and WebVTT (.vtt)."""

from collections.abc import Iterable

Cue = tuple[float, float, str]
"""A text that is shown over [start_s, end_s)."""
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def to_srt(cues: Iterable[Cue]) -> str:
    """SubRip: numbered cues, with commas in their times."""
    return "\n".join(
        f"{number}\n{_span(start_s, end_s, ',')}\n{text}\n"
        for number, (start_s, end_s, text) in enumerate(cues, 1)
    )


def to_vtt(cues: Iterable[Cue]) -> str:
    """WebVTT, where `&`, `<` and `>` are markup."""
    texts = (f"{_span(start_s, end_s, '.')}\n{text.translate(_ESCAPES)}\n" for start_s, end_s, text in cues)
    return "\n".join(["WEBVTT\n", *texts])


def clock(time_s: float, point: str = ".") -> str:
    """`01:02:03.500`, with the decimal point of a format."""
    seconds, milliseconds = divmod(round(time_s * 1000), 1000)
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}{point}{milliseconds:03d}"


def _span(start_s: float, end_s: float, point: str) -> str:
    return f"{clock(start_s, point)} --> {clock(end_s, point)}"
