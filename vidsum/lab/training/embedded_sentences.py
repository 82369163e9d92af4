"""The sentences of annotated videos, embedded: as they are, shortened, and with words changed."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from vidsum.errors import UsageError
from vidsum.grounding.text_encoders import embed_cached
from vidsum.lab.datasets.timed_sentences import MomentVideo
from vidsum.types import FloatArray, IntArray, Progress, iou

Embed = Callable[[Sequence[str]], FloatArray]  # a text encoder: texts to [N, D]
Words = Callable[[Sequence[int]], list[FloatArray]]  # numbers of sentences to their words, an [L, D] for each

DROPPED, REPLACED = 0.12, 0.05
"""Fractions of a query's words that are left out, and that are replaced by words of other sentences."""
_MAX_SHORT_WORDS = 4  # maximum number of words of a shortened sentence
_SAME_EVENT_IOU = 0.8  # two sentences of a video whose windows have at least this IoU describe the same event
_EMPTY_WORDS = """
    a an the this that these those some another other it its he she they them his her their him i you we
    is are was were be been being am do does did has have had can will and or but as while when then
    than there which who what where how also so very just up down out off over into onto in on at of to
    from for with without by about around through after before again back together near next front
    behind person people someone one two
"""
_NO_CONTENT: Final = frozenset(_EMPTY_WORDS.split())
"""Words that are not in a shortened sentence: they hardly say what distinguishes a moment."""


@dataclass(frozen=True, eq=False)
class Captions:
    """Annotated videos with their sentences embedded."""

    videos: tuple[MomentVideo, ...]
    first: IntArray  # [V] number of each video's first sentence
    texts: tuple[str, ...]  # texts that clips show: the N sentences, then the captions of clips
    vectors: FloatArray  # [N + C, D] of those
    clips: Mapping[str, range]
    """The numbers of the captions of a video's clips, of `CLIP_S` each, for the videos that have such."""
    queries: FloatArray
    """[2N, D] of the sentences with words dropped and replaced, and of those shortened to a few words."""
    query_texts: tuple[str, ...]
    same_event: Mapping[int, tuple[int, ...]]  # sentence -> other sentences that describe the same event

    @property
    def n_sentences(self) -> int:
        return len(self.queries) // 2

    @cached_property
    def video_of(self) -> IntArray:
        """[N] number of each sentence's video."""
        return np.repeat(np.arange(len(self.videos)), np.diff(self.first, append=self.n_sentences))

    @cached_property
    def described(self) -> IntArray:
        """The sentences of videos that have captions of clips."""
        has = np.array([video.name in self.clips for video in self.videos])
        return np.flatnonzero(has[self.video_of])


class ClipCaptions(NamedTuple):
    """Captions of the clips of a video, one for each."""

    texts: tuple[str, ...]
    vectors: FloatArray  # [C, D]


def embed_sentences(
    videos: Mapping[str, MomentVideo],
    embed: Embed,
    encoder: str,
    seed: int = 0,
    progress: Progress | None = None,
    clips: Mapping[str, ClipCaptions] = MappingProxyType({}),
) -> Captions:
    """Embed the sentences of the annotated videos that have any; UsageError if none has.

    `encoder` identifies the text encoder for the cache; `seed` is for the dropped words; `clips` has
    the captions of the clips of some videos.
    """
    used = tuple(video for video in videos.values() if video.queries)
    texts = [query.text for video in used for query in video.queries]
    if not texts:
        raise UsageError("no caption to simulate videos from")
    rng = np.random.default_rng(seed)
    changed, short = change_words(texts, rng), shorten(texts, rng)
    forms = (texts, changed, short)
    vectors, *queries = (embed_cached(phrases, embed, encoder, progress) for phrases in forms)
    described = {video.name: clips[video.name] for video in used if video.name in clips}
    ends = np.cumsum([len(texts), *(len(of_video.texts) for of_video in described.values())]).tolist()
    first = np.cumsum([0, *(len(video.queries) for video in used[:-1])])
    return Captions(
        videos=used,
        first=first,
        texts=(*texts, *(text for of_video in described.values() for text in of_video.texts)),
        vectors=np.concatenate([vectors, *(of_video.vectors for of_video in described.values())]),
        clips={name: range(*edges) for name, edges in zip(described, pairwise(ends), strict=True)},
        queries=np.concatenate(queries),
        query_texts=(*changed, *short),
        same_event=_same_events(used, first.tolist()),
    )


def words_of(captions: Captions, encode: Callable[[Sequence[str]], list[FloatArray]], most: int) -> Words:
    """Return a function that gives up to `most` words of queries; `encode` embeds each query once."""
    known: dict[int, FloatArray] = {}

    def words(sentences: Sequence[int]) -> list[FloatArray]:
        new = sorted(set(sentences) - known.keys())
        embedded = encode([captions.query_texts[sentence] for sentence in new])
        known.update((sentence, rows[:most].copy()) for sentence, rows in zip(new, embedded, strict=True))
        return [known[sentence] for sentence in sentences]

    return words


def change_words(texts: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return the texts with words dropped or replaced by words of other texts; each keeps a word."""
    vocabulary = np.array([word for text in texts for word in text.split()])
    changed = []
    for text in texts:
        words = np.array(text.split(), dtype=vocabulary.dtype)
        fate = rng.random(len(words))
        others = rng.choice(vocabulary, len(words))
        words = np.where(fate < REPLACED, others, words)[fate < 1 - DROPPED]
        changed.append(" ".join(words) or text)
    return changed


def shorten(texts: Sequence[str], rng: np.random.Generator) -> list[str]:
    """One to four content words of each text, in order, rare ones more often; a text without any stays."""
    contents = [content_words(text) for text in texts]
    n_texts = Counter(word for words in contents for word in words)
    short = []
    for text, words in zip(texts, contents, strict=True):
        rarity = np.array([np.log((len(texts) + 1) / n_texts[word]) for word in words])
        n_words = min(int(rng.integers(1, _MAX_SHORT_WORDS + 1)), len(words))
        if words:
            chosen = rng.choice(len(words), n_words, replace=False, p=rarity / rarity.sum())
            text = " ".join(words[place] for place in sorted(chosen))
        short.append(text)
    return short


def content_words(text: str) -> list[str]:
    """Return the distinct words of a text that say what it is about."""
    return list(dict.fromkeys(word for word in re.findall(r"\w+", text.lower()) if word not in _NO_CONTENT))


def _same_events(videos: Sequence[MomentVideo], first: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Sentences of a video whose moments are nearly the same."""
    same: dict[int, tuple[int, ...]] = {}
    for video, start in zip(videos, first, strict=True):
        whole = [(query.windows[0][0], query.windows[-1][1]) for query in video.queries]
        is_same = (iou(whole, whole) >= _SAME_EVENT_IOU) & ~np.eye(len(whole), dtype=np.bool_)
        same |= {
            start + row: tuple((start + np.flatnonzero(others)).tolist())
            for row, others in enumerate(is_same)
            if others.any()
        }
    return same
