"""Moments that are said: found in the transcript of a video."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
from vidsum.pipelines.extraction import Input
from vidsum.pipelines.speech import TranscriptPlan, is_transcribed, plan_transcript
from vidsum.results.moments import Grounding, QueryMoments
from vidsum.results.transcript import Transcript
from vidsum.settings import Retrieval, Transcription
from vidsum.types import Progress, TimeArray


@dataclass(frozen=True, eq=False)
class Said:
    """The transcript that moments are to be found in: alone, or beside the picture."""

    plan: TranscriptPlan
    evidence: str
    """`said` or `both`."""

    def provenance(self, seen: Mapping[str, Any]) -> dict[str, Any]:
        """What the moments would be made from; `seen` is the same of the picture alone."""
        of_pictures = ("extractions",) if self.evidence == "said" else ()
        return {
            **{part: value for part, value in seen.items() if part not in of_pictures},
            "grounding": {**seen["grounding"], "evidence": self.evidence},
            "speech": {
                **self.plan.provenance["speech"],
                "text_weights_sha256": checkpoints.sha256_of(ENCODER),
            },
        }

    def transcript(self, progress: Progress | None) -> Transcript:
        """The transcript, in English."""
        return self.plan.in_english(self.plan.run(progress)).run(progress)

    def added(
        self, grounding: Grounding, transcript: Transcript, queries: Queries, top_k: int, device: str
    ) -> Grounding:
        """Moments with those that are said; none were looked for in pictures where it counts alone."""
        answers = _answers(transcript, queries.texts, grounding.timestamps, top_k, device)
        if self.evidence == "both":
            answers = [both(*pair, top_k) for pair in zip(grounding.queries, answers, strict=True)]
        return replace(
            grounding,
            queries=queries.told_apart(answers),
            evidence=self.evidence,
            warnings=tuple(dict.fromkeys([*grounding.warnings, *transcript.warnings])),
        )


def _answers(
    transcript: Transcript, texts: Sequence[str], times: TimeArray, top_k: int, device: str
) -> list[QueryMoments]:
    """The answers by what is said alone, with a curve at `times`."""
    passages = list(passages_of(sentences_of(transcript)))
    if not passages:
        silent = np.zeros(len(times), np.float32)
        return [QueryMoments(text, (), silent, said=silent) for text in texts]
    answers = []
    for text, row in zip(texts, evidence_of(passages, texts, device), strict=True):
        curve = curve_said(passages, row, times, STEP_S)
        answers.append(QueryMoments(text, tuple(moments_said(passages, row, top_k)), curve, said=curve))
    return answers


def plan_said(retrieval: Retrieval, given: Input) -> Said | None:
    """What is said, where that is asked for, or by default where a transcript is at hand.

    Raises:
        InputError: what is said is asked for, and the video has no sound.
        UsageError: it is asked for of features, or it alone with a least `present`.
    """
    evidence, video, extraction = retrieval.evidence, given.video, given.extraction
    if evidence == "said" and retrieval.min_present:
        raise UsageError("--min-present needs the picture: speech has no match probability", hint="--in both")
    if video is None and evidence in ("said", "both"):
        raise UsageError("features have no speech", hint="give the video, or --in seen")
    if video is None or evidence == "seen":
        return None
    if evidence == "auto" and not is_transcribed(video.path, extraction):
        return None
    plan = plan_transcript(video.path, Transcription(), extraction, video)
    if evidence != "auto":
        return Said(plan, evidence)
    return Said(plan, "both") if _is_at_hand(plan) else None


def _is_at_hand(plan: TranscriptPlan) -> bool:
    """Whether a transcript in English that holds speech is in the cache."""
    found = plan.cached()
    if found is not None:
        found = plan.in_english(found).cached()
    return found is not None and bool(found.segments)
