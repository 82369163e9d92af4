"""Text on the screen as evidence: the moments in which a query is written."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vidsum import checkpoints
from vidsum.grounding.screen_text import text_moments
from vidsum.grounding.settings import Retrieval
from vidsum.grounding.spaces import STEP_S
from vidsum.grounding.speech import ENCODER
from vidsum.grounding.windows import grid
from vidsum.pipelines.plan import Input, Plan
from vidsum.pipelines.queries import Queries
from vidsum.pipelines.screen_text import plan_input_text
from vidsum.pipelines.speech_evidence import without_weak
from vidsum.results.moments import Grounding, Moment, QueryMoments
from vidsum.results.screen_text import ScreenText
from vidsum.types import FloatArray, Progress, TimeArray


def plan_text_moments(
    queries: Queries, retrieval: Retrieval, video_input: Input, facts: Mapping[str, Any]
) -> Plan[Grounding]:
    """Plan the moments of queries by text alone; `facts` are those of the search for moments.

    Raises UsageError: they are of features. PackageError: the extra `ocr` is not installed.
    """
    plan = plan_input_text(replace(video_input, jobs=()))
    about = {name: plan.provenance[name] for name in ("weights_sha256", "parameters")}
    provenance = {
        "vidsum": plan.provenance["vidsum"],
        "video": plan.provenance["video"],
        "grounding": {**facts, "evidence": ["text"]},
        "screen_text": {**about, "text_weights_sha256": checkpoints.sha256_of(ENCODER)},
    }

    def make(progress: Progress | None) -> Grounding:
        text = plan.run(progress)
        times = grid(text.duration_s, STEP_S)
        return Grounding(
            queries=queries.attach_spoken(
                text_answers(text, queries.texts, times, retrieval, video_input.extraction.device)
            ),
            timestamps=times,
            step_s=STEP_S,
            video_duration_s=text.duration_s,
            model=facts["model"],
            space=facts["space"],
            evidence=("text",),
            video=text.video,
            provenance=provenance,
            warnings=tuple(dict.fromkeys([*queries.warnings, *text.warnings])),
        )

    return Plan(provenance, make)


def text_answers(
    text: ScreenText, queries: Sequence[str], times: TimeArray, retrieval: Retrieval, device: str
) -> list[QueryMoments]:
    """Return the answers by text alone; `present` is that of the best moment, 0 without any."""
    answers = []
    for query, moments in zip(
        queries, text_moments(queries, text, retrieval.most_moments, device), strict=True
    ):
        present = max((moment.present or 0.0 for moment in moments), default=0.0)
        listed = tuple(moments) if present >= retrieval.min_present else ()
        answer = QueryMoments(query, listed, _curve(moments, times), present)
        answers.append(without_weak(answer, retrieval))
    return answers


def _curve(moments: Sequence[Moment], times: TimeArray) -> FloatArray:
    """Return [T] the probability of the best moment in each clip; 0 outside."""
    curve = np.zeros(len(times), np.float32)
    for moment in moments:
        overlaps = (times < moment.end_s) & (times + STEP_S > moment.start_s)
        curve[overlaps] = np.maximum(curve[overlaps], moment.present or 0.0)
    return curve
