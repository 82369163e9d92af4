"""Speech as evidence: moments of speech; for summaries, words to protect, passages to keep, and subtitles."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Literal

from vidsum.errors import Mention, UsageError
from vidsum.features.settings import Extraction
from vidsum.grounding.settings import Retrieval
from vidsum.io.atomic import write_text
from vidsum.pipelines.plan import Input, Plan
from vidsum.pipelines.subtitles import plan_subtitles
from vidsum.pipelines.transcribe import describe_doubtful, find_transcript, plan_transcript, to_english
from vidsum.results.clock import shift_times
from vidsum.results.cues import CueWord, join_words, make_cues
from vidsum.results.moments import QueryMoments
from vidsum.results.sentences import cuts_inside_phrases, describe_cuts
from vidsum.results.transcript import Segment, Transcript, to_cue_words
from vidsum.speech.settings import Transcription
from vidsum.summary.settings import Selection
from vidsum.times import to_srt
from vidsum.types import Interval, Progress, VideoInfo

MIN_SCORE_RATIO = 0.5  # of a moment to the first: those below are listed with top_k alone


def plan_speech(
    video: VideoInfo, extraction: Extraction, evidence: Literal["auto", "speech", "picture"] = "auto"
) -> Plan[Transcript] | None:
    """Plan the transcript of a video: its subtitles, else its speech is recognized.

    None: only pictures are evidence, or there is no sound. Raises InputError: there is none, and only speech
    is evidence.
    """
    if evidence == "picture":
        return None
    subtitles = plan_subtitles(video, extraction)
    if subtitles or (evidence == "auto" and not video.has_audio):
        return subtitles
    return plan_transcript(video.path, Transcription(), extraction, video)


def plan_searched(video_input: Input, *, only_cached: bool) -> Plan[Transcript] | None:
    """Plan the transcript of a video in which queries are searched: its subtitles, else one in English.

    None: it must be cached, and is not. Raises InputError: the video has no sound.
    """
    video, extraction = video_input.video, video_input.extraction
    assert video is not None
    if subtitles := plan_subtitles(video, extraction):
        return subtitles
    offset_s = video.start_offset_s or 0.0
    if only_cached and find_transcript(video_input.file, extraction, offset_s, english=True) is None:
        return None
    path, plan = video.path, plan_transcript(video.path, Transcription(), extraction, video)
    return replace(plan, make=lambda progress: to_english(plan.run(progress), path, extraction, progress))


def describe_speech_cuts(
    transcript: Transcript, answers: Sequence[QueryMoments], offset_s: float
) -> tuple[str, ...]:
    """Return a warning of moments of speech that begin or end at no full stop, pause or comma."""
    said = (moment for answer in answers for moment in answer.moments if moment.evidence == "speech")
    edges_s = {edge_s for moment in said for edge_s in moment.interval}
    return describe_cuts(cuts_inside_phrases(transcript.spoken, edges_s), offset_s)


def without_weak(answer: QueryMoments, retrieval: Retrieval) -> QueryMoments:
    """Leave out moments far below the first, unless `top_k` is given: they are nearly all wrong."""
    if retrieval.top_k is not None:
        return answer
    least = max((MIN_SCORE_RATIO * moment.score for moment in answer.moments[:1]), default=0.0)
    return replace(answer, moments=tuple(moment for moment in answer.moments if moment.score >= least))


def plan_summary_speech(selection: Selection, video_input: Input) -> Plan[Transcript] | None:
    """Return the transcript that a summary needs; by default its subtitles, or one that is in the cache.

    Raises InputError: speech is requested, and the video has no sound. UsageError: it is of features.
    """
    video, extraction = video_input.video, video_input.extraction
    is_requested = selection.snap in ("speech", "sentence") or extraction.names_subtitles
    if selection.snap == "none":
        if extraction.names_subtitles:
            fault = (Mention("snap", "none"), " reads no subtitles: leave out one of them")
            raise UsageError(fault)
        return None
    if video is None:
        if is_requested:
            raise UsageError("features have no speech", hint=("give the video, or ", Mention("snap", "none")))
        return None
    if subtitles := plan_subtitles(video, extraction):
        return subtitles
    offset_s = video.start_offset_s or 0.0
    if not is_requested and find_transcript(video_input.file, extraction, offset_s) is None:
        return None
    return plan_transcript(video.path, Transcription(), extraction, video)


def facts_of_speech(speech: Plan[Transcript]) -> dict[str, Any]:
    """Return what units of speech depend on: the transcript, and the models that mark its sentences."""
    from vidsum.summary.sentence_marks import marks_sha256

    return {"speech": speech.provenance["speech"], **marks_sha256()}


def protected_words(selection: Selection, transcript: Transcript, longest_s: float = inf) -> list[Interval]:
    """Return (start_s, end_s) of what no cut may fall into: words; cues and sentences up to a length."""
    spans = [(word.start_s, word.end_s) for word in transcript.words]
    if transcript.is_of_cues:
        spans = [
            (cue.start_s, cue.end_s) for cue in transcript.spoken if cue.end_s - cue.start_s <= longest_s
        ]
    if selection.snap == "sentence":
        spans += [(said.start_s, said.end_s) for said in transcript.sentences(longest_s)]
    return spans


def cut_subtitles(transcript: Transcript, segments: Sequence[Interval]) -> list[CueWord]:
    """Return the words of a transcript in a summary, in its times; no cue joins words of two segments.

    Text that is uncertain throughout is left out.
    """
    words, offset_s, transcript = list[CueWord](), 0.0, transcript.trusted
    for start_s, end_s in segments:
        said = to_cue_words(_cut(transcript, start_s, end_s, offset_s - start_s))
        words += [*said[:-1], *(replace(last, ends_cue=True) for last in said[-1:])]
        offset_s += end_s - start_s
    return words


def _cut(transcript: Transcript, start_s: float, end_s: float, shift_s: float) -> Iterator[Segment]:
    """Yield the segments of a transcript in a span, shifted; words decide where it has any."""
    for segment in transcript.segments:
        if not segment.words:
            low, high = max(segment.start_s, start_s), min(segment.end_s, end_s)
            if low < high:
                yield replace(segment, start_s=low + shift_s, end_s=high + shift_s)
            continue
        pieces = to_cue_words([replace(segment, uncertain=False)])  # one a word, with any blank before it
        said = [
            (word, piece)
            for word, piece in zip(segment.words, pieces, strict=True)
            if start_s <= (word.start_s + word.end_s) / 2 < end_s
        ]
        if said:
            words = tuple(shift_times(word, shift_s, -inf) for word, _ in said)
            yield replace(segment, text=join_words(piece for _, piece in said), words=words)


def export_subtitles(
    video: VideoInfo | None,
    segments: Sequence[Interval],
    path: str | os.PathLike[str],
    extraction: Extraction,
    progress: Progress | None = None,
    *,
    as_captions: bool = False,
) -> list[str]:
    """Write the speech in segments, which follow each other, as SRT; return a warning if there is none.

    `as_captions`: without what is doubtful, and without marks, as captions are drawn.

    Raises InputError: no sound; UsageError: there is no video; OutputError.
    """
    if video is None:
        raise UsageError("features have no speech", hint="give the video")
    plan = plan_subtitles(video, extraction) or plan_transcript(
        video.path, Transcription(), extraction, video
    )
    transcript = plan.run(progress)
    cues = make_cues(cut_subtitles(transcript.as_captions if as_captions else transcript, segments))
    write_text(path, to_srt((cue.start_s, cue.end_s, cue.text) for cue in cues))
    notes = [*transcript.warnings, *describe_doubtful(transcript)]
    return notes if cues else [*notes, "nothing is said in the summary: its subtitles are empty"]
