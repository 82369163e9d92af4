"""Trimming by vidsum and by auto-editor, compared on five films whose speech is known to the sample.

    python -m docs.benchmarks.trim FOLDER --auto-editor PATH

The sound of the films is of recordings (../shared/speech: sentences read by a person) or synthetic sentences
(flite, espeak-ng) joined with pauses of .2 to 3 s, in noise of a known level; the pictures are a test card.
Speech is known where the recordings, before noise is added, are within 40 dB of their loudest 10 ms.

For each film and tool: the seconds that stay; the share of speech (10 ms each) that stays; the beginnings and
ends of sentences of which the first or last 30 ms are cut; the words of Whisper's transcript of the film of
which .1 s or more is cut; the words that differ between the transcripts of the film and of the trimmed film;
the pauses of which more than 1 s stays; and the processor time of the whole run, encoding included. Between
the tools: the IoU of what is cut.
"""

import difflib
import json
import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from tests.conftest import SHARED
from tests.voices import RATE, has_voices, read_whole, spoken, with_noise, write_wav
from vidsum.pipelines.speech import transcribe
from vidsum.results.transcript import Word
from vidsum.types import FloatArray, Interval

_SENTENCES = (
    "So today I want to talk about the second law of thermodynamics.",
    "It is really important, and it is often misunderstood.",
    "We should begin with heat, which flows from hot bodies to cold bodies.",
    "Six thick thistle sticks lie in front of the shop.",
    "Who has seen the fifth fish? Half of the staff left.",
    "This is the last of the tests that I will show you tonight.",
    "Now think of a box of gas, with a wall in the middle.",
    "Take the wall away, and both halves mix.",
)
_FILMS = {  # source of the voice, level of the noise below it in dB, gain in dB
    "read, clean": ("read", np.inf, 0),
    "read, noise at -35 dB": ("read", 35, 0),
    "read, noise at -22 dB": ("read", 22, 0),
    "read, recorded 25 dB too low": ("read", 45, -25),
    "two synthetic voices": ("synthetic", 50, 0),
}
_SPEECH_DB, _EDGE_S, _MISSED_S, _LONG_S = 40, 0.03, 0.1, 1.0
_HOP = RATE // 100


def _sentences(source: str) -> Iterator[FloatArray]:
    if source == "read":
        for path in sorted((SHARED / "speech").glob("*.flac")):
            yield read_whole(path)
        return
    for number, sentence in enumerate(_SENTENCES):
        yield spoken(sentence, ("flite:slt", "espeak-ng:en-us")[number % 2])


def make_film(folder: Path, name: str, seed: int) -> tuple[Path, list[Interval], np.ndarray]:
    """Return a film, the spans of its sentences, and whether each 10 ms of it are speech."""
    source, snr_db, gain_db = _FILMS[name]
    random, parts, spans, at = np.random.default_rng(seed), [], [], 0
    for sentence in _sentences(source):
        pause = np.zeros(round(random.uniform(0.2, 3.0) * RATE), np.float32)
        sound = _active(sentence)
        spans.append(((at + len(pause)) / RATE, (at + len(pause) + len(sound)) / RATE))
        parts += [pause, sound]
        at += len(pause) + len(sound)
    clean = np.concatenate([*parts, np.zeros(2 * RATE, np.float32)])
    noisy = with_noise(clean, snr_db, seed) * 10 ** (gain_db / 20)
    target, sound_file = folder / f"film_{seed}.mp4", folder / f"film_{seed}.wav"
    if not target.exists():
        write_wav(noisy, sound_file)
        card = f"testsrc2=s=640x360:r=25:d={len(clean) / RATE:.2f}"
        inputs = ["-f", "lavfi", "-i", card, "-i", str(sound_file)]
        codecs = ["-c:v", "libx264", "-preset", "veryfast", "-c:a", "aac", "-shortest"]
        subprocess.run(["ffmpeg", "-v", "error", *inputs, *codecs, str(target)], check=True)
    return target, spans, _is_speech(clean)


def _active(samples: FloatArray) -> FloatArray:
    """Return a recording from its first to its last 10 ms of speech."""
    at = np.flatnonzero(_is_speech(samples))
    return samples[at[0] * _HOP : (at[-1] + 1) * _HOP]


def _is_speech(samples: FloatArray) -> np.ndarray:
    power = np.square(samples[: len(samples) // _HOP * _HOP]).reshape(-1, _HOP).mean(axis=1)
    return power > power.max() * 10 ** (-_SPEECH_DB / 10)


def by_vidsum(film: Path, target: Path, *options: str) -> list[Interval]:
    command = [sys.executable, "-m", "vidsum", "trim", film, "-o", target, "--overwrite", "-q", *options]
    subprocess.run([*map(str, command)], check=True)
    segments = json.loads(target.with_suffix(".json").read_text())["segments"]
    return [(segment["start_s"], segment["end_s"]) for segment in segments]


def by_auto_editor(program: str, film: Path, target: Path) -> list[Interval]:
    """Run it with its defaults; what it keeps, by its own list of chunks (frames, frames, speed)."""
    quiet = ["--no-open", "--my-ffmpeg", "--progress", "none"]
    subprocess.run([program, film, "-o", target, *quiet], check=True, stdout=subprocess.DEVNULL)
    export = [program, film, "--export", "timeline:api=1", *quiet]
    text = subprocess.run(export, check=True, capture_output=True, text=True).stdout
    chunks = json.JSONDecoder().raw_decode(text[text.index("{") :])[0]["chunks"]
    return [(first / 25, end / 25) for first, end, speed in chunks if speed == 1]


def mask_of(spans: Sequence[Interval], length: int) -> np.ndarray:
    mask = np.zeros(length, bool)
    for start_s, end_s in spans:
        mask[round(start_s * 100) : round(end_s * 100)] = True
    return mask


def lost_words(words: Sequence[Word], stays: np.ndarray) -> list[str]:
    """The words of which `_MISSED_S` or more is cut."""
    cuts = [(~stays[round(word.start_s * 100) : round(word.end_s * 100)]).sum() / 100 for word in words]
    return [word.text for word, cut_s in zip(words, cuts, strict=True) if cut_s >= _MISSED_S]


def changed_words(before: str, after: str) -> list[str]:
    """The words that only one of two texts has."""
    texts = [re.findall(r"[\w']+", text.lower()) for text in (before, after)]
    parts = difflib.SequenceMatcher(None, *texts, autojunk=False).get_opcodes()
    return [" ".join([*texts[0][a:b], ">", *texts[1][c:d]]) for kind, a, b, c, d in parts if kind != "equal"]


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--auto-editor", default="auto-editor")
    options = parser.parse_args()
    if not has_voices(["flite:slt", "espeak-ng:en-us"]):
        sys.exit("needs flite and espeak-ng")
    options.folder.mkdir(parents=True, exist_ok=True)
    for seed, name in enumerate(_FILMS):
        film, spans, speech = make_film(options.folder, name, seed)
        said, cuts = transcribe(film), {}
        print(f"{name}: {len(speech) / 100:.0f} s, {len(spans)} sentences, {len(said.words)} words")
        for tool in ("vidsum", "vidsum --by voice", "auto-editor"):
            target, begin = options.folder / f"{tool.replace(' ', '')}_{seed}.mp4", _processor_s()
            if tool == "auto-editor":
                segments = by_auto_editor(options.auto_editor, film, target)
            else:
                segments = by_vidsum(film, target, *tool.split()[1:])
            took_s, stays = _processor_s() - begin, mask_of(segments, len(speech))
            cuts[tool] = ~stays
            edges = [(low, low + _EDGE_S) for low, _ in spans] + [(high - _EDGE_S, high) for _, high in spans]
            clipped = [edge for edge in edges if not stays[round(edge[0] * 100) : round(edge[1] * 100)].all()]
            gaps = [part for part in _runs(stays & ~mask_of(spans, len(stays))) if part >= 100 * _LONG_S]
            row = {
                "stays_s": float(stays.sum() / 100),
                "speech": f"{(stays & speech).sum() / speech.sum():.2%}",
                "edges clipped": f"{len(clipped)} of {len(edges)}",
                "words clipped": lost_words(said.words, stays),
                "words changed": changed_words(said.text, transcribe(target).text),
                "long pauses": len(gaps),
                "processor_s": round(took_s, 1),
            }
            print(f"  {tool}: {row}", flush=True)
        ours, other = cuts["vidsum"], cuts["auto-editor"]
        print(f"  IoU of the cuts: {(ours & other).sum() / (ours | other).sum():.2f}")


def _runs(mask: np.ndarray) -> np.ndarray:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    return edges[1::2] - edges[::2]


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
