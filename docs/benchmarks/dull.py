"""How well models keep dull footage out of a summary: what the default of `vidsum summarize` was chosen by.

    python -m docs.benchmarks.dull CLIP... [--model NAME|FILE ...] [--videos 40] [--seed 0]

Videos are strung together of stretches of 3 to 10 s: half the time a clip as it is, half the time a clip made
dull (see spoiled.py). Prints how much of a 15 % summary is footage as it is, and how importance ranks that
(Kendall's tau-b).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import vidsum
from docs.benchmarks.spoiled import SPOILS, Rng, features_of, pictures_of, videos_in
from vidsum.evaluation.rank import kendall_tau_b
from vidsum.features import describe, load_extractor
from vidsum.features.extractor import Extractor
from vidsum.types import Features, FloatArray, Summary

FPS = 2.0


def stretches(
    clips: Sequence[Path], rng: Rng, extractor: Extractor
) -> list[tuple[FloatArray, list[FloatArray]]]:
    """Of each clip, its features as it is and made dull in each way."""
    made = []
    for clip in clips:
        pictures = pictures_of(clip, extractor)
        dull = [features_of(spoil(pictures, rng), extractor) for spoil in SPOILS]
        made.append((features_of(pictures, extractor), dull))
    return made


def video_of(
    made: Sequence[tuple[FloatArray, list[FloatArray]]], rng: Rng, samples: int, name: str
) -> tuple[Features, FloatArray]:
    """Features of a made-up video, and 1 where it is footage as it is, 0 where it is dull."""
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


def live_share(summary: Summary, is_live: FloatArray) -> float:
    """Share of a summary's time that is footage as it is."""
    times = (np.arange(len(is_live)) + 0.5) / FPS
    inside = np.zeros(len(is_live), np.bool_)
    for start, end in summary.segments:
        inside |= (times >= start) & (times < end)
    return float(is_live[inside].mean())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--videos", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    extractor = load_extractor(describe("mobilenet_v2"), device="cpu")
    made = stretches(videos_in(asked.clips), rng, extractor)
    videos = [
        video_of(made, rng, int(rng.uniform(180, 480)), extractor.spec.name) for _ in range(asked.videos)
    ]
    truth = np.mean([is_live.mean() for _, is_live in videos])
    print(f"{len(videos)} videos, {truth:.0%} of the time footage as it is\n")
    print("| model | footage as it is, of the summary | tau |\n|---|---|---|")
    for model in [*asked.model, "contrastive", "cluster", "uniform", "random"]:
        shares, taus = [], []
        for features, is_live in videos:
            summary = vidsum.summarize(features, model=model)
            shares.append(live_share(summary, is_live))
            taus.append(float(kendall_tau_b(summary.importance[None], is_live[None])[0, 0]))
        print(f"| {Path(model).stem} | {np.mean(shares):.2f} | {np.mean(taus):.3f} |", flush=True)


if __name__ == "__main__":
    main()
