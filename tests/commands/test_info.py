"""`vidsum info`, tracks, and a PyTorch that cannot be imported."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import needs_torch, real_weights
from tests.io.test_packages import add_package
from tests.media import Track, make_tracks
from tests.program import Run
from tests.speech import stub
from vidsum.io.cache import find_bytes, store_bytes
from vidsum.io.packages import pytorch_repair_command
from vidsum.io.provenance import identify_file
from vidsum.version import __version__


def test_info_has_the_versions_of_this_machine(run: Run) -> None:
    facts = run("info", "--json").json["data"]
    assert facts["vidsum"] == __version__
    assert facts["numpy"].startswith("2.")
    assert "libavcodec" in facts["ffmpeg"]


def test_info_of_a_new_home_has_no_weights_and_an_empty_cache(run: Run, loads: list[str]) -> None:
    facts = run("info", "--json").json["data"]
    assert facts["weights"] == "none fetched (most commands need none)"
    assert facts["cache"]["entries"] == 0


def test_info_counts_the_entries_and_bytes_of_the_cache(run: Run, film: Path, loads: list[str]) -> None:
    run("extract", film)
    facts = run("info", "--cache", "--json").json["data"]["cache"]
    assert facts["entries"] == 2  # features, and how much the pictures change
    assert 0 < facts["bytes"] < facts["limit_bytes"]


def test_info_of_a_film_is_a_line_of_its_facts(run: Run, film: Path) -> None:
    line = run("info", film).out
    assert re.match(r".*film.mp4: 0:10, 64 x 48, 25 fps, h264 \+ aac, 0.\d MB\n", line)


def test_info_of_a_film_as_json_has_its_facts(run: Run, film: Path) -> None:
    facts = run("info", film, "--json").json["data"]
    assert (facts["duration_s"], facts["fps"], facts["audio_codec"]) == (10, 25, "aac")


def test_info_names_missing_extras_and_their_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.commands.info.has_extra", lambda extra: extra == "speech")
    monkeypatch.setattr("vidsum.io.packages.installed_version", lambda package: "not installed")
    monkeypatch.setattr("vidsum.device.may_have_gpu", lambda: False)
    ran = run("info")
    (line,) = (line for line in ran.out.splitlines() if line.startswith("extras"))
    assert "speech; not installed: torch, ocr, h5" in line
    assert "vidsum[torch]" in line
    assert ran.err == ""


def test_broken_opencv_is_named_with_its_repair(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("cv2.resize")
    err = run("info").err
    assert "OpenCV does not work: module 'cv2' has no attribute 'resize'" in err
    assert "pip install --force-reinstall --no-deps opencv-python" in err


@pytest.fixture
def obs(tmp_path: Path) -> Path:
    """A recording whose microphone is on the second track."""
    tracks = Track((64, 48)), Track(2, 1), Track(1, language="eng", value=0.4)
    return make_tracks(tmp_path / "obs.mkv", *tracks, n_frames=60)


def test_info_lists_the_tracks_and_which_is_chosen(run: Run, obs: Path) -> None:
    tracks = run("info", obs, "--audio-track", "en", "--json").json["data"]["tracks"]
    assert [(item["kind"], item["number"], item["chosen"]) for item in tracks] == [
        *(("video", 1, True), ("audio", 1, False), ("audio", 2, True))
    ]
    assert (tracks[2]["language"], tracks[2]["channels"], tracks[1]["flags"]) == ("eng", 1, ["default"])
    assert "audio track 1 *" in run("info", obs).out


def test_audio_track_that_is_not_there_is_refused_with_a_list(run: Run, obs: Path) -> None:
    run("info", obs, "--audio-track", "3", code=3, error="has no audio track 3; it has 1 und, 2 eng")


def test_silent_track_beside_a_loud_one_has_a_hint(
    run: Run, obs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch)
    run("transcribe", obs, error="audio track 1 is silent; track 2 is not")
    assert "try: --audio-track 2" in run("trim", obs, code=3, error="is silent").err


def test_transcript_of_another_track_is_made_again(
    run: Run, obs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch)
    run("transcribe", obs)
    assert "unchanged" not in run("transcribe", obs, "--audio-track", "2").out
    document = json.loads(Path("obs_transcript.json").read_text())
    assert document["segments"]
    assert document["provenance"]["video"] == {**identify_file(obs), "audio_track": 2}


def test_track_by_language_is_the_track_by_number(
    run: Run, obs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch)
    run("transcribe", obs, "--audio-track", "2")
    assert "unchanged" in run("transcribe", obs, "--audio-track", "eng").out


@pytest.mark.usefixtures("loads")
def test_provenance_names_no_track_where_there_is_one(run: Run, film: Path) -> None:
    assert "track" not in json.dumps(run("shots", film, "-o", "-").json["provenance"])


@pytest.mark.usefixtures("loads")
def test_summary_with_another_audio_track_is_made_again(run: Run, obs: Path) -> None:
    run("summarize", obs, "--budget", "3s", error="track 2 is not")
    assert "unchanged" not in run("summarize", obs, "--budget", "3s", "--audio-track", "2").out
    assert run("info", "obs_summary.mp4", "--json").json["data"]["tracks"][1]["channels"] == 1


@pytest.mark.usefixtures("loads")
def test_features_are_the_same_with_any_audio_track(run: Run, obs: Path) -> None:
    run("extract", obs, "--audio-track", "1", "-o", "a.npz")
    assert "unchanged" in run("extract", obs, "--audio-track", "2", "-o", "a.npz").out


ROOT = Path(__file__).parents[2]
NMS = "raise RuntimeError('operator torchvision::nms does not exist')"
REPAIR = pytorch_repair_command()


def vidsum(stubs: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the program in a process that finds the packages of a folder before those that are installed."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join((str(stubs), str(ROOT)))}
    command = [sys.executable, "-m", "vidsum", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


@pytest.mark.deep
@pytest.mark.parametrize("code", [
    "raise OSError('libcudart.so: cannot open shared object file')",
    pytest.param(None, marks=pytest.mark.deep),
])  # fmt: skip
def test_broken_pytorch_is_named_with_its_repair(tmp_path: Path, film: Path, code: str | None) -> None:
    stubs = tmp_path / "stubs"
    add_package(stubs, "torch", "2.9.9", code=code or "raise ModuleNotFoundError(name='torch')")
    for more in ([], ["--json"]):
        ran = vidsum(stubs, "extract", film, "--device", "cuda", *more)
        text = ran.stdout if more else ran.stderr
        assert (ran.returncode, "Traceback" in text, "internal" in text) == (1, False, False)
        assert "torch cannot be imported" in text
        assert REPAIR in text
    assert "Traceback" in vidsum(stubs, "extract", film, "--device", "cuda", "-v").stderr


@needs_torch
def test_info_without_pytorch_is_a_warning(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str = "auto") -> None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr("vidsum.device.may_have_gpu", lambda: True)
    monkeypatch.setattr("vidsum.device.choose_device", broken)
    monkeypatch.setattr("vidsum.commands.info.check_opencv", lambda: None)
    ran = run("info")
    assert "unknown" in ran.out
    assert ran.err.startswith("warning: torch cannot be imported: No module named 'torch' (")
    assert ran.err.endswith(f": {REPAIR}\n")


@pytest.mark.deep
@pytest.mark.weights
def test_broken_torchvision_is_named_with_its_repair(tmp_path: Path, film: Path) -> None:
    real_weights("mobilenet_v2")
    stubs = tmp_path / "stubs"
    add_package(stubs, "torchvision", "0.1", code=NMS)
    ran = vidsum(stubs, "extract", film, "--device", "cpu", "-e", "mobilenet_v2")
    assert ran.returncode == 1
    error, hint = ran.stderr.splitlines()[-2:]
    assert error.startswith("error: torchvision cannot be imported: operator torchvision::nms does not")
    assert hint == f"  try: {REPAIR}"


def test_clear_cache_removes_entries_and_shows_what_is_left(run: Run) -> None:
    store_bytes("texts", {"of": "a test"}, b"text")
    assert run("info", "--cache", "--json").json["data"]["cache"]["entries"] == 1
    assert run("info", "--clear-cache", "--json").json["data"]["cache"]["entries"] == 0
    assert find_bytes("texts", {"of": "a test"}) is None
