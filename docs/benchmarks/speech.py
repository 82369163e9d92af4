"""Speech: word error rates, speed, and moments that are said in films whose pictures show something else.

    python -m docs.benchmarks.speech words --captions 100
    python -m docs.benchmarks.speech said --folder FOLDER

The paragraphs and questions are in spoken_paragraphs.json. The films are those of docs/benchmarks/joined.py.
"""

import argparse
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from docs.benchmarks.joined import composite, embed
from docs.benchmarks.voices import RATE, VOICES, read_whole, spoken, with_noise, write_wav
from tests.conftest import SHARED
from vidsum.grounding.find import Request, locate
from vidsum.grounding.said import both, curve_said, evidence_of, moments_said, passages_of, sentences_of
from vidsum.grounding.spaces import STEP_S, ClipEmbeddings, embed_queries
from vidsum.intervals import iou
from vidsum.pipelines.speech import transcribe
from vidsum.types import FloatArray, Interval, QueryMoments

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
_PARAGRAPHS = Path(__file__).with_name("spoken_paragraphs.json")
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
    took_s: float


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
    """Transcribe samples [N] and count the errors."""
    path = folder / "heard.wav"
    write_wav(samples, path)
    started = time.perf_counter()
    text = transcribe(path, "en", device="cpu", cache=False).text
    took_s = time.perf_counter() - started
    expected = words_of(truth)
    return Heard(errors(expected, words_of(text)), len(expected), len(samples) / RATE, took_s)


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
    yield "| sound | SNR | texts in windows | WER (95 %) | seconds per second of sound |"
    yield "|---|---|---|---|---|"
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
    """Captions of QVHighlights' validation videos, drawn once."""
    lines = (SHARED / "data" / "qvhighlights" / "highlight_val_release.jsonl").read_text().splitlines()
    chosen = np.random.default_rng(_SEED).choice(len(lines), count, replace=False)
    return [json.loads(lines[at])["query"] for at in sorted(chosen)]


def _row(name: str, noise_db: float, n_texts: int, heard: Sequence[Heard]) -> str:
    rate, low, high = interval([one.errors for one in heard], [one.words for one in heard])
    speed = sum(one.took_s for one in heard) / sum(one.sound_s for one in heard)
    share = f"{rate:.1%} ({low:.1%} to {high:.1%})"
    return f"| {name} | {_decibels(noise_db)} | {n_texts} in {len(heard)} | {share} | {speed:.2f} |"


def _decibels(noise_db: float) -> str:
    return "clean" if np.isinf(noise_db) else f"{noise_db:.0f} dB"


@dataclass(frozen=True)
class Talk:
    """Paragraphs in the sound of a film, and where each is said."""

    samples: FloatArray
    times: tuple[Interval, ...]
    questions: tuple[str, ...]


def talk(duration_s: float, number: int, voice: str) -> Talk:
    """The film's share of the paragraphs, evenly spaced over it; `number` counts films from 0."""
    pairs = json.loads(_PARAGRAPHS.read_text())["paragraphs"]
    samples = np.zeros(round(duration_s * RATE), np.float32)
    times: list[Interval] = []
    questions = []
    fit = int(duration_s // 15)
    for place, (text, question) in enumerate(pairs[number * fit : (number + 1) * fit]):
        said, at = spoken(text, voice), round((place * 15 + 2) * RATE)
        sounding = np.flatnonzero(np.abs(said) > 0.01)
        end = min(at + len(said), len(samples))
        samples[at:end] = said[: end - at]
        times.append(((at + sounding[0]) / RATE, (at + sounding[-1]) / RATE))
        questions.append(question)
    return Talk(samples, tuple(times), tuple(questions))


def answers(
    video: ClipEmbeddings, sound: Path, queries: Sequence[str], top_k: int = 5
) -> dict[str, list[QueryMoments]]:
    """The moments of queries in what is seen, what is said and both, as `vidsum ground --in` finds them."""
    seen = locate("similarity", video, Request(queries, embed_queries("conse", queries, "cpu")), top_k, "cpu")
    passages = list(passages_of(sentences_of(transcribe(sound, "en", device="cpu", cache=False))))
    said = []
    for text, row in zip(queries, evidence_of(passages, queries, "cpu"), strict=True):
        curve = curve_said(passages, row, video.timestamps, STEP_S)
        said.append(QueryMoments(text, tuple(moments_said(passages, row, top_k)), curve, said=curve))
    joined = [both(*pair, top_k) for pair in zip(seen, said, strict=True)]
    return {"seen": seen, "said": said, "both": joined}


def moments_that_are_said(voices: Sequence[str], folder: Path) -> Iterator[str]:
    """Rows of R@1 at IoU 0.5: questions to what is said, and captions of what is seen."""
    yield "| sound | queries about | n | seen | said | both |"
    yield "|---|---|---|---|---|---|"
    films = [composite(folder, half, 180, 0) for half in ("even", "odd")]
    videos = [embed(path, "conse") for path, _ in films]
    for voice in voices:
        for noise_db in (np.inf, 10.0):
            hits: dict[str, dict[str, list[float]]] = {"what is said": {}, "what is seen": {}}
            for number, ((_, truth), video) in enumerate(zip(films, videos, strict=True)):
                told = talk(video.duration_s, number, voice)
                sound = folder / "talk.wav"
                write_wav(with_noise(told.samples, noise_db, _SEED), sound)
                shown = [query.text for query in truth.queries]
                windows = [*([time] for time in told.times), *(query.windows for query in truth.queries)]
                for where, found in answers(video, sound, [*told.questions, *shown]).items():
                    for at, (query, true) in enumerate(zip(found, windows, strict=True)):
                        about = "what is said" if at < len(told.questions) else "what is seen"
                        hits[about].setdefault(where, []).append(_hit(query, true))
            for about, by_evidence in hits.items():
                cells = [_share(by_evidence[where]) for where in ("seen", "said", "both")]
                n = len(by_evidence["seen"])
                yield f"| {voice}, {_decibels(noise_db)} | {about} | {n} | {' | '.join(cells)} |"


def _hit(answer: QueryMoments, windows: Sequence[Interval]) -> float:
    """Whether the first moment overlaps a true one by half."""
    if not answer.moments:
        return 0.0
    first = answer.moments[0]
    return float(iou([(first.start_s, first.end_s)], list(windows)).max() >= 0.5)


def _share(hits: Sequence[float]) -> str:
    rate, low, high = interval(hits, [1.0] * len(hits))
    return f"{rate:.0%} ({low:.0%} to {high:.0%})"


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("table", choices=("words", "said"))
    parser.add_argument("--captions", type=int, default=200)
    parser.add_argument("--voices", nargs="+", default=VOICES)
    parser.add_argument("--folder", type=Path, default=Path("composites"))
    options = parser.parse_args()
    with TemporaryDirectory() as scratch:
        if options.table == "words":
            rows = word_errors(options.captions, options.voices, Path(scratch))
        else:
            rows = moments_that_are_said(options.voices, options.folder)
        for row in rows:
            print(row, flush=True)


if __name__ == "__main__":
    main()
