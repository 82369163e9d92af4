"""Times, budgets and time ranges as people type them, and back; subtitles as SubRip and WebVTT."""

import math
import operator
import re
from collections.abc import Iterable, Mapping
from html import unescape
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from vidsum.errors import Mention, UsageError, quote

if TYPE_CHECKING:
    from vidsum.types import Interval


_NUMBER = r"(\d+(?:[.,]\d*)?|[.,]\d+)"
_SEXAGESIMAL = r"([0-5]?\d(?:[.,]\d*)?)"
_FORMS = [
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        rf"()(){_NUMBER} ?s?",
        rf"(?:(\d+):)?([0-5]?\d):{_SEXAGESIMAL}",
        rf"()(\d+):{_SEXAGESIMAL}",
        rf"{_NUMBER} ?h()()",
        rf"(?:(\d+) ?h ?)?{_NUMBER} ?m(?:in)?()",
        rf"(?:(\d+) ?h ?)?(?:(\d+) ?m(?:in)? ?)?{_SEXAGESIMAL} ?s",
    )
]  # each with groups for hours, minutes and seconds
_DASH = re.compile(r"\s*[-\u2010-\u2015\u2212]\s*")


def parse_time(text: str) -> float:
    """Return seconds of `90`, `1,5`, `90s`, `1m30s`, `1h`, `1:30`, `0:01:30.5` or SubRip's `00:01:30,500`.

    Raises UsageError: the text is none of these.
    """
    matches = (form.fullmatch(text.strip()) for form in _FORMS)
    parts = next((match.groups() for match in matches if match), ())
    numbers = [float((part or "0").replace(",", ".")) for part in parts]
    seconds = sum(number * unit for number, unit in zip(numbers, (3600, 60, 1), strict=False))
    if not numbers or not math.isfinite(seconds):  # hundreds of digits are infinite
        raise UsageError(f"not a time: {quote(text)}", hint="write 90, 90s, 1m30s, 1:30 or 0:01:30.5")
    return seconds


TIME: Mapping[str, Any] = {"metavar": "TIME", "parse": parse_time}  # details shared by all options of a time


def parse_limit(text: str) -> float | None:
    """Return seconds, see `parse_time`; None of `none`."""
    return None if text.strip() == "none" else parse_time(text)


def parse_every(text: str) -> float | None:
    """Return seconds, see `parse_time`; None of `shot`."""
    return None if text.strip() == "shot" else parse_time(text)


def parse_interval(text: str) -> "Interval":
    """Return (start_s, end_s) of `START-END`, for example `1:00-1:30`; infinity of the end of `1:00-end`.

    Raises UsageError: the text is not two times with a dash between, or the end is not after the start.
    """
    try:
        start_text, end_text = _DASH.split(text.strip())
        start = parse_time(start_text)
        end = math.inf if end_text.lower() == "end" else parse_time(end_text)
    except ValueError as error:  # not two parts, or a UsageError
        hint = "write START-END, for example 1:00-1:30 or 1:00-end"
        raise UsageError(f"not a time range: {quote(text)}", hint=hint) from error
    if end <= start:
        raise UsageError(f"the time range {quote(text)} ends before it starts")
    return start, end


def parse_budget(text: str | float, duration_s: float, min_s: float = 0.0) -> float:
    """Return seconds of a summary budget: a share of the video (`15%`, `0.15`), or a time (`45s`, `1:30`).

    A bare number up to 1 is a share, a larger one is seconds. A share is `min_s` at least, and all of a
    video that is not twice as long.

    Raises UsageError: the text is neither, or the budget is not positive, or a share is above 100 %.
    """
    text = str(text).strip()
    share = None
    if match := re.fullmatch(rf"(-?){_NUMBER} ?%", text, re.ASCII):
        share = float((match[1] + match[2]).replace(",", ".")) / 100
    elif re.fullmatch(r"0?[.,]\d+|[01]([.,]0*)?", text, re.ASCII):
        share = float(text.replace(",", "."))
    if share is not None:
        if share > 1:
            raise UsageError((Mention("budget"), f" must be at most 100 %, not {text}"), option="budget")
        min_s = min_s if duration_s >= 2 * min_s else duration_s
        return max(_above_zero(share, text) * duration_s, min_s)
    try:
        seconds = parse_time(text)
    except UsageError:
        hint = "write 45s, 1:30 or 15%"
        raise UsageError(f"{quote(text)} is not a length", hint, option="budget") from None
    return _above_zero(seconds, text)


def _above_zero(budget: float, text: str) -> float:
    if not budget > 0:  # NaN too
        raise UsageError(f"the budget must be above 0, not {text}", option="budget")
    return budget


def format_time(seconds: float) -> str:
    """`1:02:03.50`, `2:03.50` or `0:03.50`: minutes and seconds, hours where there are any."""
    hundredths = math.floor(seconds * 100 + 0.5)
    minutes, rest = divmod(hundredths, 6000)
    hours, minutes = divmod(minutes, 60)
    tail = f"{rest // 100:02d}.{rest % 100:02d}"
    return f"{hours}:{minutes:02d}:{tail}" if hours else f"{minutes}:{tail}"


def format_short_time(seconds: float) -> str:
    """`1:05`, `2:01:05`, or `0:01.5` where whole seconds are too coarse."""
    minutes, rest = divmod(round(seconds, 1), 60)
    hours, minutes = divmod(int(minutes), 60)
    tail = f"{rest:02.0f}" if rest == int(rest) else f"{rest:04.1f}"
    return f"{hours}:{minutes:02d}:{tail}" if hours else f"{minutes}:{tail}"


Cue = tuple[float, float, str]  # a text that is shown over [start_s, end_s)
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def to_srt(cues: Iterable[Cue]) -> str:
    """SubRip: numbered cues, with commas in their times."""
    return "\n".join(
        f"{number}\n{_span(start_s, end_s, ',')}\n{text}\n"
        for number, (start_s, end_s, text) in enumerate(cues, 1)
    )


def escape_vtt(text: str) -> str:
    """Return a text in WebVTT, where `&`, `<` and `>` are markup."""
    return text.translate(_ESCAPES)


def to_vtt(cues: Iterable[Cue], *, is_marked: bool = False) -> str:
    """WebVTT of plain texts, or of texts with markup."""
    mark = str if is_marked else escape_vtt
    texts = (f"{_span(start_s, end_s, '.')}\n{mark(text)}\n" for start_s, end_s, text in cues)
    return "\n".join(["WEBVTT\n", *texts])


_CLOCK = r"(?:(\d+):)?(\d+):(\d+[.,]\d+)"
_SPAN = re.compile(rf"\s*{_CLOCK}\s*(?:-->|->|[\u2013\u2014]>)\s*{_CLOCK}(?:\s.*)?")
_NEARLY_SPAN = re.compile(r"\d:\d.*-->|-->.*\d:\d")
_TAGS = re.compile(
    r"\{\\[^}]*\}"  # of ASS, as {\an8}
    r"|\{/?[biuscyBIUSCY](?::[^}]*)?\}"  # of MicroDVD, as {y:i}
    r"|</?[a-zA-Z][^>]*>|<[\d:.]+>"  # of SubRip and WebVTT, whose tags may be times
)
_BREAKS = re.compile(r"\\[Nh]")  # of ASS: a new line, a blank


def parse_subtitles(text: str) -> list[Cue]:
    """Return the cues of SubRip or WebVTT in order of time; see `parse_cues`."""
    return sorted(parse_cues(text))


def parse_cues(text: str) -> list[Cue]:
    """Return the cues of SubRip or WebVTT as the file has them, each as plain text in one line.

    A cue begins with a line of two times, whether or not numbers and empty lines are ahead of it. See
    `find_unread_times` for cues that are left out.
    """
    lines = _split_lines(text)
    spans = {number: _SPAN.fullmatch(line) for number, line in enumerate(lines)}
    spans = {number: span for number, span in spans.items() if span or _NEARLY_SPAN.search(lines[number])}
    places = [*spans, len(lines)]
    # before the first cue there is no text: a number there belongs to the cue, as do numbers before others
    is_numbered = "".join([*filter(None, lines[: places[0]])][-1:]).isdigit()
    is_spaced = all(not lines[place + 1] for place in places[:-1] if place + 1 < len(lines))
    cues = list[Cue]()
    for (place, span), after in zip(spans.items(), places[1:], strict=True):
        if span is None:
            continue
        start_s, end_s = _times_of(span)
        said = [line for line in lines[place + 1 : after] if line or not is_spaced]
        if is_numbered and after < len(lines) and said and said[-1].isdigit():
            said.pop()
        line = " ".join(takewhile(bool, said))  # what follows an empty line is a note, or the name of a cue
        plain = plain_cue(line)
        cues += [(start_s, end_s, plain)] if plain else []
    return cues


def find_unread_times(text: str) -> list[int]:
    """Return the numbers, from 1, of lines of SubRip or WebVTT that look like times and cannot be read."""
    lines = enumerate(_split_lines(text), 1)
    return [number for number, line in lines if _NEARLY_SPAN.search(line) and not _SPAN.fullmatch(line)]


def find_empty_times(text: str) -> list[int]:
    """Return the numbers, from 1, of lines of SubRip or WebVTT whose cue does not end after it begins."""
    spans = [(number, _SPAN.fullmatch(line)) for number, line in enumerate(_split_lines(text), 1)]
    return [number for number, span in spans if span and operator.ge(*_times_of(span))]


def _split_lines(text: str) -> list[str]:
    return [line.strip() for line in re.split("\r\n|\r|\n", text.lstrip("\ufeff"))]


def _times_of(span: re.Match[str]) -> tuple[float, float]:
    start_s, end_s = (
        int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds.replace(",", "."))
        for hours, minutes, seconds in (span.groups()[:3], span.groups()[3:])
    )
    return start_s, end_s


def plain_cue(text: str) -> str:
    """Return the text of a cue without the tags of SubRip, WebVTT and ASS, in one line."""
    return " ".join(unescape(_BREAKS.sub(" ", _TAGS.sub("", text))).split())


def format_timestamp(time_s: float, point: str = ".") -> str:
    """`01:02:03.500`, with the decimal point of a format."""
    seconds, milliseconds = divmod(round(time_s * 1000), 1000)
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}{point}{milliseconds:03d}"


def _span(start_s: float, end_s: float, point: str) -> str:
    return f"{format_timestamp(start_s, point)} --> {format_timestamp(end_s, point)}"
