"""Measure what correcting a summary by hand brings: people's own scores of the selected 15 %, click by click.

    python -m docs.benchmarks.edit_gain --tvsum FOLDER

For each annotator of TVSum: shots are chosen by importance (ridge regression, in folds, on features simulated
from captions). Then the most important shot that is not chosen is shown, and ticked or rejected. Ticked shots
are in, rejected ones out, and the rest is chosen again. A shot is ticked if the annotator scores it above the
mean of what is chosen; `by a coin`: the baseline. `own best`: shots chosen by the annotator's scores.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from docs.benchmarks import argument_parser
from docs.benchmarks.captured import EXPERIMENT, RIDGE, fitted, interval
from docs.benchmarks.human_summaries import read
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.lab.evaluation.reference import BUDGET, at_every_frame
from vidsum.summary.knapsack import knapsack, values_of
from vidsum.types import BoolArray, FloatArray, IntArray

CLICKS = (0, 4, 8, 12, 16)


def shot_means(curve: FloatArray, video: AnnotatedVideo) -> FloatArray:
    """The mean of a curve [T] over each shot [S]."""
    frames = at_every_frame(curve, video.picks, video.n_frames)
    return np.array([frames[first : last + 1].mean() for first, last in video.change_points], np.float32)


def choose(values: FloatArray, lengths: IntArray, capacity: int, answers: dict[int, bool]) -> BoolArray:
    """[S] which shots are chosen: ticked ones that have room, then the best of those without an answer."""
    taken, room = np.zeros(len(lengths), np.bool_), capacity
    for shot, is_ticked in answers.items():
        if is_ticked and lengths[shot] <= room:
            taken[shot], room = True, room - int(lengths[shot])
    free = np.array([shot for shot in range(len(lengths)) if shot not in answers], np.int64)
    if len(free) and room > 0:
        taken[free[knapsack(values_of(values[free]) * lengths[free], lengths[free], room)]] = True
    return taken


def corrected(
    values: FloatArray, liked: FloatArray, lengths: IntArray, rng: np.random.Generator | None = None
) -> Iterator[float]:
    """Yield the mean of the annotator's scores over what is chosen, before the first click and after each."""
    capacity, answers = int(BUDGET * lengths.sum()), dict[int, bool]()
    while True:
        taken = choose(values, lengths, capacity, answers)
        mean = float(np.average(liked[taken], weights=lengths[taken])) if taken.any() else 0.0
        yield mean
        asked = [shot for shot in np.argsort(-values) if not taken[shot] and int(shot) not in answers]
        if asked:
            answers[int(asked[0])] = bool(rng.random() < 0.5) if rng else bool(liked[asked[0]] > mean)


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--tvsum", type=Path, required=True)
    parser.add_argument("--splits", default="canonical")
    parser.set_defaults(summe=Path())  # of which nothing is read
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = read(EXPERIMENT, options)
    curves = fitted(RIDGE, data)
    rows = dict[str, list[list[float]]](answers=[], random=[], best=[])
    for name, curve in curves.items():
        video, rng = data.tested[name], np.random.default_rng(0)
        assert video.user_scores is not None
        lengths = video.change_points[:, 1] - video.change_points[:, 0] + 1
        values = shot_means(curve, video)
        of_video = dict[str, list[list[float]]](answers=[], random=[], best=[])
        for scores in video.user_scores:
            liked = shot_means((scores - scores.mean()) / max(float(scores.std()), 1e-9), video)
            for row, coin in (("answers", None), ("random", rng)):
                steps = corrected(values, liked, lengths, coin)
                of_video[row].append([next(steps) for _ in range(CLICKS[-1] + 1)])
            of_video["best"].append([next(corrected(liked, liked, lengths))])
        for row, annotators in of_video.items():
            rows[row].append(np.mean(annotators, axis=0).tolist())
    print("| clicks | answered by the annotator | by a coin |\n|---|---|---|")
    for n in CLICKS:
        cells = (interval([video[n] for video in rows[row]]) for row in ("answers", "random"))
        print(f"| {n} | {' | '.join(cells)} |")
    print(f"own best: {interval([video[0] for video in rows['best']])}; {len(curves)} videos")


if __name__ == "__main__":
    main()
