"""Messages of `vidsum reel` about speech and inputs."""

from pathlib import Path

import pytest

import vidsum
from tests.commands.test_reel import clip, photograph
from tests.program import Run

pytestmark = pytest.mark.usefixtures("loads")
HINT = "speech was not considered: --snap speech makes a transcript first"


def test_speech_that_was_not_considered(run: Run, own_home: Path) -> None:
    clip(Path("a.mp4"), "red", sound=True)
    clip(Path("b.mp4"), "blue")
    options = ("-o", "film.json", "--budget", "8s")
    assert HINT in run("reel", "a.mp4", "b.mp4", *options).out
    assert HINT in run("reel", "a.mp4", "b.mp4", *options).out  # unchanged
    assert HINT not in run("reel", "a.mp4", "b.mp4", *options, "--snap", "none").out
    Path("a.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nHello.\n")
    assert HINT not in run("reel", "a.mp4", "b.mp4", *options).out
    assert HINT not in run("reel", "b.mp4", *options).out


def test_the_last_line_counts_inputs(run: Run, own_home: Path) -> None:
    photograph(Path("a.jpg"), "red", "2024:07:04 00:25:00")
    photograph(Path("b.jpg"), "blue")
    Path("c.jpg").write_bytes(b"broken")
    ran = run("reel", "a.jpg", "b.jpg", "c.jpg", "--dry-run", "--budget", "6s", code=1)
    assert "\n0:06.00 from 2 of 2 inputs, 1 left out" in f"\n{ran.out}"
    assert "warning: no recording time in b.jpg" in ran.err


def test_a_text_is_no_input(run: Run, own_home: Path) -> None:
    Path("notes.txt").write_text("A text.")
    ran = run("reel", "notes.txt", code=3)
    assert "try: give videos and photographs, or a folder of them" in ran.err


def test_inputs_in_python(own_home: Path) -> None:
    photograph(Path("a.jpg"), "red")
    assert vidsum.make_reel("a.jpg", "3s").duration_s == 3
    with pytest.raises(vidsum.VidsumError, match="no inputs are given"):
        vidsum.make_reel([])
