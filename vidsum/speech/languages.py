"""Languages of speech: the codes that Whisper knows, and the languages of a transcript."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from vidsum.speech.transcript import Segment, Transcript

_CODES = """
af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha haw he hi hr ht hu hy
id is it ja jw ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc pa pl ps pt ro ru sa
sd si sk sl sn so sq sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo zh
"""
LANGUAGES = frozenset(_CODES.split())
SWITCH = 3.0
"""How many times as likely as the language so far another one must be to take its place."""


@dataclass(frozen=True)
class Heard:
    """The segments of a window, at least one, and their language."""

    language: str
    probability: float
    """Of the language."""
    segments: Sequence[Segment]

    @property
    def length_s(self) -> float:
        """Seconds of speech."""
        return sum(max(segment.end_s - segment.start_s, 1e-3) for segment in self.segments)


def language_of(probabilities: Mapping[str, float], before: str | None, odds: float = SWITCH) -> str:
    """The most likely language; the one `before` it unless that is `odds` times less likely."""
    best = max(probabilities, key=lambda language: probabilities[language])
    if before and probabilities[best] < odds * probabilities.get(before, 0.0):
        return before
    return best


def with_main_language(windows: Sequence[Heard]) -> tuple[str | None, float | None, tuple[Segment, ...]]:
    """The language that is spoken the longest, its mean probability, and the segments of all windows.

    Segments name their language if it is another one. Both are None if there are no windows.
    """
    if not windows:
        return None, None, ()
    lengths = {heard.language: 0.0 for heard in windows}
    weighted = dict(lengths)
    for heard in windows:
        lengths[heard.language] += heard.length_s
        weighted[heard.language] += heard.probability * heard.length_s
    main = max(lengths, key=lambda language: lengths[language])
    segments = tuple(
        replace(segment, language=None if heard.language == main else heard.language)
        for heard in windows
        for segment in heard.segments
    )
    return main, round(weighted[main] / lengths[main], 4), segments


def changes_of(transcript: Transcript) -> list[tuple[str, str, float]]:
    """Codes of the languages before and after each change, and the second at which the new one starts."""
    starts = [segment.start_s for segment in transcript.segments]
    return [
        (before, after, at_s)
        for (before, after), at_s in zip(pairwise(transcript.languages), starts[1:], strict=True)
        if before != after
    ]
