"""Moments that are said: what is seen of a video and its transcript, together or apart."""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from vidsum import checkpoints
from vidsum.errors import UsageError
from vidsum.grounding.queries import Queries
from vidsum.grounding.said import (
    ENCODER,
    both,
    curve_said,
    evidence_of,
    moments_said,
    passages_of,
    sentences_of,
)
from vidsum.grounding.spaces import STEP_S
from vidsum.grounding.windows import grid
from vidsum.pipelines.extraction import Input
from vidsum.pipelines.speech import TranscriptPlan, is_transcribed, plan_transcript
from vidsum.results.moments import Grounding, QueryMoments
from vidsum.results.transcript import Transcript
from vidsum.settings import Retrieval, Transcription
from vidsum.types import Progress, TimeArray


class SeenPlan(Protocol):
    """A plan of moments by what is seen: `vidsum.pipelines.moments.MomentsPlan`."""

    @property
    def queries(self) -> Queries: ...
    @property
    def retrieval(self) -> Retrieval: ...
    @property
    def input(self) -> Input: ...
    @property
    def model(self) -> str: ...
    @property
    def space(self) -> str: ...
    @property
    def provenance(self) -> dict[str, Any]: ...
    def run(self, progress: Progress | None = None) -> Grounding: ...


@dataclass(frozen=True, eq=False)
class SaidPlan:
    """Moments that are to be found in what is said, or in both."""

    seen: SeenPlan
    transcript: TranscriptPlan
    evidence: str
    """`said` or `both`."""
    provenance: dict[str, Any]
    """What the moments would be made from."""

    def run(self, progress: Progress | None = None) -> Grounding:
        """Find the moments; see `vidsum.ground`."""
        transcript = self.transcript.in_english(self.transcript.run(progress)).run(progress)
        only_said = self.evidence == "said"
        grounding = self._nothing_seen(transcript) if only_said else self.seen.run(progress)
        said = self._said(transcript, grounding.timestamps)
        top_k = self.seen.retrieval.top_k
        if not only_said:
            said = [both(*pair, top_k) for pair in zip(grounding.queries, said, strict=True)]
        warnings = dict.fromkeys([*grounding.warnings, *transcript.warnings])
        return replace(
            grounding,
            queries=self.seen.queries.told_apart(said),
            evidence=self.evidence,
            provenance=self.provenance,
            warnings=tuple(warnings),
        )

    def _nothing_seen(self, transcript: Transcript) -> Grounding:
        duration_s = transcript.duration_s
        model, space = self.seen.model, self.seen.space
        times = grid(duration_s, STEP_S)
        warnings = self.seen.queries.warnings
        return Grounding(
            (), times, STEP_S, duration_s, model, space, self.seen.input.video, warnings=warnings
        )

    def _said(self, transcript: Transcript, times: TimeArray) -> list[QueryMoments]:
        """The answers by what is said alone."""
        texts, passages = self.seen.queries.texts, list(passages_of(sentences_of(transcript)))
        if not passages:
            silent = np.zeros(len(times), np.float32)
            return [QueryMoments(text, (), silent, said=silent) for text in texts]
        evidence = evidence_of(passages, texts, self.seen.input.extraction.device)
        answers = []
        for text, row in zip(texts, evidence, strict=True):
            moments = moments_said(passages, row, self.seen.retrieval.top_k)
            curve = curve_said(passages, row, times, STEP_S)
            answers.append(QueryMoments(text, tuple(moments), curve, said=curve))
        return answers


def with_said(plan: SeenPlan) -> SeenPlan | SaidPlan:
    """The plan with what is said, where that is asked for, or by default where a transcript is at hand.

    Raises:
        InputError: what is said is asked for, and the video has no sound.
        UsageError: it is asked for of features, or it alone with a least `present`.
    """
    evidence, video = plan.retrieval.evidence, plan.input.video
    if evidence == "said" and plan.retrieval.min_present:
        raise UsageError("--min-present needs the picture: speech has no match probability", hint="--in both")
    if video is None and evidence in ("said", "both"):
        raise UsageError("features have no speech", hint="give the video, or --in seen")
    if video is None or evidence == "seen":
        return plan
    extraction = plan.input.extraction
    if evidence == "auto" and not is_transcribed(video.path, extraction):
        return plan
    transcript = plan_transcript(video.path, Transcription(), extraction)
    if evidence == "auto":
        if not _is_at_hand(transcript):
            return plan
        evidence = "both"
    of_pictures = ("extractions",) if evidence == "said" else ()
    provenance = {
        **{part: value for part, value in plan.provenance.items() if part not in of_pictures},
        "grounding": {**plan.provenance["grounding"], "evidence": evidence},
        "speech": {**transcript.provenance["speech"], "text_weights_sha256": checkpoints.sha256_of(ENCODER)},
    }
    return SaidPlan(plan, transcript, evidence, provenance)


def _is_at_hand(plan: TranscriptPlan) -> bool:
    """Whether a transcript in English that holds speech is in the cache."""
    found = plan.cached()
    if found is not None:
        found = plan.in_english(found).cached()
    return found is not None and bool(found.segments)
