"""Evidence in addition to pictures: which of speech, text and sounds is searched, and their answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vidsum import checkpoints
from vidsum.errors import Mention, UsageError
from vidsum.evidence.audible import describe_unknown
from vidsum.evidence.spoken import ENCODER, fuse
from vidsum.evidence.written import text_moments
from vidsum.features.yamnet import STEP_S as SOUND_STEP_S
from vidsum.grounding.settings import Retrieval
from vidsum.grounding.spaces import STEP_S
from vidsum.grounding.windows import grid
from vidsum.pipelines.plan import Input, Plan
from vidsum.pipelines.queries import Queries
from vidsum.pipelines.read_text import find_screen_text, plan_input_text
from vidsum.pipelines.sounds import plan_sounds, search_sounds
from vidsum.pipelines.speech_evidence import (
    MIN_SCORE_RATIO,
    describe_speech_cuts,
    plan_english,
    search_speech,
    without_weak,
)
from vidsum.results.moments import Grounding, Moment, QueryMoments
from vidsum.results.screen_text import ScreenText
from vidsum.results.settings import Evidence, list_evidence
from vidsum.types import FloatArray, Progress, TimeArray
from vidsum.video.probe import start_offset_s

Others = Mapping[Evidence, Any]  # the transcript, the text and the sounds of a video, by their kind
_FACTS: Mapping[Evidence, str] = {"speech": "speech", "sound": "sounds", "text": "screen_text"}
"""The parts of the provenance, in their order there."""


def _plan_text(video_input: Input, *, only_cached: bool) -> Plan[ScreenText] | None:
    if not only_cached:
        plan = plan_input_text(replace(video_input, jobs=()))
    elif text := find_screen_text(video_input):
        plan = Plan(dict(text.provenance), lambda _: text)
    else:
        return None
    facts = {name: plan.provenance[name] for name in ("weights_sha256", "parameters")}
    return Plan({"screen_text": facts}, plan.make)


def _search_text(
    text: ScreenText, queries: Sequence[str], times: TimeArray, retrieval: Retrieval
) -> list[QueryMoments]:
    """Return the answers by text alone; `present` is that of the best moment, 0 without any."""
    answers = []
    rows = text_moments(queries, text, retrieval.most_moments)
    for query, moments in zip(queries, rows, strict=True):
        present = max((moment.present or 0.0 for moment in moments), default=0.0)
        listed = tuple(moments) if present >= retrieval.min_present else ()
        answers.append(QueryMoments(query, listed, _curve(moments, times), present))
    return answers


def _curve(moments: Sequence[Moment], times: TimeArray) -> FloatArray:
    """Return [T] the probability of the best moment in each clip; 0 outside."""
    curve = np.zeros(len(times), np.float32)
    for moment in moments:
        overlaps = (times < moment.end_s) & (times + STEP_S > moment.start_s)
        curve[overlaps] = np.maximum(curve[overlaps], moment.present or 0.0)
    return curve


_PLANS: Mapping[Evidence, Callable[..., Plan[Any] | None]] = {
    "speech": plan_english,
    "text": _plan_text,
    "sound": plan_sounds,
}
_SEARCHES: Mapping[Evidence, Callable[..., list[QueryMoments]]] = {
    "speech": search_speech,
    "text": _search_text,
    "sound": search_sounds,
}


@dataclass(frozen=True, eq=False)
class PlannedEvidence:
    """The evidence that is searched, with the plans of what is not pictures."""

    kinds: tuple[Evidence, ...]
    plans: Mapping[Evidence, Plan[Any]]

    @property
    def has_pictures(self) -> bool:
        """Whether pictures are searched."""
        return "picture" in self.kinds

    def facts(self) -> dict[str, Any]:
        """Return the parts of the provenance."""
        encoder = checkpoints.sha256_of(ENCODER) if self.plans else ""
        parts = {
            part: self.plans[kind].provenance[part] for kind, part in _FACTS.items() if kind in self.plans
        }
        return {part: {**facts, "text_weights_sha256": encoder} for part, facts in parts.items()}

    def run(self, progress: Progress | None) -> Others:
        """Return the speech, the text and the sounds, made or from the cache."""
        return {kind: plan.run(progress) for kind, plan in self.plans.items()}

    def add_to(
        self, grounding: Grounding, others: Others, queries: Queries, retrieval: Retrieval
    ) -> Grounding:
        """Return the answers by pictures, if they are searched, merged with the others."""
        if self.kinds == ("picture",):
            return grounding
        texts, times = queries.texts, grounding.timestamps
        matches = [_SEARCHES[kind](made, texts, times, retrieval) for kind, made in others.items()]
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
            warnings += describe_unknown(texts, retrieval.language)
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
        fault = (Mention("min_present"), f" needs the picture: {kinds[0]} has no match probability")
        raise UsageError(fault, hint=Mention("evidence", "auto"))
    others = [kind for kind in kinds if kind != "picture"]
    if video_input.video is None and others:
        raise UsageError(
            f"features have no {others[0]}", hint=("give the video, or ", Mention("evidence", "picture"))
        )
    plans = dict[Evidence, Plan[Any]]()
    for kind in others if kinds else _PLANS:
        if video_input.video and (plan := _PLANS[kind](video_input, only_cached=not kinds)):
            plans[kind] = plan
    return PlannedEvidence(kinds or ("picture", *plans), plans)


def scope_of(others: Others) -> dict[str, Any]:
    """Return the times of the curves, and the length, of a result in which no pictures are searched."""
    ((kind, made),) = others.items()
    duration_s, step_s = made.duration_s, SOUND_STEP_S if kind == "sound" else STEP_S
    return {"timestamps": grid(duration_s, step_s), "step_s": step_s, "video_duration_s": duration_s}
