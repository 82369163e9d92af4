"""Text on the screen as evidence: the moments in which a query is written."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vidsum.grounding.screen_text import text_moments
from vidsum.grounding.settings import Retrieval
from vidsum.grounding.spaces import STEP_S
from vidsum.pipelines.plan import Input, Plan
from vidsum.pipelines.screen_text import find_screen_text, plan_input_text
from vidsum.pipelines.speech_evidence import without_weak
from vidsum.results.moments import Moment, QueryMoments
from vidsum.results.screen_text import ScreenText
from vidsum.results.settings import list_evidence
from vidsum.types import FloatArray, TimeArray


def plan_moment_text(retrieval: Retrieval, video_input: Input) -> Plan[ScreenText] | None:
    """Plan the text to search: where requested, or by default where it is cached.

    Raises UsageError: it is requested of features. PackageError: the extra `ocr` is not installed.
    """
    kinds = list_evidence(retrieval.evidence)
    if kinds == ("text",):
        return plan_input_text(replace(video_input, jobs=()))
    text = None if kinds else find_screen_text(video_input)
    return None if text is None else Plan(dict(text.provenance), lambda _: text)


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
