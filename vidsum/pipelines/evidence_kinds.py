"""Evidence in addition to pictures: which of speech, text and sounds is searched, and their answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from vidsum import checkpoints
from vidsum.errors import Mention, UsageError
from vidsum.evidence.audible import Audible, describe_unknown
from vidsum.evidence.fusion import fuse
from vidsum.evidence.protocol import ENCODER, TextEvidence, TextQuery, encode_queries
from vidsum.evidence.spoken import Spoken
from vidsum.evidence.written import Written
from vidsum.features.yamnet import STEP_S as SOUND_STEP_S
from vidsum.grounding.settings import Retrieval
from vidsum.grounding.spaces import STEP_S
from vidsum.grounding.windows import grid
from vidsum.pipelines.listening import plan_sounds
from vidsum.pipelines.plan import Input, Plan
from vidsum.pipelines.queries import Queries
from vidsum.pipelines.read_text import find_screen_text, plan_input_text
from vidsum.pipelines.speech_evidence import (
    MIN_SCORE_RATIO,
    describe_speech_cuts,
    plan_searched,
    without_weak,
)
from vidsum.pipelines.transcribe import describe_doubtful
from vidsum.results.moments import Grounding, Moment, QueryMoments
from vidsum.results.screen_text import ScreenText
from vidsum.results.settings import Evidence as Kind
from vidsum.results.settings import list_evidence
from vidsum.types import FloatArray, Progress, TimeArray
from vidsum.video.probe import start_offset_s

Others = Mapping[Kind, Any]  # the transcript, the text and the sounds of a video, by their kind


def _plan_text(video_input: Input, *, only_cached: bool) -> Plan[ScreenText] | None:
    if not only_cached:
        plan = plan_input_text(video_input)
    elif text := find_screen_text(video_input):
        plan = Plan(dict(text.provenance), lambda _: text)
    else:
        return None
    facts = {name: plan.provenance[name] for name in ("weights_sha256", "parameters")}
    return Plan({"screen_text": facts}, plan.make)


class Search(NamedTuple):
    """Queries, and what their answers are made for."""

    queries: Sequence[TextQuery]
    times: TimeArray
    retrieval: Retrieval


def search_kind(kind: Kind, made: Any, search: Search) -> list[QueryMoments]:
    """Return the answers by one kind of evidence alone, with a curve at the times of the search.

    A match probability is the probability of the best moment, 0 without any; if it is below the least wanted,
    no moment is listed.
    """
    details, answers = KINDS[kind], list[QueryMoments]()
    evidence = details.evidence.of(made)
    for query in search.queries:
        answer = evidence.search(query, search.retrieval.most_moments)
        moments = tuple(replace(moment, evidence=kind) for moment, _ in answer)
        curve = details.curve(evidence, query, moments, search.times)
        present = None
        if details.has_probability:
            present = max((moment.present or 0.0 for moment in moments), default=0.0)
            moments = moments if present >= search.retrieval.min_present else ()
        said = curve if kind == "speech" else None
        answers.append(QueryMoments(query.text, moments, curve, present, said))
    return answers


def _curve_of_speech(spoken: Any, query: TextQuery, _: Sequence[Moment], times: TimeArray) -> FloatArray:
    return Spoken.curve(spoken, query, times, STEP_S)


def _curve_of_sound(audible: Any, query: TextQuery, _: Sequence[Moment], times: TimeArray) -> FloatArray:
    return Audible.curve(audible, query)


def curve_of_moments(
    evidence: Any, query: TextQuery, moments: Sequence[Moment], times: TimeArray
) -> FloatArray:
    """Return [T] the probability of the best moment in each clip; 0 outside."""
    curve = np.zeros(len(times), np.float32)
    for moment in moments:
        overlaps = (times < moment.end_s) & (times + STEP_S > moment.start_s)
        curve[overlaps] = np.maximum(curve[overlaps], moment.present or 0.0)
    return curve


class EvidenceKind(NamedTuple):
    """A kind of evidence besides pictures: how it is made of a video, and searched."""

    plan: Callable[..., Plan[Any] | None]  # of an `Input`; with `only_cached` None for what is not there
    evidence: type[TextEvidence]
    curve: Callable[[Any, TextQuery, Sequence[Moment], TimeArray], FloatArray]
    """Makes [T] the curve of a query by the evidence, its moments, and the times of clips."""
    part: str  # of the provenance
    is_of_sound: bool
    has_probability: bool  # whether a whole video gets a match probability
    describe: Callable[[Any], Iterable[str]]  # warnings about what the plan makes


KINDS: Mapping[Kind, EvidenceKind] = {
    "speech": EvidenceKind(
        plan_searched,
        Spoken,
        _curve_of_speech,
        "speech",
        is_of_sound=True,
        has_probability=False,
        describe=describe_doubtful,
    ),
    "text": EvidenceKind(
        _plan_text,
        Written,
        curve_of_moments,
        "screen_text",
        is_of_sound=False,
        has_probability=True,
        describe=lambda made: (),
    ),
    "sound": EvidenceKind(
        plan_sounds,
        Audible,
        _curve_of_sound,
        "sounds",
        is_of_sound=True,
        has_probability=False,
        describe=lambda made: made.warnings,
    ),
}


@dataclass(frozen=True, eq=False)
class PlannedEvidence:
    """The evidence that is searched, with the plans of what is not pictures."""

    kinds: tuple[Kind, ...]
    plans: Mapping[Kind, Plan[Any]]

    @property
    def has_pictures(self) -> bool:
        """Whether pictures are searched."""
        return "picture" in self.kinds

    def facts(self) -> dict[str, Any]:
        """Return the parts of the provenance."""
        encoder = checkpoints.sha256_of(ENCODER) if self.plans else ""
        parts = {KINDS[kind].part: plan.provenance[KINDS[kind].part] for kind, plan in self.plans.items()}
        order = sorted(parts, reverse=True)  # of the parts in stored results
        return {part: {**parts[part], "text_weights_sha256": encoder} for part in order}

    def run(self, progress: Progress | None) -> Others:
        """Return the speech, the text and the sounds, made or from the cache."""
        return {kind: plan.run(progress) for kind, plan in self.plans.items()}

    def add_to(
        self, grounding: Grounding, others: Others, queries: Queries, retrieval: Retrieval
    ) -> Grounding:
        """Return the answers by pictures, if they are searched, merged with the others."""
        if self.kinds == ("picture",):
            return grounding
        encoded = encode_queries(queries.texts, retrieval.language) if others else []
        search = Search(encoded, grounding.timestamps, retrieval)
        matches = [search_kind(kind, made, search) for kind, made in others.items()]
        if self.has_pictures:
            min_ratio = MIN_SCORE_RATIO if retrieval.top_k is None else 0.0
            rows = zip(grounding.queries, *matches, strict=True)
            answers = [fuse(seen, rest, retrieval.most_moments, min_ratio) for seen, *rest in rows]
        else:
            answers = [without_weak(answer, retrieval) for answer in matches[0]]
        warnings = [*grounding.warnings, *(text for made in others.values() for text in made.warnings)]
        if "speech" in others:
            offset_s = start_offset_s(grounding.video)
            warnings += describe_speech_cuts(others["speech"], answers, offset_s)
        if self.kinds == ("sound",):
            warnings += describe_unknown(encoded)
        return replace(
            grounding,
            queries=queries.attach_spoken(answers),
            evidence=self.kinds,
            warnings=tuple(dict.fromkeys(warnings)),
        )


def plan_evidence(retrieval: Retrieval, video_input: Input) -> PlannedEvidence:
    """Plan what is searched: as requested, or by default the pictures and all that is cached.

    Raises InputError: sound is requested, and the video has none. UsageError: it is requested of features,
    or alone with `min_present`. PackageError: text is requested, and the extra `ocr` is not installed.
    """
    kinds = list_evidence(retrieval.evidence)
    if kinds in (("speech",), ("sound",)) and retrieval.min_present:
        fault = (Mention("min_present"), f" needs the picture: it does not apply to {kinds[0]} alone")
        raise UsageError(fault, hint=Mention("evidence", "auto"))
    others = [kind for kind in kinds if kind != "picture"]
    if video_input.video is None and others:
        raise UsageError(
            f"features have no {others[0]}", hint=("give the video, or ", Mention("evidence", "picture"))
        )
    plans = dict[Kind, Plan[Any]]()
    for kind in others if kinds else KINDS:
        # the features of a space are not made where pictures are read for text alone
        source = video_input if KINDS[kind].is_of_sound else replace(video_input, jobs=())
        if video_input.video and (plan := KINDS[kind].plan(source, only_cached=not kinds)):
            plans[kind] = plan
    return PlannedEvidence(kinds or ("picture", *plans), plans)


def scope_of(others: Others) -> dict[str, Any]:
    """Return the times of the curves, and the length, of a result in which no pictures are searched."""
    ((kind, made),) = others.items()
    duration_s, step_s = made.duration_s, SOUND_STEP_S if kind == "sound" else STEP_S
    return {"timestamps": grid(duration_s, step_s), "step_s": step_s, "video_duration_s": duration_s}
