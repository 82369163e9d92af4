"""`vidsum ground --in`: what is seen, what is said, or both."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests import media
from tests.grounding.colours import use_colours
from tests.program import Run, read_valid
from tests.speech import stub
from vidsum.results.load import load
from vidsum.results.moments import Grounding
from vidsum.video import open as opening

ASK = ("--device", "cpu", "-k", "2")


@pytest.fixture(autouse=True)
def model(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> stub.StubModel:
    """Queries are colours; to what is said, a query means what it has words in common with."""
    use_colours(monkeypatch)
    encoder = SimpleNamespace(
        encode=lambda texts: np.array([["word3" in text, 0.01] for text in texts], "f4")
    )
    for module in ("passages", "protocol"):
        monkeypatch.setattr(f"vidsum.evidence.{module}.load_text_encoder", lambda *_: encoder)
    return stub.install(monkeypatch, language=("en", 0.99))


def test_ground_not_in_speech(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run("ground", film, *ASK, "--query", "word3", "--query", "green", "--in", "speech")
    assert "'green': probably not said in this video" in ran.out
    assert "'word3'" not in ran.out
    monkeypatch.setattr("vidsum.pipelines.decoding.read_frames", None)
    ran = run("ground", film, *ASK, "--query", "word3", "--in", "speech", "--saliency")
    document = read_valid("film_moments.json", "moments")
    assert document["evidence"] == ["speech"]
    best = document["queries"][0]["moments"][0]
    assert best["evidence"] == "speech"
    assert best["start_s"] <= 3 < best["end_s"]
    assert document["queries"][0]["present"] is None
    assert "speech" in ran.out
    assert "unchanged" in run("ground", film, *ASK, "--query", "word3", "--in", "speech", "--saliency").out


def test_negation_in_pictures_alone(run: Run, film: Path) -> None:
    def warned(*queries: str) -> list[str]:
        texts = [part for query in queries for part in ("--query", query)]
        ran = run("ground", film, *ASK, *texts, "--json")
        return [text for text in ran.json["messages"] if "negation" in text]

    note = "negation is not understood; what to leave out is an option of its own"
    assert warned("not word3", "not green") == [f"'not word3', 'not green': {note}"]
    run("transcribe", film)  # so earlier queries are answered again
    assert warned("green") == []
    assert warned("not word3") == [f"'not word3': {note}"]  # pictures are first, though a word is spoken
    assert warned("word3 word4 word5 not") == []  # a quotation is first
    assert warned("green", "not green") == [f"'not green': {note}"]
    assert warned("red") == []
    document = json.loads(Path("film_moments.json").read_text())
    negated = [answer["query"] for answer in document["queries"] if answer.get("negated")]
    assert negated == ["not green", "not word3"]
    assert not [text for text in document["warnings"] if "negation" in text]


def test_seen_loses_nothing_in_both(run: Run, film: Path) -> None:
    seen = run("ground", film, *ASK, "--query", "green", "--in", "picture", "-o", "-").json
    both = run("ground", film, *ASK, "--query", "green", "--in", "both", "-o", "-").json
    moments, stored = both["queries"][0]["moments"], seen["queries"][0]["moments"]
    assert [{**moment, "score": 0} for moment in moments] == [
        {**moment, "score": 0, "evidence": "picture"} for moment in stored
    ]
    assert "evidence" not in seen
    quotation = ("--query", "word3 word4 word5")
    run("ground", film, *ASK, *quotation, "--query", "green", "--in", "both", "--plot", "--saliency")
    document = read_valid("film_moments.json", "moments")
    spoken, colour = document["queries"]
    assert [moment["evidence"] for moment in spoken["moments"]] == ["speech", "picture"]
    assert {moment["evidence"] for moment in colour["moments"]} == {"picture"}
    assert len(colour["said"]) == len(colour["saliency"])
    again = load("film_moments.json")
    assert isinstance(again, Grounding)
    assert (again.evidence, again.queries[0].moments[0].evidence) == (("picture", "speech"), "speech")
    assert again.to_dict()["queries"] == document["queries"]


def test_ground_uses_cached_transcripts(run: Run, film: Path, model: stub.StubModel) -> None:
    options = (*ASK, "--query", "green", "-o", "-")
    assert "evidence" not in run("ground", film, *options).json
    assert model.tasks == []
    run("transcribe", film)
    assert run("ground", film, *options).json["evidence"] == ["picture", "speech"]
    assert "evidence" not in run("ground", film, *options, "--in", "picture").json
    assert len(model.tasks) == 1


def test_ground_translates_speech(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = stub.install(monkeypatch)
    run("ground", film, *ASK, "--query", "word3", "--in", "speech", "-o", "-")
    assert [task for task, _ in model.tasks] == ["transcribe", "translate"]


def test_cached_silence_counts_as_searched(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.pipelines.transcribe.find_speech", lambda blocks: iter(()))
    run("transcribe", film)
    ran = run("ground", film, *ASK, "--query", "green")
    assert "not searched: text (--in text), sound (--in sound)" in ran.out
    document = json.loads(Path("film_moments.json").read_text())
    assert document["evidence"] == ["picture", "speech"]
    assert {moment["evidence"] for moment in document["queries"][0]["moments"]} == {"picture"}


def test_ground_after_transcribe(run: Run, film: Path, tmp_path: Path) -> None:
    options = (*ASK, "--query", "green")
    run("ground", film, *options)
    run("transcribe", film)
    run("ground", film, *options)
    assert json.loads(Path("film_moments.json").read_text())["evidence"] == ["picture", "speech"]
    assert "unchanged" in run("ground", film, *options).out
    run("ground", film, *options, "--in", "speech", "-o", "said.json")
    other = run("ground", film, *options, "--in", "both", "-o", "said.json")
    assert "unchanged" not in other.out
    mute = media.make_video(tmp_path / "mute.mp4", n_frames=60).path
    run("ground", mute, *ASK, "--query", "green", "--in", "speech", code=3, error="mute.mp4: has no sound")
    run("ground", mute, *ASK, "--query", "green", "-o", "-")


def test_earlier_queries_stay_when_speech_is_cached(run: Run, film: Path) -> None:
    run("ground", film, *ASK, "--query", "green")
    run("transcribe", film)
    assert "green" not in run("ground", film, *ASK, "--query", "word3").out
    document = json.loads(Path("film_moments.json").read_text())
    assert [query["query"] for query in document["queries"]] == ["green", "word3"]
    alone = run("ground", film, *ASK, "--query", "green", "-o", "-").json
    assert alone["queries"] == document["queries"][:1]
    assert "unchanged" in run("ground", film, *ASK, "--query", "green").out
    run("ground", film, *ASK, "--query", "word3", "--in", "speech")
    document = json.loads(Path("film_moments.json").read_text())
    assert [query["query"] for query in document["queries"]] == ["green", "word3"]
    assert document["evidence"] == ["speech"]


def test_a_video_is_probed_once(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probed: list[object] = []

    def counted(path: object, **options: object) -> object:
        probed.append(path)
        return opening.open_video(path, **options)

    monkeypatch.setattr("vidsum.video.probe.open_video", counted)
    run("ground", film, *ASK, "--query", "word3", "--in", "both", "--clips", "--plot")
    assert len(probed) == 1
    run("summarize", film, "--device", "cpu", "--snap", "speech", "--save-subtitles", "-o", "made.mp4")
    assert len(probed) == 1
