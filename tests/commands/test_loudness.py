"""`--loudness`, wherever an MP4 is encoded."""

from pathlib import Path

import numpy as np
import pytest

import vidsum
from tests import media
from tests.conftest import deep_but
from tests.program import Run
from tests.video.clips import samples_of
from tests.video.test_loudness import loudness_of, speech_like
from vidsum.errors import UsageError


@pytest.fixture
def loud(tmp_path: Path) -> Path:
    """Six seconds of six shots, at about -23 LUFS."""
    shades = np.random.default_rng(3).integers(0, 255, (6, 3)).astype(np.uint8)

    def paint(number: int, width: int, height: int) -> np.ndarray:
        return np.broadcast_to(shades[min(number // 25, 5)], (height, width, 3)).copy()

    samples = speech_like(6.0, -20)[0]
    return media.make_video(tmp_path / "film.mp4", n_frames=150, samples=samples, paint=paint).path


def check(path: Path, lufs: float) -> None:
    assert loudness_of(samples_of(path), media.SAMPLE_RATE) == pytest.approx(lufs, abs=0.5)


COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "summarize": (("--model", "uniform", "--budget", "3s"), "film_summary.mp4"),
    "trim": (("--min-pause", "5s"), "film_trim.mp4"),
    "shots": (("--shots", "uniform", "--max-shot", "3s", "--clips"), "film-Scene-001.mp4"),
}


@pytest.mark.parametrize("command", deep_but(["summarize"], COMMANDS))
def test_commands(command: str, loud: Path, run: Run, loads: list[str]) -> None:
    options, path = COMMANDS[command]
    run(command, loud, *options)
    before = Path(path).read_bytes()
    run(command, loud, *options, "--loudness", "-30")
    check(Path(path), -30)
    assert Path(path).read_bytes() != before
    assert "(unchanged)" in run(command, loud, *options, "--loudness", "-30").out


def test_python(loud: Path, loads: list[str]) -> None:
    summary = vidsum.summarize(loud, "3s", model="uniform")
    vidsum.write_video(summary, "made.mp4", loudness=-30)
    check(Path("made.mp4"), -30)
    for clip in vidsum.write_clips(summary, "clips", loudness=-30):
        check(clip, -30)
    with pytest.raises(UsageError, match="copy does not encode: leave out loudness"):
        vidsum.write_video(summary, "copy.mp4", copy=True, loudness=-30)


def test_what_does_not_go_together(loud: Path, run: Run, loads: list[str]) -> None:
    options = ("--model", "uniform", "--loudness", "-14")
    ran = run("summarize", loud, *options, "--copy", code=2)
    assert "--copy does not encode: leave out --loudness" in ran.err
    assert "--loudness needs --clips" in run("shots", loud, "--loudness", "-14", code=2).err
    assert (
        "--loudness must be at least -50 and at most -5, not 14"
        in run("trim", loud, "--loudness", "14", code=2).err
    )
