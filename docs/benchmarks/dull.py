"""How well models keep dull footage out of a summary: the basis of the default of `vidsum summarize`.

    python -m docs.benchmarks.dull CLIP... [--model NAME|FILE ...] [--extractor NAME] [--videos 40] [--seed 0]

Videos are joined from segments of 3 to 10 s: half real footage, half the same clips made dull (degraded.py).
Prints the fraction of real footage in a 15 % summary, and how importance ranks it (Kendall's tau-b).
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import vidsum
from docs.benchmarks.degraded import DEGRADATIONS, FPS, Kinds, Rng, cut_segment, kinds_of, parse_options
from vidsum.lab.evaluation.summary_metrics import kendall_tau_b
from vidsum.results.features import Features
from vidsum.results.summary import Summary
from vidsum.types import FloatArray


def video_of(clips: Sequence[Kinds], rng: Rng, samples: int, name: str) -> tuple[Features, FloatArray]:
    """Features of a simulated video, and its real footage: 1, dull: 0."""
    rows: list[FloatArray] = []
    is_live: list[float] = []
    while len(is_live) < samples:
        live, *dull = clips[rng.integers(len(clips))]
        keep = rng.random() < 0.5
        rows.append(cut_segment(live if keep else dull[rng.integers(len(dull))], rng))
        is_live += [float(keep)] * len(rows[-1])
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
    options = parse_options(__doc__)
    rng = np.random.default_rng(options.seed)
    clips = kinds_of(options, DEGRADATIONS, rng)
    lengths = (int(rng.uniform(180, 480)) for _ in range(options.videos))
    videos = [video_of(clips, rng, samples, options.extractor) for samples in lengths]
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
