"""Moments: of queries, and highlights without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, NotRequired, Self, TypedDict, get_args

from vidsum.errors import UsageError
from vidsum.results.provenance_types import Space
from vidsum.results.result import ContentEquality, Result, Span, count_text, parse_fields, video_prefix
from vidsum.results.settings import Evidence
from vidsum.types import (
    Above0,
    FilledText,
    FloatArray,
    Fraction,
    Interval,
    Length,
    Seconds,
    Sha256,
    SignedSeconds,
    TimeArray,
    rules,
)

Verdict = Literal["yes", "likely", "unsure", "unlikely", "no"]
YES_FROM, LIKELY_FROM, UNLIKELY_BELOW, NO_BELOW = 0.7, 0.5, 0.25, 0.1
"""Match probabilities of the verdicts; docs/algorithms/presence.md says how many are right."""


def verdict_on(present: float) -> Verdict:
    """Return whether a query is there, by its match probability."""
    if present >= LIKELY_FROM:
        return "yes" if present >= YES_FROM else "likely"
    return "no" if present < NO_BELOW else "unlikely" if present < UNLIKELY_BELOW else "unsure"


def format_match(present: float) -> str:
    """Format a match probability, at most 99 %: nothing is certain."""
    return f"{min(100 * present, 99):.0f} %"


class MomentFacts(TypedDict):
    """A segment that may match a query."""

    start_s: SignedSeconds  # negative for speech before the first picture
    end_s: SignedSeconds
    score: float  # higher is better; comparable among the moments of one query only
    present: NotRequired[Fraction]  # probability that the query is true of it; missing where it is unknown
    evidence: NotRequired[Evidence]  # where it was found; in the picture if missing


class SpokenData(TypedDict):
    """The transcription of a spoken query."""

    file: str
    sha256: Sha256
    language: str  # code of the language that was spoken; the query is in English
    language_probability: Fraction
    confidence: Fraction  # geometric mean of the probabilities of its tokens


class QueryData(TypedDict):
    """A query and its moments."""

    query: FilledText
    present: NotRequired[Fraction | None]
    """Match probability of the query for the video; compares across videos. Null for your own features, and
    where the query is not understood."""
    verdict: NotRequired[Verdict | None]
    """Whether the query is in the video, by `present`; `no` was right about 95 times of 100 on the clips that
    chose the rule."""
    moments: Sequence[MomentFacts]  # best first; half-open. None where `present` is below --min-present
    spoken: NotRequired[SpokenData]
    negated: NotRequired[bool]
    """Whether the query says what must not be seen, and no words answer it: pictures do not show that."""
    saliency: NotRequired[Sequence[Fraction]]
    """With `saliency`: how well each clip fits, from 0 to 1; see docs/ground.md."""
    said: NotRequired[Sequence[Fraction]]
    """With `saliency`: how well the speech during each clip fits, from 0 to 1."""


class GroundingFacts(TypedDict):
    """Moments of a video that queries describe.

    Written by `vidsum ground`. All times in seconds from the first picture; intervals are half-open.
    """

    duration_s: Length
    model: str
    space: Annotated[str, rules(enum=get_args(Space))]
    evidence: NotRequired[Annotated[Sequence[Evidence], rules(minItems=1)]]
    """Where moments were searched; in pictures alone if missing."""
    queries: Annotated[Sequence[QueryData], rules(minItems=1)]  # in the order of asking
    timestamps_s: NotRequired[Sequence[Seconds]]  # with `saliency`: when each clip begins


@dataclass(frozen=True)
class Moment:
    """A segment [start_s, end_s) of a video that may match a query."""

    start_s: float
    end_s: float
    score: float  # higher is better; comparable among the moments of one query on one video only
    evidence: Evidence = "picture"  # whether the pictures, the speech or the sounds match
    present: float | None = None  # how likely the query is true of it, by its evidence; None: not known
    is_quoted: bool = field(default=False, compare=False, repr=False)  # whether its words are said or written

    @property
    def interval(self) -> Interval:
        """Start and end in seconds."""
        return self.start_s, self.end_s

    def to_dict(self, *, with_evidence: bool = False) -> MomentFacts:
        data: MomentFacts = {"start_s": self.start_s, "end_s": self.end_s, "score": self.score}
        if self.present is not None:
            data["present"] = self.present
        if with_evidence:
            data["evidence"] = self.evidence
        return data


@dataclass(frozen=True, eq=False, repr=False)
class QueryMoments(ContentEquality):
    """The results of one query."""

    query: str
    moments: tuple[Moment, ...]  # best first; none where the query is not present enough
    saliency: FloatArray  # [T] how well each clip fits: 0 for the worst of the video, 1 for the best
    present: float | None = None  # how likely it is true of the video; compares across videos; None: unknown
    said: FloatArray | None = None  # [T] how well speech in each clip fits, in [0, 1]; None: it was not used
    spoken: Mapping[str, Any] | None = None  # of a spoken query: the fields of `SpokenQuery`
    negated: bool = False  # whether it says what must not be seen, which pictures do not understand

    def __repr__(self) -> str:
        present = "" if self.present is None else f", present={self.present:.2f}"
        return f"QueryMoments({self.query!r}, {count_text(len(self.moments), 'moment')}{present})"

    @property
    def best_present(self) -> float | None:
        """Return the probability of the likeliest evidence, of which the picture need not be."""
        known = [self.present, *(moment.present for moment in self.moments)]
        return max((present for present in known if present is not None), default=None)

    @property
    def verdict(self) -> Verdict | None:
        """Return whether the query is in the video, by `present`."""
        return None if self.present is None else verdict_on(self.present)

    def to_dict(self, *, with_saliency: bool, with_evidence: bool) -> QueryData:
        data: QueryData = {
            "query": self.query,
            "present": self.present,
            "verdict": self.verdict,
            "moments": [moment.to_dict(with_evidence=with_evidence) for moment in self.moments],
        }
        if self.spoken is not None:
            data["spoken"] = {
                "file": self.spoken["file"],
                "sha256": self.spoken["sha256"],
                "language": self.spoken["language"],
                "language_probability": self.spoken["language_probability"],
                "confidence": self.spoken["confidence"],
            }
        if self.negated:
            data["negated"] = True
        if with_saliency:
            data["saliency"] = self.saliency.tolist()
            if self.said is not None:
                data["said"] = self.said.tolist()
        return data

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        facts = {"saliency": [], **document}
        if "spoken" in document:
            facts["spoken"] = {**document["spoken"], "text": document["query"]}
        return parse_fields(cls, facts)


class SeveralQueriesError(UsageError, AttributeError):
    """Moments of several queries are asked for as one list: to `hasattr`, there is none."""


@dataclass(frozen=True, eq=False)
class Grounding(Result):
    """The moments of one video that match its queries."""

    kind: ClassVar = "moments"

    queries: tuple[QueryMoments, ...]  # in the order given
    timestamps: TimeArray  # [T] seconds at which each clip begins
    step_s: float  # seconds from one clip to the next
    video_duration_s: float
    model: str  # `similarity`, a model that ships, or a checkpoint
    space: str  # the space in which text and video were compared
    evidence: tuple[Evidence, ...] = ("picture",)  # where the queries were searched

    @property
    def moments(self) -> tuple[Moment, ...]:
        """Moments of the only query. Raises SeveralQueriesError: there are more."""
        if len(self.queries) != 1:
            hint = "use .queries[0].moments, .queries[1].moments, ..."
            raise SeveralQueriesError(f"these are the moments of {len(self.queries)} queries", hint=hint)
        return self.queries[0].moments

    @property
    def messages(self) -> tuple[str, ...]:
        """Return its warnings, and one about negated queries."""
        return (*self.warnings, *negation_messages([query.query for query in self.queries if query.negated]))

    def __repr__(self) -> str:
        n_moments, n_queries = sum(len(query.moments) for query in self.queries), len(self.queries)
        counts = f"{count_text(n_moments, 'moment')} of {count_text(n_queries, 'query', 'queries')}"
        return f"Grounding({video_prefix(self.video)}{counts}, by {self.model})"

    def to_dict(self, *, with_saliency: bool = True) -> dict[str, Any]:
        """As JSON-ready data; the curves too unless they are not asked for."""
        with_evidence = self.evidence != ("picture",)
        facts: GroundingFacts = {
            "duration_s": self.video_duration_s,
            "model": self.model,
            "space": self.space,
            "evidence": self.evidence,
            "queries": [
                query.to_dict(with_saliency=with_saliency, with_evidence=with_evidence)
                for query in self.queries
            ],
        }
        if not with_evidence:
            del facts["evidence"]
        return self.document(facts, {"timestamps_s": self.timestamps} if with_saliency else {})

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        times = document.get("timestamps_s", [])
        step_s = times[1] - times[0] if len(times) > 1 else document["duration_s"]
        return super().from_dict({**document, "timestamps": times, "step_s": step_s})

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"query": query.query, "present": query.present, **row, "moment_present": moment.present}
            for query in self.queries
            for row, moment in zip(_ranked(query.moments), query.moments, strict=True)
        ]


class HighlightData(Span):
    """A segment of salient clips."""

    score: float  # higher is better; comparable among the moments of one video only


class Saliency(TypedDict):
    """How much each clip has to see."""

    timestamps_s: Annotated[Sequence[Seconds], rules(minItems=1)]  # when each clip begins
    scores: Annotated[Sequence[Fraction], rules(minItems=1)]
    """Saliency of each clip; comparable among the clips of one video only."""


class HighlightFacts(TypedDict):
    """Highlights of a video, without a query.

    Written by `vidsum highlights`. All times in seconds from the first picture; intervals are half-open.
    """

    duration_s: Length
    clip_s: Above0  # length of the clips that saliency is of
    model: str  # the model that gave the saliency
    model_reason: str  # why that model
    saliency: Saliency
    moments: Sequence[HighlightData]  # best first; none overlaps another; none where nothing stands out


@dataclass(frozen=True, eq=False)
class Highlights(Result):
    """The most salient moments of a video, without a query."""

    kind: ClassVar = "highlights"

    saliency: FloatArray  # [C] how much each clip has to see, in [0, 1]; comparable within one video only
    timestamps: TimeArray  # [C] seconds at which each clip begins
    clip_s: float  # seconds of a clip; the last one may end with the video, before
    moments: tuple[Moment, ...]  # segments of salient clips, best first
    video_duration_s: float
    model: str = ""  # the model of the saliency; `model_reason` says in one line why this one
    model_reason: str = ""

    def __repr__(self) -> str:
        summary = f"{count_text(len(self.moments), 'moment')}, {self.video_duration_s:g} s"
        return f"Highlights({video_prefix(self.video)}{summary}, by {self.model})"

    def to_dict(self) -> dict[str, Any]:
        facts: HighlightFacts = {
            "duration_s": self.video_duration_s,
            "clip_s": self.clip_s,
            "model": self.model,
            "model_reason": self.model_reason,
            "saliency": {"timestamps_s": self.timestamps.tolist(), "scores": self.saliency.tolist()},
            "moments": [
                {"start_s": moment.start_s, "end_s": moment.end_s, "score": moment.score}
                for moment in self.moments
            ],
        }
        return self.document(facts)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        curve = document["saliency"]
        facts = {"saliency": curve["scores"], "timestamps": curve["timestamps_s"]}
        return super().from_dict({**document, **facts})

    def rows(self) -> list[dict[str, Any]]:
        return _ranked(self.moments)


def _ranked(moments: Sequence[Moment]) -> list[dict[str, Any]]:
    names = ("start_s", "end_s", "score", "evidence")
    return [
        {"rank": rank, **{name: getattr(moment, name) for name in names}}
        for rank, moment in enumerate(moments, 1)
    ]


_MAX_LETTERS, _MAX_QUOTED = 40, 3


def shorten(query: str, most: int = _MAX_LETTERS) -> str:
    """Return a query for messages and plots, cut where it is long."""
    return query if len(query) <= most else f"{query[: most - 1]}…"


def quote_queries(queries: Sequence[str]) -> str:
    """Quote the first few queries for a message, and count the others."""
    quoted = ", ".join(repr(shorten(query)) for query in queries[:_MAX_QUOTED])
    more = len(queries) - _MAX_QUOTED
    return f"{quoted} and {more} more" if more > 0 else quoted


def negation_messages(queries: Sequence[str]) -> tuple[str, ...]:
    """Return a warning about queries that say what must not be seen; none without any."""
    note = "negation is not understood; what to leave out is an option of its own"
    return (f"{quote_queries(queries)}: {note}",) if queries else ()
