"""`vidsum transcribe`, and spoken queries of `vidsum ground --query-audio`."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest

from tests.program import Run, check_schema, read_valid
from tests.speech import stub
from tests.voices import write_wav
from vidsum.features.settings import Extraction
from vidsum.pipelines.transcribe import transcribe_query
from vidsum.results.moments import Grounding, Moment, QueryMoments


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> stub.StubModel:
    return stub.install(monkeypatch)


def test_transcribe_writes_json(run: Run, film: Path, model: stub.StubModel) -> None:
    ran = run("transcribe", film)
    document = read_valid("film_transcript.json", "transcript")
    assert document["language"] == "de"
    assert document["segments"][0]["text"].startswith("word0 word1")
    assert "words" not in document["segments"][0]
    assert "word0" in ran.out
    assert "unchanged" in run("transcribe", film).out
    assert len(model.tasks) == 1
    run("transcribe", film, "--words", "-o", "mine.json")
    before = json.loads(Path("mine.json").read_text())
    run("transcribe", film, "--format", "vtt", "-o", "mine.vtt")
    after = json.loads(Path("mine.json").read_text())
    assert set(after.pop("outputs")) == {"mine.vtt"}
    assert {**after, "digest": None} == {**before, "digest": None}  # the digest is of `outputs`, too
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


def test_events(
    run: Run, film_with_tone: Path, model: stub.StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    film = film_with_tone
    run("transcribe", film)
    none = run("transcribe", film, "--events", "-o", "-").json
    check_schema(none, "transcript")
    assert none["events"] == []
    monkeypatch.setattr("vidsum.evidence.audible.EVENTS", {"music": ("sine wave",)})  # of the film
    ran = run("transcribe", film, "--events", "--format", "txt")
    document = read_valid("film_transcript.json", "transcript")
    (event,) = document["events"]
    assert (event["sound"], event["end_s"] > 9, 0.5 < event["probability"] < 1) == ("music", True, True)
    assert "[music]\n" in Path("film_transcript.txt").read_text()
    assert "[music]" in ran.out
    assert "unchanged" in run("transcribe", film, "--events").out
    assert "events" not in run("transcribe", film, "-o", "-").json
    assert len(model.tasks) == 1


@pytest.mark.shared
def test_real_events(
    run: Run, shared_videos: Path, model: stub.StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.pipelines.transcribe.find_speech", lambda blocks: iter(()))
    applause = shared_videos / "wide" / "stage_hat.mp4"
    assert "[applause]" in run("transcribe", applause, "--events", "--format", "srt", "-o", "-").out


def test_uncertain_speech(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stub.install(monkeypatch, probability=0.4)
    ran = run("transcribe", film, "--format", "srt", error="uncertain speech in 1 of 1 segments")
    assert Path("film_transcript.srt").read_text() == ""
    assert "is uncertain throughout: subtitles, titles and searches leave it out" in ran.err
    assert ran.out.count("(?)") == 1
    document = read_valid("film_transcript.json", "transcript")
    assert [segment["uncertain"] for segment in document["segments"]] == [True]
    write_wav(np.zeros(16_000), tmp_path / "silence.wav")
    ran = run("transcribe", tmp_path / "silence.wav", error="no speech")
    assert "no segments" in ran.out


SCHEMA = json.loads(Path(__file__).parents[2].joinpath("vidsum/schemas/moments.schema.json").read_text())
ENGLISH = ("en", 0.99)


@pytest.fixture
def question(tmp_path: Path) -> Path:
    write_wav(np.full(3 * 16_000, 0.5), tmp_path / "question.wav")
    return tmp_path / "question.wav"


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The queries that moments were planned for; none is looked for."""
    plans: list[Any] = []

    def plan(source: str, queries: Any, retrieval: Any, extraction: Any, **_: Any) -> Any:
        plans.append(queries)
        curve = np.zeros(2, np.float32)
        answers = [QueryMoments(text, (Moment(0.0, 1.0, 0.5),), curve, 0.5) for text in queries.texts]
        result = Grounding(queries.attach_spoken(answers), np.arange(2.0), 1.0, 2.0, "similarity", "vse")
        return SimpleNamespace(run=lambda progress: result, provenance={})

    monkeypatch.setattr("vidsum.pipelines.ground.plan_moments", plan)
    return plans


def test_spoken_and_typed_queries(
    run: Run, film: Path, question: Path, requests: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch, text="a man chops wood", language=ENGLISH)
    Path("typed.txt").write_text("a cat\n")
    queries = ("--query", "a dog", "--query-audio", question, "--queries", "typed.txt")
    ran = run("ground", film, *queries, "-o", "-")
    assert requests[0].texts == ("a dog", "a man chops wood", "a cat")
    typed, spoken, _ = ran.json["queries"]
    assert "spoken" not in typed
    jsonschema.validate(spoken, {**SCHEMA["properties"]["queries"]["items"], "$defs": SCHEMA["$defs"]})
    assert (spoken["spoken"]["file"], spoken["spoken"]["language"]) == ("question.wav", "en")
    assert spoken["spoken"]["confidence"] == pytest.approx(0.9)
    assert "'a man chops wood' (90% sure)" in ran.err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(question.read_bytes())))
    run("ground", film, "--query-audio", "-", "-o", "-")
    assert requests[1].texts == ("a man chops wood",)


def test_spoken_query_translated(question: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = stub.install(monkeypatch, text="a man")
    transcript = transcribe_query(str(question), Extraction())
    assert model.tasks == [("transcribe", "de"), ("translate", "de")]
    assert (transcript.text, transcript.language, transcript.language_probability) == ("a man", "de", 0.97)


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ({"probability": 0.3, "language": ENGLISH}, "question.wav: no speech found"),  # Whisper only guesses
        ({"language": ("en", 0.3)}, "question.wav: not clear: 'word0 word1 word2'"),
    ],
    ids=["words", "language"],
)
def test_unclear_spoken_query(
    run: Run,
    film: Path,
    question: Path,
    requests: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    model: Any,
    fault: str,
) -> None:
    stub.install(monkeypatch, **model)
    run("ground", film, "--query-audio", question, "-o", "-", code=3, error=(fault, "--query TEXT"))
    assert requests == []


def test_silent_and_long_spoken_queries(
    run: Run, film: Path, tmp_path: Path, requests: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = stub.install(monkeypatch, text="a man", language=ENGLISH)
    write_wav(np.zeros(16_000), tmp_path / "silence.wav")
    run("ground", film, "--query-audio", tmp_path / "silence.wav", code=3, error="silence.wav: no speech")
    write_wav(np.full(600 * 8_000, 0.5), tmp_path / "lecture.wav", 8_000)
    run("ground", film, "--query-audio", tmp_path / "lecture.wav", code=3, error="lecture.wav: is 600 s long")
    assert model.tasks == []


def test_each_format_is_written(run: Run, film: Path, model: stub.StubModel) -> None:
    run("transcribe", film, "--format", "srt", "--format", "vtt", "--format", "json")
    names = {"film_transcript.json", "film_transcript.srt", "film_transcript.vtt"}
    assert {path.name for path in Path().iterdir()} == names
    assert set(json.loads(Path("film_transcript.json").read_text())["outputs"]) == names - {
        "film_transcript.json"
    }
    for name in ("srt", "vtt"):
        alone = run("transcribe", film, "--format", name, "-o", "-").out
        assert Path(f"film_transcript.{name}").read_text() == alone
    run(
        "transcribe", film, "--format", "srt", "--format", "vtt", "-o", "-", code=2, error="prints one format"
    )
