"""`summarize`, `ground` and `transcribe` with their options chosen once, for many videos and queries.

    summarizer = vidsum.Summarizer(budget="10%", device="cpu")
    for path in paths:
        summary = summarizer(path)

Networks are loaded at the first call and stay in memory for all later ones; `unload` frees them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, Unpack

from vidsum.errors import UsageError, VidsumError
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import DEFAULT_MODEL
from vidsum.options import all_from_keywords, from_keywords
from vidsum.pipelines.keywords import GrounderOptions, SpeechOptions, SummarizerOptions, SummaryOptions
from vidsum.pipelines.moments import EncodeText, moment_settings, plan_moments
from vidsum.pipelines.plan import open_input
from vidsum.pipelines.queries import parse_queries
from vidsum.pipelines.sources import Source
from vidsum.pipelines.speech import plan_transcript
from vidsum.pipelines.summary import plan_summary
from vidsum.results.moments import Grounding
from vidsum.results.summary import Summary
from vidsum.results.transcript import Transcript
from vidsum.shots.settings import ShotMethod, ShotSettings
from vidsum.speech.settings import Transcription
from vidsum.summary.score import CustomScores, resolve_scorer
from vidsum.summary.settings import Selection
from vidsum.types import Progress, TrackChoice

Given = TypeVar("Given")
Made = TypeVar("Made")


class Summarizer:
    """Summarizes one video per call. Arguments, results and errors are those of `vidsum.summarize`."""

    def __init__(
        self,
        model: str | os.PathLike[str] | CustomScores = Selection.model,
        *,
        shots: ShotMethod = ShotSettings.shots,
        **options: Unpack[SummarizerOptions],
    ) -> None:
        name, self._custom_scorer = resolve_scorer(model)
        self._options: dict[str, Any] = {"model": name, "shots": shots, **options}
        self._settings()  # refuses what is wrong at once

    def __call__(
        self,
        source: Source,
        budget: str | float | None = None,
        *,
        progress: Progress | None = None,
        **options: Unpack[SummaryOptions],
    ) -> Summary:
        """Return the summary of a video, with options of its own in place of the summarizer's."""
        overrides = {**options, **({} if budget is None else {"budget": budget})}
        selection, settings, extraction = self._settings(**overrides)
        video_input = open_input(source, extraction)
        return plan_summary(video_input, selection, settings, self._custom_scorer).run(progress)

    def _settings(self, **overrides: Any) -> tuple[Selection, ShotSettings, Extraction]:
        kinds = (Selection, ShotSettings, Extraction)
        selection, shots, extraction = all_from_keywords(Summarizer, kinds, {**self._options, **overrides})
        return selection, shots, extraction


class Transcriber:
    """Transcribes one file per call. Arguments and errors are those of `vidsum.transcribe`."""

    def __init__(
        self,
        language: str | None = None,
        *,
        device: str = "auto",
        cache: bool = True,
        audio_track: TrackChoice = None,
        **options: Unpack[SpeechOptions],
    ) -> None:
        self._settings = from_keywords(Transcriber, Transcription, {"language": language, **options})
        self._extraction = Extraction(device=device, cache=cache, audio_track=audio_track)

    def __call__(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> Transcript:
        """Transcribe speech in a video or audio file."""
        return plan_transcript(path, self._settings, self._extraction).run(progress)


def iter_results(
    step: Callable[[Given], Made], sources: Iterable[Given]
) -> Iterator[tuple[Given, Made | VidsumError]]:
    """Yield each source and the result of a step, such as a `Summarizer`, as soon as it is made.

    A VidsumError takes the place of its result, and the others follow; an error that all would meet, such as
    missing weights, is raised. Raises UsageError: the step cannot be called.
    """
    if not callable(step):
        raise UsageError("the step cannot be called", hint="vidsum.iter_results(step, sources)")
    for source in sources:
        made: Made | VidsumError
        try:
            made = step(source)
        except VidsumError as error:
            if error.ends_batch:
                raise
            made = error
        yield source, made


class Grounder:
    """Finds moments in one video per call. Arguments and errors are those of `vidsum.ground`."""

    def __init__(
        self,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        *,
        encode_text: EncodeText | None = None,
        **options: Unpack[GrounderOptions],
    ) -> None:
        self._settings = moment_settings(Grounder, {"model": model, **options})
        self._encode_text = encode_text

    def __call__(
        self, source: Source, queries: str | Sequence[str], *, progress: Progress | None = None
    ) -> Grounding:
        """Return moments in a video that match text queries."""
        plan = plan_moments(source, parse_queries(queries), *self._settings, self._encode_text)
        return plan.run(progress)
