"""How well `vidsum.summary.liveness` tells live footage from dull, and how its constants were fitted.

    python -m docs.benchmarks.liveness CLIP... [--fit]

Each clip is degraded: black, blank, nearly dark, out of focus, frozen, and frozen and encoded (H.264,
crf 23). Prints the AUC of live samples against each kind, the fraction of each below .5, and the clips of
which any live samples are below. `--fit` prints the constants that these clips give instead.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt

from docs.benchmarks import argument_parser
from docs.benchmarks.degraded import Rng, blank, blurred, dark, frozen, pictures_of, videos_in
from docs.benchmarks.highlight_films import black
from vidsum.features import describe, load_extractor
from vidsum.features.extractor import Extractor
from vidsum.features.settings import DEFAULT_EXTRACTOR
from vidsum.models.scaling import unit_rows
from vidsum.results.features import Features
from vidsum.summary.liveness import liveness, measures
from vidsum.types import FloatArray, Picture

FPS, FRAMES = 2.0, 12
UNITS = 8
"""Units of a feature that are looked for, for each of `SHOWN`."""
BATCH = 6
SHOWN, MOTION = ("dark", "blurred", "blank"), ("live", "frozen, encoded")
Kinds = dict[str, FloatArray]
"""Features of the kinds of a clip; `live` is the clip as it is."""


def encoded(pictures: Picture, rng: Rng) -> Picture:
    """Frozen for half a second per sample at 24 frames per second, and compressed."""
    box = io.BytesIO()
    with av.open(box, "w", format="mp4") as target:
        stream: Any = target.add_stream("libx264", rate=24, options={"preset": "veryfast", "crf": "23"})
        stream.height, stream.width = pictures.shape[1:3]
        stream.pix_fmt = "yuv420p"
        for picture in frozen(pictures, rng).repeat(FRAMES, axis=0):
            target.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        target.mux(stream.encode())
    box.seek(0)
    with av.open(box) as source:
        frames = [frame.to_ndarray(format="rgb24") for frame in source.decode(video=0)]
    return np.stack(frames[FRAMES // 2 :: FRAMES])


def kinds_of(clip: Path, extractor: Extractor) -> Kinds:
    """Features of a clip and of what is made of it; the same each time."""
    pictures, rng = pictures_of(clip, extractor), np.random.default_rng(sum(map(ord, clip.stem)))
    made = {"live": pictures, "dark": dark(pictures, rng)[::2], "blurred": blurred(pictures, rng)[::2]}
    made |= {"blank": blank(pictures, rng)[:2], "black": black(pictures, rng)[:2]}
    made |= {"frozen": frozen(pictures, rng)[:2], "frozen, encoded": encoded(pictures, rng)[:10]}
    return {kind: _features(pictures, extractor) for kind, pictures in made.items()}


def _features(pictures: Picture, extractor: Extractor) -> FloatArray:
    starts = range(0, len(pictures), BATCH)
    rows = [extractor.encode(pictures[start : start + BATCH, None]) for start in starts]
    return np.concatenate(rows)[:, : extractor.spec.dim]


def auc(live: FloatArray, dull: FloatArray) -> float:
    """The probability that a live sample has more than a dull one; ties count half."""
    above = (live[:, None] > dull).mean() + (live[:, None] == dull).mean() / 2
    return float(above)


def report(clips: dict[str, Kinds]) -> str:
    """The table, and the clips of which live samples are below .5."""
    rows: dict[str, list[FloatArray]] = {}
    low = []
    for name, kinds in clips.items():
        for kind, array in kinds.items():
            rows.setdefault(kind, []).append(
                liveness(Features.from_array(array, FPS, extractor=DEFAULT_EXTRACTOR))
            )
        if (below := float((rows["live"][-1] < 0.5).mean())) > 0:
            low.append(f"{name} {below:.2f}")
    joined = {kind: np.concatenate(curves) for kind, curves in rows.items()}
    lines = ["| kind | samples | AUC | below .5 | mean |", "|---|---|---|---|---|"]
    for kind, curve in joined.items():
        area = "" if kind == "live" else f"{auc(joined['live'], curve):.3f}"
        lines.append(f"| {kind} | {len(curve)} | {area} | {(curve < 0.5).mean():.3f} | {curve.mean():.3f} |")
    return "\n".join([*lines, "", f"live samples below .5: {', '.join(low) or 'none'}"])


def dull_units(clips: Sequence[Kinds]) -> list[int]:
    """The units that each of `SHOWN` raises most, in deviations, above live footage."""
    live = _directions(clips, "live")
    units: set[int] = set()
    for kind in SHOWN:
        dull = _directions(clips, kind)
        raised = (dull.mean(axis=0) - live.mean(axis=0)) / np.sqrt(dull.var(axis=0) + live.var(axis=0) + 1e-6)
        units |= set(np.argsort(-raised)[:UNITS].tolist())
    return sorted(units)


def _directions(clips: Sequence[Kinds], kind: str) -> FloatArray:
    return unit_rows(np.concatenate([kinds[kind] for kinds in clips]))


def fit(clips: Sequence[Kinds], units: Sequence[int]) -> npt.NDArray[np.float64]:
    """Coefficients of the two measures and the intercept; live and dull samples weigh the same."""
    from sklearn.linear_model import LogisticRegression

    kinds = ("live", *SHOWN)
    parts = {kind: measures(np.concatenate([clip[kind] for clip in clips]), units) for kind in kinds}
    rows = np.concatenate(list(parts.values()))
    is_live = np.concatenate([np.full(len(part), kind == "live") for kind, part in parts.items()])
    weights = [np.full(len(part), (3 if kind == "live" else 1) / len(part)) for kind, part in parts.items()]
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    model = LogisticRegression(C=10)
    model.fit((rows - mean) / deviation, is_live, sample_weight=100 * np.concatenate(weights))
    slopes = model.coef_[0] / deviation
    return np.append(slopes, model.intercept_[0] - slopes @ mean)


def main() -> None:
    """Print the table, or the constants."""
    parser = argument_parser(__doc__)
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    extractor = load_extractor(describe(DEFAULT_EXTRACTOR), device="cpu")
    clips = {path.stem: kinds_of(path, extractor) for path in videos_in(options.clips)}
    if not options.fit:
        print(f"{len(clips)} clips\n\n{report(clips)}")
        return
    units = dull_units(list(clips.values()))
    print(f"units {units}\nentropy, dull, intercept {np.round(fit(list(clips.values()), units), 2)}")
    steps = {kind: np.concatenate([_steps(clip[kind]) for clip in clips.values()]) for kind in MOTION}
    print(
        "; ".join(
            f"change, {kind}: {steps_of_kind.min():.1e} to {steps_of_kind.max():.1e}"
            for kind, steps_of_kind in steps.items()
        )
    )


def _steps(array: FloatArray) -> FloatArray:
    """[T - 1] cosine distances of samples that follow each other."""
    rows = unit_rows(array)
    return np.asarray((np.diff(rows, axis=0) ** 2).sum(axis=1) / 2, np.float32)


if __name__ == "__main__":
    main()
