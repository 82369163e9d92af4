"""Transcripts of files, by a recognizer that needs no weights."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vidsum
from tests import media
from tests.program import check_schema
from tests.speech import stub
from tests.voices import write_wav
from vidsum.errors import InputError, UsageError
from vidsum.pipelines.transcribe import _doubt_alike
from vidsum.results.transcript import Segment, Transcript


@pytest.fixture(autouse=True)
def model(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> stub.StubModel:
    return stub.install(monkeypatch)


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """Sound from 100 to 104 s and from 130 to 136 s of 150 s."""
    samples = np.zeros(150 * 16_000, np.float32)
    for start_s, end_s in ((100, 104), (130, 136)):
        samples[start_s * 16_000 : end_s * 16_000] = 0.5
    write_wav(samples, tmp_path / "talk.wav")
    return tmp_path / "talk.wav"


def test_transcribe_times(talk: Path, model: stub.StubModel) -> None:
    transcript = vidsum.transcribe(talk)
    assert transcript.duration_s == pytest.approx(150)
    assert [word.start_s for word in transcript.words] == pytest.approx(
        [100, 101, 102, 103, 130, 131, 132, 133, 134, 135], abs=0.01
    )
    assert (transcript.language, transcript.language_probability) == ("de", 0.97)
    assert model.tasks == [("transcribe", "de")]  # both pieces fit into one window
    assert transcript.confidence == pytest.approx(0.9)


def test_transcribe_video_object(talk: Path, tmp_path: Path) -> None:
    expected = vidsum.transcribe(talk).segments
    assert vidsum.transcribe(vidsum.Video(talk)).segments == expected
    film = media.make_video(tmp_path / "film.mp4", n_frames=5).path
    assert vidsum.probe(vidsum.Video(film)) == vidsum.probe(film)
    with pytest.raises(UsageError, match="ndarray"):
        vidsum.transcribe(np.zeros(3))  # type: ignore[arg-type]


def test_a_file_is_heard_once(talk: Path, model: stub.StubModel) -> None:
    first = vidsum.transcribe(talk)
    moved = talk.rename(talk.with_name("renamed.wav"))
    assert vidsum.transcribe(moved).segments == first.segments
    assert len(model.tasks) == 1
    vidsum.transcribe(moved, cache=False)
    assert len(model.tasks) == 2
    vidsum.transcribe(moved, "fr")
    vidsum.transcribe(moved, "fr", translate=True)
    assert model.tasks[2:] == [("transcribe", "fr"), ("translate", "fr")]


def test_transcript_precision(talk: Path, model: stub.StubModel) -> None:
    stored = [vidsum.transcribe(talk, device=device).provenance for device in ("auto", "cpu", "mps")]
    assert stored[0] == stored[1] == stored[2]
    assert len(model.tasks) == 1
    on_gpu = vidsum.transcribe(talk, device="cuda:0").provenance
    assert len(model.tasks) == 2
    assert on_gpu != stored[0]


def test_transcript_cache_damage(talk: Path, model: stub.StubModel, tmp_path: Path) -> None:
    first = vidsum.transcribe(talk)
    (entry,) = (tmp_path / "home" / "transcript").iterdir()
    whole = entry.read_bytes()
    for damaged in (b"", whole[:-1], whole.replace(b"word1", b"word9")):
        entry.write_bytes(damaged)
        assert vidsum.transcribe(talk).segments == first.segments
        assert entry.read_bytes() == whole
    assert len(model.tasks) == 4


def test_transcript_rules(talk: Path, model: stub.StubModel, monkeypatch: pytest.MonkeyPatch) -> None:
    before = vidsum.transcribe(talk).provenance
    monkeypatch.setattr("vidsum.speech.recognize.MIN_CERTAIN_PROBABILITY", 0.1)
    now = vidsum.transcribe(talk).provenance
    assert len(model.tasks) == 2
    assert now != before


def test_uncertain_segments(talk: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stub.install(monkeypatch, probability=0.4)
    transcript = vidsum.transcribe(talk)
    assert [segment.uncertain for segment in transcript.segments] == [True, True]  # at the pause
    left_out = "uncertain throughout: subtitles, titles and searches leave it out"
    assert transcript.warnings == (
        "uncertain speech in 2 of 2 segments",
        f"the text from 1:40.00 to 2:15.50 is {left_out}",
    )
    assert vidsum.transcribe(talk).warnings == transcript.warnings  # from the cache
    vidsum.write_json(transcript, tmp_path / "talk.json")
    assert vidsum.load(tmp_path / "talk.json").segments == transcript.segments


@pytest.mark.parametrize(
    ("no_speech", "of_language", "n_segments"), [(0.7, 0.98, 2), (0.1, 0.2, 2), (0.5, 0.5, 0), (0.9, 0.2, 0)]
)
def test_transcribe_no_speech(
    talk: Path, monkeypatch: pytest.MonkeyPatch, no_speech: float, of_language: float, n_segments: int
) -> None:
    stub.install(monkeypatch, no_speech=no_speech, language=("nn", of_language))
    transcript = vidsum.transcribe(talk)
    assert len(transcript.segments) == n_segments
    if not n_segments:
        assert (transcript.language, transcript.warnings) == (None, ("no speech found",))


@pytest.fixture
def two_languages(tmp_path: Path) -> Path:
    """20 s in a low voice, then 25 in a loud one."""
    samples = np.zeros(80 * 16_000, np.float32)
    samples[: 20 * 16_000], samples[40 * 16_000 : 65 * 16_000] = 0.2, 0.6
    write_wav(samples, tmp_path / "interview.wav")
    return tmp_path / "interview.wav"


def of_volume(samples: np.ndarray) -> dict[str, float]:
    """English is loud."""
    return {"de": 0.05, "en": 0.9} if samples.max() > 0.4 else {"de": 0.8, "en": 0.1}


def test_language_of_each_window(two_languages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = stub.install(monkeypatch, language=of_volume)
    transcript = vidsum.transcribe(two_languages)
    assert model.tasks == [("transcribe", "de"), ("transcribe", "en")]
    assert (transcript.language, transcript.language_probability) == ("en", 0.9)  # spoken the longest
    assert [segment.language for segment in transcript.segments] == ["de", None]
    assert transcript.languages == ["de", "en"]
    assert transcript.warnings == ("the language changes: de to en at 0:40.00",)
    data = transcript.to_dict()
    check_schema(data, "transcript")
    assert [segment.get("language") for segment in data["segments"]] == ["de", None]
    translated = vidsum.transcribe(two_languages, translate=True)
    assert model.tasks[2:] == [("translate", "de"), ("transcribe", "en")]
    assert [bool(segment.words) for segment in translated.segments] == [False, True]


def test_named_language(two_languages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = stub.install(monkeypatch, language=of_volume)
    assert vidsum.transcribe(two_languages, "fr").warnings == ()
    assert {language for _, language in model.tasks} == {"fr"}


def test_similar_languages(two_languages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def similar(samples: np.ndarray) -> dict[str, float]:
        return {"it": 0.5, "es": 0.3} if samples.max() > 0.4 else {"it": 0.1, "es": 0.8}

    model = stub.install(monkeypatch, language=similar)
    assert 0.3 < (vidsum.transcribe(two_languages).language_probability or 0) < 0.8
    assert {language for _, language in model.tasks} == {"es"}


def test_transcribe_silence(tmp_path: Path, model: stub.StubModel) -> None:
    write_wav(np.zeros(16_000), tmp_path / "silence.wav")
    for _ in range(2):
        transcript = vidsum.transcribe(tmp_path / "silence.wav")
        assert (transcript.segments, transcript.language, transcript.confidence) == ((), None, 0)
        assert transcript.warnings == ("no speech found",)
    assert model.tasks == []


@pytest.mark.parametrize(("no_speech", "n_segments"), [(0.2, 32), (0.7, 0)])
def test_transcribe_repeated_segments(
    talk: Path, monkeypatch: pytest.MonkeyPatch, no_speech: float, n_segments: int
) -> None:
    class Yeah(stub.StubModel):
        """Hears the same word again and again, in a segment of its own each time."""

        def transcribe(self, samples: np.ndarray, **options: Any) -> tuple[Iterator[Any], None]:
            result, _ = super().transcribe(samples, **options)
            (segment,) = result
            return iter([segment] * 16), None

    model = Yeah(text=" Yeah.", no_speech=no_speech)
    monkeypatch.setattr("vidsum.pipelines.transcribe.load_recognizer", lambda device, progress=None: model)
    assert len(vidsum.transcribe(talk).segments) == n_segments


def test_transcribe_repeated_text(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.install(monkeypatch, text=20 * "thank you for watching ")
    assert vidsum.transcribe(talk).segments == ()


def test_transcribe_errors(talk: Path) -> None:
    with pytest.raises(UsageError, match="xx"):
        vidsum.transcribe(talk, "xx")
    with pytest.raises(InputError, match="no such file"):
        vidsum.transcribe(talk.with_name("none.wav"))


def test_a_translation_is_as_uncertain_as_what_it_translates() -> None:
    def spoken(*uncertain: bool) -> Transcript:
        parts = [
            Segment(5.0 * n, 5.0 * n + 5, "text", 0.9, 0.0, (), is_uncertain)
            for n, is_uncertain in enumerate(uncertain)
        ]
        return Transcript(tuple(parts), "de", 1.0, 30.0)

    translated = _doubt_alike(spoken(*[False] * 5), spoken(False, True, True, True, False))
    assert [part.uncertain for part in translated.segments] == [False, True, True, True, False]
