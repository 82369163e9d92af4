"""Messages of `vidsum reel` about speech and inputs."""

from pathlib import Path

import pytest

import vidsum
from tests.commands.test_reel import clip, photograph
from tests.program import Run
from tests.speech import stub

pytestmark = pytest.mark.usefixtures("loads")
HINT = "--snap speech makes a transcript first"


@pytest.mark.parametrize(
    ("is_installed", "considered"),
    [
        (True, "of speech, only pauses were considered"),
        (False, "speech was not considered"),
    ],
)
def test_a_line_says_what_was_considered_of_speech(
    run: Run, own_home: Path, is_installed: bool, considered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub.install(monkeypatch)
    monkeypatch.setattr("vidsum.pipelines.voice_pauses.has_extra", lambda name: is_installed)
    clip(Path("a.mp4"), "red", sound=True)
    considered += f": {HINT}"
    assert considered in run("reel", "a.mp4", "-o", "film.json", "--budget", "4s").out
    assert considered in run("summarize", "a.mp4", "--dry-run").out


def test_a_line_says_that_words_were_not_considered(run: Run, own_home: Path) -> None:
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


def test_inputs_without_a_part_are_named(run: Run, own_home: Path) -> None:
    for name, colour in {"a.jpg": "red", "b.jpg": "blue", "c.jpg": "green"}.items():
        photograph(Path(name), colour)
    ran = run("reel", ".", "--dry-run", "--budget", "6s")
    (line,) = [line for line in ran.out.splitlines() if line.startswith("not in the film: ")]
    assert line.removeprefix("not in the film: ") in ("a.jpg", "b.jpg", "c.jpg")


def test_hints_name_options_of_the_command(run: Run, own_home: Path) -> None:
    clip(Path("a.mp4"), "red")
    ran = run("reel", "a.mp4", "-o", "a.mp4", code=2)
    assert "try: --output FILE\n" in ran.err
    ran = run("reel", "a.mp4", "-o", "-", "--export", "edl", code=2)
    assert "try: --output FILE.json, with --export\n" in ran.err
    ran = run("summarize", "a.mp4", "-o", "a.mp4", code=2)
    assert "try: --output FILE, or --output-dir FOLDER\n" in ran.err


def test_a_missing_file_gets_the_hint_of_missing_files(run: Run, own_home: Path) -> None:
    photograph(Path("holiday.jpg"), "red")
    ran = run("reel", "holiday.jpg", "holidays.jpg", "--dry-run", "--budget", "3s", code=1)
    assert "error: holidays.jpg: no such file; left out\n  try: holiday.jpg\n" in ran.err


def test_music_is_checked_before_the_inputs_are_read(run: Run, own_home: Path) -> None:
    Path("songs").mkdir()
    ran = run("reel", "none.mp4", "--music", "songs", code=3)
    assert "error: songs: is a folder, not a sound file\n  try: --music FILE\n" in ran.err


def test_the_help_lists_formats_that_reels_have(run: Run) -> None:
    words = run("reel", "--help-all").out.split()
    assert "kdenlive," in words
    assert not {"kodi,", "srt,", "{stem},"} & {*words}
