"""A recognizer that needs no weights."""

from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vidsum.speech.voice import RATE


class StubModel:
    """Give one word per second of speech: `word0`, `word1` ..., or `text`; `probability` is of each word.

    `language` is that of speech, and its probability, or a function of a window's samples.
    """

    def __init__(
        self,
        probability: float = 0.9,
        text: str | None = None,
        language: tuple[str, float] | Callable[[np.ndarray], Mapping[str, float]] = ("de", 0.97),
        no_speech: float = 0.01,
    ) -> None:
        self.windows: list[int] = []
        self.tasks: list[tuple[str, str]] = []
        self.probability, self.text, self.language = probability, text, language
        self.no_speech, self.n_detected = no_speech, 0

    def feature_extractor(self, samples: np.ndarray) -> np.ndarray:
        return samples[None]

    def encode(self, features: np.ndarray) -> np.ndarray:
        return features

    def detect_language(self, *, features: np.ndarray) -> tuple[str, float, list[tuple[str, float]]]:
        self.n_detected += 1
        languages = self.language(features) if callable(self.language) else dict([self.language])
        (best, *_) = ranked = sorted(languages.items(), key=lambda pair: -pair[1])
        return *best, ranked

    def transcribe(self, samples: np.ndarray, **options: Any) -> tuple[Iterator[Any], None]:
        self.windows.append(len(samples))
        self.tasks.append((options["task"], options["language"]))
        seconds = max(1, len(samples) // 16_000)
        words = [
            SimpleNamespace(start=float(at), end=at + 0.5, word=f" word{at}", probability=self.probability)
            for at in range(seconds)
        ]
        segment = SimpleNamespace(
            start=0.0,
            end=seconds - 0.5,
            text=self.text or "".join(word.word for word in words),
            words=words if options["word_timestamps"] else None,
            avg_logprob=float(np.log(self.probability)),
            no_speech_prob=self.no_speech,
            compression_ratio=1.0,
            tokens=[0] * seconds,
            seek=0,
        )
        return iter([segment]), None


def install(monkeypatch: pytest.MonkeyPatch, **options: Any) -> StubModel:
    """Put a stub in the place of Whisper, to which all that is loud is speech."""
    model = StubModel(**options)
    monkeypatch.setattr("vidsum.pipelines.transcribe.load_recognizer", lambda device, progress=None: model)

    def loud(samples: np.ndarray, *limits: float) -> list[tuple[int, int]]:
        at = np.flatnonzero(np.abs(samples) > 0.01)
        return [(int(at[0]), min(int(at[-1]) + 1, int(at[0]) + 28 * RATE))] if len(at) else []

    monkeypatch.setattr("vidsum.speech.voice._detect", loud)
    return model
