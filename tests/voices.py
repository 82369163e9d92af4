"""Synthetic voices: texts spoken by flite and espeak-ng, and noise of a known level."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vidsum.types import FloatArray
from vidsum.video.damage import DecodeLog
from vidsum.video.listen import probe_sound, read_sound

RATE = 16_000
VOICES = ("flite:slt", "flite:rms", "espeak-ng:en-us", "espeak-ng:en-gb-scotland")


def has_voices(voices: Sequence[str] = VOICES) -> bool:
    """Whether the programs of these voices are installed."""
    return all(shutil.which(voice.partition(":")[0]) for voice in voices)


def speak(text: str, voice: str, path: Path) -> None:
    """Write a WAV file in which a voice of VOICES speaks a text."""
    program, _, name = voice.partition(":")
    flite, espeak = ["-voice", name, "-t", text, "-o", path], ["-v", name, "-w", path, text]
    options = flite if program == "flite" else espeak
    subprocess.run([program, *map(str, options)], check=True, capture_output=True)


def spoken(text: str, voice: str) -> FloatArray:
    """[N] samples at RATE of a spoken text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spoken.wav"
        speak(text, voice, path)
        return read_whole(path)


def read_whole(path: Path) -> FloatArray:
    """[N] samples at RATE of a file, without the silence that fills the last block."""
    sound = probe_sound(path)
    samples = np.concatenate(list(read_sound(sound, RATE, 10.0, DecodeLog())))
    return samples[: round(sound.duration_s * RATE)]


def with_noise(samples: FloatArray, snr_db: float, seed: int) -> FloatArray:
    """Samples [N] with white noise `snr_db` below their mean power; infinite: none."""
    if np.isinf(snr_db):
        return samples
    power = float(np.mean(samples**2)) / 10 ** (snr_db / 10)
    noise = np.random.default_rng(seed).normal(0, np.sqrt(power), len(samples))
    return (samples + noise).astype(np.float32)


def write_wav(samples: FloatArray, path: Path, rate: int = RATE) -> None:
    """Write samples [N] or [channels, N] in [-1, 1] as 16-bit WAV."""
    import wave

    rows = np.atleast_2d(samples)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(len(rows))
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.clip(rows.T, -1, 1) * 32767).astype("<i2").tobytes())
