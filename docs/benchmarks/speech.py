"""Speech: errors of words, invented words and uncertain segments, by sound, noise and language.

    python -m docs.benchmarks.speech FOLDER [--captions 60] [--voices flite:slt ...] [--prompts FOLDER]

--prompts is where Debian's packages asterisk-core-sounds-{fr,it}, asterisk-core-sounds-{fr,it}-g722,
asterisk-moh-opsound-g722 and asc-music are unpacked: people's speech with its text, and music. By default /.
What was measured stays in FOLDER/heard.jsonl, so that a run that was stopped goes on.
"""

import gzip
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
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
_NOISES_DB = (np.inf, 10.0, 0.0)
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
PROMPTS = {"fr": "fr_CA_f_June", "it": "it_IT_m_Carlo"}
_SEED = 0
_GROUP_S = 27.0
_SHORTEST_S = 3.5
_PROMPTS_S, _CROWD_S = 130.0, 240.0
_RESAMPLES = 2000
Spoken = tuple[FloatArray, str]
"""Samples [N] and the text that is said in them; empty: none."""


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return re.findall(r"[^\W_]+", text.lower())


def errors(truth: Sequence[str], heard: Sequence[str]) -> tuple[int, list[bool]]:
    """Least number of words to replace, leave out or put in; and which of the heard words are right."""
    costs = np.zeros((len(truth) + 1, len(heard) + 1), int)
    costs[:, 0], costs[0] = np.arange(len(truth) + 1), np.arange(len(heard) + 1)
    for row, word in enumerate(truth, 1):
        for at, other in enumerate(heard, 1):
            replaced = costs[row - 1, at - 1] + (word != other)
            costs[row, at] = min(costs[row - 1, at] + 1, costs[row, at - 1] + 1, replaced)
    right, row, at = [False] * len(heard), len(truth), len(heard)
    while row and at:
        is_same = truth[row - 1] == heard[at - 1]
        if costs[row, at] == costs[row - 1, at - 1] + (not is_same):
            row, at = row - 1, at - 1
            right[at] = is_same
        elif costs[row, at] == costs[row - 1, at] + 1:
            row -= 1
        else:
            at -= 1
    return int(costs[-1, -1]), right


@dataclass(frozen=True)
class Heard:
    """How a sound was understood."""

    words: int
    """In the text."""
    errors: int
    heard: int
    """Words that were written."""
    marked: int
    """Of these, in uncertain segments."""
    marked_wrong: int
    wrong: int
    """Of all that were written."""
    sound_s: float
    cpu_s: float
    """Seconds of processors."""


def hear(samples: FloatArray, text: str, folder: Path) -> Heard:
    """Transcribe samples [N] and compare with a text, unless FOLDER/heard.jsonl has the result."""
    log, key = folder / "heard.jsonl", sha256(samples.tobytes()).hexdigest()
    lines = log.read_text().splitlines() if log.exists() else []
    for line in lines:
        kept = json.loads(line)
        if kept.pop("sound") == key:
            return Heard(**kept)
    path = folder / "heard.wav"
    write_wav(samples, path)
    started = time.process_time()
    segments = transcribe(path, device="cpu", cache=False).segments
    cpu_s = time.process_time() - started
    written = [(word, segment.uncertain) for segment in segments for word in words_of(segment.text)]
    truth = words_of(text)
    count, right = errors(truth, [word for word, _ in written])
    wrong = [is_marked for (_, is_marked), is_right in zip(written, right, strict=True) if not is_right]
    marked = sum(is_marked for _, is_marked in written)
    heard = Heard(len(truth), count, len(written), marked, sum(wrong), len(wrong), len(samples) / RATE, cpu_s)
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


def in_groups(clips: Sequence[Spoken], longest_s: float = _GROUP_S) -> Iterator[Spoken]:
    """Clips and their texts, as many at once as fit, by default into a window of Whisper; pauses between."""
    pause = np.zeros(RATE, np.float32)
    sounds: list[FloatArray] = []
    texts: list[str] = []
    for samples, text in clips:
        if sounds and sum(map(len, sounds)) + len(samples) > longest_s * RATE:
            yield np.concatenate(sounds), " ".join(texts)
            sounds, texts = [], []
        sounds += [samples, pause]
        texts.append(text)
    yield np.concatenate(sounds), " ".join(texts)


def recordings() -> list[Spoken]:
    """LJ Speech and Kennedy."""
    files = [(f"LJ001-{number:04d}.flac", text) for number, text in enumerate(LJ_SPEECH, 1)]
    return [(read_whole(SHARED / "speech" / name), text) for name, text in [*files, ("jfk.flac", KENNEDY)]]


def prompts(language: str, root: Path) -> list[Spoken]:
    """Sentences of Asterisk's prompts in a language, drawn once."""
    texts = root / f"usr/share/doc/asterisk-core-sounds-{language}/core-sounds-{language}.txt.gz"
    sounds = root / "usr/share/asterisk/sounds" / PROMPTS[language]
    with gzip.open(texts, "rt", encoding="utf-8") as file:
        rows = [line.split(":", 1) for line in file if re.match(r"[^;:]+:[^\[(]+$", line)]
    drawn: list[Spoken] = []
    for at in np.random.default_rng(_SEED).permutation(len(rows)):
        name, text = rows[at]
        if (path := sounds / f"{name.strip()}.g722").exists():
            samples = read_whole(path)
            if len(samples) > _SHORTEST_S * RATE:
                drawn.append((samples, text.strip()))
        if sum(len(samples) for samples, _ in drawn) > _PROMPTS_S * RATE:
            break
    return drawn


def crowd(clips: Sequence[Spoken]) -> list[Spoken]:
    """Voices without words: six at once, all backwards."""
    backwards = np.concatenate([samples[::-1] for samples, _ in clips])
    rows = [np.roll(backwards, number * 17 * RATE) for number in range(6)]
    return [(samples, "") for samples in _cut(np.sum(rows, axis=0) / 3, 12.0)]


def music(root: Path) -> list[Spoken]:
    """Eight instrumental pieces, in minutes."""
    folders = [root / "usr/share/asterisk/moh", root / "usr/share/games/asc/music"]
    files = [path for folder in folders for path in sorted(folder.glob("*.[gm][7p]*"))]
    return [(samples, "") for path in files for samples in _cut(read_whole(path), 60.0)]


def noise() -> list[Spoken]:
    """Ten minutes of white noise at several volumes."""
    rng = np.random.default_rng(_SEED)
    return [
        (rng.normal(0, level, 60 * RATE).astype(np.float32), "") for level in np.geomspace(0.005, 0.5, 10)
    ]


def two_languages(first: Sequence[Spoken], second: Sequence[Spoken]) -> list[Spoken]:
    """Half a minute of one language, then of another one, and so on: two turns each in a file."""
    turns = zip(in_groups(first, 35), in_groups(second, 35), strict=False)
    both = [clip for pair in turns for clip in pair]
    return [clip for start in range(0, len(both), 4) for clip in in_groups(both[start : start + 4], 1e6)]


def _cut(samples: FloatArray, seconds: float) -> list[FloatArray]:
    step = round(seconds * RATE)
    return [samples[start : start + step] for start in range(0, len(samples) - step // 2, step)]


def captions(count: int) -> list[str]:
    """Captions of QVHighlights' validation videos, drawn once: the first of a larger number are the same."""
    lines = (SHARED / "data" / "qvhighlights" / "highlight_val_release.jsonl").read_text().splitlines()
    chosen = np.random.default_rng(_SEED).permutation(len(lines))[:count]
    return [json.loads(lines[at])["query"] for at in chosen]


def table(n_captions: int, voices: Sequence[str], root: Path, folder: Path) -> Iterator[str]:
    """Rows: people by noise, two languages in one file, sounds without words, then synthetic voices."""
    yield "| sound | SNR | n | WER, or words/min (95 %) | marked | wrong: marked, others | processor s |"
    yield "|---|---|---|---|---|---|---|"
    french, italian = (prompts(language, root) for language in PROMPTS)
    people = {"English": recordings(), "French": french, "Italian": italian}
    yield from _by_noise(people, folder)
    mixed = {"English and French": (recordings(), french), "French and Italian": (french, italian)}
    sounds = {name: two_languages(*pair) for name, pair in mixed.items()}
    sounds |= {"crowd": crowd([*french, *italian]), "music": music(root), "noise": noise()}
    for name, clips in sounds.items():
        yield _row(name, "", [hear(*clip, folder) for clip in clips])
    texts = captions(n_captions)
    yield from _by_noise({voice: [(spoken(text, voice), text) for text in texts] for voice in voices}, folder)


def _by_noise(kinds: Mapping[str, Sequence[Spoken]], folder: Path) -> Iterator[str]:
    for name, clips in kinds.items():
        groups = list(in_groups(clips))
        for noise_db in _NOISES_DB:
            noisy = [(with_noise(samples, noise_db, _SEED), text) for samples, text in groups]
            yield _row(name, decibels(noise_db), [hear(*clip, folder) for clip in noisy])


def _row(name: str, noise: str, heard: Sequence[Heard]) -> str:
    sound_s = sum(one.sound_s for one in heard)
    if any(one.words for one in heard):
        rate, low, high = interval([one.errors for one in heard], [one.words for one in heard])
        shown = f"{rate:.1%} ({low:.1%} to {high:.1%})"
    else:
        rate, low, high = interval([one.heard for one in heard], [one.sound_s / 60 for one in heard])
        shown = f"{rate:.2f} ({low:.2f} to {high:.2f})"
    written, marked, marked_wrong, wrong = (
        sum(getattr(one, kind) for one in heard) for kind in ("heard", "marked", "marked_wrong", "wrong")
    )
    of_marked = f"{marked_wrong / marked:.0%}" if marked else "-"
    others = f"{(wrong - marked_wrong) / (written - marked):.0%}" if written > marked else "-"
    share = f"{marked / written:.0%}" if written else "-"
    cpu = sum(one.cpu_s for one in heard) / sound_s
    n = f"{len(heard)}, {sound_s:.0f} s"
    return f"| {name} | {noise} | {n} | {shown} | {share} | {of_marked}, {others} | {cpu:.2f} |"


def decibels(noise_db: float) -> str:
    """A level of noise as tables show it."""
    return "clean" if np.isinf(noise_db) else f"{noise_db:.0f} dB"


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, "folder")
    parser.add_argument("--captions", type=int, default=60)
    parser.add_argument("--voices", nargs="+", default=VOICES[::2])
    parser.add_argument("--prompts", type=Path, default=Path("/"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for row in table(options.captions, options.voices, options.prompts, options.folder):
        print(row, flush=True)


if __name__ == "__main__":
    main()
