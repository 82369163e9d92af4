"""Checkpoints of one architecture, taught in different ways, on the same films joined from real clips.

    python -m docs.benchmarks.taught FOLDER --model mrnet --model RUN/best.safetensors [...] [--ask odd]

The films and queries are those of `docs.benchmarks.grounding FOLDER`, the 120 s ones alone. Beside the
measures of each model: its difference from the first, query by query, and the standard errors of both by a
bootstrap over clips.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import TOP_K, answers, asked_of, measures, resampled
from docs.benchmarks.joined import HALVES, KINDS, Asked, composite, embed, truth_of
from vidsum.evaluation.moment_metrics import best_ious
from vidsum.intervals import stacked
from vidsum.types import TimeArray

MEASURES = ("R@1 IoU .5", "R@1 IoU .7", "R@5 IoU .5", "mIoU")


def measured(asked: Sequence[Asked], models: Sequence[str]) -> dict[str, TimeArray]:
    """[Q, 4] `MEASURES` of each query by each model, in per cent; the queries of one video after another."""
    rows: dict[str, list[TimeArray]] = {}
    for video, truth in asked:
        windows = stacked([query.windows for query in truth.queries])
        for row, found in answers({"conse": video}, [query.text for query in truth.queries], models).items():
            moments = stacked([[(one.start_s, one.end_s) for one in each] for each in found], TOP_K)
            rows.setdefault(row, []).append(100 * measures(best_ious(moments, windows)))
    return {row: np.concatenate(each) for row, each in rows.items()}


def line(name: str, rows: TimeArray, first: TimeArray, clips: Sequence[str]) -> str:
    """A row of the table: means, and differences from the first model, with their standard errors."""
    cells = []
    for values, sign in ((rows, ""), (rows - first, "+")):
        errors = resampled(values, clips).std(axis=0)
        cells += [
            f"{mean:{sign}.1f} ± {error:.1f}" for mean, error in zip(values.mean(axis=0), errors, strict=True)
        ]
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print a table for each kind of query."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", action="append", required=True)
    parser.add_argument("--ask", choices=HALVES, default="all", help="clips that are asked for")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--seeds", type=int, nargs="+", default=range(10))
    parser.add_argument("--precision", default="bf16")
    options = parser.parse_args()
    films = [composite(options.folder, "all", 120, seed)[0] for seed in options.seeds]
    videos = [embed(film, "conse", options.precision) for film in films]
    for kind in options.kinds:
        truths = [asked_of(options.ask, truth_of(film, kind)) for film in films]
        asked = [(video, truth) for video, truth in zip(videos, truths, strict=True) if truth.queries]
        clips = [query.qid for _, truth in asked for query in truth.queries]
        rows = measured(asked, options.model)
        print(f"\n{kind}: {len(asked)} films, {len(clips)} queries of {len(set(clips))} clips\n")
        print("| | " + " | ".join([*MEASURES, *(f"{name}, difference" for name in MEASURES)]) + " |")
        print("|" + "---|" * (1 + 2 * len(MEASURES)))
        for name, values in rows.items():
            print(line(name, values, rows[options.model[0]], clips), flush=True)


if __name__ == "__main__":
    main()
