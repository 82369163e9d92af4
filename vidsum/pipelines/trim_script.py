"""A script for a trimmed film: an edited transcript, and what it leaves of the words that were spoken."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from vidsum.errors import InputError
from vidsum.io.text import read_text
from vidsum.pipelines.subtitles import read_cues
from vidsum.results.summary import Removal
from vidsum.results.transcript import Transcript, Word
from vidsum.speech.script import align_script
from vidsum.types import Interval

_SUBTITLES = (".srt", ".vtt")
_MAX_NAMED = 5  # words that an error names; it counts the others

Run = tuple[int, int]  # numbers [first, end) of spoken words that follow each other


@dataclass(frozen=True)
class EditedTranscript:
    """An edited transcript."""

    path: Path
    lines: tuple[str, ...]  # of subtitles, the cues as the file has them

    @classmethod
    def read(cls, path: Path) -> EditedTranscript:
        """Read a text file, or by its suffix subtitles. Raises InputError: no text, or no word."""
        is_subtitles = path.suffix.lower() in _SUBTITLES
        lines = [said for _, _, said in read_cues(path)] if is_subtitles else read_text(path).split("\n")
        if not any(map(str.isalnum, "".join(lines))):
            raise InputError("has no words: nothing of the film would stay", subject=path)
        return cls(path, tuple(lines))

    def find_runs(self, transcript: Transcript, film: str) -> list[Run]:
        """Return the spoken words that stay, in the order of the script.

        Raises InputError: a word was never said, or the words of the transcript have no times.
        """
        if not all(segment.words for segment in transcript.segments):
            hint = f"vidsum transcribe {shlex.quote(film)} --words"
            raise InputError("the words of its transcript have no times", hint=hint, subject=film)
        words = transcript.words
        aligned = align_script(self.lines, words)
        if aligned.unsaid:
            unsaid = [(token.line, token.text) for token in aligned.unsaid]
            hint = f"leave them out; vidsum transcribe {shlex.quote(film)} --format txt writes what was said"
            raise InputError(f"has words that were never said: {self._list(unsaid)}", hint, subject=self.path)
        if aligned.broken:
            parts = [(line, words[number].text.strip()) for line, number in dict.fromkeys(aligned.broken)]
            fault = f"has parts of words, which cannot be cut: {self._list(parts)}"
            raise InputError(fault, hint="write the whole word, or none of it", subject=self.path)
        if not aligned.runs:
            raise InputError("has no words: nothing of the film would stay", subject=self.path)
        return aligned.runs

    def _list(self, words: Sequence[tuple[int, str]]) -> str:
        place = "cue" if self.path.suffix.lower() in _SUBTITLES else "line"
        named = [f"{text!r} ({place} {line})" for line, text in words[:_MAX_NAMED]]
        more = f" and {len(words) - _MAX_NAMED} more" if len(words) > _MAX_NAMED else ""
        return ", ".join(named) + more


def deleted_words(runs: Iterable[Run], words: Sequence[Word]) -> list[Removal]:
    """Return the runs of words that a script leaves out, in order of time."""
    ends = [(0, 0), *sorted(runs), (len(words), len(words))]
    gaps = [(low, high) for (_, low), (high, _) in pairwise(ends) if low < high]
    return [
        Removal(words[low].start_s, words[high - 1].end_s, "deleted", _text_of(words[low:high]))
        for low, high in gaps
    ]


def without_overlap(parts: Sequence[Interval], runs: Sequence[Run]) -> list[Interval]:
    """Return the parts of a film that have some runs of words, without what two in a row share at their cut.

    Frames and margins make parts longer than their words: a part that begins within the part before it then
    begins at its end. Where both have the same words, the script says them twice, and both stay whole.
    """
    apart = list[tuple[Interval, Run]]()
    for (low, high), run in zip(parts, runs, strict=True):
        if apart:
            before, (first, end) = apart[-1]
            has_same_words = run[0] < end and first < run[1]
            low = before[1] if before[0] <= low < before[1] and not has_same_words else low
        if low < high:
            apart.append(((low, high), run))
    return [part for part, _ in apart]


def _text_of(words: Sequence[Word]) -> str:
    return " ".join(word.text.strip() for word in words)
