"""Captions as scripts of videos: the sentences of annotations, each with its times and its embedding.

Some scripts are as annotated; the others join segments of any videos, as edited footage does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.datasets.moments import MomentVideo
from vidsum.errors import UsageError
from vidsum.grounding.text import embed_once
from vidsum.types import FloatArray, Progress

Embed = Callable[[Sequence[str]], FloatArray]
"""A text encoder: texts to [N, D]."""
Words = Callable[[Sequence[int]], list[FloatArray]]
"""Numbers of sentences to their words, an [L, D] for each."""

DROPPED, REPLACED = 0.12, 0.05
"""Fractions of a query's words that are left out, and that are replaced by words of other sentences."""
_SEGMENT_S, _SHORTEST_S = (2.0, 20.0), 12.0
"""Shortest and longest segment of a joined video, and the shortest joined video."""


class Segment(NamedTuple):
    """A sentence that is true from start_s to end_s."""

    sentence: int
    start_s: float
    end_s: float


class Script(NamedTuple):
    """The sentences of a video."""

    name: str
    duration_s: float
    segments: tuple[Segment, ...]
    saliency: Mapping[int, FloatArray] = MappingProxyType({})
    """Sentence -> the annotators' scores [C, U] of it where there are any, see `Query.saliency`."""


@dataclass(frozen=True, eq=False)
class Captions:
    """Annotated videos with their sentences embedded."""

    videos: tuple[MomentVideo, ...]
    first: npt.NDArray[np.int64]
    """[V] number of each video's first sentence."""
    vectors: FloatArray
    """[N, D] of the sentences as they are, for the clips."""
    queries: FloatArray
    """[N, D] of the sentences with words dropped and replaced, for the queries."""
    query_texts: tuple[str, ...]
    """Those sentences."""


def embed_captions(
    videos: Mapping[str, MomentVideo],
    embed: Embed,
    encoder: str,
    seed: int = 0,
    progress: Progress | None = None,
) -> Captions:
    """Embed the sentences of annotated videos, once as they are and once with words dropped and replaced.

    Embeddings are kept on disk under `vidsum.disk_cache.home()`: tens of thousands of sentences take minutes.

    `encoder` identifies the text encoder: its weights' hash; `seed` is that of the dropped words. Raises
    UsageError where there is no sentence.
    """
    used = tuple(video for video in videos.values() if video.queries)
    texts = [query.text for video in used for query in video.queries]
    if not texts:
        raise UsageError("there is no caption to simulate videos from")
    counts = [len(video.queries) for video in used]
    first = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    query_texts = disorder(texts, np.random.default_rng(seed))
    vectors, queries = (embed_once(each, embed, encoder, progress) for each in (texts, query_texts))
    return Captions(used, first, vectors, queries, tuple(query_texts))


def words_of(captions: Captions, encode: Callable[[Sequence[str]], list[FloatArray]], most: int) -> Words:
    """A function that gives the words of the queries' sentences, at most `most` of each.

    Those of a sentence are embedded once, by `TextEncoder.encode_words`, and kept: L x D x 4 bytes, 23 kB for
    15 words of MiniLM's.
    """
    known: dict[int, FloatArray] = {}

    def words(sentences: Sequence[int]) -> list[FloatArray]:
        new = sorted(set(sentences) - known.keys())
        embedded = encode([captions.query_texts[sentence] for sentence in new])
        known.update((sentence, rows[:most].copy()) for sentence, rows in zip(new, embedded, strict=True))
        return [known[sentence] for sentence in sentences]

    return words


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


def annotated(captions: Captions, rng: np.random.Generator) -> Script:
    """Any video as it is annotated."""
    return script_of(captions, int(rng.integers(len(captions.videos))))


def script_of(captions: Captions, number: int) -> Script:
    """A video as it is annotated, by its number."""
    video, first = captions.videos[number], int(captions.first[number])
    segments = tuple(
        Segment(first + number, *window)
        for number, query in enumerate(video.queries)
        for window in query.windows
    )
    scores = {first + number: query.saliency for number, query in enumerate(video.queries)}
    scored = {sentence: saliency for sentence, saliency in scores.items() if saliency is not None}
    return Script(video.name, video.duration_s, segments, MappingProxyType(scored))


def joined(captions: Captions, longest_s: float, rng: np.random.Generator) -> Script:
    """Segments of any sentences, one after the other."""
    duration_s = _between(rng, min(_SHORTEST_S, longest_s / 2), longest_s)
    return Script("joined", duration_s, tuple(_any(captions, 0.0, duration_s, rng)))


def filled(script: Script, captions: Captions, rng: np.random.Generator) -> Script:
    """Fill the gaps of a script with segments of any sentences.

    What goes on between the moments of a real video changes as often as they do.
    """
    others: list[Segment] = []
    end_s = 0.0
    for start, end in sorted([*(segment[1:] for segment in script.segments), (script.duration_s,) * 2]):
        if start - end_s >= _SEGMENT_S[0]:
            others += _any(captions, end_s, start, rng)
        end_s = max(end_s, end)
    return script._replace(segments=(*script.segments, *others))


def _any(captions: Captions, start_s: float, stop_s: float, rng: np.random.Generator) -> list[Segment]:
    """Segments of any sentences, one after the other, from one time to another."""
    segments: list[Segment] = []
    while start_s < stop_s:
        end_s = min(stop_s, start_s + _between(rng, *_SEGMENT_S))
        segments.append(Segment(int(rng.integers(len(captions.vectors))), start_s, end_s))
        start_s = end_s
    return segments


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """A draw whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
