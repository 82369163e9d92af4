"""How well the joins of clips are found by the features of each extractor.

    python -m docs.benchmarks.edges FOLDER [--seeds 0 1 2] [--extractor efficientnet_lite0 mobilenet_v2]

Joined films of 120 s are made in FOLDER. KTS cuts each by one extractor's features alone, without the
refinement of `vidsum shots`; a join is found if an edge lies within 1 s. Equal shots and random edges know
the number of joins.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.boundaries import Times, f1, precision_recall
from docs.benchmarks.joined import composite, joins_of
from docs.benchmarks.tables import print_table
from vidsum import extract
from vidsum.shots.segmentation import find

_WITHIN_S, _RANDOM_DRAWS = 1.0, 100


def equal(joins: Times, duration_s: float) -> Times:
    """As many edges as there are joins, at even distances."""
    return np.linspace(0, duration_s, len(joins) + 2)[1:-1]


def cells(name: str, found: Sequence[Times], joins: Sequence[Times]) -> list[str]:
    """A row: precision, recall and F1, averaged over films."""
    pairs = list(zip(found, joins, strict=True))
    rates = [(*precision_recall(edges, true, _WITHIN_S), f1(edges, true, _WITHIN_S)) for edges, true in pairs]
    return [name, *(f"{value:.3f}" for value in np.mean(rates, axis=0))]


def rows(films: Sequence[Path], extractors: Sequence[str]) -> Iterator[list[str]]:
    """The rows of the table."""
    joins, durations = zip(*map(joins_of, films), strict=True)
    for name in extractors:
        yield cells(name, [find(extract(film, extractor=name)).edges_s[1:-1] for film in films], joins)
    pairs = list(zip(joins, durations, strict=True))
    yield cells("equal shots", [equal(true, duration_s) for true, duration_s in pairs], joins)
    rng = np.random.default_rng(0)
    drawn = [rng.uniform(0, duration_s, len(true)) for true, duration_s in pairs * _RANDOM_DRAWS]
    yield cells("random edges", drawn, joins * _RANDOM_DRAWS)


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, "folder", small="films --seeds 0 --extractor efficientnet_lite0")
    parser.add_argument("--seeds", type=int, nargs="+", default=range(3))
    parser.add_argument("--extractor", nargs="+", default=["efficientnet_lite0", "mobilenet_v2"])
    options = parser.parse_args()
    films = [composite(options.folder, "all", 120, seed)[0] for seed in options.seeds]
    print_table(["features", "precision", "recall", "F1"], rows(films, options.extractor))


if __name__ == "__main__":
    main()
