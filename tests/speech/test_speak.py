"""Text spoken by a program: by scripts, good and bad, and by real programs where they are installed."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from vidsum.errors import InputError, OutputError, UsageError
from vidsum.speech import speak as speaking
from vidsum.speech.speak import Speaker, find_speaker, speak

RATE = 16_000
WRITES = """
import sys, wave
text, output = sys.argv[1:]
with wave.open(output, "wb") as file:
    file.setnchannels(1), file.setsampwidth(2), file.setframerate(8000)
    file.writeframes(bytes(1600) + b"\\x00\\x40" * (800 * len(text)) + bytes(1600))
"""


def script(folder: Path, text: str) -> Speaker:
    path = folder / "script.py"
    path.write_text(text)
    return Speaker("script", (sys.executable, str(path), "{text}", "{output}"))


def test_sound_without_a_sample_alone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    speaker = Speaker("true", ("true", "{text}", "{output}"))
    monkeypatch.setattr(speaking, "_read_samples", lambda *_: np.ones(3, np.float32))
    assert len(speak(speaker, "hello", RATE, tmp_path)) == 3
    monkeypatch.setattr(speaking, "_read_samples", lambda *_: np.zeros(0, np.float32))
    with pytest.raises(InputError, match="true wrote no sound"):
        speak(speaker, "hello", RATE, tmp_path)


@pytest.mark.parametrize(
    "text", ["0123456789", "$(touch spoiled)", "; touch spoiled", "-o {output} {rate}", "a \"b\" 'c'", "é"]
)
def test_text_arrives_as_it_is_and_is_no_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    samples = speak(script(tmp_path, WRITES), text, RATE, tmp_path)
    assert len(samples) / RATE == pytest.approx(len(text) / 10, abs=0.01)  # it arrives as it is
    assert np.abs(samples).max() == pytest.approx(0.5, abs=0.1)
    assert not (tmp_path / "spoiled").exists()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "import sys; print('first', file=sys.stderr); sys.exit('no\\x07voice\\n')",
            r"with 1: 'no\\x07voice'",
        ),
        ("import sys; sys.exit(3)", "ended with 3$"),
        ("pass", "wrote no sound"),
        ("import sys; open(sys.argv[2], 'w').close()", "wrote no sound"),
        ("import sys; open(sys.argv[2], 'w').write('not a sound')", "wrote no sound"),
        (WRITES.replace("40", "00"), "wrote no sound"),
    ],
    ids=["fails", "fails-silently", "no-file", "empty", "text", "silence"],
)
def test_program_that_fails_or_writes_no_sound_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        speak(script(tmp_path, text), "hello", RATE, tmp_path)


def test_program_that_cannot_be_started_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="started"):
        speak(script(tmp_path, WRITES), "a\0b", RATE, tmp_path)


def test_program_that_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaking, "_TIMEOUT_S", 0.3)
    with pytest.raises(OutputError, match="within"):
        speak(script(tmp_path, "import time; time.sleep(60)"), "hello", RATE, tmp_path)


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("festival", "not known"),
        ("", "not known"),
        ("say {text}", "not known"),
        ("nothing-here {text} {output}", "not installed"),
        ("say 'x {text} {output}", "cannot be read"),
    ],
)
def test_bad_command_of_a_speaker_is_refused(command: str, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        find_speaker(command)


def test_command_of_a_speaker_is_split_as_by_a_shell() -> None:
    speaker = find_speaker(f"'{sys.executable}' -c 'print(1)' {{text}} --to={{output}}")
    assert speaker.command == (sys.executable, "-c", "print(1)", "{text}", "--to={output}")


@pytest.mark.parametrize("name", ["espeak-ng", "flite"])
def test_pace_makes_speech_shorter_or_longer(tmp_path: Path, name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    speaker = find_speaker(name)
    assert speaker.has_pace
    text = "A brown dog runs over the grass."
    spoken = [speak(speaker, text, RATE, tmp_path, pace) for pace in (0.7, 1.0, 1.3)]
    slow_s, usual_s, quick_s = (len(samples) / RATE for samples in spoken)
    assert 1.0 < quick_s < usual_s < slow_s < 5.0
