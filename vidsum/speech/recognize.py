"""Speech to text by Whisper (Radford et al. 2022), run by CTranslate2 through faster-whisper."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from vidsum import checkpoints
from vidsum.device import cached_model
from vidsum.errors import Mention, UsageError
from vidsum.io.packages import require_extra
from vidsum.results.cues import join_words
from vidsum.results.transcript import Segment, Word, to_cue_words
from vidsum.speech.fillers import prompt_for
from vidsum.speech.guards import (
    BEAMS,
    MAX_COMPRESSION_RATIO,
    MAX_PASSES,
    MAX_TOKENS,
    NO_REPEAT_TOKENS,
    NO_SPEECH,
    NO_SPEECH_LOG_PROBABILITY,
    decode,
    is_repetitive,
    join_repeated,
)
from vidsum.speech.voice import Window
from vidsum.types import FloatArray, Interval, Progress

if TYPE_CHECKING:
    from faster_whisper import WhisperModel


_CODES = """
af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha haw he hi hr ht hu hy
id is it ja jw ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc pa pl ps pt ro ru sa
sd si sk sl sn so sq sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo zh
"""
LANGUAGES = frozenset(_CODES.split())
SWITCH_ODDS = 3.0  # how many times as likely as the language so far another one must be to take its place


@dataclass(frozen=True)
class WindowTranscript:
    """The segments of a window, at least one, and their language."""

    language: str
    probability: float  # probability of the language
    segments: Sequence[Segment]

    @property
    def length_s(self) -> float:
        return sum(max(segment.end_s - segment.start_s, 1e-3) for segment in self.segments)


def choose_language(probabilities: Mapping[str, float], before: str | None, odds: float = SWITCH_ODDS) -> str:
    """Return the most likely language; the one `before` it unless that is `odds` times less likely."""
    best = max(probabilities, key=lambda language: probabilities[language])
    if before and probabilities[best] < odds * probabilities.get(before, 0.0):
        return before
    return best


def merge_windows(
    windows: Sequence[WindowTranscript],
) -> tuple[str | None, float | None, tuple[Segment, ...]]:
    """Return the language spoken the longest, its mean probability, and all segments; None of no windows."""
    if not windows:
        return None, None, ()
    lengths = {window.language: 0.0 for window in windows}
    weighted = dict(lengths)
    for window in windows:
        lengths[window.language] += window.length_s
        weighted[window.language] += window.probability * window.length_s
    main = max(lengths, key=lambda language: lengths[language])
    segments = tuple(
        replace(segment, language=None if window.language == main else window.language)
        for window in windows
        for segment in window.segments
    )
    return main, round(weighted[main] / lengths[main], 4), segments


CHECKPOINT = "whisper_base"
MAX_NO_WORDS_PROBABILITY = 0.2
"""Text is also dropped if this is less than the probability of no speech, times the probability of not being
the most likely language: sounds without words are of no language."""
MIN_CERTAIN_PROBABILITY = 0.6  # a segment whose words have a lower mean probability is uncertain
SPLIT_PAUSE_S = 2.0  # a pause between words that ends a segment
CLEAR_PROBABILITY = 0.95  # a window whose language is more likely than this is in one language
SPLIT_ODDS = 10.0  # how much likelier than its window's another language must be in a piece
MIN_LANGUAGE_PROBABILITY = 0.5  # of a language that is not just a guess
MIN_REST_S = 1.5  # sound of speech after the last word of a window that is transcribed again


def load_recognizer(device: str = "auto", progress: Progress | None = None) -> "WhisperModel":
    """Load Whisper base, cached; `auto` and `mps` are the CPU, with weights of 8 bits.

    Raises PackageError: the extra `speech` is not installed. WeightsError: the weights are missing or fail
    their check. UsageError: CTranslate2 lacks the device.
    """
    require_extra("speech", "speech recognition")  # before its weights are downloaded
    folder = checkpoints.path_of(CHECKPOINT, progress)
    return _load(str(folder), device)


@cached_model(maxsize=1)
def _load(folder: str, device: str) -> "WhisperModel":
    from faster_whisper import WhisperModel

    kind, _, number = _resolve_device(device).partition(":")
    try:
        model = WhisperModel(folder, kind, int(number or 0), compute_type=weight_precision(device))
    except (RuntimeError, ValueError) as error:  # an unknown device, or no CUDA
        fault = f"Whisper does not run on {device} ({str(error).strip().splitlines()[0]})"
        raise UsageError(fault, hint=Mention("device", "cpu")) from error
    _cache_encoder(model)
    return model


def _cache_encoder(model: "WhisperModel") -> None:
    """Let a model read language and words of a window from one run of its encoder, a third of the work."""
    encode = model.encode
    last: tuple[FloatArray | None, Any] = None, None

    def encode_once(features: FloatArray) -> Any:
        nonlocal last
        if last[0] is None or not np.array_equal(last[0], features):
            last = features, encode(features)
        return last[1]

    model.encode = encode_once


def weight_precision(device: str) -> str:
    """Return the type of the weights on a device, which may change what is understood."""
    return "int8" if _resolve_device(device) == "cpu" else "float16"


def recognizer_rules(device: str) -> dict[str, Any]:
    """Return the rules that a transcript depends on, in addition to weights and settings."""
    return {
        "beams": BEAMS,
        "no_repeat": NO_REPEAT_TOKENS,
        "no_speech": [NO_SPEECH, NO_SPEECH_LOG_PROBABILITY],
        "no_words": MAX_NO_WORDS_PROBABILITY,
        "certain": MIN_CERTAIN_PROBABILITY,
        "stop": [MAX_COMPRESSION_RATIO, MAX_PASSES, MAX_TOKENS],
        "languages": [SWITCH_ODDS, CLEAR_PROBABILITY, SPLIT_ODDS],
        "rest": MIN_REST_S,
        "precision": weight_precision(device),
    }


def _resolve_device(device: str) -> str:
    return "cpu" if device in ("auto", "mps") else device


def language_probabilities(model: "WhisperModel", window: Window) -> dict[str, float]:
    """Return the probability of each language in a window, by code."""
    # without the last frame, as `transcribe` encodes it
    features = model.feature_extractor(window.samples)[..., :-1]
    _, _, probabilities = model.detect_language(features=features)
    return {language: float(probability) for language, probability in probabilities}


def split_by_language(model: "WhisperModel", window: Window) -> Iterator[tuple[Window, dict[str, float]]]:
    """Yield a window and its languages' probabilities; by bisection two parts where none is clear."""
    whole = language_probabilities(model, window)
    main = max(whole, key=lambda language: whole[language])
    first, last = 0, len(window.pieces) - 1

    def language_at(number: int) -> str:
        piece = language_probabilities(model, Window(window.pieces[number : number + 1]))
        return choose_language(piece, main, SPLIT_ODDS)

    if last == 0 or whole[main] >= CLEAR_PROBABILITY or (before := language_at(first)) == language_at(last):
        yield window, whole
        return
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if language_at(middle) == before else (first, middle)
    for part in (Window(window.pieces[:last]), Window(window.pieces[last:])):
        yield part, language_probabilities(model, part)


@dataclass(frozen=True)
class Recognized:
    """The words of a file, or of some windows."""

    language: str | None  # spoken for the longest time; None where nothing is said
    probability: float | None  # of the language
    segments: tuple[Segment, ...]
    stopped: tuple[Interval, ...] = ()  # (start_s, end_s) of speech in which Whisper was lost


def transcribe_windows(
    model: "WhisperModel",
    windows: Iterable[Window],
    language: str | None,
    *,
    translate: bool,
    verbatim: bool = False,
) -> Recognized:
    """Transcribe windows in a language, or each in its own."""
    before, transcripts, stopped = None, list[WindowTranscript](), list[Interval]()
    guess: tuple[str | None, float | None] = None, None
    for window in windows:
        for part, probabilities in split_by_language(model, window):
            spoken = language or choose_language(probabilities, before)
            to_english = translate and spoken != "en"
            likelihood = max(probabilities.values())
            is_sure = language is not None or likelihood >= MIN_LANGUAGE_PROBABILITY
            read = partial(recognize, translate=to_english, verbatim=verbatim, again=is_sure)
            segments, lost = read(model, part, spoken, likelihood)
            if segments and not lost and (rest := part.after(segments[-1].end_s, MIN_REST_S)):
                # Whisper may end its text early, and take the rest of the window for silence
                likelihood = max(language_probabilities(model, rest).values())
                unread, lost = read(model, rest, spoken, likelihood)
                segments += unread
            if lost:
                stopped.append(lost)
                guess = spoken, 1.0 if language else probabilities[spoken]
            if transcripts and segments:
                last = transcripts[-1]
                both = join_repeated(last.segments[-1], segments[0])
                transcripts[-1] = replace(last, segments=[*last.segments[:-1], both[0]])
                segments = [*both[1:], *segments[1:]]
            if segments:
                probability = 1.0 if language else probabilities[spoken]
                transcripts.append(WindowTranscript(spoken, probability, segments))
                before = spoken
    merged = merge_windows(transcripts)
    if not transcripts and stopped:  # somebody speaks, in a language that can only be guessed
        merged = *guess, ()
    return Recognized(*merged, tuple(stopped))


def recognize(
    model: "WhisperModel",
    window: Window,
    language: str,
    likelihood: float,
    *,
    translate: bool = False,
    verbatim: bool = False,
    again: bool = True,
) -> tuple[list[Segment], Interval | None]:
    """Return the segments of a window, with words unless they are translated, and where Whisper was lost.

    Where it repeats itself, or only guesses, the window ends. Repetitive text is transcribed `again` without
    repetitions, then dropped: Whisper's remedy is to draw words at random. `language` is spoken; `likelihood`
    is the probability of the most likely language, see `MAX_NO_WORDS_PROBABILITY`. All is uncertain where the
    window's words are so together.
    """
    prompt = prompt_for(language) if verbatim and not translate else None
    decoded = decode(model, window, language, translate, prompt)
    if again and (decoded.is_loop or any(is_repetitive(segment.text) for segment in decoded.segments)):
        decoded = decode(model, window, language, translate, prompt, no_repeat=NO_REPEAT_TOKENS)
    is_loop = is_repetitive("".join(segment.text for segment in decoded.segments))

    def has_words(segment: Any) -> bool:
        no_speech = segment.no_speech_prob
        # the log-probability of "Yeah", "Yeah", "Yeah" is always high
        return no_speech * (1 - likelihood) <= MAX_NO_WORDS_PROBABILITY and not (
            is_loop and no_speech > NO_SPEECH
        )

    segments, last_seek = list[Segment](), None
    for segment in decoded.segments:
        text = segment.text.strip()
        if not text or not has_words(segment) or is_repetitive(text):
            continue
        made = _segment(window, segment, text)
        if made.end_s <= made.start_s:
            continue
        is_apart = bool(segments) and segment.seek != last_seek
        segments += join_repeated(segments.pop(), made) if is_apart else [made]
        last_seek = segment.seek
    lost = decoded.stop
    if lost is None or not has_words(lost) or lost.no_speech_prob > NO_SPEECH:
        return _doubt_all(segments), None
    start_s = max([window.time_in_source(float(lost.start)), *(segment.end_s for segment in segments)])
    return _doubt_all(segments), (start_s, max(window.end_s, start_s))


def _doubt_all(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments of a window; all are uncertain where the mean of its words is."""
    words = [word for segment in segments for word in segment.words]
    is_certain = not words or _mean_probability(words) >= MIN_CERTAIN_PROBABILITY
    return [segment if is_certain else replace(segment, uncertain=True) for segment in segments]


def _segment(window: Window, segment: Any, text: str) -> Segment:
    words = tuple(_word(window, word) for word in segment.words or ())
    if words:
        start_s, end_s = words[0].start_s, words[-1].end_s
        probability = _mean_probability(words)
    else:
        start_s = round(window.time_in_source(float(segment.start)), 3)
        end_s = round(window.time_in_source(float(segment.end), is_end=True), 3)
        probability = round(math.exp(min(segment.avg_logprob, 0.0)), 4)
    no_speech = round(float(segment.no_speech_prob), 4)
    return Segment(
        start_s,
        max(end_s, start_s),
        text,
        probability,
        no_speech,
        words,
        uncertain=probability < MIN_CERTAIN_PROBABILITY,
    )


def _mean_probability(words: Sequence[Word]) -> float:
    """Return the geometric mean of the probabilities of words."""
    logs = [math.log(max(word.probability, 1e-4)) for word in words]
    return round(math.exp(float(np.mean(logs))), 4)


def split_at_pauses(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield segments, split where `SPLIT_PAUSE_S` or more lies between two words."""
    for segment in segments:
        words, pairs = segment.words, enumerate(pairwise(segment.words), 1)
        cuts = [cut for cut, (before, after) in pairs if after.start_s - before.end_s >= SPLIT_PAUSE_S]
        if not cuts:
            yield segment
            continue
        pieces = to_cue_words([replace(segment, uncertain=False)])
        for first, end in pairwise([0, *cuts, len(words)]):
            probability = _mean_probability(words[first:end])
            yield replace(
                segment,
                start_s=words[first].start_s,
                end_s=words[end - 1].end_s,
                text=join_words(pieces[first:end]),
                probability=probability,
                words=words[first:end],
                uncertain=probability < MIN_CERTAIN_PROBABILITY,
            )


def _word(window: Window, word: Any) -> Word:
    start_s, end_s = window.word_in_source(float(word.start), float(word.end))
    return Word(round(start_s, 3), round(end_s, 3), word.word.strip(), round(float(word.probability), 4))
