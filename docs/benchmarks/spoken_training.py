"""Reading spoken queries without words: what is trained on captions that synthetic voices speak.

    python -m docs.benchmarks.spoken_training RUNS [--sentences 4000] [--epochs 4]

trains MRNet as in the paper's spoken-language moment retrieval (RUNS/spoken), and on the same sentences typed
(RUNS/typed): on videos simulated from ActivityNet's training annotations, the same in both. A run that was
stopped goes on; recordings are kept in the cache. docs/benchmarks/spoken.py tests both.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.linear_model import RidgeCV

from docs.benchmarks import argument_parser
from docs.benchmarks.speech import NOISES_DB
from docs.benchmarks.spoken_features import frames_of
from docs.benchmarks.voices import spoken, with_noise
from tests.conftest import SHARED
from vidsum import checkpoints
from vidsum.disk_cache import cached_rows
from vidsum.grounding.text import embed_once, load_text_encoder
from vidsum.grounding.vse import load_map
from vidsum.lab.datasets.moments import MomentVideo, read_moments
from vidsum.lab.training.captions import Captions, Sentences, captions_of
from vidsum.lab.training.data import N_VALIDATION, MomentData
from vidsum.lab.training.mrnet import train_mrnet
from vidsum.lab.training.settings import MRNetSettings
from vidsum.lab.training.simulated import Simulation, simulate_moments
from vidsum.options import build
from vidsum.scaling import normalise_rows, unit_rows
from vidsum.types import FloatArray

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
ENCODER = "minilm"
SENTENCES = 4000
_SEED, _VALIDATION = 0, 1
_VIDEOS = 2200
"""Drawn; those are used that come first."""
_HELD_OUT = 0.1
_PER_FRAME = 2
"""Frames of the encoder, 50 a second, that are averaged and kept as one."""
_CODES, _CODED = 512, 1000
"""Kinds of frames, and the recordings that they are found in."""
_CLIPS, _CLIP_S, _QUERIES = 64, 1.0, 4

Read = Callable[[FloatArray], FloatArray]
"""From the frames [L, 512] of a recording to a vector."""


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


def encoded(sounds: Sequence[Sound]) -> Iterator[FloatArray]:
    """[L, 512] of each sound by Whisper's encoder, 25 a second, in half precision."""
    for one in sounds:
        facts = {"sound": [one.text, one.voice, str(one.noise_db), one.seed], "per_s": 50 // _PER_FRAME}
        yield cached_rows("spoken", facts, lambda one=one: _frames(one))


def _frames(sound: Sound) -> FloatArray:
    rows = frames_of(sound.samples)
    whole = rows[: len(rows) // _PER_FRAME * _PER_FRAME]
    return whole.reshape(-1, _PER_FRAME, rows.shape[1]).mean(axis=1).astype(np.float16)


def training_videos(n_sentences: int) -> dict[str, MomentVideo]:
    """Annotated videos, drawn once, that have at most so many sentences together."""
    videos = {key: video for key, video in read_moments(ANNOTATIONS / "train.json").items() if video.queries}
    names = np.random.default_rng(_SEED).choice(sorted(videos), _VIDEOS, replace=False).tolist()
    counts = np.cumsum([len(videos[name].queries) for name in names])
    return {name: videos[name] for name, count in zip(names, counts, strict=True) if count <= n_sentences}


def texts_of(videos: dict[str, MomentVideo]) -> list[str]:
    """The sentences of videos, in their order."""
    return [query.text for video in videos.values() for query in video.queries]


def trained_on(texts: Sequence[str]) -> list[Sound]:
    """Texts spoken by voices and in noise that are drawn."""
    rng = np.random.default_rng(_SEED)
    return [
        Sound(text, str(rng.choice(TRAIN_VOICES)), float(rng.choice(NOISES_DB)), at)
        for at, text in enumerate(texts)
    ]


def mean_of(frames: Sequence[FloatArray]) -> Read:
    """The paper's reading: each frame normalised, and the mean; scaled by what it is over recordings."""
    return _standardised(frames, lambda one: normalise_rows(one.astype(np.float32)).mean(axis=0))


def codes_of(frames: Sequence[FloatArray]) -> Read:
    """The mean, and which kinds of frames there are: how near the nearest comes to each, and how often.

    The kinds are clusters of frames.
    """
    some = np.concatenate([normalise_rows(one[::3].astype(np.float32)) for one in frames[:_CODED]])
    centre, scale = some.mean(axis=0), some.std(axis=0)
    clusters = MiniBatchKMeans(_CODES, n_init=1, max_iter=30, batch_size=4096, random_state=_SEED)
    kinds = unit_rows(clusters.fit((some - centre) / scale).cluster_centers_)

    def read(one: FloatArray) -> FloatArray:
        rows = normalise_rows(one.astype(np.float32))
        near = unit_rows((rows - centre) / scale) @ kinds.T
        often = np.sqrt(np.bincount(near.argmax(axis=1), minlength=_CODES) / len(rows))
        return np.concatenate([rows.mean(axis=0), near.max(axis=0), often]).astype(np.float32)

    return _standardised(frames, read)


def _standardised(frames: Sequence[FloatArray], read: Read) -> Read:
    rows = np.stack([read(one) for one in frames])
    centre, scale = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    return lambda one: np.asarray((read(one) - centre) / scale, np.float32)


def as_typed(texts: Sequence[str]) -> FloatArray:
    """[N, 384] embeddings of texts."""
    encode = load_text_encoder(ENCODER, "cpu").encode
    return embed_once(list(texts), encode, checkpoints.sha256_of(ENCODER), None)


def linear(read: Read, frames: Sequence[FloatArray], vectors: FloatArray) -> Read:
    """A linear map, by ridge regression, from what is read of recordings to embeddings [N, D]."""
    rows = np.stack([read(one) for one in frames])
    fitted = RidgeCV(alphas=np.logspace(0, 6, 13)).fit(rows, vectors)
    return lambda one: unit_rows(fitted.predict(read(one)[None]))[0]


def captions(videos: dict[str, MomentVideo], vectors: FloatArray, queries: FloatArray) -> Captions:
    """Videos that show the embeddings [N, D] of their sentences, and are asked by other vectors [N, Q]."""
    sentences, start = {}, 0
    for name, video in videos.items():
        own = slice(start, start := start + len(video.queries))
        texts = [query.text for query in video.queries]
        sentences[name] = Sentences(vectors[own], np.stack([queries[own]] * 2), (texts, texts))
    return captions_of(videos, sentences)


def train(
    videos: dict[str, MomentVideo], vectors: FloatArray, queries: FloatArray, epochs: int, out: Path
) -> None:
    """Train MRNet on simulated videos that are asked by vectors [N, Q] of their sentences."""
    n_held_out = round(_HELD_OUT * len(videos))
    names, counts = list(videos), np.cumsum([len(video.queries) for video in videos.values()])
    border = int(counts[-n_held_out - 1])

    def simulation(own: Sequence[str], rows: slice) -> Simulation:
        of_videos = captions({name: videos[name] for name in own}, vectors[rows], queries[rows])
        return Simulation(of_videos, load_map().seen, _CLIPS, _CLIP_S, _QUERIES, guided=False)

    of_train = simulation(names[:-n_held_out], slice(border))
    of_val = simulation(names[-n_held_out:], slice(border, None))
    val = simulate_moments(of_val, N_VALIDATION, (_SEED, _VALIDATION))
    published = MRNetSettings.published("captions", "light")
    published |= {"epochs": epochs, "decay_at": (epochs * 2 // 3, epochs - 1), "warmup": 1.0}
    settings = build(MRNetSettings, {"device": "cpu", "precision": "bf16", "seed": _SEED}, published)
    data = MomentData(
        examples=lambda epoch: simulate_moments(of_train, 1200, (_SEED, _VALIDATION + 1, epoch)),
        validation=[example for example in val if example.windows.any()],
        features={"space": "vse", "clip_s": _CLIP_S, "guided": False},
        about={"sentences": len(vectors), "epochs": epochs},
    )
    print(out, train_mrnet(data, settings, out), flush=True)


def main() -> None:
    """Train both."""
    parser = argument_parser(__doc__, "runs")
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()
    videos = training_videos(options.sentences)
    texts = texts_of(videos)
    vectors = as_typed(texts)
    frames = list(encoded(trained_on(texts)))
    read = mean_of(frames)
    train(videos, vectors, np.stack([read(one) for one in frames]), options.epochs, options.runs / "spoken")
    train(videos, vectors, vectors, options.epochs, options.runs / "typed")


if __name__ == "__main__":
    main()
