"""Measures of retrieval between pictures and sentences: recall at K and the median rank, in both directions.

A picture answers a sentence that was written for it; a picture has several such sentences. Measures are
fractions. Equal scores count against what was searched for, so that equal scores for all are no success.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vidsum.evaluation.report import per_cent
from vidsum.types import FloatArray, TimeArray

Ranks = npt.NDArray[np.int64]

TOP: Final = (1, 5, 10)
"""The K of R@K: the fraction of queries with a right answer among their K best."""
LENGTHS: Final = {"up to 7 words": (0, 7), "8 to 12 words": (8, 12), "over 12 words": (13, 10**9)}
"""Fewest and most words of the sentences of a group."""
_DRAWS = 1000
"""Of the bootstrap."""
_ROWS = 1024
"""Queries that are ranked at a time."""


@dataclass(frozen=True)
class Measured:
    """A measure with 95 % of a bootstrap over pictures."""

    value: float
    low: float
    high: float

    def as_json(self) -> dict[str, float]:
        """See `vidsum.evaluation.report.Measures`."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Retrieval:
    """How well queries of one kind find their answers."""

    n_queries: int
    recall: Mapping[int, Measured]
    """K -> R@K."""
    median_rank: Measured

    def as_json(self) -> dict[str, Any]:
        """See `vidsum.evaluation.report.Measures`."""
        recall = [{"top": top, **each.as_json()} for top, each in self.recall.items()]
        return {"n_queries": self.n_queries, "recall": recall, "median_rank": self.median_rank.as_json()}


@dataclass(frozen=True)
class RetrievalMeasures:
    """A row: both directions, and the sentences of each length."""

    text_to_image: Retrieval
    image_to_text: Retrieval
    by_length: Mapping[str, Retrieval | None]
    """Of sentences, by the names of `LENGTHS`; None where there are none."""

    def as_json(self) -> dict[str, Any]:
        """See `vidsum.evaluation.report.Measures`."""
        return {
            "text_to_image": self.text_to_image.as_json(),
            "image_to_text": self.image_to_text.as_json(),
            "by_length": {name: each and each.as_json() for name, each in self.by_length.items()},
        }

    def figures(self) -> dict[str, str]:
        """All of both directions, and recall by length."""
        return dict(self._figures())

    def _figures(self) -> Iterator[tuple[str, str]]:
        for name, found in (("text to image", self.text_to_image), ("image to text", self.image_to_text)):
            yield from _recalls(name, found)
            rank = found.median_rank
            yield f"{name} median rank", f"{rank.value:g} [{rank.low:g}, {rank.high:g}]"
        for name, of_length in self.by_length.items():
            if of_length:
                yield from _recalls(name, of_length)


def _recalls(name: str, found: Retrieval) -> Iterator[tuple[str, str]]:
    for top, share in found.recall.items():
        low, high = (per_cent(end) for end in (share.low, share.high))
        yield f"{name} R@{top}", f"{per_cent(share.value)} [{low}, {high}]"


def text_ranks(pictures: FloatArray, sentences: FloatArray, picture_of: Ranks) -> Ranks:
    """[M] rank of its own picture for each sentence, from 1.

    Args:
        pictures: [N, D]
        sentences: [M, D]; the score of a pair is their product.
        picture_of: [M] number of each sentence's picture.
    """
    ranks = []
    for start in range(0, len(sentences), _ROWS):
        scores = sentences[start : start + _ROWS] @ pictures.T
        own = scores[np.arange(len(scores)), picture_of[start : start + _ROWS]]
        ranks.append((scores >= own[:, None]).sum(axis=1))
    return np.concatenate(ranks)


def picture_ranks(pictures: FloatArray, sentences: FloatArray, picture_of: Ranks) -> Ranks:
    """[N] rank of the best of its own sentences for each picture, from 1; see `text_ranks`."""
    ranks = []
    for start in range(0, len(pictures), _ROWS):
        scores = pictures[start : start + _ROWS] @ sentences.T
        is_own = picture_of == np.arange(start, start + len(scores))[:, None]
        best = np.where(is_own, scores, -np.inf).max(axis=1)
        ranks.append(1 + ((scores >= best[:, None]) & ~is_own).sum(axis=1))
    return np.concatenate(ranks)


def measure(text: Ranks, image: Ranks, picture_of: Ranks, words: npt.NDArray[np.int64]) -> RetrievalMeasures:
    """The measures of ranks.

    Args:
        text: [..., M] of `text_ranks`; [draws, M] are measured together.
        image: [..., N] of `picture_ranks`, with at least one sentence for each picture.
        picture_of: [M] number of each sentence's picture.
        words: [M] number of words of each sentence.
    """
    lengths = {name: (words >= low) & (words <= high) for name, (low, high) in LENGTHS.items()}
    return RetrievalMeasures(
        text_to_image=_retrieval(text, picture_of),
        image_to_text=_retrieval(image, np.arange(image.shape[-1])),
        by_length={
            name: _retrieval(text[..., chosen], picture_of[chosen]) if chosen.any() else None
            for name, chosen in lengths.items()
        },
    )


def _retrieval(ranks: Ranks, picture_of: Ranks) -> Retrieval:
    """Measures of ranks [..., Q], the bootstrap drawing the pictures of the queries."""
    pictures, number = np.unique(picture_of, return_inverse=True)
    number = np.broadcast_to(number, ranks.shape).ravel()
    order = np.argsort(ranks, axis=None)
    ranks, number = ranks.ravel()[order], number[order]
    drawn = np.array([_of_draw(ranks, number, len(pictures), seed) for seed in range(_DRAWS)])
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0).tolist()
    values = [*recall_at(ranks), float(np.median(ranks))]
    *recall, median = [Measured(*each) for each in zip(values, low, high, strict=True)]
    return Retrieval(len(ranks), dict(zip(TOP, recall, strict=True)), median)


def _of_draw(ranks: Ranks, number: Ranks, n_pictures: int, seed: int) -> TimeArray:
    """[4] R@1, R@5, R@10 and median of ascending ranks, each as often as its picture is drawn."""
    picks = np.random.default_rng(seed).integers(n_pictures, size=n_pictures)
    times = np.bincount(picks, minlength=n_pictures)[number]
    before = np.cumsum(times)
    found = [before[last - 1] if (last := int(np.searchsorted(ranks, top, "right"))) else 0 for top in TOP]
    median = ranks[np.searchsorted(before, before[-1] / 2)]
    return np.array([*(np.array(found) / before[-1]), median])


def recall_at(ranks: Ranks, tops: Sequence[int] = TOP) -> list[float]:
    """The fraction of ranks that are among the K best, for each K."""
    return [float((ranks <= top).mean()) for top in tops]
