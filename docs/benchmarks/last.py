"""Whether a model puts black, frozen and blurred footage last.

    python -m docs.benchmarks.last CLIP... [--model NAME|FILE ...] [--extractor NAME] [--videos 40] [--seed 0]

Videos are joined from segments of 3 to 10 s in random order: one of each of the clips as it is, and of one
clip each a black, a frozen and a blurred segment (degraded.py). For each kind: in how many of the videos its
segment has a lower mean importance than every live segment, and the probability that a live sample has more
than one of it. The last row is `vidsum.summary.liveness`, which importance may be multiplied by.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import vidsum
from docs.benchmarks.degraded import (
    FPS,
    Degradation,
    Kinds,
    Rng,
    blurred,
    cut_segment,
    frozen,
    kinds_of,
    parse_options,
)
from docs.benchmarks.highlight_films import black
from docs.benchmarks.liveness import auc
from vidsum.summary.liveness import liveness
from vidsum.types import Features, FloatArray

LIVENESS = "liveness"
DULL: tuple[Degradation, ...] = (black, frozen, blurred)
IntArray = npt.NDArray[np.int64]


def video_of(clips: Sequence[Kinds], rng: Rng, name: str) -> tuple[Features, IntArray, IntArray]:
    """Features of a video; the number of each sample's segment; the kind of each segment, 0: live."""
    sources = [(clip, 0) for clip in range(len(clips))]
    sources += [(int(rng.integers(len(clips))), kind + 1) for kind in range(len(DULL))]
    order = [sources[place] for place in rng.permutation(len(sources))]
    rows = [cut_segment(clips[clip][kind], rng) for clip, kind in order]
    numbers = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    features = Features.from_array(np.concatenate(rows), FPS, extractor=name)
    return features, numbers, np.array([kind for _, kind in order])


def judged(importance: FloatArray, numbers: IntArray, kinds: IntArray) -> list[float]:
    """For each of DULL whether its segment is last, and the AUC of live samples against its samples."""
    means = np.array([importance[numbers == number].mean() for number in range(len(kinds))])
    found = []
    for kind in range(1, len(DULL) + 1):
        dull = importance[kinds[numbers] == kind]
        found += [float(means[kinds == kind].max() < means[kinds == 0].min())]
        found += [auc(importance[kinds[numbers] == 0], dull)]
    return found


def curve_of(features: Features, model: str) -> FloatArray:
    """[T] importance by a model, or liveness."""
    return liveness(features) if model == LIVENESS else vidsum.summarize(features, model=model).importance


def main() -> None:
    """Print the table."""
    options = parse_options(__doc__)
    rng = np.random.default_rng(options.seed)
    clips = kinds_of(options, DULL, rng)
    videos = [video_of(clips, rng, options.extractor) for _ in range(options.videos)]
    print(f"{len(videos)} videos: last, AUC\n")
    print(f"| model | {' | '.join(kind.__name__ for kind in DULL)} |\n|{'---|' * (len(DULL) + 1)}")
    for model in [*(options.model or ["highlights", "contrastive", "cluster", "random"]), LIVENESS]:
        means = np.mean([judged(curve_of(features, model), *truth) for features, *truth in videos], axis=0)
        cells = [f"{last:.2f}, {area:.3f}" for last, area in zip(means[::2], means[1::2], strict=True)]
        print(f"| {Path(model).stem} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
