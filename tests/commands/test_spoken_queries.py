"""`vidsum ground --query-audio`: a spoken question becomes a query."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pytest

from tests.program import Run
from tests.speech import stub
from tests.voices import write_wav
from vidsum.features.settings import Extraction
from vidsum.pipelines.speech import transcribe_query
from vidsum.results.moments import Grounding, Moment, QueryMoments

SCHEMA = json.loads(Path(__file__).parents[2].joinpath("vidsum/schemas/moments.schema.json").read_text())
ENGLISH = ("en", 0.99)


@pytest.fixture
def question(tmp_path: Path) -> Path:
    write_wav(np.full(3 * 16_000, 0.5), tmp_path / "question.wav")
    return tmp_path / "question.wav"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The queries that moments were planned for; none is looked for."""
    plans: list[Any] = []

    def plan(source: str, queries: Any, retrieval: Any, extraction: Any, **_: Any) -> Any:
        plans.append(queries)
        curve = np.zeros(2, np.float32)
        answers = [QueryMoments(text, (Moment(0.0, 1.0, 0.5),), curve, 0.5) for text in queries.texts]
        found = Grounding(queries.attach_spoken(answers), np.arange(2.0), 1.0, 2.0, "similarity", "vse")
        return SimpleNamespace(run=lambda progress: found, provenance={})

    monkeypatch.setattr("vidsum.pipelines.moments.plan_moments", plan)
    return plans


def test_what_is_said_is_asked_after_what_is_typed(
    run: Run, film: Path, question: Path, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch, text="a man chops wood", language=ENGLISH)
    Path("typed.txt").write_text("a cat\n")
    ran = run(
        "ground", film, "--query", "a dog", "--query-audio", question, "--queries", "typed.txt", "-o", "-"
    )
    assert asked[0].texts == ("a dog", "a man chops wood", "a cat")
    typed, spoken, _ = ran.json["queries"]
    assert "spoken" not in typed
    jsonschema.validate(spoken, {**SCHEMA["properties"]["queries"]["items"], "$defs": SCHEMA["$defs"]})
    assert (spoken["spoken"]["file"], spoken["spoken"]["language"]) == ("question.wav", "en")
    assert spoken["spoken"]["confidence"] == pytest.approx(0.9)
    assert "'a man chops wood' (90% sure)" in ran.err


def test_a_question_on_stdin(
    run: Run, film: Path, question: Path, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch, text="a man chops wood", language=ENGLISH)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(question.read_bytes())))
    run("ground", film, "--query-audio", "-", "-o", "-")
    assert asked[0].texts == ("a man chops wood",)


def test_spoken_query_translated(question: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = stub.install(monkeypatch, text="a man")
    transcript = transcribe_query(str(question), Extraction())
    assert model.tasks == [("transcribe", "de"), ("translate", "de")]
    assert (transcript.text, transcript.language, transcript.language_probability) == ("a man", "de", 0.97)


@pytest.mark.parametrize(
    "model", [{"probability": 0.3, "language": ENGLISH}, {"language": ("en", 0.3)}], ids=["words", "language"]
)
def test_unsure_speech_is_an_error_unless_forced(
    run: Run,
    film: Path,
    question: Path,
    asked: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    model: dict[str, Any],
) -> None:
    stub.install(monkeypatch, **model)
    ran = run("ground", film, "--query-audio", question, "-o", "-", code=3)
    assert asked == []
    assert "question.wav: not clear: 'word0 word1 word2'" in ran.err
    assert "VIDSUM_GROUND_FORCE=true" in ran.err
    run("ground", film, "--query-audio", question, "-o", "-", "--force")


def test_silence_is_no_query_and_ten_minutes_are_too_long(
    run: Run, film: Path, tmp_path: Path, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = stub.install(monkeypatch, text="a man", language=ENGLISH)
    write_wav(np.zeros(16_000), tmp_path / "silence.wav")
    silent = run("ground", film, "--query-audio", tmp_path / "silence.wav", "--force", code=3)
    assert "silence.wav: no speech" in silent.err
    write_wav(np.full(600 * 8_000, 0.5), tmp_path / "lecture.wav", 8_000)
    long = run("ground", film, "--query-audio", tmp_path / "lecture.wav", code=3)
    assert "lecture.wav: is 600 s long" in long.err
    assert model.tasks == []
