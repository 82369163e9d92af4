"""How much everyday phrases count in a search of an archive: the right clip first, among the 40 shared clips.

    python -m docs.benchmarks.hubs

Each clip is a video. A query is answered by the best mean of three seconds of z(q, t), see
`vidsum.grounding.presence`, for several weights of the phrases. "Left out" has the weight that the queries
about the other clips choose, by the mean per cent of the kinds. In brackets are 95 % of a bootstrap over
queries of the difference from weight 0.
"""

from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from docs.benchmarks.joined import KINDS, embed, known_clips, notes
from vidsum.grounding import presence
from vidsum.grounding.match import embed_background
from vidsum.grounding.presence import evidence_curves
from vidsum.grounding.spaces import embed_queries
from vidsum.types import TimeArray

_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
_DRAWS = 1000


def list_queries() -> list[tuple[str, str, int]]:
    """Kind, text and number of the clip."""
    clips = known_clips()
    return [(kind, clip[kind], n) for kind in KINDS for n, clip in enumerate(clips) if clip.get(kind)]


def measure() -> TimeArray:
    """[weights, queries] 1 where the right clip is first."""
    names = [Path(clip["file"]).name for clip in known_clips()]
    videos = [embed(Path(clip["file"]), "vse", "auto") for clip in known_clips()]
    queries, fits, background = list_queries(), notes()["fits"], embed_background("vse")
    vectors = embed_queries("vse", [text for _, text, _ in queries])
    hits = np.zeros((len(_WEIGHTS), len(queries)))
    for row, weight in enumerate(_WEIGHTS):
        presence._BACKGROUND_WEIGHT = weight
        best = []
        for video in videos:
            curves = evidence_curves(video, vectors, background)
            best.append(sliding_window_view(curves, min(3, len(video)), axis=1).mean(axis=2).max(axis=1))
        for column, first in enumerate(np.argmax(best, axis=0)):
            kind, text, number = queries[column]
            others = fits.get(text, ()) if kind == "short" else ()
            hits[row, column] = first == number or names[first] in others
    return hits


def choose_without(hits: TimeArray, clip: int) -> int:
    """The row of the best weight for the queries about other clips."""
    queries = list_queries()
    means = [
        hits[:, [n for n, (name, _, of) in enumerate(queries) if name == kind and of != clip]].mean(axis=1)
        for kind in KINDS
    ]
    return int(np.mean(means, axis=0).round(6).argmax())


def main() -> None:
    """Print the table."""
    hits, queries, rng = measure(), list_queries(), np.random.default_rng(0)
    chosen = {clip: choose_without(hits, clip) for clip in range(len(known_clips()))}
    out = np.array([hits[chosen[clip], n] for n, (_, _, clip) in enumerate(queries)])
    print(f"| weight | {' | '.join(KINDS)} |\n|---|{'---|' * len(KINDS)}")
    for name, row in [*zip(_WEIGHTS, hits, strict=True), ("left out", out)]:
        cells = []
        for kind in KINDS:
            columns = [n for n, query in enumerate(queries) if query[0] == kind]
            change = 100 * (row - hits[0])[columns]
            low, high = np.percentile(rng.choice(change, (_DRAWS, len(change))).mean(axis=1), [2.5, 97.5])
            cells.append(f"{100 * row[columns].mean():.1f} [{low:.0f}, {high:.0f}]")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
