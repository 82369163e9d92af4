"""A transcript: segments of speech with their words and times, and its text as SRT, WebVTT or plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby, pairwise
from math import inf
from operator import itemgetter
from typing import Annotated, Any, ClassVar, Literal, NotRequired, TypedDict

import numpy as np

from vidsum.results.cues import CueWord, add_notes, join_words, make_cues
from vidsum.results.result import Result, video_prefix
from vidsum.results.sentences import (
    LONGEST_S,
    SHORTEST_S,
    Edge,
    SpokenSentence,
    SpokenWord,
    edge_between,
    split_sentences,
)
from vidsum.times import to_srt, to_vtt
from vidsum.types import OPTIONAL, FilledText, Fraction, Length, SignedSeconds, rules

TextFormat = Literal["srt", "vtt", "txt"]
DOUBTFUL_S = 10.0  # length from which consecutive uncertain segments are left out
UNCERTAIN = "(?)"  # follows the text of an uncertain segment: plain text, which every player shows


@dataclass(frozen=True)
class Word:
    """A word [start_s, end_s) as it is written, punctuation included."""

    start_s: SignedSeconds
    end_s: SignedSeconds
    text: str
    probability: Fraction  # how sure the recognizer is of it


@dataclass(frozen=True)
class Segment:
    """A piece of speech [start_s, end_s), about a line of subtitles."""

    start_s: SignedSeconds
    end_s: SignedSeconds
    text: FilledText
    probability: Fraction
    """Geometric mean of the probabilities of its words; without any, of all tokens of its window."""
    no_speech: Fraction  # how likely there is no speech where it was heard
    words: Annotated[tuple[Word, ...], OPTIONAL] = ()  # none where the speech was translated
    uncertain: Annotated[bool, OPTIONAL] = False  # whether it is likely to be wrong: its probability is low
    language: Annotated[str | None, OPTIONAL] = None
    """Code of the language that is spoken, where it is another one than the language of the transcript."""

    @property
    def displayed(self) -> str:
        """Its text as people read it: followed by a mark if it is uncertain."""
        return f"{self.text} {UNCERTAIN}" if self.uncertain else self.text


@dataclass(frozen=True)
class SoundEvent:
    """A sound in [start_s, end_s) that is no speech, such as applause."""

    start_s: SignedSeconds
    end_s: SignedSeconds
    sound: Annotated[str, rules(enum=("applause", "cheering", "laughter", "music"))]  # its kind in a word
    probability: Fraction

    @property
    def displayed(self) -> str:
        """Its name as subtitles show it."""
        return f"[{self.sound}]"


class TranscriptFacts(TypedDict):
    """Transcript of a video or audio file.

    Written by `vidsum transcribe`. All times in seconds from the first picture, or from the start of sound
    without pictures; intervals are half-open.
    """

    duration_s: Length
    language: str | None
    """Code of the spoken language, the one spoken longest if there are several; null without speech."""
    language_probability: Fraction | None
    translated: bool  # whether the text is a translation to English
    segments: Sequence[Segment]  # in time order; their words with --words
    events: NotRequired[Sequence[SoundEvent]]  # with --events: sounds that are no speech, in time order


@dataclass(frozen=True, eq=False)
class Transcript(Result):
    """Speech of a video or audio file, as segments of text with times."""

    kind: ClassVar = "transcript"
    parts: ClassVar = "segments"

    segments: tuple[Segment, ...]  # in time order; none where nothing is said
    language: str | None  # code of the language that is spoken for the longest time; None where none is
    language_probability: float | None  # its mean in the windows where it is spoken; 1 if the caller named it
    duration_s: float
    translated: bool = False  # whether the text is a translation to English
    events: tuple[SoundEvent, ...] | None = None  # sounds that are no speech; None: they were not searched

    def __repr__(self) -> str:
        said = f"{len(self.segments)} segments, language {self.language}"
        return f"Transcript({video_prefix(self.video)}{said}, {self.duration_s:g} s)"

    @property
    def text(self) -> str:
        """All that is said, in one line."""
        return " ".join(segment.text for segment in self.segments)

    def text_between(self, start_s: float, end_s: float) -> str:
        """Return the words in [start_s, end_s), in one line; see `_clear_of` for a text without words."""
        said = list[CueWord]()
        for segment in self.segments:
            first_s, last_s = _clear_of(segment, start_s), _clear_of(segment, end_s)
            pieces = _pieces_of(segment)
            said += [word for word in pieces if first_s <= (word.start_s + word.end_s) / 2 < last_s]
        return join_words(said)

    @property
    def words(self) -> list[Word]:
        """The words of all segments."""
        return list(chain.from_iterable(segment.words for segment in self.segments))

    @property
    def is_of_cues(self) -> bool:
        """Whether it is of subtitles: its segments are cues, which may end within a sentence."""
        return "subtitles" in self.provenance.get("speech", {})

    @property
    def doubtful(self) -> list[tuple[Segment, ...]]:
        """The runs of uncertain segments that last `DOUBTFUL_S`, or are all there is: most is wrong."""
        groups = groupby(self.segments, key=lambda segment: segment.uncertain)
        runs = [tuple(group) for is_uncertain, group in groups if is_uncertain]
        is_all = all(segment.uncertain for segment in self.segments)
        return [run for run in runs if is_all or run[-1].end_s - run[0].start_s >= DOUBTFUL_S]

    @property
    def trusted(self) -> Transcript:
        """The transcript without its doubtful runs, as subtitles, titles and searches use it."""
        left_out = {id(segment) for run in self.doubtful for segment in run}
        return replace(self, segments=tuple(s for s in self.segments if id(s) not in left_out))

    @property
    def as_captions(self) -> Transcript:
        """The speech that can be trusted, without marks of doubt: captions of a clip cannot be checked."""
        trusted = self.trusted
        return replace(trusted, segments=tuple(replace(part, uncertain=False) for part in trusted.segments))

    @property
    def spoken(self) -> list[SpokenWord]:
        """The words with the blanks before them, in order; of subtitles the cues, of a translation segments.

        Both have no times of words; the segments of a translation stand for sentences.
        """
        words = [word for part in self.segments for word in _spoken_words(part, is_cue=self.is_of_cues)]
        starts_s = list(accumulate((word.start_s for word in words), max))
        # times that overlap would overlap in what is cut there, too
        return [
            replace(word, start_s=start_s, end_s=min(max(word.end_s, start_s), next_s))
            for word, start_s, next_s in zip(words, starts_s, [*starts_s, inf][1:], strict=True)
        ]

    def sentences(self, longest_s: float = LONGEST_S, shortest_s: float = SHORTEST_S) -> list[SpokenSentence]:
        """Return the sentences, with the limits of `vidsum.results.sentences.split_sentences`."""
        return split_sentences(self.spoken, longest_s, shortest_s)

    @property
    def languages(self) -> list[str]:
        """Code of the language of each segment."""
        return [segment.language or str(self.language) for segment in self.segments]

    @property
    def confidence(self) -> float:
        """Geometric mean of the segments' probabilities, each counted by its length; 0 without any."""
        if not self.segments:
            return 0.0
        lengths = [max(segment.end_s - segment.start_s, 1e-3) for segment in self.segments]
        logs = np.log([max(segment.probability, 1e-9) for segment in self.segments])
        return float(np.exp(np.average(logs, weights=lengths)))

    @property
    def no_speech(self) -> float:
        """Mean chance that there is no speech after all; 1 without any segment."""
        return float(np.mean([segment.no_speech for segment in self.segments])) if self.segments else 1.0

    def as_text(self, form: TextFormat, *, with_words: bool = False) -> str:
        """Return it as subtitles, without what is doubtful, or plain text; see `format_segments`."""
        segments = self.segments if form == "txt" else self.trusted.segments
        return format_segments(segments, form, with_words=with_words, events=self.events or ())

    def to_dict(self, *, with_words: bool = True) -> dict[str, Any]:
        """As JSON-ready data; the words of the segments too unless they are not asked for."""
        segments: Any = [_segment_data(segment, with_words=with_words) for segment in self.segments]
        facts: TranscriptFacts = {
            "duration_s": self.duration_s,
            "language": self.language,
            "language_probability": self.language_probability,
            "translated": self.translated,
            "segments": segments,
        }
        return self.document(facts, {} if self.events is None else {"events": self.events})


@dataclass(frozen=True)
class SpokenQuery:
    """A query that was spoken."""

    file: str
    sha256: str  # SHA-256 of the file
    text: str  # its text, in English
    language: str  # code of the language that was spoken
    language_probability: float
    confidence: float  # see `Transcript.confidence`


def _segment_data(segment: Segment, *, with_words: bool) -> dict[str, Any]:
    """Return a segment as JSON-ready data: with a language only where it is not the transcript's."""
    facts = vars(segment).items()
    return {name: fact for name, fact in facts if fact is not None and (with_words or name != "words")}


def list_lines(segments: Sequence[Segment], events: Sequence[SoundEvent]) -> list[Segment | SoundEvent]:
    """Return segments and events in time order."""
    return sorted([*segments, *events], key=lambda line: line.start_s)


def format_segments(
    segments: Sequence[Segment],
    form: TextFormat,
    *,
    with_words: bool = False,
    events: Sequence[SoundEvent] = (),
) -> str:
    """Return segments as SubRip or WebVTT to norm (see `make_cues`), with the times of words, or a line for
    each sentence.
    """
    if form == "txt":
        lines = [*_sentence_lines(segments), *((event.start_s, event.displayed) for event in events)]
        return "".join(f"{text}\n" for _, text in sorted(lines, key=itemgetter(0)))
    subtitles = add_notes(
        make_cues(to_cue_words(segments)), [(event.start_s, event.end_s, event.displayed) for event in events]
    )
    if form == "srt":
        return to_srt((cue.start_s, cue.end_s, cue.text) for cue in subtitles)
    marked = ((cue.start_s, cue.end_s, cue.to_vtt(with_times=with_words)) for cue in subtitles)
    return to_vtt(marked, is_marked=True)


def _sentence_lines(segments: Iterable[Segment]) -> list[tuple[float, str]]:
    """Return the start of each sentence in seconds, and its text; a pause between segments ends it, too."""
    words, begun = to_cue_words(segments), 0
    lines = list[tuple[float, str]]()
    for end, word in enumerate(words, 1):
        edge = edge_between(word, words[end]) if end < len(words) else Edge.STOP
        if edge is Edge.STOP or (word.ends and edge is Edge.PAUSE):
            lines.append((words[begun].start_s, "".join(part.text for part in words[begun:end]).strip()))
            begun = end
    return lines


def to_cue_words(segments: Iterable[Segment]) -> list[CueWord]:
    """Return the words of segments; in a text without words, letters tell the times."""
    return [piece for segment in segments for piece in _pieces_of(segment)]


def _pieces_of(segment: Segment) -> list[CueWord]:
    text, at, pieces = f" {segment.text.strip()}", 0, list[CueWord]()
    for word in segment.words or _by_letters(segment):
        begins = text.find(word.text, at)
        end = begins + len(word.text)
        said = text[at:end] if begins >= 0 else f" {word.text}"  # where the text differs from the words
        pieces.append(CueWord(word.start_s, word.end_s, said))
        at = max(at, end)
    mark = f" {UNCERTAIN}" if segment.uncertain else ""
    return [*pieces[:-1], *(replace(last, text=last.text + mark, ends=True) for last in pieces[-1:])]


def _spoken_words(segment: Segment, *, is_cue: bool) -> list[SpokenWord]:
    certain, text = not segment.uncertain, f" {segment.text.strip()}"
    if not segment.words:
        return [SpokenWord(segment.start_s, segment.end_s, text, certain, is_sentence=not is_cue)]
    pieces = _pieces_of(replace(segment, uncertain=False))
    return [SpokenWord(piece.start_s, piece.end_s, piece.text, certain) for piece in pieces]


def _clear_of(segment: Segment, edge_s: float) -> float:
    """Return an edge in the first or last third of a segment moved to that end, unless its words have times:
    times by letters are too rough to split off a few words."""
    third_s = 0.0 if segment.words else (segment.end_s - segment.start_s) / 3
    for end_s in (segment.start_s, segment.end_s):
        if segment.start_s < edge_s < segment.end_s and abs(edge_s - end_s) < third_s:
            return end_s
    return edge_s


def _by_letters(segment: Segment) -> tuple[Word, ...]:
    """Return the words of a text, which last as long as they are in letters."""
    a_letter_s = (segment.end_s - segment.start_s) / max(len(segment.text), 1)
    spans = ((match.span(), match[0]) for match in re.finditer(r"\S+", segment.text))
    return tuple(
        Word(segment.start_s + first * a_letter_s, segment.start_s + end * a_letter_s, text, 1.0)
        for (first, end), text in spans
    )


def language_changes(transcript: Transcript) -> list[tuple[str, str, float]]:
    """List the changes of language: code before, code after, and time in seconds."""
    starts = [segment.start_s for segment in transcript.segments]
    return [
        (before, after, at_s)
        for (before, after), at_s in zip(pairwise(transcript.languages), starts[1:], strict=True)
        if before != after
    ]
