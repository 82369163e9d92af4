"""Text on the screen: `transcribe --on-screen-text` and `ground --in text`. A stub reads the frames."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.grounding.colours import use_colours
from tests.media import make_sound
from tests.program import Run, check_schema, read_valid
from vidsum.results.load import load
from vidsum.results.moments import Grounding
from vidsum.results.screen_text import ScreenLine, ScreenText, ScreenWord

BOX = (0.1, 0.1, 0.9, 0.2)
LINES = [
    ScreenLine(0, 0, "Annual report 2024", 0.95, BOX, (ScreenWord("Annual", 0.9, BOX),)),
    ScreenLine(0, 0, "<b>Revenue & costs</b>", 0.9, (0.1, 0.3, 0.9, 0.4)),
]


@pytest.fixture(autouse=True)
def reads(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Read two lines in each chosen frame; return the sizes of the frames."""
    use_colours(monkeypatch)
    sizes = list[int]()

    def read(picture: np.ndarray) -> list[ScreenLine]:
        sizes.append(picture.size)
        return LINES

    monkeypatch.setattr("vidsum.features.text_reader.reader_facts", lambda: ("pp_ocr", "0" * 64))
    monkeypatch.setattr("vidsum.features.text_reader.load_reader", lambda _: SimpleNamespace(read=read))
    encoder = SimpleNamespace(encode=lambda texts: np.eye(64, dtype=np.float32)[: len(texts)] * 0.0)
    for module in ("passages", "protocol"):
        monkeypatch.setattr(f"vidsum.evidence.{module}.load_text_encoder", lambda *_: encoder)
    return sizes


def test_text_is_written_as_json_and_subtitles(run: Run, film: Path, reads: list[int]) -> None:
    ran = run("transcribe", film, "--on-screen-text", "--format", "srt")
    document = read_valid("film_screen_text.json", "screen_text")
    assert {line["text"] for line in document["lines"]} == {line.text for line in LINES}
    assert document["n_frames_read"] == len(reads)
    assert "Annual report 2024" in ran.out
    subtitles = Path("film_screen_text.srt").read_text()
    assert subtitles.startswith("1\n00:00:00,000 --> ")
    assert "Annual report 2024\n<b>Revenue & costs</b>\n" in subtitles
    again = load("film_screen_text.json")
    assert isinstance(again, ScreenText)
    assert again.to_dict()["lines"] == document["lines"]
    assert again.rows()[0]["text"] == document["lines"][0]["text"]
    assert "unchanged" in run("transcribe", film, "--on-screen-text", "--format", "srt").out
    ran = run("export", "film_screen_text.json", "--format", "csv", code=3, error="has texts, not cuts")
    assert "vidsum transcribe VIDEO --on-screen-text --format srt" in ran.err


def test_places_that_were_not_read_are_in_the_record_and_a_warning(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = SimpleNamespace(read=lambda _: [LINES[0], ScreenLine(0, 0, "", 0.8, (0.1, 0.3, 0.9, 0.4))])
    monkeypatch.setattr("vidsum.features.text_reader.load_reader", lambda _: reader)
    ran = run("transcribe", film, "--on-screen-text")
    assert "text in 1 place was seen but not read (0:00)" in ran.err
    document = read_valid("film_screen_text.json", "screen_text")
    assert [place["box"] for place in document["unread"]] == [[0.1, 0.3, 0.9, 0.4]]
    assert {line["text"] for line in document["lines"]} == {LINES[0].text}
    again = load("film_screen_text.json")
    assert isinstance(again, ScreenText)
    assert again.unread[0].box == (0.1, 0.3, 0.9, 0.4)
    assert "seen but not read" in run("transcribe", film, "--on-screen-text", "-o", "-").err


@pytest.mark.parametrize(("form", "start"), [("vtt", "WEBVTT\n"), ("txt", "Annual report 2024\n")])
def test_text_is_printed(run: Run, film: Path, form: str, start: str) -> None:
    ran = run("transcribe", film, "--on-screen-text", "--format", form, "-o", "-")
    assert ran.out.startswith(start)
    assert ("&lt;b&gt;Revenue &amp; costs" in ran.out) == (form == "vtt")


def test_auto_searches_cached_text(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, reads: list[int]
) -> None:
    monkeypatch.setattr("vidsum.pipelines.read_text.has_extra", lambda name: True)
    arguments = ("ground", film, "--query", "annual report", "-o", "-")
    assert "evidence" not in run(*arguments).json
    run("transcribe", film, "--on-screen-text")
    document = run(*arguments).json
    check_schema(document, "moments")
    assert document["evidence"] == ["picture", "text"]
    assert document["queries"][0]["moments"][0]["evidence"] == "text"
    first = run("transcribe", film, "--on-screen-text", "-o", "-").json
    count = len(reads)
    monkeypatch.setattr("vidsum.pipelines.decoding.read_frames", None)
    assert run("transcribe", film, "--on-screen-text", "-o", "-").json == first
    assert len(reads) == count
    run("transcribe", film, "--on-screen-text", "--no-cache", "-o", "-", code=1, error="fault")


def test_min_present_filters_text(run: Run, film: Path) -> None:
    words = ("--in", "text", "--query", "a green field", "--min-present", "0.5", "-o", "-")
    (query,) = run("ground", film, *words).json["queries"]
    assert query["moments"] == []
    words = ("--query", "annual report", "--query", "anual reports", "--query", "a green field")
    ran = run("ground", film, "--in", "text", *words, "--saliency")
    document = read_valid("film_moments.json", "moments")
    assert document["evidence"] == ["text"]
    exact, near, absent = document["queries"]
    assert exact["query"] == "annual report"
    assert exact["moments"][0]["evidence"] == "text"
    assert exact["present"] == exact["moments"][0]["present"] == pytest.approx(0.98 * 0.95, abs=1e-3)
    assert exact["moments"][0]["score"] == pytest.approx(1 + 0.98 * 0.95, abs=1e-3)
    assert 0.5 < near["present"] < exact["present"]
    assert absent["verdict"] == "no"
    assert "'a green field': probably not written in this video" in ran.out
    grounding = load("film_moments.json")
    assert isinstance(grounding, Grounding)
    assert grounding.evidence == ("text",)


def test_the_first_error_names_a_broken_opencv(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("cv2.resize")
    ran = run("transcribe", film, "--on-screen-text", code=1, error="OpenCV does not work: module 'cv2'")
    assert "pip install --force-reinstall --no-deps opencv-python" in ran.err
    assert "internal fault" not in ran.err


def test_sound_has_no_text(run: Run, tmp_path: Path) -> None:
    sound = make_sound(tmp_path / "sound.wav")
    run("transcribe", sound, "--on-screen-text", code=3, error="no video")


@pytest.mark.parametrize("option", [["--events"], ["--words"], ["--spoken-language", "de"], ["--translate"]])
def test_options_of_speech_are_refused(run: Run, film: Path, option: list[str]) -> None:
    run("transcribe", film, "--on-screen-text", *option, code=2, error="--on-screen-text reads no speech")
