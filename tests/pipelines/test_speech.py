"""Transcripts of files, by a recognizer that needs no weights."""

from pathlib import Path

import numpy as np
import pytest

import vidsum
from docs.benchmarks.voices import write_wav
from tests import media
from tests.speech import stub
from vidsum import provenance
from vidsum.errors import InputError, UsageError
from vidsum.speech import cached


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> stub.StubModel:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    return stub.install(monkeypatch)


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """Sound from 100 to 104 s and from 130 to 136 s of 150 s."""
    samples = np.zeros(150 * 16_000, np.float32)
    for start_s, end_s in ((100, 104), (130, 136)):
        samples[start_s * 16_000 : end_s * 16_000] = 0.5
    write_wav(samples, tmp_path / "talk.wav")
    return tmp_path / "talk.wav"


def test_words_have_the_times_of_the_file(talk: Path, model: stub.StubModel) -> None:
    transcript = vidsum.transcribe(talk)
    assert transcript.duration_s == pytest.approx(150)
    assert [word.start_s for word in transcript.words] == pytest.approx(
        [100, 101, 102, 103, 130, 131, 132, 133, 134, 135], abs=0.01
    )
    assert (transcript.language, transcript.language_probability) == ("de", 0.97)
    assert model.tasks == [("transcribe", "de")]  # both pieces fit into one window
    assert transcript.confidence == pytest.approx(0.9)


def test_a_video_object_is_heard_and_probed(talk: Path, tmp_path: Path) -> None:
    expected = vidsum.transcribe(talk).segments
    assert vidsum.transcribe(vidsum.Video(talk)).segments == expected
    assert vidsum.Transcriber()(vidsum.Video(talk)).segments == expected
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


def test_a_transcript_of_another_precision_is_another(talk: Path, model: stub.StubModel) -> None:
    kept = [vidsum.transcribe(talk, device=device).provenance for device in ("auto", "cpu", "mps")]
    assert kept[0] == kept[1] == kept[2]
    assert len(model.tasks) == 1
    on_gpu = vidsum.transcribe(talk, device="cuda:0").provenance
    assert len(model.tasks) == 2
    assert "by Whisper in int8" in provenance.difference(kept[0], on_gpu)


def test_a_damaged_entry_of_the_cache_is_made_anew(talk: Path, model: stub.StubModel) -> None:
    first = vidsum.transcribe(talk)
    cached._path(first.provenance).write_text('{"segments": [{"text": 1}]}')
    assert vidsum.transcribe(talk).segments == first.segments
    assert len(model.tasks) == 2


def test_silence_has_no_segments_and_loads_no_language(tmp_path: Path, model: stub.StubModel) -> None:
    write_wav(np.zeros(16_000), tmp_path / "silence.wav")
    for _ in range(2):
        transcript = vidsum.transcribe(tmp_path / "silence.wav")
        assert (transcript.segments, transcript.language, transcript.confidence) == ((), None, 0)
        assert transcript.warnings == ("no speech found",)
    assert model.tasks == []


def test_text_that_repeats_itself_is_dropped(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.install(monkeypatch, text=20 * "thank you for watching ")
    assert vidsum.transcribe(talk).segments == ()


def test_what_cannot_be_heard_is_refused(talk: Path) -> None:
    with pytest.raises(UsageError, match="xx"):
        vidsum.transcribe(talk, "xx")
    with pytest.raises(InputError, match="no such file"):
        vidsum.transcribe(talk.with_name("none.wav"))
