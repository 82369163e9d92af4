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


def test_transcript_is_a_document_of_segments_without_words(
    run: Run, film: Path, model: stub.StubModel
) -> None:
    ran = run("transcribe", film)
    document = read_valid("film_transcript.json", "transcript")
    assert document["language"] == "de"
    assert document["segments"][0]["text"].startswith("word0 word1")
    assert "words" not in document["segments"][0]
    assert "word0" in ran.out


def test_transcript_on_stdout_is_json_where_no_format_is_chosen(
    run: Run, film: Path, model: stub.StubModel
) -> None:
    check_schema(run("transcribe", film, "-o", "-").json, "transcript")
    assert list(Path().iterdir()) == []


def test_transcript_is_up_to_date_in_a_second_run(run: Run, film: Path, model: stub.StubModel) -> None:
    run("transcribe", film)
    assert "unchanged" in run("transcribe", film).out
    assert len(model.tasks) == 1


def test_further_format_leaves_the_document_with_its_words(
    run: Run, film: Path, model: stub.StubModel
) -> None:
    run("transcribe", film, "--words", "-o", "mine.json")
    before = json.loads(Path("mine.json").read_text())
    run("transcribe", film, "--format", "vtt", "-o", "mine.vtt")
    after = json.loads(Path("mine.json").read_text())
    assert set(after.pop("outputs")) == {"mine.vtt"}
    assert {**after, "digest": None} == {**before, "digest": None}  # the digest is of `outputs`, too
    assert "unchanged" in run("transcribe", film, "-o", "mine.json").out


FORMS = pytest.mark.parametrize(
    ("form", "start"), [("srt", "1\n00:00:0"), ("vtt", "WEBVTT\n"), ("txt", "word0 word1")]
)


@FORMS
def test_subtitles_lie_beside_the_document(
    run: Run, film: Path, model: stub.StubModel, form: str, start: str
) -> None:
    run("transcribe", film, "--format", form)
    assert Path("film_transcript.json").exists()
    assert Path(f"film_transcript.{form}").read_text().startswith(start)


@FORMS
def test_subtitles_on_stdout_are_those_of_a_file(
    run: Run, film: Path, model: stub.StubModel, form: str, start: str
) -> None:
    run("transcribe", film, "--format", form, "-o", f"mine.{form}")
    assert run("transcribe", film, "--format", form, "-o", "-").out == Path(f"mine.{form}").read_text()
    check_schema(json.loads(Path("mine.json").read_text()), "transcript")


@FORMS
def test_ending_of_the_output_chooses_the_format(
    run: Run, film: Path, model: stub.StubModel, form: str, start: str
) -> None:
    run("transcribe", film, "-o", f"ending.{form}")
    assert Path(f"ending.{form}").read_text().startswith(start)
    assert Path("ending.json").exists()


def test_output_with_the_ending_of_another_format_is_refused(
    run: Run, film: Path, model: stub.StubModel
) -> None:
    run("transcribe", film, "--format", "srt", "-o", "mine.mp4", code=2, error=".srt or .json")


def test_film_without_sounds_that_are_known_has_no_events(
    run: Run, film_with_tone: Path, model: stub.StubModel
) -> None:
    document = run("transcribe", film_with_tone, "--events", "-o", "-").json
    check_schema(document, "transcript")
    assert document["events"] == []


@pytest.fixture
def music(film_with_tone: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A film whose tone counts as music."""
    monkeypatch.setattr("vidsum.evidence.audible.EVENTS", {"music": ("sine wave",)})
    return film_with_tone


def test_sounds_are_in_document_text_and_output_on_demand(
    run: Run, music: Path, model: stub.StubModel
) -> None:
    ran = run("transcribe", music, "--events", "--format", "txt")
    (event,) = read_valid("film_transcript.json", "transcript")["events"]
    assert (event["sound"], event["end_s"] > 9, 0.5 < event["probability"] < 1) == ("music", True, True)
    assert "[music]\n" in Path("film_transcript.txt").read_text()
    assert "[music]" in ran.out
    assert "events" not in run("transcribe", music, "-o", "-").json


def test_speech_is_recognized_once_with_and_without_sounds(
    run: Run, music: Path, model: stub.StubModel
) -> None:
    run("transcribe", music)
    run("transcribe", music, "--events")
    assert "unchanged" in run("transcribe", music, "--events").out
    assert len(model.tasks) == 1


@pytest.mark.shared
def test_applause_of_a_real_film_is_an_event(
    run: Run, shared_videos: Path, model: stub.StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.pipelines.transcribe.find_speech", lambda blocks: iter(()))
    applause = shared_videos / "wide" / "stage_hat.mp4"
    assert "[applause]" in run("transcribe", applause, "--events", "--format", "srt", "-o", "-").out


def test_uncertain_speech_is_marked_and_in_no_subtitles(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch, probability=0.4)
    ran = run("transcribe", film, "--format", "srt", error="uncertain speech in 1 of 1 segments")
    assert Path("film_transcript.srt").read_text() == ""
    assert "is uncertain throughout: subtitles, titles and searches leave it out" in ran.err
    assert ran.out.count("(?)") == 1
    document = read_valid("film_transcript.json", "transcript")
    assert [segment["uncertain"] for segment in document["segments"]] == [True]


def test_silence_has_no_segments_and_a_warning(run: Run, model: stub.StubModel, tmp_path: Path) -> None:
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


def test_spoken_and_typed_queries_are_searched_in_their_order(
    run: Run, film: Path, question: Path, requests: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch, text="a man chops wood", language=ENGLISH)
    Path("typed.txt").write_text("a cat\n")
    queries = ("--query", "a dog", "--query-audio", question, "--queries", "typed.txt")
    run("ground", film, *queries, "-o", "-")
    assert requests[0].texts == ("a dog", "a man chops wood", "a cat")


def test_spoken_query_is_recorded_with_its_file_language_and_confidence(
    run: Run, film: Path, question: Path, requests: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch, text="a man chops wood", language=ENGLISH)
    ran = run("ground", film, "--query", "a dog", "--query-audio", question, "-o", "-")
    typed, spoken = ran.json["queries"]
    assert "spoken" not in typed
    jsonschema.validate(spoken, {**SCHEMA["properties"]["queries"]["items"], "$defs": SCHEMA["$defs"]})
    assert (spoken["spoken"]["file"], spoken["spoken"]["language"]) == ("question.wav", "en")
    assert spoken["spoken"]["confidence"] == pytest.approx(0.9)
    assert "'a man chops wood' (90% sure)" in ran.err


def test_spoken_query_is_read_from_stdin(
    run: Run, film: Path, question: Path, requests: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch, text="a man chops wood", language=ENGLISH)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(question.read_bytes())))
    run("ground", film, "--query-audio", "-", "-o", "-")
    assert requests[0].texts == ("a man chops wood",)


def test_spoken_query_is_translated_into_english(
    question: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_unclear_spoken_query_is_refused(
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


@pytest.mark.parametrize(
    ("length", "rate", "level", "fault"),
    [(16_000, 16_000, 0.0, "no speech"), (600 * 8_000, 8_000, 0.5, "is 600 s long")],
    ids=["silent", "long"],
)
def test_silent_or_long_spoken_query_is_refused_before_it_is_recognized(
    run: Run,
    film: Path,
    tmp_path: Path,
    model: stub.StubModel,
    length: int,
    rate: int,
    level: float,
    fault: str,
) -> None:
    write_wav(np.full(length, level), tmp_path / "query.wav", rate)
    run("ground", film, "--query-audio", tmp_path / "query.wav", code=3, error=f"query.wav: {fault}")
    assert model.tasks == []


SRT_AND_VTT = ("--format", "srt", "--format", "vtt")


def test_each_of_several_formats_is_written_and_listed(run: Run, film: Path, model: stub.StubModel) -> None:
    run("transcribe", film, *SRT_AND_VTT, "--format", "json")
    names = {"film_transcript.json", "film_transcript.srt", "film_transcript.vtt"}
    assert {path.name for path in Path().iterdir()} == names
    listed = set(json.loads(Path("film_transcript.json").read_text())["outputs"])
    assert listed == names - {"film_transcript.json"}


def test_each_of_several_formats_is_as_it_is_alone(run: Run, film: Path, model: stub.StubModel) -> None:
    run("transcribe", film, *SRT_AND_VTT)
    for name in ("srt", "vtt"):
        alone = run("transcribe", film, "--format", name, "-o", "-").out
        assert Path(f"film_transcript.{name}").read_text() == alone


def test_several_transcript_formats_are_not_printed(run: Run, film: Path, model: stub.StubModel) -> None:
    run("transcribe", film, *SRT_AND_VTT, "-o", "-", code=2, error="prints one format")
