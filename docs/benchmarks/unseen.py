"""Decoding less: what it saves, and what it changes, by codec and distance of key frames.

    python -m docs.benchmarks.unseen FILM [--seconds 60] [--codec NAME ...]

A film is encoded anew in each way. It is then read at two samples a second: every frame decoded (`--strict`),
what nobody sees left out (the default), and with `--fast`. Beside the processor seconds of reading: how early
samples are, the cosine of their features with those of decoding all, F1 of the change points (within half a
second), and the share of the summary that both have.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import numpy as np

import vidsum
from docs.benchmarks import argument_parser, processor_s, shared_s
from tests.shots.boundaries import f1
from vidsum.features import describe
from vidsum.scaling import unit_rows
from vidsum.types import Features, TimeArray
from vidsum.video.frames import Frame
from vidsum.video.read import read_frames

CODECS: Mapping[str, tuple[str, dict[str, str]]] = {
    "H.264, key frames 1 s": ("libx264", {"crf": "23", "preset": "fast", "g": "25"}),
    "H.264, key frames 10 s": ("libx264", {"crf": "23", "preset": "fast", "g": "250"}),
    "H.264, no B-frames": ("libx264", {"crf": "23", "preset": "fast", "g": "250", "bf": "0"}),
    "HEVC": ("libx265", {"crf": "26", "preset": "fast", "x265-params": "log-level=0"}),
    "AV1": ("libsvtav1", {"crf": "35", "preset": "10", "svtav1-params": "keyint=250"}),
    "VP9": ("libvpx-vp9", {"crf": "32", "b": "0", "deadline": "realtime", "cpu-used": "6"}),
    "MPEG-2": ("mpeg2video", {"b": "4000000", "bf": "2"}),
}
HOWS: Mapping[str, dict[str, bool]] = {"all": {"strict": True}, "seen": {}, "fast": {"fast": True}}
_NEAR_S = 0.5


@dataclass(frozen=True)
class Read:
    """What one way of reading a film gave."""

    processor_s: float
    frames: list[Frame]
    features: Features
    edges_s: TimeArray
    segments: tuple[tuple[float, float], ...]


def encode(film: Path, to: Path, codec: str, options: dict[str, str], seconds: float) -> None:
    """The start of a film in another codec, at 25 frames a second."""
    with av.open(str(film)) as source, av.open(str(to), "w") as target:
        pictures = source.streams.video[0]
        pictures.thread_type = "AUTO"
        stream = cast(av.VideoStream, target.add_stream(codec, rate=25, options=options))
        stream.width, stream.height, stream.pix_fmt = pictures.width, pictures.height, "yuv420p"
        for number, frame in enumerate(source.decode(pictures)):
            if number >= 25 * seconds:
                break
            frame.pts, frame.time_base, frame.pict_type = number, Fraction(1, 25), 0
            target.mux(stream.encode(frame))
        target.mux(stream.encode(None))


def read(film: Path, how: dict[str, bool]) -> Read:
    """Read, and make shots and a summary of it."""
    start_s = processor_s()
    with read_frames(film, [describe("efficientnet_lite0").sampling], **how) as numbered:
        frames = [frame for _, frame in numbered]
    took_s = processor_s() - start_s
    features = vidsum.extract(film, cache=False, **how)
    summary = vidsum.summarize(features)
    return Read(took_s, frames, features, vidsum.find_shots(features).edges_s[1:-1], summary.segments)


def row(name: str, found: Read, whole: Read) -> str:
    """One way of reading beside decoding all."""
    early_s = [one.pts_s - other.pts_s for one, other in zip(whole.frames, found.frames, strict=True)]
    cosines = (unit_rows(found.features.array) * unit_rows(whole.features.array)).sum(1)
    summary_s = sum(end - start for start, end in whole.segments)
    cells = (
        f"{found.processor_s:.2f}",
        f"{found.processor_s / whole.processor_s:.2f}",
        f"{np.mean(early_s):.3f}, {max(early_s):.2f}",
        f"{np.mean(cosines):.3f}",
        f"{f1(found.edges_s, whole.edges_s, _NEAR_S):.2f}",
        f"{shared_s(found.segments, whole.segments) / summary_s:.2f}",
    )
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("film", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--codec", action="append", choices=CODECS)
    options = parser.parse_args()
    print("| film, decoded | processor s | of all | early s: mean, most | cosine | F1 | summary |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.codec or CODECS:
            film = Path(folder) / f"{CODECS[name][0]}.mkv"
            encode(options.film, film, *CODECS[name], options.seconds)
            reads = {how: read(film, HOWS[how]) for how in HOWS}
            for how, found in reads.items():
                print(row(f"{name}, {how}", found, reads["all"]), flush=True)


if __name__ == "__main__":
    main()
