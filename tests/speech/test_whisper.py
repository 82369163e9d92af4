"""Whisper itself, on recordings; needs its weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faster_whisper.transcribe import get_ctranslate2_storage

from tests.conftest import real_weights
from tests.voices import RATE, has_voices, speak, spoken, with_noise, write_wav
from vidsum import checkpoints
from vidsum.pipelines.transcribe import transcribe
from vidsum.results.transcript import Transcript
from vidsum.speech.recognize import LANGUAGES, load_recognizer

KENNEDY = (
    "and so my fellow americans ask not what your country can do for you ask what you can do for your country"
)


def plain(text: str) -> str:
    return " ".join("".join(letter for letter in text.lower() if letter.isalnum() or letter == " ").split())


@pytest.fixture(scope="module", autouse=True)
def weights() -> Path:
    return real_weights("whisper_base")


@pytest.mark.weights
def test_known_languages_are_the_tokenizers() -> None:
    tokens = load_recognizer("cpu").hf_tokenizer.get_vocab()
    known = {token[2:-2] for token in tokens if token.startswith("<|") and 2 <= len(token[2:-2]) <= 3}
    assert known == LANGUAGES


@pytest.fixture(scope="module")
def speech(shared: Path) -> Transcript:
    """A sentence by Kennedy, with a pause at 7.4 s."""
    return transcribe(shared / "speech" / "jfk.flac", cache=False)


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.shared
def test_whisper_recognizes_each_word(speech: Transcript) -> None:
    assert [plain(word.text) for word in speech.words] == KENNEDY.split()
    assert plain(speech.text) == KENNEDY


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.shared
def test_whisper_recognizes_the_language(speech: Transcript) -> None:
    assert speech.language == "en"


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.shared
def test_words_of_whisper_have_times_in_order(speech: Transcript) -> None:
    starts = [word.start_s for word in speech.words]
    assert starts == sorted(starts)
    times = {plain(word.text): word.start_s for word in speech.words}
    assert times["country"] == pytest.approx(9.9, abs=0.4)  # the last
    assert speech.words[15].start_s > 7.3


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.shared
def test_transcript_of_a_sound_file_has_no_video(speech: Transcript) -> None:
    assert speech.video is None


@pytest.mark.weights
def test_weights_are_of_whisper_base() -> None:
    assert checkpoints.sha256_of("whisper_base").startswith("d01c3014")


@pytest.mark.deep
@pytest.mark.weights
def test_voice_in_noise_is_recognized(sentence: np.ndarray, tmp_path: Path) -> None:
    write_wav(with_noise(sentence, 20, seed=0), tmp_path / "fox.wav")
    transcript = transcribe(tmp_path / "fox.wav", "en", cache=False)
    assert "fox jumps over the lazy dog" in plain(transcript.text)


@pytest.mark.deep
@pytest.mark.weights
def test_given_language_is_certain(sentence: np.ndarray, tmp_path: Path) -> None:
    write_wav(sentence, tmp_path / "fox.wav")
    assert transcribe(tmp_path / "fox.wav", "en", cache=False).language_probability == 1


@pytest.mark.deep
@pytest.mark.weights
def test_same_sound_gives_the_same_text(sentence: np.ndarray, tmp_path: Path) -> None:
    write_wav(with_noise(sentence, 20, seed=0), tmp_path / "fox.wav")
    first, second = (transcribe(tmp_path / "fox.wav", "en", cache=False) for _ in range(2))
    assert first.segments == second.segments


@pytest.mark.deep
@pytest.mark.weights
def test_text_that_repeats_itself_is_recognized_again(tmp_path: Path) -> None:
    if not has_voices(["espeak-ng:en-us"]):
        pytest.skip("espeak-ng is not installed")
    # the first sentence alone makes Whisper write "emmmmm" to the end of the window
    texts = [
        "A person examines the cups on the counter and notices how scratched they are.",
        "Woman shows the items in her purse.",
        "A group of people are sailing on a boat.",
        "a woman drinks a bottle of water",
        "Blonde woman shows off different outfits.",
    ]
    pause = np.zeros(RATE, np.float32)
    sound = np.concatenate([part for text in texts for part in (spoken(text, "espeak-ng:en-us"), pause)])
    write_wav(sound, tmp_path / "captions.wav")
    text = plain(transcribe(tmp_path / "captions.wav", "en", cache=False).text)
    assert "a group of people are sailing on a boat" in text
    assert "mmm" not in text


@pytest.mark.deep
@pytest.mark.weights
def test_window_is_encoded_once(
    sentence: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wav(sentence, tmp_path / "fox.wav")
    encoded = []

    def stored(features: np.ndarray) -> Any:
        encoded.append(features.shape)
        return get_ctranslate2_storage(features)

    monkeypatch.setattr("faster_whisper.transcribe.get_ctranslate2_storage", stored)
    assert "fox" in transcribe(tmp_path / "fox.wav", cache=False).text
    assert encoded == [(1, 80, 3000)]


@pytest.mark.deep
@pytest.mark.weights
def test_voices_without_words_have_no_text(sentence: np.ndarray, tmp_path: Path) -> None:
    backwards = np.tile(sentence[::-1], 4)
    crowd = sum(np.roll(backwards, number * RATE) for number in range(6)) / 3
    write_wav(crowd, tmp_path / "crowd.wav")
    transcript = transcribe(tmp_path / "crowd.wav", cache=False)
    assert transcript.segments == ()
    assert transcript.warnings == ("no speech found",)


@pytest.mark.deep
@pytest.mark.weights
def test_both_languages_of_a_film_are_recognized(tmp_path: Path) -> None:
    if not has_voices(["espeak-ng:de", "flite:slt"]):
        pytest.skip("espeak-ng is not installed")
    pause = np.zeros(RATE, np.float32)
    texts = [
        "The quick brown fox jumps over the lazy dog.",
        "A person examines the cups on the counter.",
        "Blonde woman shows the items in her purse.",
        "A group of people are sailing on a boat.",
        "A tall woman drinks a bottle of cold water.",
        "The children are playing in the green garden.",
        "He opens the window and looks at the street.",
        "Two men carry a heavy table up the stairs.",
    ]
    english = [part for text in texts for part in (spoken(text, "flite:slt"), pause)]
    german = spoken("Guten Morgen, meine Damen. Der Hund läuft durch den Schnee.", "espeak-ng:de")
    write_wav(np.concatenate([*english, *[german, pause] * 4]), tmp_path / "both.wav")
    transcript = transcribe(tmp_path / "both.wav", cache=False)
    assert {"en", "de"} <= set(transcript.languages)
    assert "Schnee" in transcript.text
    assert "to de at" in transcript.warnings[0]


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two German sentences."""
    if not has_voices(["espeak-ng:de"]):
        pytest.skip("espeak-ng is not installed")
    path = tmp_path_factory.mktemp("german") / "de.wav"
    speak("Guten Morgen, meine Damen. Der Hund läuft durch den Schnee.", "espeak-ng:de", path)
    return path


@pytest.mark.deep
@pytest.mark.weights
def test_german_is_recognized(german: Path) -> None:
    transcript = transcribe(german, cache=False)
    assert transcript.language == "de"
    assert "schnee" in transcript.text.lower()


@pytest.mark.deep
@pytest.mark.weights
def test_translation_is_english_without_times_of_words(german: Path) -> None:
    translated = transcribe(german, "de", translate=True, cache=False)
    assert translated.translated
    assert "morning" in translated.text.lower()
    assert translated.words == []
