"""A video as a document: passages of what is said and written, each with the shots in which it is."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from vidsum.types import Interval

_LONGEST_S = 30.0  # then text and picture have about the same height
_SHORTEST_S = 10.0  # of the rest of a shot
_LEAST_S = 5.0  # of a screen: subtitles in the picture change more often

TimedText = tuple[float, float, str]  # start and end in seconds, and the text


@dataclass(frozen=True)
class ShotTexts:
    """A shot, or a part of one, with its texts; or several shots in a row without any."""

    shots: tuple[Interval, ...]
    said: tuple[TimedText, ...] = ()
    written: tuple[str, ...] = ()


def make_passages(
    starts_s: Sequence[float], end_s: float, said: Sequence[TimedText], written: Sequence[TimedText] = ()
) -> list[ShotTexts]:
    """Return the passages of a video whose shots begin at `starts_s`, in order; none without any text.

    A text belongs to the shot of its middle, one on screen to that where it appears. Shots of more than half
    a minute are cut where a text begins.
    """
    if not said and not written:
        return []
    starts = list(_split(starts_s or [0.0], end_s, sorted(start for start, _, _ in said)))
    spoken: list[list[TimedText]] = [[] for _ in starts]
    lines: list[list[str]] = [[] for _ in starts]
    for text in sorted(said):
        spoken[_place(starts, (text[0] + text[1]) / 2)].append(text)
    for start, end, line in sorted(written, key=lambda line: line[0]):  # of one time as they are: downwards
        place = _place(starts, start + min(1.0, (end - start) / 2))  # where it appears, not the shot before
        if line not in lines[place]:
            lines[place].append(line)
    spans = [*pairwise([*starts, max(end_s, starts[-1])])]
    passages = []
    for number, group in groupby(range(len(starts)), lambda at: at if spoken[at] or lines[at] else -1):
        places = list(group)
        texts = (tuple(spoken[number]), tuple(lines[number])) if number >= 0 else ((), ())
        passages.append(ShotTexts(tuple(spans[place] for place in places), *texts))
    return passages


def find_screens(written: Sequence[TimedText]) -> list[float]:
    """Return when most of the text on the screen is new, 5 s apart at least: about the shots of slides."""
    starts, ends = list[float](), sorted(end for _, end, _ in written)
    n_begun = 0
    for start, group in groupby(sorted(start for start, _, _ in written)):
        n_begun += (n_new := len([*group]))
        is_later = start >= max(starts, default=start - _LEAST_S) + _LEAST_S
        if is_later and 2 * n_new > n_begun - bisect_right(ends, start):
            starts.append(start)
    return starts


def _split(starts_s: Sequence[float], end_s: float, texts_s: Sequence[float]) -> Iterator[float]:
    """Yield the starts of shots, and within long ones the starts of texts."""
    for start, end in pairwise([*starts_s, end_s]):
        yield start
        last = start
        for text_s in texts_s[bisect_left(texts_s, start) : bisect_left(texts_s, end - _SHORTEST_S)]:
            if text_s - last >= _LONGEST_S:
                yield (last := text_s)


def _place(starts: Sequence[float], time_s: float) -> int:
    return max(0, bisect_right(starts, time_s) - 1)
