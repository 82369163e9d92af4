"""What a shot is worth in the knapsack: its mean score, as the field has it, or that times its length.

    python -m docs.benchmarks.shot_values --tvsum FOLDER --out RUNS [--experiment tvsum-text|tvsum-vse]

RUNS and FOLDER are those of `docs.benchmarks.human_summaries`, whose row `ridge, ends` of seed 0 must be
there. Prints how important people find what is chosen: their mean score there less that of the video, in
standard deviations of the video's scores.
"""

import argparse
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.human_summaries import read
from vidsum.datasets.summaries import AnnotatedVideo, shots_of
from vidsum.summary.knapsack import IntArray, knapsack, values_of
from vidsum.training.predict import predict_run
from vidsum.types import FloatArray

ROW = "ridge, ends-0"
BUDGETS = (0.05, 0.15, 0.3)


def chosen_samples(video: AnnotatedVideo, scores: FloatArray, budget: float) -> list[tuple[int, IntArray]]:
    """The number of shots, and the samples, that are chosen by mean score and by total score."""
    edges = np.searchsorted(video.features.timestamps, shots_of(video).edges_s[1:-1])
    shots = [each for each in np.split(np.arange(len(scores)), edges) if len(each)]
    lengths = np.array([len(each) for each in shots])
    means = values_of([scores[each].mean() for each in shots])
    capacity = int(budget * len(scores))
    found = []
    for values in (means, means * lengths):
        taken = np.flatnonzero(knapsack(values, lengths, capacity))
        found.append((len(taken), np.concatenate([shots[each] for each in taken] or [np.zeros(0, np.int64)])))
    return found


def main() -> None:
    """Print a row for each budget and value."""
    parser = argument_parser(__doc__)
    parser.add_argument("--tvsum", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--experiment", choices=["tvsum-text", "tvsum-vse"], default="tvsum-text")
    options = parser.parse_args()
    data = read(
        options.experiment, argparse.Namespace(tvsum=options.tvsum, summe=options.tvsum, splits="canonical")
    )
    run = predict_run(options.out / f"{options.experiment}-canonical" / ROW, data.tested)
    print("| budget | value of a shot | shots | people's score of what is chosen |\n|---|---|---|---|")
    for budget in BUDGETS:
        rows: list[list[tuple[int, float]]] = [[], []]
        for name, video in data.tested.items():
            assert video.user_scores is not None
            people = video.user_scores.mean(axis=0)
            people = (people - people.mean()) / people.std()
            for row, (n, samples) in zip(rows, chosen_samples(video, run.scores[name], budget), strict=True):
                if len(samples):
                    row.append((n, people[samples].mean()))
        for label, row in zip(("mean", "mean x length"), rows, strict=True):
            shots, score = np.mean(row, axis=0)
            error = np.std(row, axis=0, ddof=1)[1] / np.sqrt(len(row))
            print(f"| {budget:.0%} | {label} | {shots:.1f} | {score:.2f} ± {error:.2f} |")


if __name__ == "__main__":
    main()
