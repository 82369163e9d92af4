"""Where Whisper is lost, by a model that does as a test says: it stops, and says where."""

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.speech.stub import StubModel
from vidsum.results.transcript import Segment, Word
from vidsum.speech.guards import MAX_PASSES, MAX_TOKENS, is_repetitive, join_repeated
from vidsum.speech.recognize import Recognized, transcribe_windows
from vidsum.speech.voice import RATE, SpeechPiece, Window

WINDOW = Window((SpeechPiece(10.0, np.zeros(30 * RATE, np.float32)),))


class Script(StubModel):
    """Gives the segments of a script, a run of the decoder for each; others where nothing may repeat."""

    def __init__(
        self, *runs: dict[str, Any], again: Sequence[dict[str, Any]] = (), probability: float = 0.9
    ) -> None:
        super().__init__(language=("en", probability))
        self.runs, self.again, self.n_runs = runs, again, list[int]()

    def transcribe(self, samples: np.ndarray, **options: Any) -> tuple[Iterator[Any], None]:
        runs = self.again if options["no_repeat_ngram_size"] else self.runs
        self.n_runs.append(0)

        def segments() -> Iterator[Any]:
            for number, run in enumerate(runs):
                self.encode(samples)
                self.n_runs[-1] += 1
                yield made(number, **run)

        return segments(), None


def made(
    number: int,
    text: str = " So it goes",
    ratio: float = 1.5,
    log_probability: float = -0.2,
    word_s: float = 0.5,
    tokens: int = 20,
    no_speech: float = 0.1,
    sure: float = 0.9,
) -> Any:
    """A segment of 5 s, whose words take `word_s` each."""
    starts = 5.0 * number + 1.0 * np.arange(len(text.split()))
    words = [
        SimpleNamespace(start=start, end=start + word_s, word=f" {word}", probability=sure)
        for start, word in zip(starts.tolist(), text.split(), strict=True)
    ]
    return SimpleNamespace(
        start=5.0 * number,
        end=5.0 * number + 4,
        text=text,
        words=words,
        avg_logprob=log_probability,
        no_speech_prob=no_speech,
        compression_ratio=ratio,
        tokens=[0] * tokens,
        seek=500 * number,
    )


def recognize(model: StubModel, language: str | None = None) -> Recognized:
    return transcribe_windows(model, [WINDOW], language, translate=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "lost", [{"ratio": 2.5}, {"log_probability": -1.1}, {"word_s": 0.0}], ids=["loop", "guess", "no length"]
)
def test_window_ends_where_whisper_is_lost(lost: dict[str, Any]) -> None:
    model = Script({}, lost, {}, again=[{}, lost, {}])
    recognized = recognize(model)
    assert [segment.start_s for segment in recognized.segments] == [10.0]
    assert recognized.stopped == ((15.0, 40.0),)
    assert set(model.n_runs) == {2}


def test_improbable_text_of_a_translation_is_no_guess() -> None:
    model: Any = Script({}, {"log_probability": -1.1}, {})
    recognized = transcribe_windows(model, [WINDOW], "de", translate=True)
    assert len(recognized.segments) == 3


def test_word_without_length_alone_is_no_sign_that_whisper_is_lost() -> None:
    recognized = recognize(Script({}, {"text": " so", "word_s": 0.0}, {}))
    assert [segment.start_s for segment in recognized.segments] == [10.0, 20.0]


def test_loop_is_done_again_without_repetitions() -> None:
    recognized = recognize(Script({"ratio": 9.0}, again=[{"text": " So it went on"}, {}]))
    assert [segment.text for segment in recognized.segments] == ["So it went on", "So it goes"]
    assert recognized.stopped == ()


def test_loop_in_a_language_that_is_a_guess_is_not_done_again() -> None:
    model = Script({"ratio": 9.0}, again=[{}], probability=0.3)
    recognized = recognize(model)
    assert (recognized.segments, recognized.language, recognized.probability) == ((), "en", 0.3)
    assert recognized.stopped == ((10.0, 40.0),)
    assert model.n_runs == [1]


def test_loop_in_a_language_that_is_given_is_done_again() -> None:
    model = Script({"ratio": 9.0}, again=[{}], probability=0.3)
    assert recognize(model, "en").segments


def test_loop_over_no_speech_is_nothing() -> None:
    model = Script({"ratio": 9.0, "no_speech": 0.7}, again=[{"ratio": 9.0, "no_speech": 0.7}])
    recognized = recognize(model)
    assert (recognized.segments, recognized.language, recognized.stopped) == ((), None, ())


def test_runs_of_a_window_are_bounded() -> None:
    model = Script(*[{"text": f" So it goes {number}"} for number in range(50)])
    recognize(model)
    assert model.n_runs == [MAX_PASSES]


def test_encoder_is_not_counted_outside_a_window() -> None:
    model = Script({})
    recognize(model)
    for _ in range(MAX_PASSES + 1):
        model.encode(np.zeros(1, np.float32))


def test_tokens_of_a_window_are_bounded() -> None:
    model = Script(*[{"tokens": MAX_TOKENS // 2}] * 50)
    recognize(model)
    assert model.n_runs == [3]


def test_segment_without_length_is_left_out() -> None:
    recognized = recognize(Script({"text": " So", "word_s": 0.0}, {}))
    assert [segment.text for segment in recognized.segments] == ["So it goes"]


def test_all_of_a_window_is_uncertain_where_most_is() -> None:
    recognized = recognize(Script({"sure": 0.3}, {"sure": 0.7}, {"sure": 0.3}))
    assert [segment.uncertain for segment in recognized.segments] == [True] * 3


def segment(*words: tuple[float, float, str]) -> Segment:
    said = tuple(Word(*word, 0.9) for word in words)
    return Segment(said[0].start_s, said[-1].end_s, " ".join(word.text for word in said), 0.9, 0.0, said)


def test_word_at_the_edge_of_two_windows_is_one_word() -> None:
    before, after = segment((0, 1, "In"), (1, 1.5, "time.")), segment((1.6, 1.8, "Time."), (2, 3, "Then"))
    first, second = join_repeated(before, after)
    spoken = [(word.text, word.start_s, word.end_s) for word in first.words]
    assert spoken == [("In", 0, 1), ("time.", 1, 1.8)]
    assert (first.text, first.end_s, second.text, second.start_s) == ("In time.", 1.8, "Then", 2)


def test_segment_of_a_repeated_word_alone_is_left_out() -> None:
    before = segment((0, 1, "In"), (1, 1.5, "time."))
    (only,) = join_repeated(before, segment((1.6, 1.8, "time.")))
    assert (only.text, only.end_s) == ("In time.", 1.8)


@pytest.mark.parametrize(("last", "first"), [("time", "Time."), ("time.", "time")])
def test_repeated_word_keeps_its_punctuation(last: str, first: str) -> None:
    (only,) = join_repeated(segment((1, 1.5, last)), segment((1.6, 1.8, first)))
    assert only.text == max(last, first, key=len)


@pytest.mark.parametrize(("start_s", "text"), [(1.8, "time."), (1.6, "times"), (1.6, "--")])
def test_other_words_at_an_edge_stay(start_s: float, text: str) -> None:
    both = [segment((1, 1.5, "time.")), segment((start_s, start_s + 0.2, text))]
    assert join_repeated(*both) == both


def test_windows_have_a_word_at_their_edge_once() -> None:
    windows = [Window((SpeechPiece(at, np.zeros(RATE, np.float32)),)) for at in (0.0, 1.0)]

    class Twice(StubModel):
        def transcribe(self, samples: np.ndarray, **options: Any) -> tuple[Iterator[Any], None]:
            return iter([made(0, text=" time.", word_s=1.0)]), None

    recognized = transcribe_windows(Twice(), windows, None, translate=False)  # type: ignore[arg-type]
    assert [(part.text, part.start_s, part.end_s) for part in recognized.segments] == [("time.", 0.0, 2.0)]


@pytest.mark.parametrize(
    ("text", "is_loop"),
    [
        ("And so, my fellow Americans, ask not what your country can do for you.", False),
        ("A person examines the cups on the counter and notices how scratched they are.", False),
        ("Yes. Yes.", False),
        ("A person e" + 220 * "m", True),
        (12 * "Thank you for watching. ", True),
    ],
)
def test_loop_is_told_from_speech(text: str, is_loop: bool) -> None:
    assert is_repetitive(text) == is_loop


def rest_of(length_s: float, **run: Any) -> tuple[Recognized, Script]:
    """A window whose text ends with its first piece, before a second one, which has a text by itself."""

    class EndsEarly(Script):
        def transcribe(self, samples: np.ndarray, **options: Any) -> tuple[Iterator[Any], None]:
            self.runs = ({},) if len(samples) > 5 * RATE else (run,)
            return super().transcribe(samples, **options)

    pieces = SpeechPiece(10.0, seconds(6)), SpeechPiece(20.0, seconds(length_s))
    model: Any = EndsEarly()
    return transcribe_windows(model, [Window(pieces)], None, translate=False), model


def seconds(length_s: float) -> np.ndarray:
    return np.zeros(round(length_s * RATE), np.float32)


def test_speech_after_the_text_of_a_window_is_transcribed_by_itself() -> None:
    recognized, _ = rest_of(4, text=" And on")
    assert [(segment.start_s, segment.text) for segment in recognized.segments] == [
        (10.0, "So it goes"),
        (20.0, "And on"),
    ]


def test_short_sound_after_the_text_of_a_window_is_left() -> None:
    recognized, model = rest_of(1, text=" And on")
    assert [segment.text for segment in recognized.segments] == ["So it goes"]
    assert model.n_runs == [1]


def test_rest_of_a_window_that_is_no_speech_is_left() -> None:
    recognized, _ = rest_of(4, text=" Thank you", no_speech=0.7, log_probability=-1.2)
    assert [segment.text for segment in recognized.segments] == ["So it goes"]
    assert recognized.stopped == ()


def test_whisper_lost_in_the_rest_of_a_window_is_named() -> None:
    recognized, _ = rest_of(4, log_probability=-1.2)
    assert recognized.stopped == ((20.0, 24.0),)
