"""Time of QVHighlights' measures for a submission, beside a direct loop over its queries in one process.

    python -m docs.benchmarks.highlights [PREDICTIONS ANNOTATIONS]

Without files: random answers to 1,550 simulated queries of 150 s.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from docs.benchmarks import argument_parser
from tests.datasets.moment_layouts import write_lines
from tests.evaluation.highlight_loop import clip_figures, moment_figures
from vidsum.datasets.moments import read_highlights
from vidsum.evaluation.moments import evaluate_highlights
from vidsum.evaluation.submissions import read_highlight_predictions

N_QUERIES = 1550


def simulated(folder: Path) -> tuple[Path, Path]:
    """Files of random answers and random annotations."""
    rng = np.random.default_rng(0)
    predictions: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for qid in range(N_QUERIES):
        asked = {"qid": qid, "query": f"query {qid}", "vid": f"video {qid}"}
        first = int(rng.integers(0, 60))
        relevant = list(range(first, int(rng.integers(first + 1, 75))))
        moments = np.column_stack([np.sort(rng.random((10, 2)) * 150), np.sort(rng.random(10))[::-1]])
        predictions.append(
            {
                **asked,
                "pred_relevant_windows": moments.tolist(),
                "pred_saliency_scores": rng.random(75).tolist(),
            }
        )
        annotations.append(
            {
                **asked,
                "duration": 150,
                "relevant_windows": [[2 * first, 2 * (relevant[-1] + 1)]],
                "relevant_clip_ids": relevant,
                "saliency_scores": rng.integers(0, 5, (len(relevant), 3)).tolist(),
            }
        )
    return (
        write_lines(folder / "predictions.jsonl", *predictions),
        write_lines(folder / "annotations.jsonl", *annotations),
    )


def by_loop(predictions: Path, annotations: Path) -> None:
    """The figures of the submission alone, query by query."""
    given, truths = (
        [json.loads(line) for line in path.read_text().splitlines()] for path in (predictions, annotations)
    )
    by_qid = {one["qid"]: one for one in given}
    moment_figures(by_qid, truths)
    clip_figures(by_qid, truths)


def at_once(predictions: Path, annotations: Path) -> None:
    """The whole report, with the rows that are always there."""
    queries = read_highlights(annotations)
    evaluate_highlights(queries, read_highlight_predictions(predictions, queries))


def seconds(function: Callable[[Path, Path], None], files: tuple[Path, Path]) -> float:
    """Time of the processor that one call takes, in all threads."""
    start = time.process_time()
    function(*files)
    return time.process_time() - start


def main() -> None:
    """Print both times and their ratio."""
    parser = argument_parser(__doc__)
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE")
    given = parser.parse_args().files
    with TemporaryDirectory() as folder:
        predictions, annotations = given or simulated(Path(folder))
        ours = min(seconds(at_once, (predictions, annotations)) for _ in range(3))
        loop = seconds(by_loop, (predictions, annotations))
    print(f"whole report, with 10 random draws {ours:.2f} s; direct loop, no draws {loop:.2f} s")
    print(f"ratio {loop / ours:.1f}")


if __name__ == "__main__":
    main()
