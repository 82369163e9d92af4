"""Typed queries, spoken ones through their transcripts, and spoken ones without words, by noise.

    python -m docs.benchmarks.spoken FILMS [--model mrnet] [--sentences 1200]

End to end, the model reads the mean of Whisper's encoder over the recording, as MRNet's SLMR has it
(docs/benchmarks/spoken_features.py), after a linear map to the embeddings of texts. The map is fitted to
sentences of ActivityNet's training annotations, spoken by voices and in noise that are drawn. The test has
other voices, and asks the films of docs/benchmarks/joined.py in FILMS and videos simulated from test
annotations. What was spoken and heard is kept in the cache: a run that was stopped goes on.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import RidgeCV

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import resampled
from docs.benchmarks.joined import composite, embed
from docs.benchmarks.speech import NOISES_DB, decibels
from docs.benchmarks.spoken_features import vector_of
from docs.benchmarks.voices import spoken, with_noise, write_wav
from tests.conftest import SHARED
from vidsum import checkpoints
from vidsum.datasets.examples import MomentExample
from vidsum.datasets.moments import read_moments
from vidsum.disk_cache import kept_rows
from vidsum.grounding.conse import name_embeddings
from vidsum.grounding.find import Request, locate
from vidsum.grounding.grounder import Grounder, ground_video, load_grounder
from vidsum.grounding.spaces import CLASSIFIERS, ClipEmbeddings
from vidsum.grounding.text import load_text_encoder
from vidsum.intervals import iou
from vidsum.models.mrnet import MRNet
from vidsum.pipelines.speech import transcribe
from vidsum.scaling import unit_rows
from vidsum.training.captions import Captions, embed_captions
from vidsum.training.mrnet import best_ious
from vidsum.training.simulated import NOISE, Classifier, Simulation, simulate_moments
from vidsum.types import FloatArray, Moment

ANNOTATIONS = SHARED / "data" / "activitynet"
TRAIN_VOICES = (
    "flite:kal",
    "espeak-ng:en-us",
    "flite:awb",
    "espeak-ng:en-gb",
    "flite:rms",
    "espeak-ng:en-us+f3",
    "espeak-ng:en-gb-x-gbclan",
)
TEST_VOICES = ("flite:slt", "espeak-ng:en-gb-scotland")
_TESTS = 150
_SEED, _TEST = 0, 3
_AT_ONCE = 50
_ENCODER = "minilm"
_MINILM, _WHISPER, _WHISPER_ENCODER = 22.7, 72.6, 20.6
"""Million parameters."""
_TIMED = 10


@dataclass(frozen=True)
class Sound:
    """A text that is spoken."""

    text: str
    voice: str
    noise_db: float
    seed: int

    @property
    def samples(self) -> FloatArray:
        """[N]"""
        return with_noise(spoken(self.text, self.voice), self.noise_db, self.seed)


def tested(texts: Sequence[str], noise_db: float) -> list[Sound]:
    """Texts spoken by the voices of the test in turn."""
    return [Sound(text, TEST_VOICES[at % len(TEST_VOICES)], noise_db, at) for at, text in enumerate(texts)]


def encoded(sounds: Sequence[Sound]) -> FloatArray:
    """[M, 512] what the model that is trained end to end reads of sounds."""
    parts, rest = [], iter(sounds)
    while some := list(islice(rest, _AT_ONCE)):
        facts = {"sounds": [[one.text, one.voice, str(one.noise_db), one.seed] for one in some]}
        parts.append(kept_rows("spoken", facts, lambda: np.stack([vector_of(one.samples) for one in some])))
    return np.concatenate(parts)


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
    return load_text_encoder(_ENCODER, "cpu").encode(list(texts))


def drawn(name: str, n_videos: int) -> Captions:
    """The sentences of some videos of a file of annotations, drawn once."""
    videos = {key: video for key, video in read_moments(ANNOTATIONS / name).items() if video.queries}
    chosen = np.random.default_rng(_SEED).choice(sorted(videos), n_videos, replace=False).tolist()
    few = {key: videos[key] for key in chosen}
    encode = load_text_encoder(_ENCODER, "cpu").encode
    return embed_captions(few, encode, checkpoints.sha256_of(_ENCODER), _SEED)


def simulation(captions: Captions, vectors: FloatArray, grounder: Grounder) -> Simulation:
    """Videos of some captions as a model reads them, each asked for one of the N sentences by its vector."""
    classifiers = [Classifier(name_embeddings(one, "cpu"), NOISE[one]) for one in CLASSIFIERS]
    asked = replace(captions, queries=np.concatenate([vectors, vectors]))
    clips = grounder.model.config.clips
    return Simulation(asked, classifiers, clips, grounder.clip_s, guided=grounder.guided)


def reader_of_sounds(n_sentences: int) -> Callable[[FloatArray], FloatArray]:
    """A linear map from what Whisper's encoder makes of sounds to embeddings of what they say."""
    captions = drawn("train.json", n_sentences // 3)
    texts = captions.texts[: min(n_sentences, captions.n_sentences)]
    rng = np.random.default_rng(_SEED)
    sounds = [
        Sound(text, str(rng.choice(TRAIN_VOICES)), float(rng.choice(NOISES_DB)), at)
        for at, text in enumerate(texts)
    ]
    fitted = RidgeCV(alphas=np.logspace(-2, 4, 13)).fit(encoded(sounds), captions.vectors[: len(texts)])
    return lambda vectors: unit_rows(fitted.predict(vectors))


class Trial(NamedTuple):
    """Queries, and how a model (None: similarity) answers them."""

    name: str
    texts: Sequence[str]
    """[M] the distinct ones."""
    asked: Sequence[int]
    """[Q] which text each query is: errors are of a bootstrap over texts."""
    hits: Callable[[Grounder | None, FloatArray], FloatArray]
    """From the vectors [M, D] of the texts: [Q] whether the first moment has an IoU of .5."""
    by_similarity: bool
    """Whether they can be answered without a model."""


def simulated_trial(captions: Captions) -> Trial:
    """Videos simulated from annotations; each asks one of their sentences."""
    texts = captions.texts[: captions.n_sentences]

    def examples(vectors: FloatArray, grounder: Grounder) -> list[MomentExample]:
        drawn = simulate_moments(simulation(captions, vectors, grounder), _TESTS, (_SEED, _TEST))
        return [example for example in drawn if example.windows.any()]

    def hits(grounder: Grounder | None, vectors: FloatArray) -> FloatArray:
        assert grounder
        assert isinstance(grounder.model, MRNet)
        return np.float32(best_ious(grounder.model, examples(vectors, grounder))[:, 0] >= 0.5)

    # which sentence an example asks for, by vectors that are its number
    numbers = np.arange(len(texts), dtype=np.float32)[:, None]
    some = replace(load_grounder("mrnet", "cpu"), guided=False)
    asked = [int(example.queries[0, 0]) for example in examples(numbers, some)]
    return Trial("simulated ActivityNet", texts, asked, hits, by_similarity=False)


def joined_trial(folder: Path) -> Trial:
    """The films of real clips, asked for their clips by captions."""
    films = [composite(folder, "all", 120, seed) for seed in range(10)]
    videos = [embed(path, "conse", "bf16") for path, _ in films]
    texts = sorted({query.text for _, truth in films for query in truth.queries})

    def hits(grounder: Grounder | None, vectors: FloatArray) -> FloatArray:
        found = []
        for video, (_, truth) in zip(videos, films, strict=True):
            own = vectors[[texts.index(query.text) for query in truth.queries]]
            for query, moment in zip(truth.queries, firsts(grounder, video, own), strict=True):
                best = iou([(moment.start_s, moment.end_s)], list(query.windows)).max()
                found.append(float(best >= 0.5))
        return np.array(found, np.float32)

    asked = [texts.index(query.text) for _, truth in films for query in truth.queries]
    return Trial("films of real clips", texts, asked, hits, by_similarity=True)


def firsts(grounder: Grounder | None, video: ClipEmbeddings, vectors: FloatArray) -> list[Moment]:
    """The best moment of each query [M, D]."""
    if grounder is None:
        request = Request([""] * len(vectors), vectors)
        return [one.moments[0] for one in locate("similarity", video, request, 1, "cpu")]
    answers = ground_video(grounder, video, list(vectors[:, None]), vectors, 1)
    return [one.moments[0] for one in answers]


Found = dict[tuple[str, str], list[FloatArray]]
"""By model and way, the hits [Q] at each noise; once where nothing is spoken."""


def found_in(
    trial: Trial, models: Mapping[str, Grounder | None], read: Callable[[FloatArray], FloatArray] | None
) -> Found:
    """The answers of all models to queries that are asked in all ways."""
    sounds = [tested(trial.texts, noise) for noise in NOISES_DB]
    as_typed = typed(trial.texts)
    ways = {"typed": [as_typed], "another query": [np.roll(as_typed, len(as_typed) // 2, axis=0)]}
    ways["transcript"] = [typed(heard(one)) for one in sounds]
    if read:
        ways["end to end"] = [read(encoded(one)) for one in sounds]
    return {
        (name, way): [trial.hits(grounder, vectors) for vectors in by_noise]
        for name, grounder in models.items()
        for way, by_noise in ways.items()
        if grounder or trial.by_similarity
    }


def table(trial: Trial, found: Found, voices: Sequence[str]) -> Iterator[str]:
    """R@1 at IoU .5 of the queries of some voices; in brackets the difference from the same queries typed."""
    kept = np.array([TEST_VOICES[text % len(TEST_VOICES)] in voices for text in trial.asked])
    groups = [str(text) for text in np.array(trial.asked)[kept]]
    yield f"{trial.name}, {' and '.join(voices)}: {len(groups)} queries, {len(set(groups))} different\n"
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
    parser = argument_parser(__doc__)
    parser.add_argument("films", type=Path)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--sentences", type=int, default=1200, help="to train on; 0: no row end to end")
    parser.add_argument("--tested", type=int, default=15, help="annotated videos to test on")
    options = parser.parse_args()
    models: dict[str, Grounder | None] = {
        "similarity": None,
        **{name: load_grounder(name, "cpu") for name in options.model},
    }
    read = reader_of_sounds(options.sentences) if options.sentences else None
    for trial in (joined_trial(options.films), simulated_trial(drawn("test.json", options.tested))):
        found = found_in(trial, models, read)
        for voices in (TEST_VOICES, *((voice,) for voice in TEST_VOICES)):
            print("\n".join(table(trial, found, voices)), end="\n\n", flush=True)
    print("\n".join(costs(trial.texts)))


if __name__ == "__main__":
    main()
