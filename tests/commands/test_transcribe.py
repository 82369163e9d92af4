"""`vidsum transcribe`."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.program import Run, check_schema
from tests.speech import stub
from tests.voices import write_wav


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> stub.StubModel:
    return stub.install(monkeypatch)


def test_a_transcript_is_written_and_stays(run: Run, film: Path, model: stub.StubModel) -> None:
    ran = run("transcribe", film)
    document = json.loads(Path("film_transcript.json").read_text())
    check_schema(document, "transcript")
    assert document["language"] == "de"
    assert document["segments"][0]["text"].startswith("word0 word1")
    assert "words" not in document["segments"][0]
    assert "word0" in ran.out
    assert "unchanged" in run("transcribe", film).out
    assert len(model.tasks) == 1


def test_words_are_not_lost_where_another_file_is_added(run: Run, film: Path, model: stub.StubModel) -> None:
    run("transcribe", film, "--words", "-o", "mine.json")
    before = json.loads(Path("mine.json").read_text())
    run("transcribe", film, "--format", "vtt", "-o", "mine.vtt")
    after = json.loads(Path("mine.json").read_text())
    assert set(after.pop("outputs")) == {"mine.vtt"}
    assert after == before
    assert "unchanged" in run("transcribe", film, "-o", "mine.json").out


@pytest.mark.parametrize(
    ("form", "start"), [("srt", "1\n00:00:0"), ("vtt", "WEBVTT\n"), ("txt", "word0 word1")]
)
def test_subtitles_and_text(run: Run, film: Path, model: stub.StubModel, form: str, start: str) -> None:
    run("transcribe", film, "--format", form)
    assert Path("film_transcript.json").exists()
    text = Path(f"film_transcript.{form}").read_text()
    assert text.startswith(start)
    assert run("transcribe", film, "--format", form, "-o", "-").out == text
    run("transcribe", film, "--format", form, "-o", f"mine.{form}")
    assert Path(f"mine.{form}").read_text() == text
    check_schema(json.loads(Path("mine.json").read_text()), "transcript")
    run("transcribe", film, "-o", f"ending.{form}")
    assert (Path(f"ending.{form}").read_text(), Path("ending.json").exists()) == (text, True)
    run("transcribe", film, "--format", form, "-o", "mine.mp4", code=2, error=f".{form} or .json")


def test_uncertain_speech(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.install(monkeypatch, probability=0.4)
    ran = run("transcribe", film, "--format", "srt", error="uncertain speech in 1 of 1 segments")
    assert Path("film_transcript.srt").read_text().endswith(" (?)\n")
    assert ran.out.count("(?)") == 1
    document = json.loads(Path("film_transcript.json").read_text())
    check_schema(document, "transcript")
    assert [segment["uncertain"] for segment in document["segments"]] == [True]


def test_silence_is_no_error(run: Run, tmp_path: Path, model: stub.StubModel) -> None:
    write_wav(np.zeros(16_000), tmp_path / "silence.wav")
    ran = run("transcribe", tmp_path / "silence.wav", error="no speech")
    assert "no segments" in ran.out
