"""Training videos made up from captions: what a space's classifiers would see while a sentence is true.

No video is needed. A sentence is compared with the names of a classifier's classes, the similarities become
scores, noise is added as real clips show it, and the scores go over the same bridge as those of a real video.
Half of the videos are as annotated; the others join stretches of many videos, as edited footage does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.datasets.moment_examples import MomentExample
from vidsum.datasets.moments import MomentVideo
from vidsum.errors import UsageError
from vidsum.types import FloatArray, TimeArray

Embed = Callable[[Sequence[str]], FloatArray]
"""A text tower: texts to [N, D]."""

DROPPED, REPLACED = 0.12, 0.05
"""Shares of a query's words that are left out, and that are replaced by words of other sentences."""
_STRETCH_S = (2.0, 20.0)
"""Shortest and longest stretch of a joined video."""
_SHORTEST_S = 12.0
_SCENE = 0.3
"""How much of what its sentences say shows where none of them is true."""
_NOWHERE = 0.1
"""Share of the queries that are true nowhere in their video."""


@dataclass(frozen=True)
class Haze:
    """How the scores of a real classifier depart from the words that are true of a clip.

    docs/algorithms/captions.md tells how the values were measured.
    """

    temperature: float
    """A class's score is its name's similarity with the sentence over this."""
    noise: tuple[float, float]
    """Least and largest deviation of the noise on the scores; each video has its own."""
    clip_share: float
    """Share of the noise's variance that is new in each clip; the rest lasts as long as the sentence."""


@dataclass(frozen=True, eq=False)
class Channel:
    """A classifier and the way from its scores to a part of the space."""

    class_embeddings: FloatArray
    """[K, D] of length 1."""
    embed: Callable[[FloatArray], FloatArray]
    """Class scores [T, K] to rows [T, D] of the space."""
    haze: Haze


@dataclass(frozen=True, eq=False)
class Captions:
    """Annotated videos with their sentences embedded."""

    videos: tuple[MomentVideo, ...]
    first: npt.NDArray[np.int64]
    """[V] number of each video's first sentence."""
    vectors: FloatArray
    """[N, D] of the sentences as they are: what is seen."""
    asked: FloatArray
    """[N, D] of the sentences with words dropped and replaced: what is asked."""


class Stretch(NamedTuple):
    """A sentence that is true from start_s to end_s."""

    sentence: int
    start_s: float
    end_s: float


class Script(NamedTuple):
    """What happens in a made-up video."""

    name: str
    duration_s: float
    stretches: tuple[Stretch, ...]


def embed_captions(videos: Mapping[str, MomentVideo], embed: Embed, seed: int = 0) -> Captions:
    """Annotated videos with their sentences embedded, once as they are and once in disorder.

    Raises:
        UsageError: there is no sentence.
    """
    used = tuple(video for video in videos.values() if video.queries)
    texts = [query.text for video in used for query in video.queries]
    if not texts:
        raise UsageError("there is no caption to make videos from")
    counts = [len(video.queries) for video in used]
    first = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    disordered = disorder(texts, np.random.default_rng(seed))
    return Captions(used, first, embed(texts), embed(disordered))


def disorder(texts: Sequence[str], rng: np.random.Generator) -> list[str]:
    """The texts with words dropped, and replaced by words of any of them; none is left without a word."""
    vocabulary = np.array([word for text in texts for word in text.split()])
    changed = []
    for text in texts:
        words = np.array(text.split(), dtype=vocabulary.dtype)
        fate = rng.random(len(words))
        others = rng.choice(vocabulary, len(words))
        words = np.where(fate < REPLACED, others, words)[fate < 1 - DROPPED]
        changed.append(" ".join(words) or text)
    return changed


def make_up(
    captions: Captions,
    channels: Sequence[Channel],
    resample: Callable[[FloatArray, int], FloatArray],
    *,
    n_videos: int,
    clips: int,
    clip_s: float,
    n_queries: int,
    seed: Sequence[int],
) -> list[MomentExample]:
    """Training examples, drawn anew for each seed.

    Args:
        captions: what can happen in a video.
        channels: the parts of the space, side by side in a clip's feature.
        resample: rows [N, D] to a number of clips, as a grounder does it with a real video.
        n_videos: how many.
        clips: of each video, the model's T.
        clip_s: seconds of a clip of a space's grid.
        n_queries: asked of a video at most.
        seed: numbers that the draws depend on, such as a seed and an epoch.
    """
    rng = np.random.default_rng(list(seed))
    return [_example(captions, channels, resample, clips, clip_s, n_queries, rng) for _ in range(n_videos)]


def _example(
    captions: Captions,
    channels: Sequence[Channel],
    resample: Callable[[FloatArray, int], FloatArray],
    clips: int,
    clip_s: float,
    n_queries: int,
    rng: np.random.Generator,
) -> MomentExample:
    script = annotated(captions, rng) if rng.random() < 0.5 else joined(captions, clips * clip_s, rng)
    sentences = _sentences(script, captions.vectors, rng)
    seen = [_seen(script, sentences, channel, clip_s, rng) for channel in channels]
    video = resample(np.concatenate(seen, axis=1), clips)
    asked = _questions(script, n_queries, len(captions.vectors), rng)
    return MomentExample(script.name, video, captions.asked[asked], _windows(script, asked))


def annotated(captions: Captions, rng: np.random.Generator) -> Script:
    """A video as it is annotated."""
    number = int(rng.integers(len(captions.videos)))
    video, first = captions.videos[number], int(captions.first[number])
    stretches = tuple(
        Stretch(first + place, *window)
        for place, query in enumerate(video.queries)
        for window in query.windows
    )
    return Script(video.name, video.duration_s, stretches)


def joined(captions: Captions, longest_s: float, rng: np.random.Generator) -> Script:
    """Stretches of any sentences, one after the other."""
    duration_s = _between(rng, min(_SHORTEST_S, longest_s / 2), longest_s)
    stretches: list[Stretch] = []
    start_s = 0.0
    while start_s < duration_s:
        end_s = min(duration_s, start_s + _between(rng, *_STRETCH_S))
        stretches.append(Stretch(int(rng.integers(len(captions.vectors))), start_s, end_s))
        start_s = end_s
    return Script("joined", duration_s, tuple(stretches))


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """A draw whose logarithm is even."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _sentences(script: Script, vectors: FloatArray, rng: np.random.Generator) -> FloatArray:
    """[S + 1, D] what is true in each stretch; last, where no sentence is true: something else, in much the
    same scene.
    """
    own = vectors[[one.sentence for one in script.stretches]]
    background = vectors[rng.integers(len(vectors))] + _SCENE * own.mean(axis=0)
    return np.concatenate([own, background[None]])


def _seen(
    script: Script, sentences: FloatArray, channel: Channel, clip_s: float, rng: np.random.Generator
) -> FloatArray:
    """[N, D] what the space's part shows of each clip of `clip_s` seconds."""
    times = np.arange(max(1, int(np.ceil(script.duration_s / clip_s)))) * clip_s
    shares = np.stack([_share(one, times, clip_s) for one in script.stretches], axis=1)
    shares = np.concatenate([shares, (shares.sum(axis=1, keepdims=True) == 0)], axis=1)
    haze, n_classes = channel.haze, len(channel.class_embeddings)
    deviation = rng.uniform(*haze.noise)
    lasting = deviation * np.sqrt(1 - haze.clip_share)
    passing = deviation * np.sqrt(haze.clip_share)
    scores = sentences @ channel.class_embeddings.T / haze.temperature
    scores = scores + lasting * rng.standard_normal((len(sentences), n_classes), np.float32)
    mixed = shares / shares.sum(axis=1, keepdims=True) @ scores
    logits = mixed + passing * rng.standard_normal((len(times), n_classes), np.float32)
    return channel.embed(logits.astype(np.float32))


def _share(stretch: Stretch, times: TimeArray, clip_s: float) -> TimeArray:
    """[N] which part of each clip a stretch covers."""
    ends = np.minimum(times + clip_s, stretch.end_s)
    return np.maximum(ends - np.maximum(times, stretch.start_s), 0.0) / clip_s


def _questions(script: Script, n_queries: int, n_sentences: int, rng: np.random.Generator) -> list[int]:
    """Sentences that are asked of a video: some of its own, and now and then one that is true nowhere."""
    own = list(dict.fromkeys(one.sentence for one in script.stretches))
    asked = [int(number) for number in rng.permutation(own)[:n_queries]]
    if len(asked) > 1 and rng.random() < _NOWHERE * len(asked):
        asked[-1] = int(rng.integers(n_sentences))
    return asked


def _windows(script: Script, asked: Sequence[int]) -> FloatArray:
    """[M, W, 2] of each question as shares of the video, padded with empty windows."""
    of_each = [[one[1:] for one in script.stretches if one.sentence == sentence] for sentence in asked]
    windows = np.zeros((len(asked), max(1, *map(len, of_each)), 2), np.float32)
    for row, found in zip(windows, of_each, strict=True):
        row[: len(found)] = np.array(found, np.float64).reshape(-1, 2) / script.duration_s
    return windows
