"""How well motion and the quality of pictures tell live footage from dull.

    python -m docs.benchmarks.liveness CLIP ...

Each clip is degraded: black, blank, nearly dark, out of focus, frozen, and frozen and encoded (H.264, crf
23). Printed are the AUC of live samples against each kind, and the share of each below .5, of the product of
`vidsum.summary.motion` and `vidsum.summary.picture_quality`, by which importance is multiplied.
"""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np

from docs.benchmarks import argument_parser
from docs.benchmarks.dull_footage import Rng, black, blank, blurred, dark, frozen
from docs.benchmarks.tables import print_table
from vidsum.features.extractor import Extractor
from vidsum.features.settings import DEFAULT_EXTRACTOR, Extraction
from vidsum.pipelines.decoding import load_extractor
from vidsum.results.features import Features
from vidsum.shots.cuts import changes_to_features
from vidsum.summary.motion import motion
from vidsum.summary.picture_quality import quality_at
from vidsum.types import FloatArray, Picture, VideoInfo
from vidsum.video.changes import ChangeMeter
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

_FPS, _FRAMES, _BATCH = 2.0, 12, 6
Kinds = dict[str, FloatArray]
"""How live a clip is, and what is made of it; `live` is the clip as it is."""


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
    """How live a clip is, and what is made of it; the same each time."""
    film = probe(clip)
    with read_frames(film, [extractor.spec.sampling]) as frames:
        pictures = np.stack([extractor.spec.crop(frame.image) for _, frame in frames])
    rng = np.random.default_rng(sum(map(ord, clip.stem)))
    made = {"live": pictures, "dark": dark(pictures, rng)[::2], "blurred": blurred(pictures, rng)[::2]}
    made |= {"blank": blank(pictures, rng)[:2], "black": black(pictures, rng)[:2]}
    made |= {"frozen": frozen(pictures, rng)[:2], "frozen, encoded": encoded(pictures, rng)[:10]}
    return {kind: liveness(of_kind, extractor, film) for kind, of_kind in made.items()}


def liveness(pictures: Picture, extractor: Extractor, film: VideoInfo) -> FloatArray:
    """Return [T] how live pictures [T, H, W, 3] are, two a second."""
    starts, meter = range(0, len(pictures), _BATCH), ChangeMeter()
    rows = [extractor.encode(pictures[start : start + _BATCH, None]) for start in starts]
    array = np.concatenate(rows)[:, : extractor.spec.dim]
    features = Features.from_array(array, _FPS, extractor=DEFAULT_EXTRACTOR)
    for time_s, picture in zip(features.timestamps.tolist(), pictures, strict=True):
        meter.add(time_s, av.VideoFrame.from_ndarray(picture, format="rgb24"), is_next=False)
    changes = changes_to_features(meter.result(film.path), film)
    return motion(features) * quality_at(changes, features.timestamps)


def auc(live: FloatArray, dull: FloatArray) -> float:
    """The probability that a live sample has more than a dull one; ties count half."""
    return float((live[:, None] > dull).mean() + (live[:, None] == dull).mean() / 2)


def cells(clips: Sequence[Kinds]) -> Iterator[list[str]]:
    """The rows of the table."""
    joined = {kind: np.concatenate([clip[kind] for clip in clips]) for kind in clips[0]}
    for kind, curve in joined.items():
        area = "" if kind == "live" else f"{auc(joined['live'], curve):.3f}"
        yield [kind, str(len(curve)), area, f"{(curve < 0.5).mean():.3f}"]


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__, small="shared/videos/basketball.mp4")
    parser.add_argument("clips", type=Path, nargs="+")
    extractor = load_extractor(Extraction(device="cpu"))
    clips = [kinds_of(path, extractor) for path in parser.parse_args().clips]
    print_table(["kind", "samples", "AUC", "below .5"], cells(clips))


if __name__ == "__main__":
    main()
