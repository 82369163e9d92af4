"""How well sources of saliency tell footage from dull segments, with no query.

    python -m docs.benchmarks.highlights_no_query FOLDER [--half even|odd] [--seeds 10 11 12 13 14]

Makes films of the shared clips in FOLDER, one a seed (those that are there are used again):
highlight_films.py tells what they show and how it is graded. The source was chosen with
`--half even --seeds 0 1 2 3 4` alone.

Prints for each source, of clips of 2 s: AP and HIT@1 as QVHighlights has them, a clip being right that shows
footage for half its time or more; and Spearman's rho with the grades. Then, of `vidsum highlights -e
mobilenet_v2`, the mean saliency of what is shown, and how much footage is in the segments found.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.highlight_films import FOOTAGE, GRADES, HALVES, Film, film
from vidsum.features.settings import Extraction
from vidsum.grounding.windows import to_grid
from vidsum.lab.datasets.moments import CLIP_S
from vidsum.lab.evaluation.highlight_metrics import best_clip_hits, clip_precisions
from vidsum.lab.evaluation.summary_metrics import spearman_rho
from vidsum.pipelines.decoding import extraction_job, run_jobs
from vidsum.pipelines.highlights import find_highlights
from vidsum.results.features import Features
from vidsum.results.moments import Highlights
from vidsum.summary.importance import SCORERS, highlights
from vidsum.types import FloatArray
from vidsum.video.probe import probe

HOW = Extraction(extractor="mobilenet_v2", precision="bf16")
"""The extractor that the rule was chosen with."""
MOTION = replace(HOW, extractor="i3d", stride_frames=32, logits=True)
OBJECTS = replace(HOW, extractor="efficientnet_lite0", logits=True)


@dataclass(frozen=True, eq=False)
class Seen:
    """Features of a film by three networks."""

    frames: Features
    """MobileNetV2's, two a second."""
    motion: Features
    """I3D's, with class scores."""
    objects: Features
    """EfficientNet-Lite0's, with class scores."""


def see(path: Path) -> Seen:
    """All features of a film, in one decode pass; they are kept in the cache."""
    video = probe(path)
    jobs = [extraction_job(video, spec) for spec in (HOW, MOTION, OBJECTS)]
    return Seen(*run_jobs(video, jobs, HOW, None))


def curves(seen: Seen) -> list[tuple[str, FloatArray, Features]]:
    """The name of each source that looks at one network, its curve [T] and the features that it is of."""
    frames = seen.frames
    curves_found = [(f"{name}, MobileNetV2", scorer(frames, 0), frames) for name, scorer in SCORERS.items()]
    lengths = np.linalg.norm(frames.array, axis=1)
    directions = replace(frames, array=frames.array / lengths[:, None])
    curves_found.append(("length of the feature, MobileNetV2", lengths, frames))
    curves_found.append(("change of its direction, MobileNetV2", highlights(directions), frames))
    for network, features in (("I3D", seen.motion), ("EfficientNet-Lite0", seen.objects)):
        assert features.logits is not None
        curves_found.append((f"contrastive, {network}", SCORERS["contrastive"](features, 0), features))
        curves_found.append((f"highlights, {network}", highlights(features), features))
        curves_found.append(
            (f"score of the most likely class, {network}", features.logits.max(axis=1), features)
        )
    return curves_found


def sources(seen: Seen, n_clips: int) -> dict[str, FloatArray]:
    """Each source's curve of the clips, [C]."""
    times = np.arange(n_clips) * CLIP_S
    rows = {
        name: to_grid(curve[:, None], features, times, CLIP_S)[:, 0] for name, curve, features in curves(seen)
    }
    actions, objects = (
        rows[f"score of the most likely class, {name}"] for name in ("I3D", "EfficientNet-Lite0")
    )
    certainty = standard(actions) + standard(objects)
    change, all_change = "change of its direction, MobileNetV2", "most likely classes of both + change"
    rows[all_change] = standard(certainty) + standard(rows[change])
    return rows


def standard(curve: FloatArray) -> FloatArray:
    """A curve with mean 0 and deviation 1."""
    return np.asarray((curve - curve.mean()) / max(float(curve.std()), 1e-6), np.float32)


def measures(film: Film, curve: FloatArray) -> tuple[float, float, float]:
    """AP, HIT@1 and rho of a curve [C] of a film."""
    n_clips = len(curve)
    right = film.shares(CLIP_S, FOOTAGE)[:n_clips] >= 0.5
    precision = clip_precisions(curve[None], right[None, None])[0, 0]
    hit = best_clip_hits(curve[None], right[None, None])[0, 0]
    rho = spearman_rho(curve[None], film.grades(CLIP_S)[None, :n_clips])[0, 0]
    return float(precision), float(hit), float(rho)


def table(films: Sequence[Film], highlights: Sequence[Highlights]) -> str:
    """The measures of all sources, best AP first: means, and how AP deviates from film to film."""
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for made, highlight in zip(films, highlights, strict=True):
        by_default = {"default (ridge)": find_highlights(made.path).saliency}
        for name, curve in (by_default | sources(see(made.path), len(highlight.saliency))).items():
            rows.setdefault(name, []).append(measures(made, curve))
    lines = ["| source | AP | deviation | HIT@1 | rho |", "|---|---|---|---|---|"]
    for name, of_films in sorted(rows.items(), key=lambda row: -np.mean([ap for ap, *_ in row[1]])):
        ap, hit, rho = np.mean(of_films, axis=0)
        spread = np.std([score for score, *_ in of_films])
        lines.append(f"| {name} | {ap:.3f} | {spread:.3f} | {hit:.2f} | {rho:.2f} |")
    return "\n".join(lines)


def of_kinds(films: Sequence[Film], highlights: Sequence[Highlights]) -> str:
    """The mean saliency of each kind of segment, in words."""
    means = []
    for kind in GRADES:
        shares = [
            film.shares(CLIP_S, [kind])[: len(its.saliency)]
            for film, its in zip(films, highlights, strict=True)
        ]
        saliency = np.concatenate([its.saliency for its in highlights])
        weights = np.concatenate(shares)
        if weights.any():
            means.append(f"{kind} {np.average(saliency, weights=weights):.2f}")
    return ", ".join(means)


def in_segments(film: Film, highlights: Highlights) -> tuple[float, float]:
    """Share of the segments' time that is footage, and their share of the film."""
    clips = np.zeros(len(highlights.saliency), bool)
    for moment in highlights.moments:
        clips |= (highlights.timestamps >= moment.start_s) & (highlights.timestamps < moment.end_s)
    return float(film.shares(CLIP_S, FOOTAGE)[: len(clips)][clips].mean()), float(clips.mean())


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, "folder")
    parser.add_argument("--half", choices=HALVES, default="odd")
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12, 13, 14])
    options = parser.parse_args()
    films = [film(options.folder, options.half, seed) for seed in options.seeds]
    highlights = [
        find_highlights(film.path, extractor=HOW.extractor, precision=HOW.precision) for film in films
    ]
    base = np.mean([film.shares(CLIP_S, FOOTAGE).mean() for film in films])
    print(f"{len(films)} films of two minutes, {base:.0%} footage\n\n{table(films, highlights)}\n")
    print(f"mean saliency: {of_kinds(films, highlights)}")
    footage, share = np.mean([in_segments(*pair) for pair in zip(films, highlights, strict=True)], axis=0)
    print(f"segments: {share:.0%} of the films, {footage:.0%} of that footage")


if __name__ == "__main__":
    main()
