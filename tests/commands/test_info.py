"""`vidsum info`."""

from pathlib import Path

from tests.commands.conftest import Run
from vidsum.version import __version__


def test_the_machine(run: Run) -> None:
    facts = run("info", "--json").json["data"]
    assert facts["vidsum"] == __version__
    assert facts["torch"].startswith("2.")
    assert "libavcodec" in facts["ffmpeg"]
    assert facts["weights"] == "none here yet"
    assert facts["cache"]["entries"] == 0


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
