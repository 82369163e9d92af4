"""`vidsum info`."""

from pathlib import Path

import pytest

from tests.commands.conftest import Run
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
