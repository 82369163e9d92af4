"""`vidsum info`, and the tracks that `--audio-track` chooses."""

import json
from pathlib import Path

import pytest

from tests.media import Track, make_tracks
from tests.program import Run
from tests.speech import stub
from vidsum.io.provenance import identify_file
from vidsum.version import __version__


def test_the_machine(run: Run) -> None:
    facts = run("info", "--json").json["data"]
    assert facts["vidsum"] == __version__
    assert facts["numpy"].startswith("2.")
    assert "libavcodec" in facts["ffmpeg"]
    assert facts["weights"] == "none here yet"
    assert facts["cache"]["entries"] == 0


def test_missing_extras_are_listed_and_are_no_fault(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.commands.info.has_extra", lambda extra: extra == "speech")
    monkeypatch.setattr("vidsum.io.packages.installed_version", lambda package: "not installed")
    monkeypatch.setattr("vidsum.device.may_have_gpu", lambda: False)
    ran = run("info")
    (line,) = (line for line in ran.out.splitlines() if line.startswith("extras"))
    assert "speech; not installed: torch, h5" in line
    assert "vidsum[torch]" in line
    assert ran.err == ""


def test_the_cache(run: Run, film: Path, loads: list[str]) -> None:
    run("extract", film)
    facts = run("info", "--cache", "--json").json["data"]["cache"]
    assert facts["entries"] == 2  # features, and how much the pictures change
    assert 0 < facts["bytes"] < facts["limit_bytes"]


def test_a_video(run: Run, film: Path) -> None:
    ran = run("info", film)
    assert "h264" in ran.out
    facts = run("info", film, "--json").json["data"]
    assert (facts["duration_s"], facts["fps"], facts["audio_codec"]) == (10, 25, "aac")


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
    run("info", obs, "--audio-track", "3", code=3, error="has no audio track 3; it has 1 und, 2 eng")


def test_a_transcript_is_of_its_track(run: Run, obs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub.install(monkeypatch)
    run("transcribe", obs, error="audio track 1 is silent, 2 is not")
    other = run("transcribe", obs, "--audio-track", "2")
    assert "unchanged" not in other.out
    document = json.loads(Path("obs_transcript.json").read_text())
    assert document["segments"]
    assert document["provenance"]["video"] == {**identify_file(obs), "audio_track": 2}
    assert "unchanged" in run("transcribe", obs, "--audio-track", "eng").out


@pytest.mark.usefixtures("loads")
def test_a_summary_has_the_sound_of_its_track(run: Run, obs: Path, film: Path) -> None:
    assert "track" not in json.dumps(run("shots", film, "-o", "-").json["provenance"])
    run("summarize", obs, "--budget", "3s", error="choose it with --audio-track 2")
    assert "unchanged" not in run("summarize", obs, "--budget", "3s", "--audio-track", "2").out
    assert run("info", "obs_summary.mp4", "--json").json["data"]["tracks"][1]["channels"] == 1
    run("extract", obs, "--audio-track", "1", "-o", "a.npz")
    assert "unchanged" in run("extract", obs, "--audio-track", "2", "-o", "a.npz").out
