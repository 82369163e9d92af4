"""What the settings of the space `conse` were chosen by: curves of composites whose moments are known.

python -m docs.benchmarks.spaces COMPOSITE.mp4 ...          # each beside its .json
python -m docs.benchmarks.spaces COMPOSITE.mp4 ... --clips  # other clips of I3D too: minutes for each

`shared/tools/make_composite.py` makes the composites. For each query: the area under the ROC curve and the
average precision of the curve's clips, the IoU of the clips above half of the curve's range with those of the
moments, and the first moment found against the best fitting true one. Nothing is asserted.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter1d
from sklearn.metrics import average_precision_score, roc_auc_score

from docs.benchmarks.joined import truth_of
from vidsum import extract
from vidsum.grounding.conse import SHARPNESS, TEMPERATURE, ClassMixture, class_probabilities, name_embeddings
from vidsum.grounding.proposals import moments_of
from vidsum.grounding.spaces import STEP_S, embed_queries, of_mixtures, similarity
from vidsum.grounding.windows import grid, on_grid
from vidsum.intervals import iou
from vidsum.types import Features, FloatArray, Interval

Curves = Callable[[Path, list[str]], FloatArray]
"""A composite and its queries to [M, T] curves on a grid of STEP_S."""


@dataclass(frozen=True)
class Setting:
    """One way to compare; the defaults are vidsum's."""

    motion: tuple[float, int, int] | None = (25.0, 32, 32)
    """Frames a second, frames of a clip, frames from clip to clip."""
    objects: str | None = "efficientnet_lite0"
    temperature: float = TEMPERATURE
    sharpness: float = SHARPNESS
    is_cosine: bool = False
    """Compare embeddings, as ConSE does, in place of likelihoods."""
    hubness: float = 0.0
    """How much of the mean class name is taken from the queries."""
    sigma_s: float = 0.0
    """Of a Gaussian over time."""


ROWS = {
    "vidsum's": Setting(),
    "motion alone": Setting(objects=None),
    "objects alone": Setting(motion=None),
    "MobileNetV2's objects alone": Setting(motion=None, objects="mobilenet_v2"),
    "MobileNetV2's objects and motion": Setting(objects="mobilenet_v2"),
    "cosine (ConSE)": Setting(is_cosine=True),
    "cosine, motion alone": Setting(is_cosine=True, objects=None),
    "cosine, objects alone": Setting(is_cosine=True, motion=None),
    "temperature 1": Setting(temperature=1.0),
    "temperature 3": Setting(temperature=3.0),
    "sharpness 5": Setting(sharpness=5.0),
    "sharpness 15": Setting(sharpness=15.0),
    "queries less 0.3 of the mean class name": Setting(hubness=0.3),
    "smoothed, sigma 1 s": Setting(sigma_s=1.0),
}
CLIP_ROWS = {
    "motion alone, clips of 16 at 12.5/s, half overlapping": Setting(motion=(12.5, 16, 8), objects=None),
    "motion alone, clips of 16 at 12.5/s": Setting(motion=(12.5, 16, 16), objects=None),
}


def mixture(features: Features, setting: Setting) -> ClassMixture:
    """The clips of one network as the setting has them."""
    assert features.logits is not None
    chances = class_probabilities(features.logits, setting.temperature)
    rows = on_grid(chances, features, grid(features.duration_s, STEP_S), STEP_S)
    # MobileNetV2 knows the same classes
    known = "i3d" if features.extractor == "i3d" else "efficientnet_lite0"
    return ClassMixture(rows, name_embeddings(known, "cpu"))


def curves(film: Path, queries: list[str], setting: Setting) -> FloatArray:
    """[M, T]"""
    seen = []
    if setting.motion:
        fps, frames, stride = setting.motion
        seen.append(
            extract(film, "i3d", logits=True, fps=fps, clip_frames=frames, stride_frames=stride, device="cpu")
        )
    if setting.objects:
        seen.append(extract(film, setting.objects, logits=True, device="cpu"))
    mixtures = [mixture(one, setting) for one in seen]
    times = grid(seen[0].duration_s, STEP_S)
    video = of_mixtures(mixtures, times, seen[0].duration_s)
    # names that are longer by a factor are as a sharpness that is higher by it
    factor = np.float32(setting.sharpness / SHARPNESS)
    sharpened = tuple(replace(one, names=one.names * factor) for one in mixtures)
    video = replace(video, mixtures=() if setting.is_cosine else sharpened)
    mean_name = np.mean([one.names.mean(axis=0) for one in mixtures], axis=0)
    found = similarity(
        video, embed_queries("conse", queries, "cpu") - np.float32(setting.hubness) * mean_name
    )
    if not setting.sigma_s:
        return found
    smooth: FloatArray = gaussian_filter1d(found, setting.sigma_s / STEP_S, axis=1)
    return smooth


def judge(curve: FloatArray, windows: Sequence[Interval], duration_s: float) -> list[float]:
    """AUC, AP, IoU of the clips at half height, R@1 at IoU 0.5 and 0.7, IoU of the first moment."""
    times = grid(duration_s, STEP_S)
    middle = times + STEP_S / 2
    is_true = np.any([(middle >= start) & (middle < end) for start, end in windows], axis=0)
    high = curve >= (np.percentile(curve, 5) + curve.max()) / 2
    first = moments_of(curve, times, STEP_S, duration_s, top_k=1)[0]
    best = float(iou([(first.start_s, first.end_s)], windows).max())
    common = float((high & is_true).sum() / (high | is_true).sum())
    ranks = [float(roc_auc_score(is_true, curve)), float(average_precision_score(is_true, curve))]
    return [*ranks, common, float(best >= 0.5), float(best >= 0.7), best]


def measure(films: Sequence[Path], setting: Setting) -> list[float]:
    """The means of `judge` over all queries of all films."""
    rows = []
    for film in films:
        queries = truth_of(film).queries
        found = curves(film, [query.text for query in queries], setting)
        rows += [
            judge(curve, query.windows, len(curve) * STEP_S)
            for curve, query in zip(found, queries, strict=True)
        ]
    means: list[float] = np.mean(rows, axis=0).tolist()
    return means


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("films", nargs="+", type=Path)
    parser.add_argument("--clips", action="store_true", help="other clips of I3D too")
    options = parser.parse_args()
    print(f"| {len(options.films)} composites | AUC | AP | IoU of clips | R@1 .5 | R@1 .7 | mIoU |")
    print("|---|---|---|---|---|---|---|")
    for name, setting in {**ROWS, **(CLIP_ROWS if options.clips else {})}.items():
        cells = " | ".join(f"{value:.3f}" for value in measure(options.films, setting))
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
