"""How many highlights mix scenes of joined films, and how many of their edges are at joins.

    python -m docs.benchmarks.highlight_scenes FOLDER [--seeds 801 802 803 804 805 806 807 808]

Makes films of 120 s of all shared clips in FOLDER, one a seed, or takes those that are there. A highlight
mixes scenes if it shows .25 s or more of two clips; an edge is at a join, or at an end of the film, within
.15 s. The constants of `vidsum.summary.highlights` were chosen on films of the seeds 411 to 413 and 601 to
605. The second row has windows of the same lengths at random places. Brackets: 95 % of 2,000 bootstrap draws
of films.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import composite
from vidsum.lab.datasets.moments import MomentVideo
from vidsum.pipelines.highlights import find_highlights
from vidsum.types import FloatArray, Interval

SECONDS, OVERLAP_S, NEAR_S = 120, 0.25, 0.15


def grade(spans: Sequence[Interval], truth: MomentVideo) -> tuple[int, int, int]:
    """Return the number of spans, of those that mix scenes, and of edges at joins."""
    clips = [(str(query.qid), window) for query in truth.queries for window in query.windows]
    joins = np.array([0.0, truth.duration_s, *(edge for _, window in clips for edge in window)])
    mixed = at_joins = 0
    for start_s, end_s in spans:
        files = {file for file, (begin, end) in clips if min(end, end_s) - max(begin, start_s) >= OVERLAP_S}
        mixed += len(files) > 1
        at_joins += sum(bool((np.abs(joins - edge) <= NEAR_S).any()) for edge in (start_s, end_s))
    return len(spans), mixed, at_joins


def in_random_places(spans: Sequence[Interval], duration_s: float, seed: int) -> list[Interval]:
    """Return spans of the same lengths."""
    rng = np.random.default_rng(seed)
    lengths = [end_s - start_s for start_s, end_s in spans]
    starts = [rng.uniform(0, duration_s - length) for length in lengths]
    return [(start, start + length) for start, length in zip(starts, lengths, strict=True)]


def line(name: str, counts: FloatArray) -> str:
    """Return a row of a table from counts [films, 3]."""
    draws = np.random.default_rng(0).integers(0, len(counts), (2000, len(counts)))
    sums = counts[draws].sum(axis=1)
    total, mixed, joins = counts.sum(axis=0)
    cells = []
    for count, all_of, shares in (
        (mixed, total, sums[:, 1] / sums[:, 0]),
        (joins, 2 * total, sums[:, 2] / sums[:, 0] / 2),
    ):
        low, high = np.percentile(100 * shares, [2.5, 97.5])
        cells.append(f"{count:.0f} of {all_of:.0f}, {100 * count / all_of:.0f} % [{low:.0f}, {high:.0f}]")
    return f"| {name} | {cells[0]} | {cells[1]} |"


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, "folder")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(801, 809)))
    options = parser.parse_args()
    rows: dict[str, list[tuple[int, int, int]]] = {"`vidsum highlights`": [], "random places": []}
    for seed in options.seeds:
        path, truth = composite(Path(options.folder), "all", SECONDS, seed)
        spans = [moment.interval for moment in find_highlights(path).moments]
        placed = in_random_places(spans, truth.duration_s, seed)
        for of_row, windows in zip(rows.values(), (spans, placed), strict=True):
            of_row.append(grade(windows, truth))
    print("| | mix scenes | edges at joins |\n|---|---|---|")
    for name, counts in rows.items():
        print(line(name, np.array(counts, np.float32)))


if __name__ == "__main__":
    main()
