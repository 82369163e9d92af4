"""How many highlights mix scenes of joined films, and how many of their edges are at joins.

    python -m docs.benchmarks.highlight_scenes FOLDER [--seeds 801 802 803 804 805 806 807 808]

Joined films of 120 s are made in FOLDER, one a seed. A highlight mixes scenes if it shows .25 s or more of
two clips; an edge is at a join, or at an end of the film, within .15 s. The constants of
`vidsum.summary.highlights` were chosen on films of the seeds 411 to 413 and 601 to 605. The second row has
windows of the same lengths at random places. Brackets: 95 % of a bootstrap over films.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import composite
from docs.benchmarks.tables import bootstrap, print_table, with_interval
from vidsum.lab.datasets.timed_sentences import MomentVideo
from vidsum.pipelines.highlights import find_highlights
from vidsum.types import Interval, TimeArray

_OVERLAP_S, _NEAR_S = 0.25, 0.15
Counts = list[tuple[int, int, int]]
"""For each film, the number of highlights, of highlights that mix scenes, and of edges at joins."""


def grade(spans: Sequence[Interval], truth: MomentVideo) -> tuple[int, int, int]:
    """The number of spans, of those that mix scenes, and of their edges at joins."""
    clips = [(query.qid, window) for query in truth.queries for window in query.windows]
    joins = np.array([0.0, truth.duration_s, *(edge for _, window in clips for edge in window)])
    mixed = at_joins = 0
    for start_s, end_s in spans:
        files = {file for file, (begin, end) in clips if min(end, end_s) - max(begin, start_s) >= _OVERLAP_S}
        mixed += len(files) > 1
        at_joins += sum(bool((np.abs(joins - edge) <= _NEAR_S).any()) for edge in (start_s, end_s))
    return len(spans), mixed, at_joins


def at_random(spans: Sequence[Interval], duration_s: float, seed: int) -> list[Interval]:
    """Spans of the same lengths, at random places."""
    rng = np.random.default_rng(seed)
    lengths = [end_s - start_s for start_s, end_s in spans]
    starts = [rng.uniform(0, duration_s - length) for length in lengths]
    return [(start, start + length) for start, length in zip(starts, lengths, strict=True)]


def cells(rows: Mapping[str, Counts]) -> Iterator[list[str]]:
    """The rows of the table."""
    for name, counts in rows.items():
        row, (total, *right) = [name], np.sum(counts, axis=0).tolist()
        for place, (count, per_span) in enumerate(zip(right, (1, 2), strict=True), start=1):

            def share(drawn: TimeArray, place: int = place, per_span: int = per_span) -> TimeArray:
                sums = drawn.sum(axis=1)
                return np.asarray(100 * sums[:, place] / np.maximum(per_span * sums[:, 0], 1))

            n_all = per_span * total
            per_cent = with_interval(100 * count / max(n_all, 1), bootstrap(counts, share), 0)
            row.append(f"{count} of {n_all}, {per_cent} %")
        yield row


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, "folder", small="films --seeds 801")
    parser.add_argument("--seeds", type=int, nargs="+", default=range(801, 809))
    options = parser.parse_args()
    rows: dict[str, Counts] = {"`vidsum highlights`": [], "random places": []}
    for seed in options.seeds:
        path, truth = composite(options.folder, "all", 120, seed)
        spans = [moment.interval for moment in find_highlights(path).moments]
        placed = at_random(spans, truth.duration_s, seed)
        for counts, windows in zip(rows.values(), (spans, placed), strict=True):
            counts.append(grade(windows, truth))
    print_table(["", "mix scenes", "edges at joins"], cells(rows))


if __name__ == "__main__":
    main()
