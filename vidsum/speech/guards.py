"""Run Whisper's decoder over a window, and stop where Whisper's own guards say that it is lost."""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from vidsum.results.sentences import PAUSE_S
from vidsum.results.transcript import Segment
from vidsum.speech.voice import Window
from vidsum.types import FloatArray

if TYPE_CHECKING:
    from faster_whisper import WhisperModel

BEAMS = 5
NO_REPEAT_TOKENS = 3  # tokens in a row that must not repeat when a text is done again
NO_SPEECH, NO_SPEECH_LOG_PROBABILITY = 0.6, -1.0
"""Whisper's own rule: text is dropped if "no speech" is more likely than the first, and the mean
log-probability of the text's tokens is below the second."""
MAX_COMPRESSION_RATIO = 2.4
"""Text that zlib makes smaller by more than this repeats itself, as Whisper's does now and then, mostly where
it hears no words."""
MAX_PASSES, MAX_TOKENS = 6, 448
"""Most runs of the decoder, and tokens, for a window, which bound its time. Speech takes one to three runs,
and up to 150 tokens in half a minute, a language that Whisper does not know many of both."""


@dataclass(frozen=True, eq=False)
class DecodedWindow:
    """The segments of a window up to the first that shows that Whisper is lost; that one; if it repeats."""

    segments: Sequence[Any]
    stop: Any | None = None
    is_loop: bool = False


class _TooManyPassesError(Exception):
    """A window takes more runs of the decoder than speech does."""


@contextmanager
def _few_passes(model: "WhisperModel") -> Iterator[None]:
    """Let a model run its encoder, which comes before each run of its decoder, `MAX_PASSES` times at most."""
    encode, n_left = model.encode, MAX_PASSES

    def counted(features: FloatArray) -> Any:
        nonlocal n_left
        n_left -= 1
        if n_left < 0:
            raise _TooManyPassesError
        return encode(features)

    model.encode = counted
    try:
        yield
    finally:
        model.encode = encode


def decode(
    model: "WhisperModel",
    window: Window,
    language: str,
    translate: bool,
    prompt: str | None,
    no_repeat: int = 0,
) -> DecodedWindow:
    segments, n_tokens = list[Any](), 0
    with _few_passes(model), suppress(_TooManyPassesError):
        made, _ = model.transcribe(
            window.samples,
            language=language,
            task="translate" if translate else "transcribe",
            beam_size=BEAMS,
            temperature=0.0,  # no sampling: the same sound gives the same words
            no_repeat_ngram_size=no_repeat,
            no_speech_threshold=NO_SPEECH,
            log_prob_threshold=NO_SPEECH_LOG_PROBABILITY,
            condition_on_previous_text=False,
            hotwords=prompt,  # unlike an initial prompt, it holds for all of the window
            word_timestamps=not translate,
        )
        for segment in made:
            n_tokens += len(segment.tokens)
            is_loop = segment.compression_ratio > MAX_COMPRESSION_RATIO or _has_no_length(segment)
            is_guess = segment.avg_logprob < NO_SPEECH_LOG_PROBABILITY and not translate
            if is_loop or is_guess or n_tokens > MAX_TOKENS:
                return DecodedWindow(segments, segment, is_loop)
            segments.append(segment)
        return DecodedWindow(segments)
    return DecodedWindow(segments, segments[-1] if segments else None)


def _has_no_length(segment: Any) -> bool:
    """Return whether most of two or more words take no time."""
    words = segment.words or ()
    n_without = sum(bool(word.end <= word.start) for word in words)
    return n_without > 1 and 2 * n_without > len(words)


def is_repetitive(text: str) -> bool:
    encoded = text.encode()
    return len(encoded) > MAX_COMPRESSION_RATIO * len(zlib.compress(encoded))


def join_repeated(before: Segment, after: Segment) -> list[Segment]:
    """Return two segments of different runs of the decoder, without a word that both have where they meet.

    Whisper writes the word at the edge of a window twice, or hears half of it in each.
    """
    if not before.words or not after.words:
        return [before, after]
    last, (first, *rest) = before.words[-1], after.words
    is_same = _letters(last.text) == _letters(first.text) != ""
    if not is_same or not -PAUSE_S < first.start_s - last.end_s < PAUSE_S:
        return [before, after]
    text = max(last.text, first.text, key=len)
    word = replace(last, end_s=max(first.end_s, last.end_s), text=text)
    whole = before.text.removesuffix(last.text) + text
    joined = replace(before, end_s=word.end_s, text=whole, words=(*before.words[:-1], word))
    if not rest:
        return [joined]
    left = after.text.removeprefix(first.text).strip()
    return [joined, replace(after, start_s=rest[0].start_s, text=left, words=tuple(rest))]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
