"""Typed queries, spoken ones through their transcripts, and spoken ones without words, by noise.

    python -m docs.benchmarks.spoken FILMS [--model mrnet] [--runs RUNS] [--sentences 4000]

Without words, a model reads what Whisper's encoder makes of the recording: after a linear map to the
embeddings of texts, or, if docs/benchmarks/spoken_training.py has trained RUNS, as MRNet's spoken-language
moment retrieval has it, beside the same network trained on typed queries. All is fitted to the captions,
voices and noise of that script. The test has other voices. Similarity answers for the films of
docs/benchmarks/joined.py in FILMS, the models for videos simulated from test annotations. What was spoken and
heard is kept in the cache: a run that was stopped goes on.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import resampled
from docs.benchmarks.joined import composite, embed
from docs.benchmarks.speech import NOISES_DB, decibels
from docs.benchmarks.spoken_features import vector_of
from docs.benchmarks.spoken_training import (
    ANNOTATIONS,
    ENCODER,
    SENTENCES,
    Read,
    Sound,
    as_typed,
    codes_of,
    encoded,
    linear,
    mean_of,
    texts_of,
    trained_on,
    training_videos,
)
from docs.benchmarks.voices import write_wav
from vidsum import checkpoints
from vidsum.grounding.find import Request, locate
from vidsum.grounding.grounder import Grounder, load_grounder
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.vse import load_map
from vidsum.intervals import iou, stack_intervals
from vidsum.lab.datasets.examples import MomentExample
from vidsum.lab.datasets.moments import read_moments
from vidsum.lab.evaluation.moment_metrics import best_ious, random_moments
from vidsum.lab.training.captions import Captions, embed_captions
from vidsum.lab.training.mrnet import best_ious as model_ious
from vidsum.lab.training.simulated import Simulation, simulate_moments
from vidsum.models.mrnet import MRNet
from vidsum.pipelines.speech import transcribe
from vidsum.results.moments import Moment
from vidsum.types import FloatArray, TimeArray

TEST_VOICES = ("flite:slt", "espeak-ng:en-gb-scotland")
_TESTS, _DRAWS = 150, 10
_SEED, _TEST = 0, 3
_MINILM, _WHISPER, _WHISPER_ENCODER = 22.7, 72.6, 20.6
"""Million parameters."""
_TIMED = 10


def tested(texts: Sequence[str], noise_db: float) -> list[Sound]:
    """Texts spoken by the voices of the test in turn."""
    return [Sound(text, TEST_VOICES[at % len(TEST_VOICES)], noise_db, at) for at, text in enumerate(texts)]


def heard(sounds: Sequence[Sound], cache: bool = True) -> list[str]:
    """The transcripts of sounds; empty where nothing was heard."""
    texts = []
    with TemporaryDirectory() as folder:
        for sound in sounds:
            path = Path(folder) / "query.wav"
            write_wav(sound.samples, path)
            texts.append(transcribe(path, "en", device="cpu", cache=cache).text)
    return texts


def typed(texts: Sequence[str]) -> FloatArray:
    """[M, 384] embeddings of texts."""
    return load_text_encoder(ENCODER, "cpu").encode(list(texts))


def drawn(name: str, n_videos: int) -> Captions:
    """The sentences of some videos of a file of annotations, drawn once."""
    videos = {key: video for key, video in read_moments(ANNOTATIONS / name).items() if video.queries}
    chosen = np.random.default_rng(_SEED).choice(sorted(videos), n_videos, replace=False).tolist()
    few = {key: videos[key] for key in chosen}
    encode = load_text_encoder(ENCODER, "cpu").encode
    return embed_captions(few, encode, checkpoints.sha256_of(ENCODER), seed=_SEED)


def simulation(captions: Captions, vectors: FloatArray, grounder: Grounder) -> Simulation:
    """Videos of some captions as a model reads them, each asked for one of the N sentences by its vector."""
    asked = replace(captions, queries=np.concatenate([vectors, vectors]))
    clips = grounder.model.config.clips
    return Simulation(asked, load_map().seen, clips, grounder.clip_s, guided=grounder.guided)


class Trial(NamedTuple):
    """Queries, and how a model (None: similarity) answers them."""

    name: str
    texts: Sequence[str]
    """[M] the distinct ones."""
    asked: Sequence[int]
    """[Q] which text each query is: errors are of a bootstrap over texts."""
    hits: Callable[[Grounder | None, FloatArray], FloatArray]
    """From the vectors [M, D] of the texts: [Q] whether the first moment has an IoU of .5."""
    windows: TimeArray
    """[Q, W, 2] where the queries are true, as fractions of the videos."""
    by_similarity: bool
    """Whether they are asked without a model, or of the models."""

    @property
    def by_chance(self) -> float:
        """The fraction of right first answers of random moments."""
        moments = random_moments(np.ones(len(self.asked)), _DRAWS, 1)
        return float((best_ious(moments, self.windows) >= 0.5).mean())


def simulated_trial(captions: Captions) -> Trial:
    """Videos simulated from annotations; each asks one of their sentences."""
    texts = captions.texts[: captions.n_sentences]

    def examples(vectors: FloatArray, grounder: Grounder) -> list[MomentExample]:
        drawn = simulate_moments(simulation(captions, vectors, grounder), _TESTS, (_SEED, _TEST))
        return [example for example in drawn if example.windows.any()]

    def hits(grounder: Grounder | None, vectors: FloatArray) -> FloatArray:
        assert grounder
        assert isinstance(grounder.model, MRNet)
        return np.float32(model_ious(grounder.model, examples(vectors, grounder))[:, 0] >= 0.5)

    # which sentence an example asks for, by vectors that are its number
    numbers = np.arange(len(texts), dtype=np.float32)[:, None]
    some = replace(load_grounder("mrnet", "cpu"), guided=False)
    drawn = examples(numbers, some)
    asked = [int(example.queries[0, 0]) for example in drawn]
    windows = stack_intervals([example.windows[0].tolist() for example in drawn])
    return Trial("simulated ActivityNet", texts, asked, hits, windows, by_similarity=False)


def joined_trial(folder: Path) -> Trial:
    """The films of real clips, asked for their clips by captions."""
    films = [composite(folder, "all", 120, seed) for seed in range(10)]
    videos = [embed(path, "vse", "bf16") for path, _ in films]
    texts = sorted({query.text for _, truth in films for query in truth.queries})

    def hits(_: Grounder | None, vectors: FloatArray) -> FloatArray:
        found = []
        for video, (_, truth) in zip(videos, films, strict=True):
            own = vectors[[texts.index(query.text) for query in truth.queries]]
            for query, moment in zip(truth.queries, firsts(video, own), strict=True):
                best = iou([(moment.start_s, moment.end_s)], list(query.windows)).max()
                found.append(float(best >= 0.5))
        return np.array(found, np.float32)

    queries = [query for _, truth in films for query in truth.queries]
    asked = [texts.index(query.text) for query in queries]
    windows = stack_intervals([(np.array(query.windows) / query.duration_s).tolist() for query in queries])
    return Trial("films of real clips", texts, asked, hits, windows, by_similarity=True)


def firsts(video: ClipEmbeddings, vectors: FloatArray) -> list[Moment]:
    """The best moment of each query [M, D] by similarity."""
    request = Request([""] * len(vectors), vectors)
    return [one.moments[0] for one in locate("similarity", video, request, 1, "cpu")]


class Way(NamedTuple):
    """How a model is asked: its name and the way's, and the vectors [M, D] of the texts at each noise."""

    model: str
    name: str
    grounder: Grounder | None
    vectors: Sequence[FloatArray]
    """Once where nothing is spoken."""


Found = dict[tuple[str, str], list[FloatArray]]
"""By model and way, the hits [Q] at each noise."""


class Wordless(NamedTuple):
    """What reads recordings without words."""

    maps: Mapping[str, Read]
    """To the embeddings of texts."""
    mean: Read
    """As MRNet was trained to read them."""


def wordless(n_sentences: int) -> Wordless:
    """Linear maps that are fitted to training captions, from two ways to read frames."""
    texts = texts_of(training_videos(n_sentences))
    frames, vectors = list(encoded(trained_on(texts))), as_typed(texts)
    mean, codes = mean_of(frames), codes_of(frames)
    maps = {"mean": linear(mean, frames, vectors), "kinds": linear(codes, frames, vectors)}
    return Wordless(maps, mean)


def ways_of(
    texts: Sequence[str],
    models: Mapping[str, Grounder | None],
    without: Wordless | None,
    runs: Mapping[str, Grounder],
) -> Iterator[Way]:
    """All ways to ask for texts."""
    sounds = [tested(texts, noise) for noise in NOISES_DB]
    as_text, other = typed(texts), len(texts) // 2
    by_words = [typed(heard(one)) for one in sounds]
    frames = [list(encoded(one)) for one in sounds] if without else []
    for name, model in models.items():
        yield Way(name, "typed", model, [as_text])
        yield Way(name, "another query", model, [np.roll(as_text, other, axis=0)])
        yield Way(name, "transcript", model, by_words)
        for kind, read in (without.maps if without else {}).items():
            yield Way(name, f"linear, {kind}", model, [_read(read, of_noise) for of_noise in frames])
    if without and runs:
        own, means = "mrnet, trained on this", [_read(without.mean, of_noise) for of_noise in frames]
        yield Way(own, "typed", runs["typed"], [as_text])
        yield Way(own, "another query", runs["typed"], [np.roll(as_text, other, axis=0)])
        yield Way(own, "end to end", runs["spoken"], means)
        yield Way(own, "another recording", runs["spoken"], [np.roll(one, other, axis=0) for one in means])


def _read(read: Read, frames: Sequence[FloatArray]) -> FloatArray:
    return np.stack([read(one) for one in frames])


def table(trial: Trial, found: Found, voices: Sequence[str]) -> Iterator[str]:
    """R@1 at IoU .5 of the queries of some voices; in brackets the difference from the same queries typed."""
    kept = np.array([TEST_VOICES[text % len(TEST_VOICES)] in voices for text in trial.asked])
    groups = [str(text) for text in np.array(trial.asked)[kept]]
    yield f"{trial.name}, {' and '.join(voices)}: {len(groups)} queries, {len(set(groups))} different"
    yield f"(random moments: {100 * trial.by_chance:.1f})\n"
    yield "| model | queries | " + " | ".join(map(decibels, NOISES_DB)) + " |"
    yield "|---|---|" + "---|" * len(NOISES_DB)
    for (name, way), by_noise in found.items():
        (right,) = found[name, "typed"]
        cells = [_cell(hits[kept], None if way == "typed" else right[kept], groups) for hits in by_noise]
        cells += [""] * (len(NOISES_DB) - len(cells))
        yield f"| {name} | {way} | {' | '.join(cells)} |"


def _cell(hits: FloatArray, typed_hits: FloatArray | None, groups: Sequence[str]) -> str:
    mean, error = 100 * hits.mean(), _error(hits, groups)
    if typed_hits is None:
        return f"{mean:.1f} ± {error:.1f}"
    change = hits - typed_hits
    return f"{mean:.1f} ({100 * change.mean():+.1f} ± {_error(change, groups):.1f})"


def _error(values: FloatArray, groups: Sequence[str]) -> float:
    return float(100 * resampled(values[:, None].astype(np.float64), groups).std())


def costs(texts: Sequence[str]) -> Iterator[str]:
    """Parameters of what embeds a query, and its processor seconds, once its networks are loaded."""
    sounds = tested(texts[: _TIMED + 1], np.inf)
    ways: dict[str, tuple[float, Callable[[Sound], object]]] = {
        "typed": (_MINILM, lambda sound: typed([sound.text])),
        "transcript": (_WHISPER + _MINILM, lambda sound: typed(heard([sound], cache=False))),
        "end to end": (_WHISPER_ENCODER, lambda sound: vector_of(sound.samples)),
    }
    yield "| queries | million parameters | processor seconds |"
    yield "|---|---|---|"
    for name, (size, embed_one) in ways.items():
        embed_one(sounds[0])
        started = time.process_time()
        for sound in sounds[1:]:
            embed_one(sound)
        yield f"| {name} | {size} | {(time.process_time() - started) / (len(sounds) - 1):.2f} |"


def main() -> None:
    """Print a table for each kind of video, and what the ways cost."""
    parser = argument_parser(__doc__, "films")
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--runs", type=Path, help="of docs/benchmarks/spoken_training.py")
    parser.add_argument("--sentences", type=int, default=SENTENCES, help="to train on; 0: words alone")
    parser.add_argument("--tested", type=int, default=15, help="annotated videos to test on")
    options = parser.parse_args()
    models: dict[str, Grounder | None] = {
        "similarity": None,
        **{name: load_grounder(name, "cpu") for name in options.model},
    }
    runs = {
        name: load_grounder(str(options.runs / name / "best.safetensors"), "cpu")
        for name in (("typed", "spoken") if options.runs else ())
    }
    without = wordless(options.sentences) if options.sentences else None
    for trial in (joined_trial(options.films), simulated_trial(drawn("test.json", options.tested))):
        found = {
            (way.model, way.name): [trial.hits(way.grounder, vectors) for vectors in way.vectors]
            for way in ways_of(trial.texts, models, without, runs)
            if (way.grounder is None) == trial.by_similarity
        }
        for voices in (TEST_VOICES, *((voice,) for voice in TEST_VOICES)):
            print("\n".join(table(trial, found, voices)), end="\n\n", flush=True)
    print("\n".join(costs(trial.texts)))


if __name__ == "__main__":
    main()
