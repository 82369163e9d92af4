"""Find pauses of the speech in a film, and fit descriptions into them, by the bounds of docs/describe.md."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

from vidsum.results.descriptions import Description
from vidsum.results.sentences import is_comma, is_stop
from vidsum.speech.silence import gaps_of, subtract
from vidsum.types import Interval, join_near

MIN_PAUSE_S = 2.0  # a shorter pause between words is left alone
MARGIN_S = 0.3  # silence between the film's speech and a description, and between two descriptions
WORDS_A_MINUTE = 160
_PLANNED_WORDS_A_MINUTE = 145  # planned words a minute: programs do not speak at exactly the requested rate
_MIN_WORDS = 3  # minimum length of a shortened text
_WHOLE = ("words", "people")
"""Writers whose texts are spoken whole: the last words of a list may be all that is new in it."""
_OPENERS = frozenset(
    re.findall(
        r"\w+",
        "in on at by with near while as from through over under behind beside into onto along across around "
        "during for against between among outside inside before after towards toward who that which and",
    )
)  # words that begin a phrase without which a sentence still stands
_HANGING = frozenset(
    re.findall(
        r"\w+",
        "a an the his her its their is are was were be being and or of to very with in on at by dressed "
        "covered surrounded filled made wearing holding looking going getting trying about next out up "
        "off both all one each some",
    )
)  # words that leave a sentence hanging where they end it


def find_gaps(speech: Sequence[Interval], duration_s: float) -> list[Interval]:
    """Find the pauses for descriptions of at least `MIN_PAUSE_S`, less `MARGIN_S` at speech, in order."""
    if not speech:
        return [(0.0, duration_s)]
    spoken = [(start_s, min(end_s, duration_s)) for start_s, end_s in sorted(speech) if start_s < duration_s]
    return [
        (start_s + MARGIN_S * (start_s > 0), end_s - MARGIN_S * (end_s < duration_s))
        for start_s, end_s in gaps_of(join_near(spoken), duration_s)
        if end_s - start_s >= MIN_PAUSE_S
    ]


def speaking_time_s(text: str) -> float:
    """Return the time planned for a text, a little more than it takes at `WORDS_A_MINUTE`."""
    return len(text.split()) * 60 / _PLANNED_WORDS_A_MINUTE


def shorten(text: str) -> Iterator[str]:
    """Yield a text, then the same without its last phrases, one more each time; each is a sentence."""
    yield text
    words = text.split()
    for end in range(len(words) - 1, _MIN_WORDS - 1, -1):
        last = words[end - 1]
        opens = words[end].strip(",;").lower() in _OPENERS or is_stop(last) or is_comma(last)
        if opens and last.strip(",;.").lower() not in _HANGING:
            yield f"{' '.join(words[:end]).rstrip(' ,;.')}."


def spoken_forms(text: str, writer: str) -> Iterator[str]:
    """Yield the forms in which a text of a writer may be spoken, the longest first."""
    return iter((text,)) if writer in _WHOLE else shorten(text)


def fit_descriptions(
    descriptions: Sequence[Description], writer: str, importance: Sequence[float], gaps: Sequence[Interval]
) -> list[Description]:
    """Return descriptions of segments with the times at which they are spoken, in time order.

    The most important comes first. A text begins while its segment is shown and ends within the gap; where
    there is no room, it is shortened if its writer permits that, or left out.
    """
    free, spoken = list(gaps), list[Description]()
    for number in sorted(range(len(descriptions)), key=lambda number: -importance[number]):
        description = descriptions[number]
        rooms = [
            (max(start, description.start_s), end)
            for start, end in free
            if max(start, description.start_s) < min(end, description.end_s)
        ]
        placed = next(
            (
                replace(description, start_s=start, end_s=start + speaking_time_s(text), text=text)
                for text in spoken_forms(description.text, writer)
                for start, end in rooms
                if start + speaking_time_s(text) <= end
            ),
            None,
        )
        if placed:
            spoken.append(placed)
            free = subtract(free, [(placed.start_s - MARGIN_S, placed.end_s + MARGIN_S)])
    return sorted(spoken, key=attrgetter("start_s"))
