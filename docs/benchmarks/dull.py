"""How well models keep dull footage out of a summary: the basis of the default of `vidsum summarize`.

    python -m docs.benchmarks.dull CLIP... [--model NAME|FILE ...] [--extractor NAME] [--videos 40] [--seed 0]

Videos are joined from segments of 3 to 10 s: half real footage, half the same clips made dull (degraded.py).
Prints the fraction of real footage in a 15 % summary, and how importance ranks it (Kendall's tau-b).
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import vidsum
from docs.benchmarks import argument_parser
from docs.benchmarks.degraded import DEGRADATIONS, Rng, features_of, pictures_of, videos_in
from vidsum.evaluation.rank import kendall_tau_b
from vidsum.features import describe, load_extractor
from vidsum.features.extractor import Extractor
from vidsum.settings import DEFAULT_EXTRACTOR, EXTRACTORS
from vidsum.types import Features, FloatArray, Summary

FPS = 2.0


def segments(
    clips: Sequence[Path], rng: Rng, extractor: Extractor
) -> list[tuple[FloatArray, list[FloatArray]]]:
    """Features of each clip, as it is and made dull in each way."""
    made = []
    for clip in clips:
        pictures = pictures_of(clip, extractor)
        dull = [features_of(degrade(pictures, rng), extractor) for degrade in DEGRADATIONS]
        made.append((features_of(pictures, extractor), dull))
    return made


def video_of(
    made: Sequence[tuple[FloatArray, list[FloatArray]]], rng: Rng, samples: int, name: str
) -> tuple[Features, FloatArray]:
    """Features of a simulated video, and its real footage: 1, dull: 0."""
    rows: list[FloatArray] = []
    is_live: list[float] = []
    while len(is_live) < samples:
        live, dull = made[rng.integers(len(made))]
        keep = rng.random() < 0.5
        source = live if keep else dull[rng.integers(len(dull))]
        length = min(int(rng.integers(3 * FPS, 10 * FPS + 1)), len(source))
        start = int(rng.integers(len(source) - length + 1))
        rows.append(source[start : start + length])
        is_live += [float(keep)] * length
    return Features.from_array(np.concatenate(rows), FPS, extractor=name), np.array(is_live, np.float32)


def live_fraction(summary: Summary, is_live: FloatArray) -> float:
    """Fraction of a summary's time that is real footage."""
    times = (np.arange(len(is_live)) + 0.5) / FPS
    inside = np.zeros(len(is_live), np.bool_)
    for start, end in summary.segments:
        inside |= (times >= start) & (times < end)
    return float(is_live[inside].mean())


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--extractor", choices=EXTRACTORS, default=DEFAULT_EXTRACTOR)
    parser.add_argument("--videos", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    extractor = load_extractor(describe(options.extractor), device="cpu")
    made = segments(videos_in(options.clips), rng, extractor)
    videos = [
        video_of(made, rng, int(rng.uniform(180, 480)), extractor.spec.name) for _ in range(options.videos)
    ]
    truth = np.mean([is_live.mean() for _, is_live in videos])
    print(f"{len(videos)} videos, {truth:.0%} of the time real footage\n")
    print("| model | real footage, fraction of the summary | tau |\n|---|---|---|")
    for model in [*options.model, "highlights", "contrastive", "cluster", "uniform", "random"]:
        shares, taus = [], []
        for features, is_live in videos:
            summary = vidsum.summarize(features, model=model)
            shares.append(live_fraction(summary, is_live))
            taus.append(float(kendall_tau_b(summary.importance[None], is_live[None])[0, 0]))
        print(f"| {Path(model).stem} | {np.mean(shares):.2f} | {np.mean(taus):.3f} |", flush=True)


if __name__ == "__main__":
    main()
