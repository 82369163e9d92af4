"""F-measures on SumMe's published shots: chance, annotators, and summaries that someone else made.

    python -m docs.benchmarks.summe_published summe_protocol.npz csnet_summaries.npz

The second file has `video_N/machine_summary` [n_frames], 0 or 1. Differences are paired by video.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from docs.benchmarks import argument_parser
from vidsum.lab.datasets.labels import Labels, read_summe_protocol
from vidsum.lab.evaluation.reference import at_every_frame, f_measures, key_shots

DRAWS = 100
KNAPSACK = "dsnet"
RANDOM = f"random, {DRAWS} draws"

Figures = tuple[float, float]
"""F-measure with the nearest annotator, and the mean over annotators."""


def figures(video: Labels, summaries: npt.ArrayLike) -> Figures:
    """Of one or several summaries [R, n_frames], averaged over these."""
    scores = f_measures(summaries, video.user_summary, np.ones(video.n_frames))
    return float(scores.max(axis=1).mean()), float(scores.mean())


def by_scores(video: Labels, scores: npt.ArrayLike) -> Figures:
    """Of the key shots by scores [R, T] at every 15th frame."""
    frames = at_every_frame(np.atleast_2d(scores), video.picks, video.n_frames)
    return figures(video, key_shots(frames, video.change_points, KNAPSACK))


def people(video: Labels) -> Figures:
    """Of each annotator, compared with the others."""
    scores = f_measures(video.user_summary, video.user_summary, np.ones(video.n_frames))
    np.fill_diagonal(scores, np.nan)
    return float(np.nanmax(scores, axis=1).mean()), float(np.nanmean(scores))


def rows_of(video: Labels, summary: npt.ArrayLike, rng: np.random.Generator) -> dict[str, Figures]:
    """The figures of one video by the names of the rows."""
    return {
        RANDOM: by_scores(video, rng.random((DRAWS, len(video.picks)), np.float32)),
        "equal scores": by_scores(video, np.ones(len(video.picks))),
        "the given summaries": figures(video, summary),
        "an annotator, to the others": people(video),
        "annotators' mean (knows them)": by_scores(video, video.gtscore),
    }


def main() -> None:
    """Print the mean of each row over the videos, its standard error, and its difference from random."""
    parser = argument_parser(__doc__)
    parser.add_argument("protocol", type=Path, metavar="PROTOCOL.npz")
    parser.add_argument("summaries", type=Path, metavar="SUMMARIES.npz")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    with np.load(options.summaries) as given:
        videos = [
            rows_of(video, given[f"{name.partition('/')[2]}/machine_summary"], rng)
            for name, video in read_summe_protocol(options.protocol).items()
        ]
    print(f"{len(videos)} videos, published shots, knapsack {KNAPSACK}, per cent, mean and standard error")
    print(f"{'':32}{'F max':>16}{'F avg':>16}{'F max - random':>18}{'F avg - random':>18}")
    for row in videos[0]:
        values = 100 * np.array([video[row] for video in videos])
        above = values - 100 * np.array([video[RANDOM] for video in videos])
        columns = np.hstack([values, above])
        errors = columns.std(axis=0, ddof=1) / np.sqrt(len(videos))
        cells = [
            f"{mean:.2f} +- {error:.2f}" for mean, error in zip(columns.mean(axis=0), errors, strict=True)
        ]
        print(f"{row:32}{cells[0]:>16}{cells[1]:>16}{cells[2]:>18}{cells[3]:>18}")


if __name__ == "__main__":
    main()
