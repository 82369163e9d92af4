"""Summaries of videos in which somebody speaks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vidsum
from tests.program import Run
from tests.speech import stub
from vidsum.pipelines.speech_evidence import cut_subtitles
from vidsum.results.cues import make_cues
from vidsum.results.transcript import Segment, Transcript, Word


@pytest.fixture(autouse=True)
def model(loads: list[str], monkeypatch: pytest.MonkeyPatch) -> stub.StubModel:
    """Ten words that begin with each second and last for half of it."""
    return stub.install(monkeypatch, language=("en", 0.99))


def cut_words(segments: tuple[tuple[float, float], ...], transcript: Transcript) -> list[str]:
    edges = [edge for segment in segments for edge in segment]
    return [word.text for word in transcript.words if any(word.start_s < edge < word.end_s for edge in edges)]


def test_snap_to_words(film: Path, model: stub.StubModel, run: Run) -> None:
    options = {"budget": "22%", "model": "uniform", "shots": "uniform", "max_shot_s": 1.3}
    plain = vidsum.summarize(film, **options)
    assert model.tasks == []
    transcript = vidsum.transcribe(film)
    assert cut_words(plain.segments, transcript)
    snapped = vidsum.summarize(film, **options)
    assert cut_words(snapped.segments, transcript) == []
    assert snapped.duration_s <= snapped.budget_s + 1e-6
    assert snapped.provenance != plain.provenance
    assert vidsum.summarize(film, **options, snap="none").segments == plain.segments
    assert len(model.tasks) == 1
    saving = ("--model", "uniform", "--budget", "30%", "--save-subtitles")
    run("summarize", film, *saving)
    text = Path("film_summary.srt").read_text()
    assert text.startswith("1\n00:00:00,")
    assert "word" in text
    assert Path("film_summary.mp4").exists()
    assert (
        "(unchanged)"
        in run("summarize", film, "--model", "uniform", "--budget", "30%", "--save-subtitles").out
    )


def test_cut_subtitles() -> None:
    words = tuple(Word(at, at + 0.5, f"w{at:.0f}", 0.9) for at in np.arange(10.0).tolist())
    transcript = Transcript((Segment(0, 9.5, "all", 0.9, 0.0, words),), "en", 1.0, 10.0)
    cut = cut_subtitles(transcript, [(2.0, 4.0), (5.0, 5.0), (7.0, 8.0)])
    assert [(word.text, word.start_s, word.end_s) for word in cut] == [
        (" w2", 0.0, 0.5),
        (" w3", 1.0, 1.5),
        (" w7", 2.0, 2.5),
    ]
    assert [cue.text for cue in make_cues(cut)] == ["w2 w3", "w7"]
    assert [cue.text for cue in make_cues([replace(word, ends_cue=False) for word in cut])] == ["w2 w3 w7"]
    without = Transcript((Segment(3, 8, "all", 0.9, 0.0),), "de", 1.0, 10.0, translated=True)
    subtitles = cut_subtitles(without, [(2.0, 4.0), (7.0, 9.0)])
    assert [(item.start_s, item.end_s) for item in subtitles] == [(1, 2), (2, 3)]


def test_cut_subtitles_keep_hyphens() -> None:
    """Whisper begins a word with the hyphen that joins it to the one before."""
    words = tuple(Word(at, at + 0.5, text, 0.9) for at, text in enumerate(("a", "three", "-week", "holiday")))
    transcript = Transcript((Segment(0, 4, "a three-week holiday", 0.9, 0.0, words),), "en", 1.0, 10.0)
    (cue,) = make_cues(cut_subtitles(transcript, [(1.0, 4.0)]))
    assert cue.text == "three-week holiday"


def test_subtitles_of_silence(film: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    monkeypatch.setattr("vidsum.speech.voice._detect", lambda *_: [])
    ran = run("summarize", film, "--model", "uniform", "--budget", "30%", "--save-subtitles")
    assert Path("film_summary.srt").read_text() == ""
    assert "film.mp4: nothing is said in the summary: its subtitles are empty" in ran.err
