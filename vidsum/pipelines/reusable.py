"""`summarize`, `ground` and `transcribe` with their options chosen once, for many videos and queries.

    summarizer = vidsum.Summarizer(budget="10%", device="cpu")
    for path in paths:
        summary = summarizer(path)

Networks are loaded at the first call and stay in memory for all later ones; `unload` frees them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from vidsum.options import from_keywords
from vidsum.pipelines.moments import EncodeText, plan_moments, queries_of
from vidsum.pipelines.sources import Source
from vidsum.pipelines.speech import plan_transcript
from vidsum.pipelines.summary import model_of, plan_summary, wishes_of
from vidsum.results.moments import Grounding
from vidsum.results.summary import Summary
from vidsum.results.transcript import Transcript
from vidsum.settings import (
    DEFAULT_MODEL,
    EmbeddingSpace,
    Evidence,
    Extraction,
    MaskKind,
    Retrieval,
    Selection,
    ShotMethod,
    ShotSettings,
    Snap,
    Transcription,
)
from vidsum.summary.own_scorers import OwnScores
from vidsum.types import Interval, Progress

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from vidsum.settings import ExtractionOptions, ReadingOptions


class Summarizer:
    """Summarizes one video per call. Arguments, results and errors are those of `vidsum.summarize`."""

    def __init__(
        self,
        model: str | os.PathLike[str] | OwnScores = Selection.model,
        *,
        budget: str | float = Selection.budget,
        seed: int = 0,
        beams: int = 1,
        shots: ShotMethod = ShotSettings.shots,
        max_shots: int | None = None,
        min_shot_s: float | None = None,
        max_shot_s: float | None = None,
        snap: Literal["auto", "speech", "none"] = "auto",
        min_segment_s: float = Selection.min_segment_s,
        max_segment_s: float | None = Selection.max_segment_s,
        **how: Unpack[ExtractionOptions],
    ) -> None:
        name, self._own = model_of(model)
        self._selection = Selection(
            budget=budget,
            model=name,
            seed=seed,
            beams=beams,
            snap=snap,
            min_segment_s=min_segment_s,
            max_segment_s=max_segment_s,
        )
        self._shots = ShotSettings(
            shots=shots, max_shots=max_shots, min_shot_s=min_shot_s, max_shot_s=max_shot_s
        )
        self._extraction = from_keywords(Summarizer, Extraction, how)

    def __call__(
        self,
        source: Source,
        budget: str | float | None = None,
        *,
        keep: Sequence[Interval] = (),
        drop: Sequence[Interval] = (),
        keep_said: str | Sequence[str] = (),
        about: str | Sequence[str] = (),
        title: str | None = None,
        progress: Progress | None = None,
    ) -> Summary:
        """The summary of a video, with its own budget if one is given."""
        budget = self._selection.budget if budget is None else budget
        wishes = wishes_of(keep, drop, keep_said, about, title)
        selection = replace(self._selection, budget=budget, **wishes)
        plan = plan_summary(source, selection, self._shots, self._extraction, self._own)
        return plan.run(progress)


class Transcriber:
    """Writes down what is said, in one file per call. Arguments, results and errors are those of
    `vidsum.transcribe`.
    """

    def __init__(
        self,
        language: str | None = None,
        *,
        translate: bool = False,
        device: str = "auto",
        cache: bool = True,
    ) -> None:
        self._settings = Transcription(language=language, translate=translate)
        self._extraction = Extraction(device=device, cache=cache)

    def __call__(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transcript:
        """What is said in a video or a recording."""
        return plan_transcript(path, self._settings, self._extraction).run(progress)


class Grounder:
    """Finds the moments of queries, in one video per call. Arguments, results and errors are those of
    `vidsum.ground`.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        *,
        top_k: int = Retrieval.top_k,
        space: EmbeddingSpace = Retrieval.space,
        snap: Snap = Retrieval.snap,
        min_present: float = Retrieval.min_present,
        mask: MaskKind | None = None,
        thorough: bool = Retrieval.thorough,
        evidence: Evidence = "auto",
        encode_text: EncodeText | None = None,
        **how: Unpack[ReadingOptions],
    ) -> None:
        self._retrieval = Retrieval(
            top_k=top_k,
            model=os.fspath(model),
            space=space,
            snap=snap,
            min_present=min_present,
            mask=mask,
            evidence=evidence,
            thorough=thorough,
        )
        self._extraction = from_keywords(Grounder, Extraction, how)
        self._encode_text = encode_text

    def __call__(
        self, source: Source, queries: str | Sequence[str], *, progress: Progress | None = None
    ) -> Grounding:
        """The moments of a video that texts describe."""
        asked = queries_of(queries)
        plan = plan_moments(source, asked, self._retrieval, self._extraction, self._encode_text)
        return plan.run(progress)
