"""`vidsum describe`, of colours: nothing is fetched, and all that is loud is speech."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import av
import numpy as np
import pytest

import vidsum
from tests import media
from tests.grounding.colours import COLOURS
from tests.program import Run, check_schema, read_valid
from vidsum.commands.result import print_table, text_table
from vidsum.description import writers
from vidsum.description.words import read_words
from vidsum.models.scaling import unit_rows
from vidsum.pipelines import describe, embedding
from vidsum.results.descriptions import Description, Descriptions
from vidsum.results.features import Features
from vidsum.summary.score import ScoredVideo
from vidsum.types import FloatArray

TEXTS = ["A red wall.", "A green field near a lake.", "The blue sky.", "A yellow car."]
BANK = ("--device", "cpu", "--sentences", "bank.txt")
HOW = (*BANK, "--min-sure", "0.2")
BEEPER = """
import sys, wave
text, output = sys.argv[1:]
if "green" in text:
    sys.exit("no green")
with wave.open(output, "wb") as file:
    file.setnchannels(1), file.setsampwidth(2), file.setframerate(8000)
    file.writeframes(b"\\x00\\x40" * (len(text.split()) * 1600))
"""
"""A fifth of a second for each word; it cannot say green."""


@pytest.fixture(autouse=True)
def colours(loads: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The map's vector of a picture is its colour, and a sentence's the colour that it names."""

    def encode(texts: Sequence[str]) -> FloatArray:
        named = [[COLOURS[word] for word in text.lower().split() if word in COLOURS] for text in texts]
        return unit_rows(np.array([(result or [(1, 1, 1)])[0] for result in named], np.float32))

    encoder = SimpleNamespace(encode=encode)
    monkeypatch.setattr(writers, "load_text_encoder", lambda name: encoder)
    monkeypatch.setattr(
        "vidsum.grounding.vse_map.mapped_rows", lambda features: unit_rows(features.array[:, :3])
    )
    for module in (describe, embedding):
        monkeypatch.setattr(module, "extraction_for", lambda space, options: options)  # no class scores
    monkeypatch.setattr(writers, "NEAREST", 1)
    monkeypatch.setattr(writers, "SHORT_LIST_CONFIDENCE", (5.0, 0.0, -5.0))
    # the shipped model reads no colours
    monkeypatch.setattr("vidsum.summary.score._SHIPPED_READS", ("pictures", 2.0))
    Path("bank.txt").write_text("\n".join(TEXTS))


def use_speech(monkeypatch: pytest.MonkeyPatch, *spans_s: tuple[float, float]) -> None:
    pieces = [SimpleNamespace(start_s=start, length_s=end - start) for start, end in spans_s]

    def speech_in(blocks: object) -> list[SimpleNamespace]:
        list(blocks)  # type: ignore[call-overload]
        return pieces

    monkeypatch.setattr(describe, "find_speech", speech_in)


def said(document: str = "film_descriptions.json") -> list[tuple[float, float, str]]:
    result = read_valid(document, "descriptions")
    return [(item["start_s"], item["end_s"], item["text"]) for item in result["descriptions"]]


def test_each_shot_has_its_sentence(run: Run, film: Path) -> None:
    ran = run("describe", film, *HOW)
    assert said() == [(0, 2, TEXTS[0]), (2, 4, TEXTS[1]), (4, 6, TEXTS[2]), (6, 10, TEXTS[3])]
    assert "A green field" in ran.out


def test_descriptions_are_tracks_of_text(run: Run, film: Path) -> None:
    run("describe", film, *HOW)
    cues = Path("film_descriptions.vtt").read_text()
    assert cues.startswith("WEBVTT\nKind: descriptions\nLanguage: en\n\n00:00:00.000 --> 00:00:02.000\nA red")
    cues = Path("film_descriptions.srt").read_text()
    assert cues.startswith("1\n00:00:00,000 --> 00:00:02,000\nA red wall.")


def test_descriptions_are_loaded_as_written(run: Run, film: Path) -> None:
    run("describe", film, *HOW)
    loaded = vidsum.load("film_descriptions.json")
    assert isinstance(loaded, Descriptions)
    document = json.loads(Path("film_descriptions.json").read_text())
    assert sorted(document.pop("outputs")) == ["film_descriptions.srt", "film_descriptions.vtt"]
    assert {**loaded.to_dict(), "digest": document["digest"]} == document  # the digest is of `outputs`, too
    assert loaded.at(2.5) == TEXTS[1]
    assert loaded.at(11) is None


def test_shots_without_a_sure_sentence_are_counted(run: Run, film: Path) -> None:
    ran = run("describe", film, *BANK, "--min-sure", "0.9", "--json")
    assert said() == []
    assert ran.json["data"]["unsure"] == 4
    check_schema(ran.json, "result")


def test_no_sure_sentence_at_all_has_a_hint(run: Run, film: Path) -> None:
    ran = run("describe", film, *BANK, "--min-sure", "0.95")
    assert "lower --min-sure, or give other --sentences" in ran.out, ran.err


def test_descriptions_are_up_to_date_until_an_option_changes(run: Run, film: Path) -> None:
    run("describe", film, *HOW)
    assert "unchanged" in run("describe", film, *HOW).out
    assert "unchanged" not in run("describe", film, *HOW, "--every", "5s").out


def test_descriptions_are_made_again_with_other_sentences(run: Run, film: Path) -> None:
    run("describe", film, *HOW)
    Path("bank.txt").write_text(TEXTS[0])
    run("describe", film, *HOW)
    assert {text for _, _, text in said()} == {TEXTS[0]}


def test_columns_of_a_table_of_texts_are_aligned_and_its_rows_limited(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = text_table((number, number + 1, 0.95 if number else 1.0, "a dog") for number in range(30))
    assert table is not None
    print_table(table, "", sys.stdout)
    first, second, *_, last = capsys.readouterr().out.splitlines()[1:]
    assert (first, second) == ("0:00.00  0:01.00  100%  a dog", "0:01.00  0:02.00   95%  a dog")
    assert last.strip().startswith("... and ")


@pytest.fixture
def any_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of one colour are worth as much as others."""
    monkeypatch.setattr(describe, "quality_at", lambda changes, times_s: np.ones(len(times_s), np.float32))


@pytest.mark.usefixtures("any_picture")
def test_descriptions_for_pauses_lie_within_them(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_speech(monkeypatch, (1.0, 3.0), (8.0, 10.0))
    run("describe", film, *HOW, "--in-gaps")
    assert json.loads(Path("film_descriptions.json").read_text())["gaps"] == [[3.3, 7.7]]
    assert [text for _, _, text in said()][-2:] == [TEXTS[2], TEXTS[3]]
    assert all(3.3 <= start < end <= 7.7 for start, end, _ in said())


@pytest.mark.usefixtures("any_picture")
def test_film_without_sound_is_one_pause(run: Run) -> None:
    media.make_video(Path("mute.mp4"), n_frames=50)
    run("describe", "mute.mp4", *BANK, "--in-gaps", "--min-sure", "0")
    assert json.loads(Path("mute_descriptions.json").read_text())["gaps"] == [[0, 2]]


@pytest.mark.usefixtures("any_picture")
@pytest.mark.parametrize(
    ("ahead", "spoken"),
    [(1, ["The blue sky.", "A yellow car."]), (-1, ["A green field near a lake.", "A yellow car."])],
    ids=["later first", "earlier first"],
)
def test_rule_for_fixed_cameras_decides_what_fills_a_pause(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, ahead: int, spoken: list[str]
) -> None:
    def prefer(scored: ScoredVideo, features: Features, changes: Features | None) -> ScoredVideo:
        assert changes is not None
        return replace(scored, importance=np.linspace(-ahead, ahead, len(features), dtype=np.float32))

    monkeypatch.setattr(describe, "prefer_events", prefer)
    use_speech(monkeypatch, (1.0, 3.0), (8.0, 10.0))
    run("describe", film, *HOW, "--in-gaps")
    assert [text for _, _, text in said()] == spoken


def test_words_fill_pauses_only_where_they_are_sure(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_speech(monkeypatch, (4.5, 5.5))
    numbers = {word.text: number for number, word in enumerate(read_words())}

    def scores(space: str, rows: FloatArray) -> FloatArray:
        values = np.full((len(rows), len(numbers)), -20, np.float32)
        values[:, numbers["a person"]] = 0.8  # a probability of .7
        values[:2, numbers["a dog"]] = 9
        values[1, numbers["cooking"]] = 9
        return values

    monkeypatch.setattr(writers, "standard_scores", scores)
    monkeypatch.setattr(describe, "resolve_space", lambda name: "clip")
    run("describe", film, "--device", "cpu")
    assert [text for _, _, text in said()] == ["A dog, a person.", "A dog, a person, cooking."]
    ran = run("describe", film, "--device", "cpu", "--in-gaps")
    assert [text for _, _, text in said()] == ["A dog, cooking."]
    assert "3 of 4 segments are not described in the pauses: no activity or new place" in ran.err
    settings = json.loads(Path("film_descriptions.json").read_text())["provenance"]["descriptions"]
    assert (settings["space"], settings["min_sure"]) == ("clip", 0.85)
    assert "map_sha256" not in settings


def test_speech_without_a_pause_has_no_descriptions_and_a_warning(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_speech(monkeypatch, (0.0, 10.0))
    run("describe", film, *HOW, "--in-gaps", error="no pause")
    assert said() == []


def test_no_film_is_written_where_there_is_nothing_to_speak(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_speech(monkeypatch, (0.0, 10.0))
    speaker = f"'{sys.executable}' beeper.py {{text}} {{output}}"
    ran = run("describe", film, *HOW, "--speak", speaker, "--json").json["data"]
    assert (ran["descriptions"], ran["outputs"]["video"]) == ([], None)
    again = run("describe", film, *HOW, "--speak", speaker).out
    assert "film_descriptions.srt: 0 descriptions" in again
    assert "film_described.mp4: not written: there is nothing to speak" in again
    assert not Path("film_described.mp4").exists()


@pytest.mark.parametrize(("count", "have"), [(1, "1 of 2 descriptions has"), (2, "2 of 3 descriptions have")])
def test_warning_counts_the_descriptions_that_fit_no_pause(count: int, have: str) -> None:
    sentences = [Description(2.0 * n, 2.0 * n + 2, "A dog runs.", 0.9) for n in range(count + 1)]
    features = Features.from_array(np.ones((2 * count + 2, 2)), 1.0)
    importance = np.linspace(0.2, 0.9, len(features.array)).astype(np.float32)
    spoken, warnings = describe._fit_into_gaps(sentences, "words", [(0.0, 2.4)], features, importance)
    assert len(spoken) == 1
    assert warnings == [f"{have} no pause that is long enough"]


def test_speaker_that_fails_leaves_no_files(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_speech(monkeypatch)
    speaker = f"'{sys.executable}' -c 'exit(1)' {{text}} {{output}}"
    run("describe", film, *HOW, "--speak", speaker, code=1, error="none of the descriptions")
    assert not Path("film_described.mp4").exists()
    assert not Path("film_descriptions.json").exists()


def test_descriptions_that_can_be_spoken_are_a_further_track_of_sound(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_speech(monkeypatch, (4.5, 6.5))
    Path("beeper.py").write_text(BEEPER)
    before = film.read_bytes()
    ran = run("describe", film, *HOW, "--speak", f"'{sys.executable}' beeper.py {{text}} {{output}}")
    assert film.read_bytes() == before
    assert "no green" in ran.err  # what the program says of the text that it cannot say
    spoken = said()
    assert [text for _, _, text in spoken] == [TEXTS[0], TEXTS[3]]
    assert spoken[0][1] - spoken[0][0] == pytest.approx(3 / 5, abs=0.01)
    with av.open("film_described.mp4") as container:
        assert [stream.type for stream in container.streams] == ["video", "audio", "audio"]
        assert container.streams.audio[1].metadata["language"] == "eng"


CORRECTED = """WEBVTT
Kind: descriptions

NOTE of the editor

00:01.000 --> 00:02.500 align:start
A <i>red</i> wall &amp;
a door.

00:00:07.000 --> 00:00:20.000
Then nothing.
"""


@pytest.mark.parametrize("form", ["vtt", "srt"])
def test_texts_of_a_person_are_spoken_at_their_times(
    run: Run, film: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    use_speech(monkeypatch, (6.0, 9.0))
    Path("beeper.py").write_text(BEEPER)
    srt = """1\n00:00:01,000 --> 00:00:02,500\nA red wall &\na door.\n\n
2\n00:00:07,000 --> 00:00:20,000\nThen nothing.\n"""
    Path(f"mine.{form}").write_text(CORRECTED if form == "vtt" else srt, newline="\r\n")
    speaker = f"'{sys.executable}' beeper.py {{text}} {{output}}"
    ran = run("describe", film, "--texts", f"mine.{form}", "--speak", speaker)
    assert [(start, text) for start, _, text in said()] == [(1, "A red wall & a door."), (7, "Then nothing.")]
    assert [end for _, end, _ in said()] == pytest.approx([2.2, 7.4], abs=0.01)
    assert "over speech: descriptions at 00:00:07.000" in ran.err
    with av.open("film_described.mp4") as container:
        assert len(container.streams.audio) == 2
    assert run("describe", film, "--texts", f"mine.{form}", "--speak", speaker).out.count("(unchanged)") == 1
    Path("film_descriptions.json").unlink()
    run("describe", film, "--texts", "film_descriptions.srt", code=2, error="over the file of --texts")


def test_report_has_descriptions_unless_they_were_edited(run: Run, film: Path) -> None:
    run("describe", film, *HOW)
    run("shots", film, "--device", "cpu", "--report")
    page = Path("film_shots.html").read_text()
    assert [page.count(f"<q>{text}</q>") for text in TEXTS] == [1, 1, 1, 1]
    record = Path("film_descriptions.json")
    record.write_text(record.read_text().replace("sky", "<b>"))
    run("report", "film_shots.json")
    assert "<q>" not in Path("report.html").read_text()  # it was edited
