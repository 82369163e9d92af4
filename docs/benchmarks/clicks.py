"""Measure the gain of a correction by hand: the annotator's score of the selected 15 %, click by click.

    python -m docs.benchmarks.clicks --tvsum FOLDER [--splits canonical|FILE]

For each annotator of TVSum, shots are chosen by importance (ridge regression, in folds, on features simulated
from captions). Then the most important shot that is not chosen is suggested, and ticked or rejected. Ticked
shots are in, rejected ones out, and the rest is chosen again. The annotator ticks a shot whose score is above
the mean of what is chosen. Baselines: suggestions in random order, and answers by a coin. Scores are in
deviations of the annotator; `own best` are the shots chosen by the annotator's scores.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from docs.benchmarks import argument_parser
from docs.benchmarks.captured import EXPERIMENT, RIDGE, fitted, interval
from docs.benchmarks.human_summaries import read
from docs.benchmarks.tables import print_table
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.lab.evaluation.reference import BUDGET, at_every_frame
from vidsum.summary.knapsack import knapsack, values_of
from vidsum.types import BoolArray, FloatArray, IntArray

CLICKS = (0, 4, 8, 12, 16)
Answer = Callable[[float, float], bool]
"""Whether a shot of a score is ticked, beside shots of a mean score."""


def mean_of_shots(curve: FloatArray, video: AnnotatedVideo) -> FloatArray:
    """The mean of a curve [T] over each shot [S]."""
    frames = at_every_frame(curve, video.picks, video.n_frames)
    return np.array([frames[first : last + 1].mean() for first, last in video.change_points], np.float32)


def choose_shots(values: FloatArray, lengths: IntArray, capacity: int, answers: dict[int, bool]) -> BoolArray:
    """The shots [S] that are chosen: ticked ones that have room, then the best of those without an answer."""
    taken, room = np.zeros(len(lengths), np.bool_), capacity
    for shot, is_ticked in answers.items():
        if is_ticked and lengths[shot] <= room:
            taken[shot], room = True, room - int(lengths[shot])
    free = np.array([shot for shot in range(len(lengths)) if shot not in answers], np.int64)
    if len(free) and room > 0:
        taken[free[knapsack(values_of(values[free]) * lengths[free], lengths[free], room)]] = True
    return taken


def corrected(
    values: FloatArray, liked: FloatArray, lengths: IntArray, order: Sequence[int], answer: Answer
) -> Iterator[float]:
    """Yield the mean of the annotator's scores of what is chosen, at first and after each suggestion."""
    capacity, answers = int(BUDGET * lengths.sum()), dict[int, bool]()
    while True:
        taken = choose_shots(values, lengths, capacity, answers)
        mean = float(np.average(liked[taken], weights=lengths[taken])) if taken.any() else 0.0
        yield mean
        shot = next((shot for shot in order if not taken[shot] and shot not in answers), None)
        if shot is not None:
            answers[shot] = answer(float(liked[shot]), mean)


def measure_video(values: FloatArray, video: AnnotatedVideo) -> dict[str, list[float]]:
    """Return the mean score over annotators after each number of clicks, by row."""
    assert video.user_scores is not None
    rng, steps = np.random.default_rng(0), range(CLICKS[-1] + 1)
    first, last = video.change_points.T
    lengths, by_importance = last - first + 1, np.argsort(-values, kind="stable").tolist()
    rows = dict[str, list[list[float]]](annotator=[], order=[], coin=[], best=[])
    for scores in video.user_scores:
        liked = mean_of_shots((scores - scores.mean()) / max(float(scores.std()), 1e-9), video)
        runs = {
            "annotator": corrected(values, liked, lengths, by_importance, lambda score, mean: score > mean),
            "order": corrected(
                values,
                liked,
                lengths,
                rng.permutation(len(values)).tolist(),
                lambda score, mean: score > mean,
            ),
            "coin": corrected(values, liked, lengths, by_importance, lambda *_: rng.random() < 0.5),
        }
        for row, run in runs.items():
            rows[row].append([next(run) for _ in steps])
        rows["best"].append([next(corrected(liked, liked, lengths, (), lambda *_: False))])
    return {row: np.mean(annotators, axis=0).tolist() for row, annotators in rows.items()}


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, small="--tvsum data/tvsum --splits data/tvsum/split.json")
    parser.add_argument("--tvsum", type=Path, required=True)
    parser.add_argument("--splits", default="canonical")
    parser.set_defaults(summe=Path())  # of which nothing is read
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = read(EXPERIMENT, options)
    videos = {
        name: measure_video(mean_of_shots(curve, data.tested[name]), data.tested[name])
        for name, curve in fitted(RIDGE, data).items()
    }
    heads = ("clicks", "answers of the annotator", "the same, suggested in random order", "answers by a coin")
    rows = (
        [
            str(n),
            *(interval([of[row][n] for of in videos.values()]) for row in ("annotator", "order", "coin")),
        ]
        for n in CLICKS
    )
    print_table(heads, rows)
    print(f"own best: {interval([of['best'][0] for of in videos.values()])}; {len(videos)} videos")


if __name__ == "__main__":
    main()
