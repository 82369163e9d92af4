"""`--subtitles`: what people wrote is the transcript of the commands that use speech."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import vidsum
from tests import media
from tests.commands.conftest import copies
from tests.grounding.colours import use_colours
from tests.program import Run, read_valid
from tests.speech import stub
from vidsum.times import to_srt, to_vtt

CUES = [(1.0, 2.8, "The green lamp"), (2.9, 4.6, "is on word3."), (6.0, 8.4, "Nothing else.")]
ASK = ("--device", "cpu", "-k", "2", "--query", "word3")


@pytest.fixture
def model(own_home: Path, loads: list[str], monkeypatch: pytest.MonkeyPatch) -> stub.StubModel:
    return stub.install(monkeypatch, language=("en", 0.99))


def write(path: str, cues: list[tuple[float, float, str]] = CUES) -> Path:
    Path(path).write_text(to_vtt(cues) if path.endswith("vtt") else to_srt(cues))
    return Path(path)


def test_summaries_do_not_cut_cues(film: Path, model: stub.StubModel, run: Run) -> None:
    options = ("--model", "uniform", "--budget", "4s")
    run("summarize", film, *options, "-o", "plain.json")
    said = write("said.srt")
    run("summarize", film, *options, "--subtitles", said, "-o", "told.json")
    document = read_valid("told.json", "summary")
    assert document["provenance"]["summary"]["speech"]["subtitles"] == "said.srt"
    edges = [edge for part in document["segments"] for edge in (part["start_s"], part["end_s"])]
    assert not [edge for edge in edges for low, high, _ in CUES if low + 0.1 < edge < high - 0.1]
    assert edges != [
        edge
        for part in read_valid("plain.json", "summary")["segments"]
        for edge in (part["start_s"], part["end_s"])
    ]
    assert model.tasks == []


def test_summary_subtitles_are_of_the_chosen_ones(film: Path, model: stub.StubModel, run: Run) -> None:
    run("summarize", film, "--subtitles", write("said.vtt"), "--save-subtitles", "--budget", "90%")
    assert "is on word3." in Path("film_summary.srt").read_text()
    assert model.tasks == []


def test_snap_none_reads_no_subtitles(film: Path, model: stub.StubModel, run: Run) -> None:
    said = write("said.srt")
    ran = run("summarize", film, "--subtitles", said, "--snap", "none", code=2)
    assert "--snap none reads no subtitles: leave out one of them" in ran.err


def test_ground_searches_subtitles(film: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    use_colours(monkeypatch)
    encoder = SimpleNamespace(
        encode=lambda texts: np.array([["word3" in text, 0.01] for text in texts], "f4")
    )
    for module in ("passages", "protocol"):
        monkeypatch.setattr(f"vidsum.evidence.{module}.load_text_encoder", lambda *_: encoder)
    said = write("said.en.srt")
    run("ground", film, *ASK, "--in", "speech", "--subtitles", said)
    document = read_valid("film_moments.json", "moments")
    assert document["provenance"]["speech"]["subtitles"] == "said.en.srt"
    best = document["queries"][0]["moments"][0]
    assert (best["evidence"], best["start_s"], best["end_s"]) == ("speech", 1.0, 4.6)


def test_each_video_of_a_batch_takes_its_subtitles(film: Path, model: stub.StubModel, run: Run) -> None:
    made = copies(film, "a.mp4", "b.mp4", "c.mp4")
    write("a.srt", [(0.5, 3.0, "Of a.")])
    write("b.en.vtt", [(0.5, 3.0, "Of b.")])
    run("summarize", *made, "--budget", "4s", "--output-dir", "out")
    speech = [
        read_valid(f"out/{name}_summary.json", "summary")["provenance"]["summary"].get("speech", {})
        for name in "abc"
    ]
    assert [facts.get("subtitles") for facts in speech] == ["a.srt", "b.en.vtt", None]
    ran = run("summarize", *made, "--subtitles", "a.srt", code=2)
    assert "--subtitles a.srt is for one video; there are 3" in ran.err


def test_a_damaged_file_is_one_line_and_fails_alone(film: Path, model: stub.StubModel, run: Run) -> None:
    made = copies(film, "a.mp4", "b.mp4")
    Path("a.srt").write_text("")
    ran = run("summarize", *made, "--budget", "4s", "--output-dir", "out", code=1)
    assert "a.srt: has no cue of SubRip or WebVTT" in ran.err
    assert "--subtitles none" in ran.err
    assert Path("out/b_summary.json").exists()
    run("summarize", "a.mp4", "--subtitles", "none", "--budget", "4s", "--output-dir", "out")


@pytest.mark.parametrize("command", ["summarize", "highlights"])
def test_pictures_are_no_transcript(command: str, film: Path, model: stub.StubModel, run: Run) -> None:
    pictures = media.SubtitleText((), codec="hdmv_pgs_subtitle")
    made = media.add_subtitles(film, Path("disc.mkv"), pictures)
    ran = run(command, made, "--subtitles", "track", code=3)
    assert "disc.mkv: its subtitles are pictures, not text (hdmv_pgs_subtitle)" in ran.err


def test_subtitles_of_vidsum_are_no_source(film: Path, model: stub.StubModel, run: Run) -> None:
    (talk,) = copies(film, "talk.mp4")
    run("transcribe", talk, "-o", "talk.srt")
    run("summarize", talk, "--budget", "4s", "-o", "made.json")
    assert read_valid("made.json", "summary")["provenance"]["summary"]["speech"]["model"] == "whisper_base"
    write("talk.srt")  # as if somebody had corrected it
    run("summarize", talk, "--budget", "4s", "-o", "made.json")
    assert read_valid("made.json", "summary")["provenance"]["summary"]["speech"]["subtitles"] == "talk.srt"


def test_exports_of_shots_are_no_speech(film: Path, model: stub.StubModel, run: Run) -> None:
    (talk,) = copies(film, "talk.mp4")
    run("shots", talk, "-o", "talk.json", "--export", "srt")
    assert "shot 1" in Path("talk.srt").read_text().lower()
    run("summarize", talk, "--budget", "4s", "-o", "made.json")
    assert "speech" not in read_valid("made.json", "summary")["provenance"]["summary"]


def test_subtitles_are_not_written_over(film: Path, model: stub.StubModel, run: Run) -> None:
    (talk,) = copies(film, "talk.mp4")
    before = write("talk.srt").read_bytes()
    for options in (("--save-subtitles",), ("--export", "srt")):
        ran = run("summarize", talk, "-o", "talk.json", "--overwrite", *options, code=2)
        assert "talk.srt: would be written over the file of --subtitles" in ran.err
    assert Path("talk.srt").read_bytes() == before


def test_trim_refuses_subtitles(film: Path, run: Run) -> None:
    ran = run("trim", film, "--fillers", "--subtitles", write("said.srt"), code=2)
    assert "--subtitles have no times of words, at which a video is trimmed" in ran.err


def test_python_takes_the_same(film: Path, model: stub.StubModel, run: Run) -> None:
    said = write("said.srt")
    run("summarize", film, "--subtitles", said, "--budget", "4s", "-o", "made.json")
    made = vidsum.summarize(film, "4s", subtitles=str(said))
    spans = [(part["start_s"], part["end_s"]) for part in read_valid("made.json", "summary")["segments"]]
    assert [*made.segments] == spans
