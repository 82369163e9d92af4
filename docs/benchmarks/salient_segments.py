"""Moments as segments of a published saliency, compared with the moments published beside it.

    python -m docs.benchmarks.salient_segments [PREDICTIONS.jsonl] [ANNOTATIONS.jsonl]

By default, the predictions of Moment-DETR's authors for QVHighlights' validation split.
"""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.simulated_highlights import MEASURES, TOP_K, measured
from tests.conftest import SHARED
from vidsum.grounding.proposals import Grouping, moments_of
from vidsum.lab.datasets.moments import CLIP_S, Query, read_highlights
from vidsum.lab.evaluation.moments import evaluate_highlights
from vidsum.lab.evaluation.submissions import QueryPrediction, read_highlight_predictions

FILE = SHARED / "data" / "qvhighlights" / "highlight_val_release.jsonl"


def grouped(prediction: QueryPrediction, query: Query, grouping: Grouping) -> QueryPrediction:
    """The prediction with segments of its saliency for moments."""
    curve = np.array(prediction.saliency, np.float32)
    times = CLIP_S * np.arange(len(curve))
    moments = moments_of(curve, times, CLIP_S, query.duration_s, TOP_K, grouping=grouping)
    return replace(prediction, moments=tuple(moments))


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("predictions", type=Path, nargs="?", default=FILE.with_name("sample_val_preds.jsonl"))
    parser.add_argument("annotations", type=Path, nargs="?", default=FILE)
    options = parser.parse_args()
    queries = read_highlights(options.annotations)
    given = read_highlight_predictions(options.predictions, queries)
    rows = {"as published": given}
    for grouping in get_args(Grouping):
        rows[grouping] = {qid: grouped(one, queries[qid], grouping) for qid, one in given.items()}
    print("| | " + " | ".join(MEASURES) + " |\n|" + "---|" * (len(MEASURES) + 1))
    for name, of_row in rows.items():
        shares = measured(evaluate_highlights(queries, of_row, name=name).rows[0])
        print(f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |")


if __name__ == "__main__":
    main()
