"""TVSum's highlight protocol, top-5 mAP per category: chance, annotators, and predictions.

    python -m docs.benchmarks.tvsum_highlights ydata-tvsum50.mat

Each table has the mean over the videos of each category. The second is of the videos that UMT and QD-DETR
test on, one per category. `print_table` and `main` take predictions to print beside.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docs.benchmarks import argument_parser
from docs.benchmarks.top_clips import (
    TEST_VIDEOS,
    TopClips,
    clip_annotations,
    measure_top_clips,
    over_categories,
    top_precisions,
)
from vidsum.lab.datasets.labels import Labels, read_tvsum_mat

Videos = Mapping[str, Labels]
Predictions = Mapping[str, Mapping[str, npt.ArrayLike]]
"""Name of a row -> name of a video (`tvsum/video_1`) -> [C] scores of its clips of 2 s, see `clips_of`."""

DRAWS = 100
TIES = 1e-6
"""Less than any difference of annotators' scores: noise of this size breaks ties at random."""


def print_table(videos: Videos, predictions: Predictions) -> None:
    """Print predictions between chance and annotators.

    Args:
        videos: to measure on.
        predictions: see `Predictions`; of these videos at least.
    """
    rows = {
        f"random, {DRAWS} draws": random(videos),
        "the first five clips": measure_top_clips(
            videos, {name: -np.arange(n) for name, n in counts(videos).items()}
        ),
        **{row: measure_top_clips(videos, scores) for row, scores in predictions.items()},
        "an annotator, to another": people(videos, alone=True),
        "19 annotators' mean, to the other": people(videos, alone=False),
        "20 annotators' mean, to each of them": measure_top_clips(
            videos, {name: clip_annotations(video).mean(axis=0) for name, video in videos.items()}
        ),
    }
    heads = list(next(iter(rows.values())).categories)
    width = max(map(len, rows))
    print(f"{'':{width}}" + "".join(f"{head:>6}" for head in heads) + "   mean  s.e. over videos")
    for row, found in rows.items():
        cells = "".join(f"{100 * found.categories[head]:6.1f}" for head in heads)
        print(f"{row:{width}}{cells}{100 * found.mean:7.1f}  {100 * standard_error(found):.1f}")


def counts(videos: Videos) -> dict[str, int]:
    """Number of clips of each video."""
    return {name: clip_annotations(video).shape[1] for name, video in videos.items()}


def random(videos: Videos) -> TopClips:
    """Scores drawn for each clip, the mean over draws."""
    rng = np.random.default_rng(0)
    return measure_top_clips(videos, {name: rng.random((DRAWS, n)) for name, n in counts(videos).items()})


def people(videos: Videos, *, alone: bool) -> TopClips:
    """Each annotator predicted by another one (`alone`), or by the mean of all others; ties drawn."""
    rng = np.random.default_rng(0)
    measured = {}
    for name, video in videos.items():
        clips = clip_annotations(video)
        others = clips if alone else (clips.sum(axis=0) - clips) / (len(clips) - 1)
        drawn = others + TIES * rng.random((DRAWS, *clips.shape))
        precisions = np.mean([top_precisions(rows, clips) for rows in drawn], axis=0)
        own = np.eye(len(clips), dtype=bool)
        measured[name] = float(precisions[~own if alone else own].mean())
    return over_categories(videos, measured)


def standard_error(found: TopClips) -> float:
    """Of the mean, over videos."""
    values = list(found.videos.values())
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def main(predictions: Predictions | None = None) -> None:
    """Print the table of all videos, and that of the published test videos."""
    parser = argument_parser(__doc__)
    parser.add_argument("annotations", type=Path, metavar="FILE.mat")
    videos = read_tvsum_mat(parser.parse_args().annotations)
    tested = {name: video for name, video in videos.items() if video.file_name in TEST_VIDEOS.values()}
    for title, chosen in (("all videos", videos), ("the published test videos", tested)):
        print(f"{title}: {len(chosen)}, top-5 mAP, per cent")
        print_table(chosen, predictions or {})
        print()


if __name__ == "__main__":
    main()
