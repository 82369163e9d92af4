"""Speech to text by Whisper (Radford et al. 2022), run by CTranslate2 through faster-whisper."""

import math
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from vidsum import checkpoints
from vidsum.errors import UsageError
from vidsum.memory import kept
from vidsum.speech.transcript import Segment, Word
from vidsum.speech.voice import Window
from vidsum.types import Progress

if TYPE_CHECKING:
    from faster_whisper import WhisperModel

CHECKPOINT = "whisper_base"
BEAMS = 5
NO_REPEAT = 3
"""Tokens that must not come twice where a text repeats itself, and is heard again."""
_REPEATS = 2.4
"""Text that zlib makes smaller by more than this repeats itself, as Whisper's does now and then, mostly where
it hears no words."""


def load_recognizer(device: str = "auto", progress: Progress | None = None) -> "WhisperModel":
    """Whisper base, kept for the next call; its weights are fetched on first use.

    `device` is `cpu`, `cuda` or `cuda:N`; `auto` is the CPU, with weights of 8 bits, and so is `mps`, which
    CTranslate2 does not know.

    Raises:
        WeightsError: the weights are missing, cannot be fetched or fail their check.
        UsageError: CTranslate2 does not run on the device.
    """
    folder = checkpoints.path_of(CHECKPOINT, progress)
    return _load(str(folder), device)


@kept(maxsize=1)
def _load(folder: str, device: str) -> "WhisperModel":
    from faster_whisper import WhisperModel

    kind, _, number = _runs_on(device).partition(":")
    try:
        return WhisperModel(folder, kind, int(number or 0), compute_type=precision_on(device))
    except (RuntimeError, ValueError) as error:  # an unknown device, or no CUDA
        fault = str(error).strip().splitlines()[0]
        raise UsageError(f"Whisper does not run on {device} ({fault})", hint="--device cpu") from error


def precision_on(device: str) -> str:
    """The type of the weights on a device, which may change what is understood."""
    return "int8" if _runs_on(device) == "cpu" else "float16"


def _runs_on(device: str) -> str:
    return "cpu" if device in ("auto", "mps") else device


def detect_language(model: "WhisperModel", window: Window) -> tuple[str, float]:
    """Code of the language that is spoken, and its probability."""
    language, probability, _ = model.detect_language(window.samples)
    return language, float(probability)


def recognize(
    model: "WhisperModel", window: Window, language: str, *, translate: bool = False
) -> Iterator[Segment]:
    """The segments of a window, with words unless they are translated.

    Where a text repeats itself, which may go on for the rest of the window, the window is heard again without
    repetitions: Whisper's own remedy is to draw words at random. What repeats itself even so is dropped.
    """
    found = _decoded(model, window, language, translate)
    if any(_repeats_itself(heard.text) for heard in found):
        found = _decoded(model, window, language, translate, no_repeat=NO_REPEAT)
    for heard in found:
        text = heard.text.strip()
        if text and not _repeats_itself(text):
            yield _segment(window, heard, text)


def _decoded(
    model: "WhisperModel", window: Window, language: str, translate: bool, no_repeat: int = 0
) -> list[Any]:
    """The segments of faster-whisper."""
    found, _ = model.transcribe(
        window.samples,
        language=language,
        task="translate" if translate else "transcribe",
        beam_size=BEAMS,
        temperature=0.0,  # no sampling: the same sound gives the same words
        no_repeat_ngram_size=no_repeat,
        condition_on_previous_text=False,
        word_timestamps=not translate,
    )
    return list(found)


def _repeats_itself(text: str) -> bool:
    encoded = text.encode()
    return len(encoded) > _REPEATS * len(zlib.compress(encoded))


def _segment(window: Window, heard: Any, text: str) -> Segment:
    """A segment of faster-whisper, with times of the source."""
    words = tuple(_word(window, word) for word in heard.words or ())
    if words:
        start_s, end_s = words[0].start_s, words[-1].end_s
    else:
        start_s = round(window.time_in_source(float(heard.start)), 3)
        end_s = round(window.time_in_source(float(heard.end), is_end=True), 3)
    probability = round(math.exp(min(heard.avg_logprob, 0.0)), 4)
    return Segment(
        start_s, max(end_s, start_s), text, probability, round(float(heard.no_speech_prob), 4), words
    )


def _word(window: Window, heard: Any) -> Word:
    start_s, end_s = window.word_in_source(float(heard.start), float(heard.end))
    return Word(round(start_s, 3), round(end_s, 3), heard.word.strip(), round(float(heard.probability), 4))
