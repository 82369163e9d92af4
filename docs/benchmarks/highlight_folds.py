"""QVHighlights' validation videos by captions of their clips, in five folds to train and test on."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vidsum.grounding.spaces import ClipEmbeddings, guided_rows
from vidsum.grounding.windows import with_endpoints
from vidsum.lab.datasets.moment_examples import HighlightExample, Pair
from vidsum.lab.datasets.timed_sentences import Query
from vidsum.types import FloatArray

N_FOLDS, VALIDATION = 5, 0.1


@dataclass(frozen=True)
class Data:
    """All queries in one order: their texts, vectors, videos, and examples without false pairs."""

    queries: Sequence[Query]
    vectors: FloatArray
    videos: Sequence[ClipEmbeddings]
    examples: Sequence[HighlightExample]

    def split(self, fold: int) -> dict[str, list[int]]:
        """Return the numbers of the queries of train, val and test."""
        groups = [query.video.rsplit("_", 2)[0] for query in self.queries]
        names = sorted(set(groups))
        random.Random(0).shuffle(names)
        test = set(names[fold::N_FOLDS])
        others = [name for name in names if name not in test]
        val = set(random.Random(fold).sample(others, round(VALIDATION * len(others))))
        parts = {"test": test, "val": val, "train": set(others) - val}
        return {part: [n for n, group in enumerate(groups) if group in parts[part]] for part in parts}

    def draw(self, numbers: Sequence[int], seed: int, epoch: int) -> list[HighlightExample]:
        """Return the examples of an epoch, each with a query that its video does not answer."""
        draw, drawn = np.random.default_rng((seed, epoch)), list[HighlightExample]()
        for number in numbers:
            other = number
            while self.queries[other].video == self.queries[number].video:
                other = numbers[draw.integers(len(numbers))]
            clips = with_endpoints(guided_rows(self.videos[number], self.vectors[other]))
            drawn.append(replace(self.examples[number], negative=Pair(clips, self.examples[other].words)))
        return drawn
