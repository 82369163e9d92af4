"""Speech: word error rates and speed of recordings and of captions spoken by synthetic voices, by noise.

    python -m docs.benchmarks.speech FOLDER [--captions 200] [--voices flite:slt ...]

What was measured stays in FOLDER/heard.jsonl, so that a run that was stopped goes on.
"""

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.voices import RATE, VOICES, read_whole, spoken, with_noise, write_wav
from tests.conftest import SHARED
from vidsum.pipelines.speech import transcribe
from vidsum.types import FloatArray

NOISES_DB = (np.inf, 20.0, 10.0, 0.0)
LJ_SPEECH = (
    "Printing, in the only sense with which we are at present concerned, differs from most if not from all "
    "the arts and crafts represented in the Exhibition",
    "in being comparatively modern.",
    "For although the Chinese took impressions from wood blocks engraved in relief for centuries before the "
    "woodcutters of the Netherlands, by a similar process",
    "produced the block books, which were the immediate predecessors of the true printed book,",
    "the invention of movable metal letters in the middle of the fifteenth century may justly be considered "
    "as the invention of the art of printing.",
    "And it is worth mention in passing that, as an example of fine typography,",
    'the earliest book printed with movable types, the Gutenberg, or "forty-two line Bible" of about 1455,',
    "has never been surpassed.",
)
"""LJ001-0001 to 0008 of LJ Speech 1.1 (public domain), as its metadata.csv has them."""
KENNEDY = (
    "And so, my fellow Americans, ask not what your country can do for you, "
    "ask what you can do for your country."
)
_SEED = 0
_GROUP_S = 27.0
_RESAMPLES = 2000


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return re.findall(r"[a-z0-9']+", text.lower().replace("-", " "))


def errors(truth: Sequence[str], heard: Sequence[str]) -> int:
    """Least number of words to replace, leave out or put in."""
    row = list(range(len(heard) + 1))
    for number, word in enumerate(truth, 1):
        before, row[0] = row[0], number
        for at, other in enumerate(heard, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (word != other))
    return row[-1]


@dataclass(frozen=True)
class Heard:
    """How a text was understood."""

    errors: int
    words: int
    sound_s: float
    wall_s: float
    cpu_s: float
    """Seconds of processors."""


def in_groups(clips: Sequence[tuple[FloatArray, str]]) -> Iterator[tuple[FloatArray, str]]:
    """Clips and their texts, as many at once as fit into a window of Whisper, a second of silence between."""
    pause = np.zeros(RATE, np.float32)
    sounds: list[FloatArray] = []
    texts: list[str] = []
    for samples, text in clips:
        if sounds and sum(map(len, sounds)) + len(samples) > _GROUP_S * RATE:
            yield np.concatenate(sounds), " ".join(texts)
            sounds, texts = [], []
        sounds += [samples, pause]
        texts.append(text)
    yield np.concatenate(sounds), " ".join(texts)


def hear(samples: FloatArray, truth: str, folder: Path) -> Heard:
    """Transcribe samples [N] and count the errors, unless FOLDER/heard.jsonl has them."""
    log, key = folder / "heard.jsonl", sha256(samples.tobytes()).hexdigest()
    lines = log.read_text().splitlines() if log.exists() else []
    for line in lines:
        kept = json.loads(line)
        if kept.pop("sound") == key:
            return Heard(**kept)
    path = folder / "heard.wav"
    write_wav(samples, path)
    wall, cpu = time.perf_counter(), time.process_time()
    text = transcribe(path, "en", device="cpu", cache=False).text
    took = time.perf_counter() - wall, time.process_time() - cpu
    expected = words_of(truth)
    heard = Heard(errors(expected, words_of(text)), len(expected), len(samples) / RATE, *took)
    log.write_text("\n".join([*lines, json.dumps({"sound": key, **asdict(heard)})]) + "\n")
    return heard


def interval(values: Sequence[float], weights: Sequence[float]) -> tuple[float, float, float]:
    """Weighted mean, and its 95 % interval by resampling the items."""
    rows, counts = np.array(values, float), np.array(weights, float)
    rng = np.random.default_rng(_SEED)
    drawn = rng.integers(0, len(rows), (_RESAMPLES, len(rows)))
    means = rows[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(rows.sum() / counts.sum()), float(low), float(high)


def word_errors(n_captions: int, voices: Sequence[str], folder: Path) -> Iterator[str]:
    """Rows of word error rates: recordings, then spoken captions by voice and noise."""
    yield "| sound | SNR | texts in windows | WER (95 %) | wall s per s of sound | processor s |"
    yield "|---|---|---|---|---|---|"
    recordings = [(f"LJ001-{number:04d}.flac", text) for number, text in enumerate(LJ_SPEECH, 1)]
    files = [(SHARED / "speech" / name, text) for name, text in [*recordings, ("jfk.flac", KENNEDY)]]
    kinds = {"recordings": [(read_whole(path), text) for path, text in files]}
    kinds |= {voice: [(spoken(text, voice), text) for text in captions(n_captions)] for voice in voices}
    for name, clips in kinds.items():
        for noise_db in NOISES_DB:
            groups = [(with_noise(samples, noise_db, _SEED), text) for samples, text in in_groups(clips)]
            heard = [hear(samples, text, folder) for samples, text in groups]
            yield _row(name, noise_db, len(clips), heard)


def captions(count: int) -> list[str]:
    """Captions of QVHighlights' validation videos, drawn once: the first of a larger number are the same."""
    lines = (SHARED / "data" / "qvhighlights" / "highlight_val_release.jsonl").read_text().splitlines()
    chosen = np.random.default_rng(_SEED).permutation(len(lines))[:count]
    return [json.loads(lines[at])["query"] for at in chosen]


def _row(name: str, noise_db: float, n_texts: int, heard: Sequence[Heard]) -> str:
    rate, low, high = interval([one.errors for one in heard], [one.words for one in heard])
    sound_s = sum(one.sound_s for one in heard)
    wall, cpu = (sum(getattr(one, kind) for one in heard) / sound_s for kind in ("wall_s", "cpu_s"))
    share = f"{rate:.1%} ({low:.1%} to {high:.1%}) | {wall:.2f} | {cpu:.2f}"
    return f"| {name} | {decibels(noise_db)} | {n_texts} in {len(heard)} | {share} |"


def decibels(noise_db: float) -> str:
    """A level of noise as tables show it."""
    return "clean" if np.isinf(noise_db) else f"{noise_db:.0f} dB"


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--captions", type=int, default=200)
    parser.add_argument("--voices", nargs="+", default=VOICES)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for row in word_errors(options.captions, options.voices, options.folder):
        print(row, flush=True)


if __name__ == "__main__":
    main()
