"""Whether the probability that a query is true can be calibrated in one space of cosines and used in another.

    python -m docs.benchmarks.presence_transfer FOLDER [--videos 1519]

That is what presence in the space `clip` would need as long as its weights are not at hand. Three spaces of
cosines with MiniLM's sentences: QVHighlights' clips by captions of them, and the joined films of
`docs.benchmarks.grounding` (in FOLDER) by what I3D or EfficientNet-Lite0 recognises. Evidence is the largest
mean over three clips of the cosine, standardised by those of the background queries in the same clip: all
that a space gives without background clips. A logistic curve is fitted in each space and judged in all: AUC,
and the expected calibration error.
"""

from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from docs.benchmarks import argument_parser
from docs.benchmarks.joined import composite, embed
from docs.benchmarks.no_target import NEAR, SHOWN, SPACE, auc, calibration_error, judged, queries_of
from docs.benchmarks.presence_captions import FOLDER as QVHIGHLIGHTS
from docs.benchmarks.qvhighlights_guide import embedded
from vidsum import checkpoints
from vidsum.datasets.moments import read_moments
from vidsum.grounding.presence import NAME, largest_means, load_background
from vidsum.grounding.spaces import embed_queries
from vidsum.types import FloatArray

Rows = tuple[FloatArray, npt.NDArray[np.bool_]]
"""[N] evidence, and whether each is true."""


def evidence(clips: FloatArray, queries: FloatArray) -> FloatArray:
    """[M] of queries [M, D] in the clips [T, D] of a video."""
    others = load_background(checkpoints.sha256_of(NAME)).queries @ clips.T
    return largest_means((queries @ clips.T - others.mean(axis=0)) / others.std(axis=0))


def by_captions(n_videos: int) -> Rows:
    """Each video is asked a query of its own and one of another."""
    annotated = read_moments(QVHIGHLIGHTS / "highlight_val_release.jsonl").values()
    queries = [video.queries[0] for video in islice(annotated, n_videos)]
    vectors, rng = embed_queries(SPACE, [query.text for query in queries]), np.random.default_rng(0)
    scores = []
    for number, query in enumerate(queries):
        (captions,) = embedded(QVHIGHLIGHTS / "clip_captions_val.jsonl.gz", query).parts
        other = (number + rng.integers(1, len(queries))) % len(queries)
        scores.append(evidence(captions, vectors[[number, other]]))
    return np.concatenate(scores), np.tile([True, False], len(queries))


def by_classes(folder: Path, part: int) -> Rows:
    """Each film is asked the captions of all clips."""
    asked, rows = queries_of("all", "query"), []
    for seed in range(10):
        path, truth = composite(folder, "all", 120, seed)
        scores = evidence(embed(path, SPACE, "bf16").parts[part], asked.request.vectors)
        present = {query.qid for query in truth.queries}
        rows += [row for row in judged(asked, scores.tolist(), present) if row.kind != NEAR]
    return np.array([row.score for row in rows], np.float32), np.array([row.kind == SHOWN for row in rows])


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--videos", type=int, default=1519)
    options = parser.parse_args()
    spaces = {
        "captions": by_captions(options.videos),
        "motion": by_classes(options.folder, 0),
        "objects": by_classes(options.folder, 1),
    }
    fits = {
        name: LogisticRegression(C=1e6).fit(scores[:, None], is_true)
        for name, (scores, is_true) in spaces.items()
    }
    print(f"| judged in | pairs | AUC | {' | '.join(f'ECE, fitted to {name}' for name in fits)} |")
    print("|---" * (3 + len(fits)) + "|")
    for name, (scores, is_true) in spaces.items():
        ones = np.ones_like(scores)
        errors = [
            f"{calibration_error(is_true, fit.predict_proba(scores[:, None])[:, 1], ones):.2f}"
            for fit in fits.values()
        ]
        print(f"| {name} | {len(scores)} | {auc(is_true, scores, ones):.2f} | {' | '.join(errors)} |")


if __name__ == "__main__":
    main()
