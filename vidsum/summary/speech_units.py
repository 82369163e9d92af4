"""Speech as a summary takes it: sentences that can be understood by themselves, with a little silence.

A question goes with its answer, and a sentence that begins in the middle of a thought with the sentence
before it (docs/algorithms/selection.md). Speech may lie across cuts, the silence around it not.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from string import ascii_lowercase
from typing import Final

import numpy as np

from vidsum.results.screen_text import ScreenText
from vidsum.results.sentences import SpokenSentence, is_stop
from vidsum.results.transcript import Transcript
from vidsum.summary.constraints import VideoFrames
from vidsum.summary.content import TimedText
from vidsum.summary.speech_worth import worth_of
from vidsum.types import BoolArray, Interval

SILENCE_S: Final = 0.3
_FEW_WORDS: Final = 4  # a sentence of fewer says nothing by itself
_UNCERTAIN: Final = 0.5  # worth of speech that was recognized with doubt
_QUESTION: Final = re.compile(r"[?？؟][\"'”’»›)\]」』）》]*$")
_LINKS: Final = frozenset(re.findall(r"\w+", "and but or so for now well because yet still basically wow oh"))
"""English words that link a sentence to the one before: the rest may stand without it."""
_JOINS: Final = re.compile(r"\W*(and|but|or|yet)\b", re.IGNORECASE)
"""Links that say how a sentence follows from the one before: a summary takes both."""
_SUBJECT: Final = re.compile(r"(the|an?|i|we|you|my|our|your) ", re.IGNORECASE)
"""A beginning with a subject: a part that also ends its sentence, and has a verb, says something."""
_VERB: Final = re.compile(
    r"\b(am|is|are|was|were|has|have|had|do|does|did|can|could|may|might|must|shall|should|will|would"
    r"|\w+'(s|re|ve|ll|d|t))\b",
    re.IGNORECASE,
)
"""English verbs that can be known without a grammar."""
_CLAUSES: Final = re.compile(
    r"[,;:—–]|\b(?:and|or|but|because|that|which|who|when|where|if|as|while|than|until|before|after|how|what)\b"
)
"""The end of the first clause of an English sentence."""
_OBJECT: Final = re.compile(
    r"(?!(?:as|if|when|while) ).*\w (it|them|him)\b(?! (?:is|was|has|will)\b|'s|.* to\b)", re.IGNORECASE
)
"""A clause whose object was named before: no such word stands for the subject of its own clause."""
_REPLIES: Final = frozenset(re.findall(r"\w+", "yes yeah yep no nope okay ok right sure exactly absolutely"))
_PRONOUNS: Final = frozenset(
    re.findall(
        r"\w+",
        "it he she they him her them his its their this that these those such both which who whom whose "
        "then there therefore thus hence however also too instead otherwise",
    )
)
"""English words for what was named before."""
_OPENERS: Final = frozenset(
    re.findall(
        r"[\w']+",
        "do does did don't doesn't didn't is are was were isn't aren't wasn't weren't would could should "
        "will can has have had why how what when where even though if the i we you think guess",
    )
)
"""English words with which a question or a thought begins, and after which a word may stand for another."""
_ELSEWHERE: Final = frozenset(re.findall(r"\w+", "he she they him them that those these"))
"""Words for what was named before, after such a beginning; "it" and "this" often are not."""
_EMPTY: Final = re.compile(
    r"(there|(it|this|that)(?=\W\w+( [\w']+){1,4} (to|that)\b))('s| is| was| are| were| will| has) "
    r"(?!he|she|it|they)"
)
"""A subject that may stand for nothing, and its verb: "there is a book", "it is worth mentioning that".

"It", "this" and "that" only where one to four words later "to" or "that" says what they stand for, and the
verb only where no pronoun follows it, as in the question "is it".
"""
_HALF: Final = re.compile(
    r"(((\b(is|are|was|were|am|be)|['’](s|re|m)) not|(is|are|was|were)n['’]t) (just|only|merely|simply)"
    r"|\bnot only)\b(?!.*([,;:—–]|\bbut\b|[.!] ))",
    re.IGNORECASE,
)
"""The first half of a contrast, without the other: "It's not just X." """

_CONTINUED: Final = re.compile(
    r"the ((first |second |third |last |next |other )?(reason|answer|explanation|result|problem|solution|"
    r"difference|opposite) (is|was|turned)|latter|former)\b",
    re.IGNORECASE,
)
"""A beginning that names a part of what was said before."""
_ADVERBIAL: Final = re.compile(
    r"(on|in|at|by|during|within) ((an?|the|some|every) )?[\w-]+( [\w-]+)?( of ((an?|the) )?[\w-]+)?,? "
    r"(it|they|he|she) (?!is\b|was\b)",
    re.IGNORECASE,
)
"""A beginning with a time or place, after which the subject was named before: "On a day of rain it loses"."""


@dataclass(frozen=True)
class SpeechUnit:
    """Speech in [start_s, end_s), with its silence in [first_s, last_s), how certain it is, in [0, 1], and
    its worth (`vidsum.summary.speech_worth`).
    """

    start_s: float
    end_s: float
    first_s: float
    last_s: float
    certain: float = 1.0
    worth: float = 1.0

    def frames(self, video: VideoFrames) -> tuple[int, int]:
        """Return its frames [start, end); silence stops at a cut, lest another scene flash up."""
        start, end = video.span(self.first_s, self.last_s)
        first, last = video.span(self.start_s, self.end_s)
        before = [cut for cut in video.edges.tolist() if start < cut <= first]
        after = [cut for cut in video.edges.tolist() if last <= cut < end]
        return max([start, *before]), min([end, *after])


@dataclass(frozen=True)
class SpokenParts:
    """The units of speech that a summary may take, and all that is said: sentences (start_s, end_s)."""

    units: tuple[SpeechUnit, ...] = ()
    sentences: tuple[Interval, ...] = ()

    def is_said(self, video: VideoFrames) -> BoolArray:
        """Return [F] whether something is said at each frame; a unit's silence belongs to it."""
        said = np.zeros(len(video.required), np.bool_)
        for start, end in [
            *(unit.frames(video) for unit in self.units),
            *(video.span(*sentence) for sentence in self.sentences),
        ]:
            said[start:end] = True
        return said


def find_speech_units(transcript: Transcript, shortest_s: float, longest_s: float = inf) -> SpokenParts:
    """Return the speech of a transcript, with its units up to `longest_s`, in order of time.

    Where none is that short, sentences are returned, which may need others; where no sentence is, clauses
    that end one; then parts with which a sentence begins that needs none before it; then all parts (see
    `vidsum.results.sentences`). Greetings are left out where something else is said. Each is at least
    `shortest_s` long if there is silence.
    """
    sentences = [part for part in transcript.sentences(inf, 0.0) if re.search(r"\w", part.text)]
    is_english = transcript.language in (None, "en")
    alone = [(at, at) for at in range(len(sentences))]
    runs = dict.fromkeys(standing_run(sentences, at, is_english=is_english) for at in range(len(sentences)))
    parts = transcript.sentences(max(longest_s - 2 * SILENCE_S, shortest_s), shortest_s)
    starts_s = {sentences[first].start_s for first, _ in runs}
    firsts = [(at, at) for at, part in enumerate(parts) if part.start_s in starts_s]
    statements = [(at, at) for at, part in enumerate(parts) if is_english and _is_statement(part.text)]
    others = [(at, at) for at in range(len(parts))]
    choices = (sentences, [*runs]), (sentences, alone), (parts, statements), (parts, firsts), (parts, others)
    for said, spans in choices:
        units = [_long_enough(said, *span, shortest_s, transcript.duration_s) for span in spans]
        if fitting := tuple(unit for unit in units if unit.last_s - unit.first_s <= longest_s):
            break
    weighed = _weighed(fitting, sentences)
    worthy = tuple(unit for unit in weighed if unit.worth) or weighed
    return SpokenParts(worthy, tuple((sentence.start_s, sentence.end_s) for sentence in sentences))


def _weighed(units: Sequence[SpeechUnit], sentences: Sequence[SpokenSentence]) -> tuple[SpeechUnit, ...]:
    """Return units with the worth of their sentences, the mean over their time."""
    worth, asks = np.array(worth_of(sentences)), np.array([is_question(part.text) for part in sentences])
    starts_s = np.array([sentence.start_s for sentence in sentences])
    ends_s = np.array([sentence.end_s for sentence in sentences])
    weighed = list[SpeechUnit]()
    for unit in units:
        inside_s = np.minimum(ends_s, unit.end_s) - np.maximum(starts_s, unit.start_s)
        inside_s = np.maximum(inside_s, 0)
        mean = float(worth @ inside_s / max(inside_s.sum(), 1e-9))
        is_answer = bool(asks[inside_s > 0].any())  # the question names the subject
        weighed.append(replace(unit, worth=max(mean, 1.0) if is_answer else mean))
    return tuple(weighed)


def _is_statement(text: str) -> bool:
    """Return whether an English clause says something by itself, and ends."""
    return is_stop(text) and bool(_SUBJECT.match(text) and _VERB.search(text))


def timed_texts(transcript: Transcript | None, on_screen: ScreenText | None) -> list[TimedText]:
    """Return the sentences of a video and the lines on its screen, as far as they are known."""
    said = (
        [TimedText(part.start_s, part.end_s, part.text) for part in transcript.sentences()]
        if transcript
        else []
    )
    lines = on_screen.lines if on_screen else ()
    return [*said, *(TimedText(line.start_s, line.end_s, line.text) for line in lines)]


def standing_run(sentences: Sequence[SpokenSentence], at: int, *, is_english: bool) -> tuple[int, int]:
    """Return the first and last number of the sentences that are needed to understand one of them."""
    first = last = at
    while first > 0 and _needs_before(sentences[first], sentences[first - 1], is_english=is_english):
        first -= 1
    while last + 1 < len(sentences) and _needs_after(sentences[last].text, is_english=is_english):
        last += 1
    return first, last


def _needs_before(sentence: SpokenSentence, before: SpokenSentence, *, is_english: bool) -> bool:
    """Return whether a sentence is a fragment, answers a question, or speaks of what was named before it."""
    n_words = max(len(sentence.words), len(sentence.text.split()))
    if n_words < _FEW_WORDS or is_question(before.text) or not is_stop(before.text):
        return True
    is_inside = sentence.text.lstrip("\"'“‘«„(¿¡").startswith(tuple(ascii_lowercase))
    return is_inside or (is_english and (refers_back(sentence.text) or follows_on(sentence.text)))


def _needs_after(text: str, *, is_english: bool) -> bool:
    """Return whether a sentence asks, does not end with a full stop, or ends with "not just X"."""
    return is_question(text) or not is_stop(text) or (is_english and bool(_HALF.search(text)))


def is_question(text: str) -> bool:
    return bool(_QUESTION.search(text.rstrip()))


def refers_back(text: str) -> bool:
    """Return whether an English sentence replies, or begins with a word for what was named before it."""
    words = re.findall(r"[\w']+", text.lower())
    while words and words[0] in _LINKS:
        words = words[1:]
    rest = " ".join(words)
    if is_question(text) and words and words[0] in ("which", "who", "whom", "whose"):
        return False
    if _EMPTY.match(rest):
        return not {*_ELSEWHERE, "this"}.isdisjoint({*words[1:]} - {"that"})
    if _CONTINUED.match(rest) or _ADVERBIAL.match(rest):
        return True
    first = words[0].split("'")[0] if words else ""
    later = next((word for word in words if word not in _OPENERS), "").split("'")[0]
    return first in _REPLIES or first in _PRONOUNS or later in _ELSEWHERE


def follows_on(text: str) -> bool:
    """Return whether an English sentence joins the one before, or its first clause is about something in it:
    "We need half of it".
    """
    clause = _CLAUSES.split(text, maxsplit=1)[0]
    return bool(_JOINS.match(text) or _OBJECT.match(clause))


def _long_enough(
    sentences: Sequence[SpokenSentence], first: int, last: int, shortest_s: float, duration_s: float
) -> SpeechUnit:
    """Return the unit of some sentences, with those that follow, or else precede, while it is too short."""
    unit = with_silence(sentences, first, last, shortest_s, duration_s)
    while unit.last_s - unit.first_s < shortest_s and (first > 0 or last + 1 < len(sentences)):
        if last + 1 < len(sentences):
            last += 1
            while last + 1 < len(sentences) and is_question(sentences[last].text):
                last += 1
        else:
            first -= 1
        unit = with_silence(sentences, first, last, shortest_s, duration_s)
    return unit


def with_silence(
    sentences: Sequence[SpokenSentence], first: int, last: int, shortest_s: float, duration_s: float
) -> SpeechUnit:
    """Return the unit of some sentences, with some silence before and after, half of a pause at most."""
    inside = sentences[first : last + 1]
    start_s, end_s = max(inside[0].start_s, 0.0), inside[-1].end_s
    before_s = max(start_s - sentences[first - 1].end_s, 0.0) / 2 if first else start_s
    is_last = last + 1 == len(sentences)
    after_s = max(duration_s - end_s, 0.0) if is_last else max(sentences[last + 1].start_s - end_s, 0.0) / 2
    missing_s = max(shortest_s - (end_s - start_s), 0.0)
    most_s = max(SILENCE_S, missing_s / 2, missing_s - before_s, missing_s - after_s)
    # of the worst: a few wrong words would not count in the mean of a long answer, which they spoil
    certain = 1 - (1 - _UNCERTAIN) * (1 - min(sentence.certain for sentence in inside))
    return SpeechUnit(start_s, end_s, start_s - min(before_s, most_s), end_s + min(after_s, most_s), certain)
