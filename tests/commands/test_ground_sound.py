"""`vidsum ground --in sound`: the film's sound is a tone; queries are compared by their names alone."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests import media
from tests.conftest import real_weights
from tests.grounding.colours import use_colours, use_names_of_sounds
from tests.program import Run, read_valid
from vidsum.results.load import load
from vidsum.results.moments import Grounding

IN_SOUND = ("--device", "cpu", "--in", "sound")


@pytest.fixture(autouse=True)
def encoder(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_colours(monkeypatch)
    use_names_of_sounds(monkeypatch)


@pytest.fixture
def film(film_with_tone: Path) -> Path:
    return film_with_tone


def test_sounds_are_cached(run: Run, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("ground", film, *IN_SOUND, "--query", "sine wave", "-o", "-").json
    monkeypatch.setattr("vidsum.pipelines.listening.read_sound", None)
    second = run("ground", film, *IN_SOUND, "--query", "sine wave", "-o", "-").json
    assert second == first
    monkeypatch.setattr("vidsum.pipelines.decoding.read_frames", None)
    arguments = ("--query", "sine wave", "--query", "applause", "--query", "a green field")
    ran = run("ground", film, *IN_SOUND, *arguments, "--saliency")
    document = read_valid("film_moments.json", "moments")
    assert (document["evidence"], document["provenance"]["sounds"]["model"]) == (["sound"], "yamnet")
    tone, *others = document["queries"]
    (moment,) = tone["moments"]
    assert moment["evidence"] == "sound"
    assert moment["start_s"] <= 0.96  # the tone begins with a click
    assert moment["end_s"] > 9
    assert (tone["present"], [query["moments"] for query in others]) == (None, [[], []])
    assert len(tone["saliency"]) == len(document["timestamps_s"])
    assert "'applause': no such sound in this video" in ran.out
    assert "'a green field': no sound that can be recognised; the nearest are" in ran.err
    assert "'a green field': no such sound" not in ran.out
    again = load("film_moments.json")
    assert isinstance(again, Grounding)
    assert (again.queries[0].moments[0].evidence, again.evidence) == ("sound", ("sound",))
    assert again.to_dict()["queries"] == document["queries"]
    assert "unchanged" in run("ground", film, *IN_SOUND, *arguments, "--saliency").out


@pytest.mark.deep
def test_auto_searches_what_is_cached(run: Run, film: Path) -> None:
    arguments = ("ground", film, "--device", "cpu", "--query", "sine wave", "--query", "green")
    alone = run(*arguments)
    assert "not searched: text (--in text), sound (--in sound), speech (vidsum transcribe)\n" in alone.out
    assert "evidence" not in json.loads(Path("film_moments.json").read_text())
    run("ground", film, *IN_SOUND, "--query", "applause", "-o", "-")
    ran = run(*arguments)
    assert "not searched: text (--in text), speech (vidsum transcribe)\n" in ran.out
    document = read_valid("film_moments.json", "moments")
    assert document["evidence"] == ["picture", "sound"]
    colour, tone = (query["moments"] for query in document["queries"])  # sorted by their texts
    (sound,) = [moment for moment in tone if moment["evidence"] == "sound"]
    assert 0.5 < sound["present"] < 1
    assert {moment["evidence"] for moment in colour} == {"picture"}
    assert "not searched" not in run(*arguments, "--in", "picture").out


def test_a_plot_and_clips_of_sounds(run: Run, film: Path, tmp_path: Path) -> None:
    run("ground", film, *IN_SOUND, "--query", "sine wave", "--plot", "--clips", "--report")
    assert Path("film_moments.png").exists()
    assert len(list(Path().glob("*.mp4"))) == 1
    mute = media.make_video(tmp_path / "mute.mp4", n_frames=60).path
    assert "mute.mp4: has no sound" in run("ground", mute, *IN_SOUND, "--query", "music", code=3).err
    quiet = np.zeros(4 * media.SAMPLE_RATE, np.float32)
    quiet_film = media.make_video(tmp_path / "quiet.mp4", n_frames=100, samples=quiet).path
    ran = run("ground", quiet_film, *IN_SOUND, "--query", "music")
    assert "quiet.mp4: its sound is silent" in ran.err
    assert "'music': no such sound in this video" in ran.out
    refused = run("ground", film, *IN_SOUND, "--query", "music", "--min-present", "0.5", code=2)
    assert "it does not apply to sound alone" in refused.err
    refused = run("ground", film, *IN_SOUND, "--query", "music", "--not", "speech", code=2)
    assert "--not searches the picture only" in refused.err


@pytest.mark.shared
@pytest.mark.weights
def test_real_applause(run: Run, shared_videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    real_weights("minilm")
    arguments = ("--query", "the audience is clapping", "--query", "a dog barks", "--no-cache", "-o", "-")
    ran = run("ground", shared_videos / "wide" / "stage_hat.mp4", *IN_SOUND, *arguments)
    applause, dog = ran.json["queries"]
    assert applause["moments"][0]["score"] > 0.9
    assert dog["moments"] == []
