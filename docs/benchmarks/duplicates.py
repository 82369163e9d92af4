"""How much of a summary repeats what it has shown before.

    python -m docs.benchmarks.duplicates CLIP... [--model NAME|FILE ...] [--films 40] [--seed 0]

A sample of a summary is a repetition if the nearest sample of an earlier segment of the summary is closer
than the video's within-shot distance: the median cosine distance of samples that follow each other in a shot.
First the clips as they are; then films of 3 to 10 s of clips, in random order, in which each clip recurs two
or three times, each time with another part of it. There, "clips shown" is the number of different clips in
the summary: unlike repetitions, it is not measured by distances of features. "filled" is the summary's length
over its budget, "score" the mean importance of its samples over that of the video's. Budget 15 %; means and
standard errors.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.degraded import FPS, Rng, cut_segment, videos_in
from vidsum.results.features import Features
from vidsum.results.summary import Summary
from vidsum.scaling import unit_rows
from vidsum.settings import DEFAULT_EXTRACTOR
from vidsum.shots import find
from vidsum.types import FloatArray

IntArray = npt.NDArray[np.int64]


def film_of(clips: Sequence[FloatArray], rng: Rng) -> tuple[Features, IntArray]:
    """Features of a film of ten of the clips, each two or three times, and the clip of each sample [T]."""
    chosen = rng.choice(len(clips), min(10, len(clips)), replace=False)
    order = rng.permutation(np.repeat(chosen, rng.integers(2, 4, len(chosen))))
    rows = [cut_segment(clips[clip], rng) for clip in order.tolist()]
    features = Features.from_array(np.concatenate(rows), FPS, extractor=DEFAULT_EXTRACTOR)
    return features, np.repeat(order, [len(part) for part in rows])


def within_shot_distance(rows: FloatArray, shot_of: IntArray) -> float:
    """Median cosine distance of samples [T, D] that follow each other in a shot; 0 where none do."""
    within = shot_of[1:] == shot_of[:-1]
    cosines = np.einsum("td,td->t", rows[1:], rows[:-1], dtype=np.float64)
    return max(0.0, float(np.median(1 - cosines[within]))) if within.any() else 0.0


def segment_of(summary: Summary) -> IntArray:
    """[T] the number of the segment in which a sample is, -1 for none."""
    numbers = np.full(len(summary.timestamps), -1)
    for number, (start, end) in enumerate(summary.segments):
        numbers[(summary.timestamps >= start) & (summary.timestamps < end)] = number
    return numbers


def repetitions(features: Features, summary: Summary) -> float:
    """The fraction of a summary's samples that repeat a sample of an earlier segment."""
    rows, segment = unit_rows(features.array), segment_of(summary)
    edges = find(features).edges_s[1:-1]
    usual = within_shot_distance(rows, np.searchsorted(edges, features.timestamps, side="right"))
    chosen = np.flatnonzero(segment >= 0)
    distances = 1 - rows[chosen] @ rows[chosen].T
    earlier = segment[chosen][None, :] < segment[chosen][:, None]
    return float(((distances < usual) & earlier).any(axis=1).mean()) if len(chosen) else 0.0


def measures(features: Features, clip_of: IntArray, model: str) -> list[float]:
    """Repetitions, clips shown, fraction of the budget used, and importance over the video's mean."""
    summary = vidsum.summarize(features, model=model)
    inside = segment_of(summary) >= 0
    length = sum(end - start for start, end in summary.segments)
    mean = float(summary.importance.mean())
    score = float(summary.importance[inside].mean()) / mean if inside.any() and mean > 0 else 1.0
    shown = len(set(clip_of[inside].tolist()))
    return [repetitions(features, summary), shown, length / summary.budget_s, score]


def table(videos: Sequence[tuple[Features, IntArray]], models: Sequence[str]) -> str:
    """A row of means and standard errors for each model."""
    lines = ["| model | repetitions | clips shown | filled | score |", "|---|---|---|---|---|"]
    for model in models:
        of_videos = np.array([measures(features, clip_of, model) for features, clip_of in videos])
        means, errors = of_videos.mean(axis=0), of_videos.std(axis=0, ddof=1) / np.sqrt(len(videos))
        cells = [f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors, strict=True)]
        lines.append(f"| {Path(model).stem} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--films", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    models = options.model or ["highlights", "contrastive", "uniform"]
    clips = [vidsum.extract(path, device="cpu") for path in videos_in(options.clips)]
    alone = [(clip, np.zeros(len(clip), np.int64)) for clip in clips]
    print(f"{len(clips)} clips\n\n{table(alone, models)}\n")
    films = [film_of([clip.array for clip in clips], rng) for _ in range(options.films)]
    print(f"{len(films)} films\n\n{table(films, models)}")


if __name__ == "__main__":
    main()
