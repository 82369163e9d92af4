"""How well `vidsum.summary.liveness` tells live footage from dull, and how its constants were fitted.

    python -m docs.benchmarks.liveness CLIP ... [--fit]

Each clip is degraded: black, blank, nearly dark, out of focus, frozen, and frozen and encoded (H.264, crf
23). Printed are the AUC of live samples against each kind, and the share of each below .5. `--fit` prints
the constants that these clips give instead.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from docs.benchmarks import argument_parser
from docs.benchmarks.dull_footage import Rng, black, blank, blurred, dark, frozen
from docs.benchmarks.tables import print_table
from vidsum.features.extractor import Extractor
from vidsum.features.settings import DEFAULT_EXTRACTOR, Extraction
from vidsum.models.scaling import unit_rows
from vidsum.pipelines.decoding import load_extractor
from vidsum.results.features import Features
from vidsum.summary.liveness import liveness, measures
from vidsum.types import FloatArray, Picture
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

_FPS, _FRAMES, _BATCH = 2.0, 12, 6
_UNITS = 8
"""Units of a feature that are looked for, for each of `_DULL`."""
_DULL = ("dark", "blurred", "blank")
Kinds = dict[str, FloatArray]
"""Features of a clip and of what is made of it; `live` is the clip as it is."""


def encoded(pictures: Picture, rng: Rng) -> Picture:
    """Frozen for half a second per sample at 24 frames per second, and compressed."""
    box = io.BytesIO()
    with av.open(box, "w", format="mp4") as target:
        stream: Any = target.add_stream("libx264", rate=24, options={"preset": "veryfast", "crf": "23"})
        stream.height, stream.width = pictures.shape[1:3]
        stream.pix_fmt = "yuv420p"
        for picture in frozen(pictures, rng).repeat(_FRAMES, axis=0):
            target.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        target.mux(stream.encode())
    box.seek(0)
    with av.open(box) as source:
        frames = [frame.to_ndarray(format="rgb24") for frame in source.decode(video=0)]
    return np.stack(frames[_FRAMES // 2 :: _FRAMES])


def kinds_of(clip: Path, extractor: Extractor) -> Kinds:
    """Features of a clip and of what is made of it; the same each time."""
    with read_frames(probe(clip), [extractor.spec.sampling]) as frames:
        pictures = np.stack([extractor.spec.crop(frame.image) for _, frame in frames])
    rng = np.random.default_rng(sum(map(ord, clip.stem)))
    made = {"live": pictures, "dark": dark(pictures, rng)[::2], "blurred": blurred(pictures, rng)[::2]}
    made |= {"blank": blank(pictures, rng)[:2], "black": black(pictures, rng)[:2]}
    made |= {"frozen": frozen(pictures, rng)[:2], "frozen, encoded": encoded(pictures, rng)[:10]}
    return {kind: _features(of_kind, extractor) for kind, of_kind in made.items()}


def _features(pictures: Picture, extractor: Extractor) -> FloatArray:
    starts = range(0, len(pictures), _BATCH)
    rows = [extractor.encode(pictures[start : start + _BATCH, None]) for start in starts]
    return np.concatenate(rows)[:, : extractor.spec.dim]


def auc(live: FloatArray, dull: FloatArray) -> float:
    """The probability that a live sample has more than a dull one; ties count half."""
    return float((live[:, None] > dull).mean() + (live[:, None] == dull).mean() / 2)


def cells(clips: Sequence[Kinds]) -> Iterator[list[str]]:
    """The rows of the table."""
    joined = {kind: np.concatenate([_curve(clip[kind]) for clip in clips]) for kind in clips[0]}
    for kind, curve in joined.items():
        area = "" if kind == "live" else f"{auc(joined['live'], curve):.3f}"
        yield [kind, str(len(curve)), area, f"{(curve < 0.5).mean():.3f}"]


def _curve(array: FloatArray) -> FloatArray:
    return liveness(Features.from_array(array, _FPS, extractor=DEFAULT_EXTRACTOR))


def dull_units(clips: Sequence[Kinds]) -> list[int]:
    """The units that each of `_DULL` raises most, in deviations, above live footage."""
    live, units = _directions(clips, "live"), set[int]()
    for kind in _DULL:
        dull = _directions(clips, kind)
        raised = (dull.mean(axis=0) - live.mean(axis=0)) / np.sqrt(dull.var(axis=0) + live.var(axis=0) + 1e-6)
        units |= set(np.argsort(-raised)[:_UNITS].tolist())
    return sorted(units)


def _directions(clips: Sequence[Kinds], kind: str) -> FloatArray:
    return unit_rows(np.concatenate([kinds[kind] for kinds in clips]))


def fit(clips: Sequence[Kinds], units: Sequence[int]) -> npt.NDArray[np.float64]:
    """Coefficients of the two measures and the intercept; live and dull samples weigh the same."""
    kinds = ("live", *_DULL)
    parts: Mapping[str, Any] = {
        kind: measures(np.concatenate([clip[kind] for clip in clips]), units) for kind in kinds
    }
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
    parser = argument_parser(__doc__, small="shared/videos/basketball.mp4")
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    extractor = load_extractor(Extraction(device="cpu"))
    clips = [kinds_of(path, extractor) for path in options.clips]
    if not options.fit:
        print_table(["kind", "samples", "AUC", "below .5"], cells(clips))
        return
    units = dull_units(clips)
    print(f"units {units}\nentropy, dull, intercept {np.round(fit(clips, units), 2)}")
    for kind in ("live", "frozen, encoded"):
        rows = [unit_rows(clip[kind]) for clip in clips]
        steps = np.concatenate([(np.diff(of_clip, axis=0) ** 2).sum(axis=1) / 2 for of_clip in rows])
        print(f"change, {kind}: {steps.min():.1e} to {steps.max():.1e}")


if __name__ == "__main__":
    main()
