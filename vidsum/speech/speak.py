"""Text spoken by a program of the system (espeak-ng, flite, a command), started without a shell."""

import re
import shlex
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vidsum.errors import InputError, Mention, OutputError, UsageError, quote
from vidsum.types import FloatArray
from vidsum.video.audio import open_sound
from vidsum.video.jumps import Jumps

_SPEAKERS = {
    "espeak-ng": ("espeak-ng", "-s", "{rate}", "-w", "{output}", "--", "{text}"),
    "flite": ("flite", "--setf", "duration_stretch={stretch}", "-o", "{output}", "-t", "{text}"),
}  # their commands, whose pace is in words a minute, as espeak-ng counts, or a factor
_DEFAULT_RATE, _MIN_RATE = 160, 80
_EXAMPLE = (Mention("speak", "espeak-ng"), ", flite, or a command such as 'say -o {output} {text}'")
_TIMEOUT_S = 30.0  # a program that takes longer for a sentence hangs
_MIN_LEVEL = 0.01  # samples below this, at either end, are no speech: programs add silence
_MAX_ERROR_BYTES = 10_000  # bytes that are read of what a program says of its failure
_MAX_SOUND_S = 60.0  # sound that is read of what a program wrote


@dataclass(frozen=True)
class Speaker:
    """A program that speaks."""

    name: str  # as the user wrote it
    command: tuple[str, ...]  # arguments, with {text}, {output}, {rate} and {stretch} for values

    @property
    def has_pace(self) -> bool:
        return bool({"{rate}", "{stretch}"} & _placeholders(self.command))


def find_speaker(name: str) -> Speaker:
    """Return the program of `--speak`. Raises UsageError: it is not installed, or lacks a placeholder."""
    try:
        words = tuple(shlex.split(name))
    except ValueError as error:
        raise UsageError(f"the command {quote(name)} cannot be read ({error})", hint=_EXAMPLE) from error
    command = _SPEAKERS.get(name, words)
    if not {"{text}", "{output}"} <= _placeholders(command):
        fault = f"the speaker {quote(name)} is not known, nor a command with {{text}} and {{output}}"
        raise UsageError(fault, hint=_EXAMPLE)
    if shutil.which(command[0]) is None:
        raise UsageError(
            f"the program {quote(command[0])} is not installed", hint=("install it, or ", *_EXAMPLE)
        )
    return Speaker(name, command)


def _placeholders(command: tuple[str, ...]) -> set[str]:
    return {place for word in command for place in re.findall(r"\{\w+\}", word)}


def speak(speaker: Speaker, text: str, sample_rate: int, folder: Path, pace: float = 1.0) -> FloatArray:
    """Speak a text as mono samples [N] at `sample_rate`, without silence at its ends.

    `folder` is for the sound file; `pace` is a factor of the speaker's usual pace. Raises InputError: the
    program fails, or writes no sound. OutputError: it hangs, or cannot be started.
    """
    output, errors = folder / "spoken.wav", folder / "errors.txt"
    output.unlink(missing_ok=True)
    rate = max(_MIN_RATE, round(_DEFAULT_RATE * pace))
    values = {"text": text, "output": str(output), "rate": str(rate), "stretch": f"{1 / pace:.3f}"}
    command = [
        re.sub(r"\{(text|output|rate|stretch)\}", lambda place: values[place[1]], word)
        for word in speaker.command
    ]
    nowhere = subprocess.DEVNULL
    try:
        with errors.open("wb") as error_file:
            code = subprocess.run(
                command, stdin=nowhere, stdout=nowhere, stderr=error_file, timeout=_TIMEOUT_S, check=False
            ).returncode
    except subprocess.TimeoutExpired as error:
        raise OutputError(f"{command[0]} did not speak {quote(text)} within {_TIMEOUT_S:g} s") from error
    except (OSError, ValueError) as error:
        raise OutputError(f"{command[0]} cannot be started ({error})") from error
    if code:
        lines = errors.read_bytes()[-_MAX_ERROR_BYTES:].decode(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        raise InputError(f"{command[0]} ended with {code}" + (f": {quote(last.strip())}" if last else ""))
    samples = np.zeros(0, np.float32)
    with suppress(InputError):
        samples = _read_samples(output, sample_rate)
    if not len(samples):
        raise InputError(f"{command[0]} wrote no sound")
    return samples


def _read_samples(path: Path, sample_rate: int) -> FloatArray:
    with open_sound(path, Jumps(), sample_rate) as source:
        blocks = list[FloatArray]()
        while source and not source.is_over and len(blocks) < _MAX_SOUND_S:
            blocks.append(source.read(len(blocks) * sample_rate, sample_rate)[0])
    samples = np.concatenate(blocks or [np.zeros(0, np.float32)])
    loud = np.flatnonzero(np.abs(samples) >= _MIN_LEVEL)
    return samples[loud[0] : loud[-1] + 1] if len(loud) else samples[:0]
