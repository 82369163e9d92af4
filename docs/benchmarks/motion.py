"""What the price of motion buys: how well `similarity` finds moments against the networks' processor time.

    python -m docs.benchmarks.motion FOLDER [--ask even odd]

The films of `docs.benchmarks.grounding`, whose features it uses again. Motion is seen by I3D in pictures of
224 or 128 pixels: all of it, every n-th clip (the nearest stands for the others), one clip per shot, or only
the shots that objects put first, which differ from query to query (elsewhere it is the video's mean).
Prices are the least of several runs of the network alone, on one thread, in processor seconds for each second
of video. R@1 at IoU .5 and .7, R@5 at .5, per cent; the last column is the difference of captions in R@1 .5
from all motion in 224 pixels, and 95 per cent of a bootstrap over clips.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from docs.benchmarks import argument_parser
from docs.benchmarks.grounding import TOP_K, by_curve, measures, resampled
from docs.benchmarks.joined import HALVES, composite, features_of, names_of, truth_of
from vidsum.device import Precision
from vidsum.evaluation.moment_metrics import best_ious
from vidsum.features import load_extractor
from vidsum.grounding.spaces import ClipEmbeddings, curves_of, embed_queries, extractions_of, similarity
from vidsum.intervals import stacked
from vidsum.pipelines.extraction import spec_of
from vidsum.pipelines.moments import seen
from vidsum.settings import Extraction
from vidsum.shots import find
from vidsum.types import Features, FloatArray, TimeArray

KINDS = ("query", "paraphrase", "short")
Keep = npt.NDArray[np.bool_]
Scores = tuple[TimeArray, npt.NDArray[np.str_]]
"""[Q, 4] measures of queries, and the clip that each is about."""
_RUNS = 5


class Way(NamedTuple):
    """A way to see a film's motion."""

    video: ClipEmbeddings
    curves: Callable[[FloatArray], FloatArray]
    """Queries [M, D] to curves [M, T]."""
    network: str = ""
    share: float = 0.0
    """Fraction of the film that the network sees."""


def price(extraction: Extraction) -> float:
    """Processor seconds of a network for each second of video, decoding apart."""
    spec = spec_of(extraction)
    precision: Precision = "fp32" if extraction.precision == "auto" else extraction.precision
    extractor = load_extractor(spec, device="cpu", precision=precision)
    side, count = spec.preprocessing.crop, 2 if spec.takes_clips else 6
    shape = (count, spec.clip_frames, side, side, 3)
    clips = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    seconds = []
    for _ in range(_RUNS):
        started = time.process_time()
        extractor.encode(clips)
        seconds.append(time.process_time() - started)
    return min(seconds) / count / spec.step_s


def thinned(features: Features, keep: Keep) -> Features:
    """Only some of the clips."""
    assert features.logits is not None
    kept = {name: getattr(features, name)[keep] for name in ("array", "timestamps", "logits")}
    return replace(features, **kept)


def every(step: int, features: Features, shots_s: TimeArray) -> Keep:
    """Every n-th clip."""
    return np.arange(len(features)) % step == step // 2


def per_shot(features: Features, shots_s: TimeArray) -> Keep:
    """The clip in the middle of each shot."""
    middles = features.timestamps + features.covers_s / 2
    wanted = (shots_s[:-1] + shots_s[1:]) / 2
    keep = np.zeros(len(features), np.bool_)
    keep[np.abs(middles - wanted[:, None]).argmin(axis=1)] = True
    return keep


def candidates(video: ClipEmbeddings, count: int, queries: FloatArray) -> tuple[FloatArray, float]:
    """The curves if motion is seen in a query's best shots by objects alone, and the share of the video."""
    assert video.shots_s is not None
    motion, objects = np.moveaxis(curves_of(video, queries)[:, :2], 1, 0)
    shot_of = np.searchsorted(video.shots_s, video.timestamps + video.step_s / 2, side="right") - 1
    _, shot_of = np.unique(shot_of, return_inverse=True)
    levels = np.stack([np.bincount(shot_of, row) / np.bincount(shot_of) for row in objects])
    chosen = np.argsort(-levels, axis=1)[:, :count]
    is_seen = (shot_of[None, :, None] == chosen[:, None, :]).any(axis=2)
    return objects + np.where(is_seen, motion, 0), float(is_seen.mean())


def ways_of(path: Path, precision: Precision) -> dict[str, Way]:
    """The ways to see a film."""
    large, objects = features_of(path, "conse", precision)
    small, _ = features_of(path, "conse", precision, thorough=False)
    shots_s = find(objects).edges_s

    def embedded(motion: Features) -> ClipEmbeddings:
        return seen("conse", (motion, objects), shots_s, "cpu")

    whole = embedded(large)
    ways = {"none": Way(whole, lambda queries: curves_of(whole, queries)[:, 1])}
    captions = embed_queries("conse", [query.text for query in truth_of(path).queries])
    for count in (3, 5, 8):
        curves = partial(candidates, whole, count)
        share = curves(captions)[1]
        ways[f"224 px, {count} shots per query"] = Way(whole, lambda q, c=curves: c(q)[0], "i3d", share)
    thinnings: dict[str, Callable[[Features, TimeArray], Keep]] = {
        "one clip per shot": per_shot,
        "every 4th clip": partial(every, 4),
        "every 2nd clip": partial(every, 2),
        "all": partial(every, 1),
    }
    for name, motion in (("128 px", small), ("224 px", large)):
        for thinning, choose in thinnings.items():
            keep = choose(motion, shots_s)
            video = embedded(thinned(motion, keep))
            ways[f"{name}, {thinning}"] = Way(
                video, partial(similarity, video), motion.extractor, float(keep.mean())
            )
    return ways


def main() -> None:
    """Print the prices, then a table for each half of the clips."""
    parser = argument_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ask", choices=HALVES, nargs="+", default=["even", "odd"])
    parser.add_argument("--seeds", type=int, nargs="+", default=range(10))
    parser.add_argument("--precision", default="bf16")
    options = parser.parse_args()
    films = [composite(options.folder, "all", 120, seed)[0] for seed in options.seeds]
    looked = [ways_of(film, options.precision) for film in films]
    costs: dict[str, float] = {"": 0}
    for thorough in (True, False):
        for precision in ("fp32", "bf16"):
            motion, objects = extractions_of("conse", Extraction(precision=precision), thorough=thorough)
            costs[motion.extractor] = price(motion)  # last in bf16
            print(f"{motion.extractor} in {precision}: {costs[motion.extractor]:.3f}", flush=True)
    print(f"objects: {price(replace(objects, precision='fp32')):.3f}\n")
    found = {name: scored(films, looked, name) for name in looked[0]}
    for half in options.ask:
        print(f"{half} clips\n\n| motion | processor s per s | {' | '.join(KINDS)} | difference |")
        print(f"|{'---|' * (3 + len(KINDS))}")
        for name, by_kind in found.items():
            share = float(np.mean([ways[name].share for ways in looked]))
            cells = [f"{share * costs[looked[0][name].network]:.3f}"]
            for kind in KINDS:
                means = of_half(by_kind[kind], half)[0].mean(axis=0)
                cells.append(" / ".join(f"{100 * mean:.1f}" for mean in means[:3]))
            print(f"| {name} | {' | '.join(cells)} | {less_than(found['224 px, all'], by_kind, half)} |")
        print(flush=True)


def of_half(scores: Scores, half: str) -> Scores:
    """Only the queries about one half of the clips."""
    rows, clips = scores
    kept = np.isin(clips, list(names_of(half)))
    return rows[kept], clips[kept]


def less_than(best: dict[str, Scores], other: dict[str, Scores], half: str) -> str:
    """The difference in R@1 at IoU .5 for captions, and its interval."""
    (first, clips), (second, _) = (of_half(scores[KINDS[0]], half) for scores in (best, other))
    less = 100 * (second - first)
    low, high = np.percentile(resampled(less, list(clips))[:, 0], [2.5, 97.5])
    return f"{less[:, 0].mean():.1f} [{low:.0f}, {high:.0f}]"


def scored(films: list[Path], looked: list[dict[str, Way]], name: str) -> dict[str, Scores]:
    """The measures of one way to see the films, by kind of query."""
    found = {}
    for kind in KINDS:
        ious, clips = [], list[str]()
        for film, ways in zip(films, looked, strict=True):
            video, curves, *_ = ways[name]
            asked = truth_of(film, kind).queries
            moments = by_curve(video, curves(embed_queries("conse", [query.text for query in asked])))
            located = stacked([[(one.start_s, one.end_s) for one in row] for row in moments], TOP_K)
            ious.append(best_ious(located, stacked([query.windows for query in asked])))
            clips += [query.qid for query in asked]
        found[kind] = measures(np.concatenate(ious)), np.array(clips)
    return found


if __name__ == "__main__":
    main()
