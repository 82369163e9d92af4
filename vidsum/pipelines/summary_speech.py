"""What is said, for summaries: cuts that keep clear of words, passages to keep, subtitles."""

import os
from collections.abc import Sequence
from dataclasses import replace

from vidsum.errors import UsageError
from vidsum.grounding.said import SURE, evidence_of, passages_of, sentences_of
from vidsum.pipelines.speech import TranscriptPlan, is_transcribed, plan_transcript, write_text
from vidsum.results.summary import Summary
from vidsum.results.transcript import Segment, Transcript, Word
from vidsum.settings import Extraction, Selection, Transcription
from vidsum.types import Interval, Progress, VideoInfo


def speech_for(
    selection: Selection, video: VideoInfo | None, extraction: Extraction
) -> TranscriptPlan | None:
    """The transcript that a summary needs; by default one only where it is in the cache.

    Raises:
        InputError: it is asked for, and the video has no sound.
        UsageError: it is asked for of features.
    """
    is_asked = selection.snap == "speech" or bool(selection.keep_said)
    if selection.snap == "none" and not is_asked:
        return None
    if video is None:
        if is_asked:
            raise UsageError("features have no speech", hint="give the video, or --snap none")
        return None
    if not is_asked and not is_transcribed(video.path, extraction):
        return None
    return plan_transcript(video.path, Transcription(), extraction, video)


def words_to_clear(selection: Selection, transcript: Transcript) -> list[Interval]:
    """(start_s, end_s) of the words that no cut may fall into."""
    return [] if selection.snap == "none" else [(word.start_s, word.end_s) for word in transcript.words]


def kept_said(
    plan: TranscriptPlan, heard: Transcript, texts: Sequence[str], progress: Progress | None
) -> list[Interval]:
    """(start_s, end_s) of the passage that each text describes, of what the plan heard.

    Raises:
        UsageError: nothing of what is said fits one of the texts.
    """
    if not texts:
        return []
    passages = list(passages_of(sentences_of(plan.in_english(heard).run(progress))))
    if not passages:
        raise UsageError(f"--keep-said {texts[0]!r}: no speech in {plan.sound.path.name}")
    kept = []
    for text, row in zip(texts, evidence_of(passages, texts, plan.extraction.device), strict=True):
        best = int(row.argmax())
        if row[best] < SURE:
            nearest = passages[best].text
            raise UsageError(f"--keep-said {text!r}: no speech matches; the nearest is {nearest!r}")
        kept.append((passages[best].start_s, passages[best].end_s))
    return kept


def subtitles_of(transcript: Transcript, segments: Sequence[Interval]) -> tuple[Segment, ...]:
    """The segments of a transcript that a summary holds, in its own times; words decide where it has any."""
    cut: list[Segment] = []
    offset_s = 0.0
    for start_s, end_s in segments:
        for heard in transcript.segments:
            shift_s = offset_s - start_s
            if not heard.words:
                low, high = max(heard.start_s, start_s), min(heard.end_s, end_s)
                if low < high:
                    cut.append(replace(heard, start_s=low + shift_s, end_s=high + shift_s))
                continue
            if words := [_moved(word, shift_s) for word in heard.words if _is_in(word, start_s, end_s)]:
                text = " ".join(word.text for word in words)
                start, end = max(words[0].start_s, offset_s), words[-1].end_s
                cut.append(replace(heard, start_s=start, end_s=end, text=text, words=tuple(words)))
        offset_s += end_s - start_s
    return tuple(cut)


def export_subtitles(
    summary: Summary, path: str | os.PathLike[str], extraction: Extraction, progress: Progress | None = None
) -> None:
    """Write what is said in a summary as SRT, in the summary's own times; the video is heard if need be.

    Raises:
        InputError: the video has no sound.
        UsageError: the summary is of features.
        OutputError: the file cannot be written.
    """
    if summary.video is None:
        raise UsageError("features have no speech", hint="give the video")
    video = summary.video
    transcript = plan_transcript(video.path, Transcription(), extraction, video).run(progress)
    write_text(replace(transcript, segments=subtitles_of(transcript, summary.segments)), path, "srt")


def _is_in(word: Word, start_s: float, end_s: float) -> bool:
    return start_s <= (word.start_s + word.end_s) / 2 < end_s


def _moved(word: Word, by_s: float) -> Word:
    return replace(word, start_s=word.start_s + by_s, end_s=word.end_s + by_s)
