"""Speech as evidence: moments of speech; for summaries, words to protect, passages to keep, and subtitles."""

import os
from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import Retrieval
from vidsum.grounding.spaces import STEP_S
from vidsum.grounding.speech import (
    iter_passages,
    score_passages,
    speech_curve,
    speech_moments,
    split_sentences,
)
from vidsum.io.outputs import write_text
from vidsum.pipelines.plan import Input, Plan
from vidsum.pipelines.speech import find_transcript, plan_transcript, to_english
from vidsum.results.clock import shift_times
from vidsum.results.moments import QueryMoments
from vidsum.results.summary import Summary
from vidsum.results.transcript import Segment, Transcript, format_segments
from vidsum.speech.settings import Transcription
from vidsum.summary.settings import Selection
from vidsum.types import Interval, Progress, TimeArray

MIN_SCORE_RATIO = 0.5  # of a moment to the first: those below are listed with top_k alone


def plan_english(video_input: Input, *, only_cached: bool) -> Plan[Transcript] | None:
    """Plan the English transcript of a video; None for one that must be cached, and is not.

    Raises InputError: the video has no sound.
    """
    video, extraction = video_input.video, video_input.extraction
    assert video is not None
    offset_s = video.start_offset_s or 0.0
    if only_cached and find_transcript(video_input.file, extraction, offset_s, english=True) is None:
        return None
    path, plan = video.path, plan_transcript(video.path, Transcription(), extraction, video)
    return replace(plan, make=lambda progress: to_english(plan.run(progress), path, extraction, progress))


def search_speech(
    transcript: Transcript, texts: Sequence[str], times: TimeArray, retrieval: Retrieval
) -> list[QueryMoments]:
    """Return the answers by speech alone, with a curve at `times`."""
    passages = list(iter_passages(split_sentences(transcript)))
    if not passages:
        silent = np.zeros(len(times), np.float32)
        return [QueryMoments(text, (), silent, said=silent) for text in texts]
    answers = []
    for text, row in zip(texts, score_passages(passages, texts), strict=True):
        curve = speech_curve(passages, row, times, STEP_S)
        moments = tuple(speech_moments(text, passages, row, retrieval.most_moments))
        answers.append(QueryMoments(text, moments, curve, said=curve))
    return answers


def without_weak(answer: QueryMoments, retrieval: Retrieval) -> QueryMoments:
    """Leave out moments far below the first, unless `top_k` is given: they are nearly all wrong."""
    if retrieval.top_k is not None:
        return answer
    least = max((MIN_SCORE_RATIO * moment.score for moment in answer.moments[:1]), default=0.0)
    return replace(answer, moments=tuple(moment for moment in answer.moments if moment.score >= least))


def plan_summary_speech(selection: Selection, video_input: Input) -> Plan[Transcript] | None:
    """Return the transcript that a summary needs; by default one only where it is in the cache.

    Raises InputError: speech is requested, and the video has no sound. UsageError: it is of features.
    """
    video, extraction = video_input.video, video_input.extraction
    is_requested = selection.snap in ("speech", "sentence")
    if selection.snap == "none":
        return None
    if video is None:
        if is_requested:
            raise UsageError("features have no speech", hint="give the video, or --snap none")
        return None
    offset_s = video.start_offset_s or 0.0
    if not is_requested and find_transcript(video_input.file, extraction, offset_s) is None:
        return None
    return plan_transcript(video.path, Transcription(), extraction, video)


def protected_words(selection: Selection, transcript: Transcript) -> list[Interval]:
    """Return (start_s, end_s) of the words, or sentences, that no cut may fall into."""
    spans = [(word.start_s, word.end_s) for word in transcript.words]
    if selection.snap == "sentence":
        spans += [(said.start_s, said.end_s) for said in split_sentences(transcript)]
    return spans


def cut_subtitles(transcript: Transcript, segments: Sequence[Interval]) -> tuple[Segment, ...]:
    """Return the segments of a transcript in a summary, in its times; words decide where it has any."""
    cut: list[Segment] = []
    offset_s = 0.0
    for start_s, end_s in segments:
        for segment in transcript.segments:
            shift_s = offset_s - start_s
            if not segment.words:
                low, high = max(segment.start_s, start_s), min(segment.end_s, end_s)
                if low < high:
                    cut.append(replace(segment, start_s=low + shift_s, end_s=high + shift_s))
                continue
            if words := [
                shift_times(word, shift_s, -inf)
                for word in segment.words
                if start_s <= (word.start_s + word.end_s) / 2 < end_s
            ]:
                text = " ".join(word.text for word in words)
                start, end = max(words[0].start_s, offset_s), words[-1].end_s
                cut.append(replace(segment, start_s=start, end_s=end, text=text, words=tuple(words)))
        offset_s += end_s - start_s
    return tuple(cut)


def export_subtitles(
    summary: Summary, path: str | os.PathLike[str], extraction: Extraction, progress: Progress | None = None
) -> None:
    """Write the speech in a summary as SRT. Raises InputError: no sound; UsageError; OutputError."""
    if summary.video is None:
        raise UsageError("features have no speech", hint="give the video")
    video = summary.video
    transcript = plan_transcript(video.path, Transcription(), extraction, video).run(progress)
    write_text(path, format_segments(cut_subtitles(transcript, summary.segments), "srt"))
