"""`--audio-track` and `--video-track`: what is read, recorded and said."""

import json
from pathlib import Path

import pytest

from tests.commands.conftest import Run
from tests.media import Track, make_tracks
from tests.speech import stub
from vidsum.io.provenance import identify_file


@pytest.fixture
def obs(tmp_path: Path) -> Path:
    """A recording whose microphone is on the second track."""
    tracks = Track((64, 48)), Track(2, 1), Track(1, language="eng", value=0.4)
    return make_tracks(tmp_path / "obs.mkv", *tracks, n_frames=60)


def test_info_lists_the_tracks(run: Run, obs: Path) -> None:
    tracks = run("info", obs, "--audio-track", "en", "--json").json["data"]["tracks"]
    assert [(one["kind"], one["number"], one["chosen"]) for one in tracks] == [
        *(("video", 1, True), ("audio", 1, False), ("audio", 2, True))
    ]
    assert (tracks[2]["language"], tracks[2]["channels"], tracks[1]["flags"]) == ("eng", 1, ["default"])
    assert "audio track 1 *" in run("info", obs).out
    assert "has no audio track 3; it has 1 und, 2 eng" in run("info", obs, "--audio-track", "3").err


def test_a_transcript_is_of_its_track(run: Run, obs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.install(monkeypatch)
    silent = run("transcribe", obs)
    assert (silent.code, "audio track 1 is silent, 2 is not" in silent.err) == (0, True)
    other = run("transcribe", obs, "--audio-track", "2")
    assert (other.code, "unchanged" in other.out) == (0, False)
    document = json.loads(Path("obs_transcript.json").read_text())
    assert document["segments"]
    assert document["provenance"]["video"] == {**identify_file(obs), "audio_track": 2}
    assert "unchanged" in run("transcribe", obs, "--audio-track", "eng").out


@pytest.mark.usefixtures("loads")
def test_a_summary_has_the_sound_of_its_track(run: Run, obs: Path, film: Path) -> None:
    assert "track" not in json.dumps(run("shots", film, "-o", "-").json["provenance"])
    silent = run("summarize", obs, "--budget", "3s")
    assert "choose it with --audio-track 2" in silent.err
    assert "unchanged" not in run("summarize", obs, "--budget", "3s", "--audio-track", "2").out
    assert run("info", "obs_summary.mp4", "--json").json["data"]["tracks"][1]["channels"] == 1
    assert run("extract", obs, "--audio-track", "1", "-o", "a.npz").code == 0
    assert "unchanged" in run("extract", obs, "--audio-track", "2", "-o", "a.npz").out
