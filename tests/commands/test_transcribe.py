"""`vidsum transcribe`."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests import media
from tests.commands.conftest import Run, check_schema
from tests.speech import stub
from tests.voices import write_wav


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> stub.StubModel:
    return stub.install(monkeypatch)


def test_a_transcript_is_written_and_stays(run: Run, film: Path, model: stub.StubModel) -> None:
    ran = run("transcribe", film)
    assert ran.code == 0, ran.err
    document = json.loads(Path("film_transcript.json").read_text())
    check_schema(document, "transcript")
    assert document["language"] == "de"
    assert document["segments"][0]["text"].startswith("word0 word1")
    assert "words" not in document["segments"][0]
    assert "word0" in ran.out
    assert "unchanged" in run("transcribe", film).out
    assert len(model.tasks) == 1


def test_words_are_written_where_asked_for(run: Run, film: Path, model: stub.StubModel) -> None:
    run("transcribe", film)
    document = run("transcribe", film, "--words", "--json", "-o", "-").json["data"]
    check_schema(document, "transcript")
    assert document["segments"][0]["words"][1]["text"] == "word1"


def test_words_are_not_lost_where_another_file_is_added(run: Run, film: Path, model: stub.StubModel) -> None:
    assert run("transcribe", film, "--words", "-o", "mine.json").code == 0
    before = json.loads(Path("mine.json").read_text())
    assert run("transcribe", film, "--format", "vtt", "-o", "mine.vtt").code == 0
    after = json.loads(Path("mine.json").read_text())
    assert set(after.pop("outputs")) == {"mine.vtt"}
    assert after == before
    assert "unchanged" in run("transcribe", film, "-o", "mine.json").out


@pytest.mark.parametrize(
    ("form", "start"), [("srt", "1\n00:00:0"), ("vtt", "WEBVTT\n"), ("txt", "word0 word1")]
)
def test_subtitles_and_text(run: Run, film: Path, model: stub.StubModel, form: str, start: str) -> None:
    assert run("transcribe", film, "--format", form).code == 0
    assert Path("film_transcript.json").exists()
    text = Path(f"film_transcript.{form}").read_text()
    assert text.startswith(start)
    assert run("transcribe", film, "--format", form, "-o", "-").out == text
    assert run("transcribe", film, "--format", form, "-o", f"mine.{form}").code == 0
    assert Path(f"mine.{form}").read_text() == text
    check_schema(json.loads(Path("mine.json").read_text()), "transcript")
    assert run("transcribe", film, "-o", f"ending.{form}").code == 0
    assert (Path(f"ending.{form}").read_text(), Path("ending.json").exists()) == (text, True)
    wrong = run("transcribe", film, "--format", form, "-o", "mine.mp4")
    assert (wrong.code, f".{form} or .json" in wrong.err) == (2, True)


def test_uncertain_speech_is_marked_and_counted(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch, probability=0.4)
    ran = run("transcribe", film, "--format", "srt")
    assert (ran.code, "uncertain speech in 1 of 1 segments" in ran.err) == (0, True)
    assert Path("film_transcript.srt").read_text().endswith(" (?)\n")
    assert ran.out.count("(?)") == 1
    document = json.loads(Path("film_transcript.json").read_text())
    check_schema(document, "transcript")
    assert [segment["uncertain"] for segment in document["segments"]] == [True]


def test_speech_is_translated(run: Run, film: Path, model: stub.StubModel) -> None:
    document = run("transcribe", film, "--language", "de", "--translate", "-o", "-").json
    assert (document["translated"], model.tasks) == (True, [("translate", "de")])


def test_silence_is_no_error(run: Run, tmp_path: Path, model: stub.StubModel) -> None:
    write_wav(np.zeros(16_000), tmp_path / "silence.wav")
    ran = run("transcribe", tmp_path / "silence.wav")
    assert (ran.code, "no segments" in ran.out) == (0, True)
    assert "no speech" in ran.err


def test_one_bad_file_does_not_stop_the_others(
    run: Run, film: Path, tmp_path: Path, model: stub.StubModel
) -> None:
    mute = media.make_video(tmp_path / "mute.mp4", n_frames=5).path
    ran = run("transcribe", mute, film, "--json")
    first, second = ran.json_lines
    assert ran.code == 1
    assert (first["ok"], first["exit_code"], first["errors"][0]["kind"]) == (False, 3, "InputError")
    assert "no sound" in first["errors"][0]["message"]
    assert second["ok"]


def test_damaged_sound_is_told_of(run: Run, film: Path, tmp_path: Path, model: stub.StubModel) -> None:
    media.cut_short(film, tmp_path / "cut.mp4", 0.1)
    ran = run("transcribe", tmp_path / "cut.mp4")
    assert (ran.code, ran.err.count("\n")) == (3, 1)


def test_an_unknown_language_is_wrong_usage(run: Run, film: Path, model: stub.StubModel) -> None:
    ran = run("transcribe", film, "--language", "klingon")
    assert (ran.code, "klingon" in ran.err) == (2, True)


def test_missing_weights_name_the_command_that_fetches_them(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    ran = run("transcribe", film)
    assert (ran.code, "vidsum weights pull whisper_base" in ran.err) == (4, True)
