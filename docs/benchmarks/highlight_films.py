"""Films of real footage and dull segments, in which the interesting parts are known."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np

from docs.benchmarks.degraded import Degradation, Rng, blurred, dark, frozen
from tests.conftest import SHARED
from vidsum.types import FloatArray, Picture
from vidsum.video.frames import Sampling, ShortSide
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

FPS = 25
SIDE = 256
HALVES = ("even", "odd")
FOOTAGE = ("footage", "footage again")
GRADES = {
    "footage": 4,
    "footage again": 3,
    "blurred": 1,
    "dark": 1,
    "panned": 1,
    "shaken": 1,
    "frozen": 0,
    "black": 0,
    "bars": 0,
    "static": 0,
}
"""Grade of a segment, on QVHighlights' scale from 0 (very bad) to 4 (very good), as we have set it."""


@dataclass(frozen=True)
class Film:
    """A video and what is shown when."""

    path: Path
    segments: tuple[tuple[float, float, str], ...]
    """(start_s, end_s, one of GRADES), one after the other."""

    def shares(self, clip_s: float, kinds: Sequence[str]) -> FloatArray:
        """[C] the share of each clip that shows one of the kinds; the last clip may be shorter."""
        end_s = self.segments[-1][1]
        starts = np.arange(0, end_s, clip_s)
        ends = np.minimum(starts + clip_s, end_s)
        shown_s = np.zeros(len(starts))
        for start_s, stop_s, kind in self.segments:
            if kind in kinds:
                shown_s += np.clip(np.minimum(ends, stop_s) - np.maximum(starts, start_s), 0, None)
        return np.asarray(shown_s / (ends - starts), np.float32)

    def grades(self, clip_s: float) -> FloatArray:
        """[C] the mean grade of what each clip shows."""
        return np.sum([grade * self.shares(clip_s, [kind]) for kind, grade in GRADES.items()], axis=0)


def panned(pictures: Picture, rng: Rng) -> Picture:
    """A slow walk of the camera over one of the pictures."""
    still = cv2.resize(pictures[rng.integers(len(pictures))], None, fx=1.5, fy=1.5)
    way = np.linspace(0, len(still) - SIDE, len(pictures)).astype(np.int64)
    across = way if rng.random() < 0.5 else way[::-1]
    return np.stack([still[y : y + SIDE, x : x + SIDE] for y, x in zip(way, across, strict=True)])


def shaken(pictures: Picture, rng: Rng) -> Picture:
    """Repeat one picture, shifted as by an unsteady hand."""
    still = cv2.resize(pictures[rng.integers(len(pictures))], None, fx=1.15, fy=1.15)
    room = len(still) - SIDE
    steps = np.cumsum(rng.normal(0, 2.5, (len(pictures), 2)), axis=0)
    places = (room - np.abs((steps + room / 2) % (2 * room) - room)).astype(
        np.int64
    )  # turns back at the edge
    return np.stack([still[y : y + SIDE, x : x + SIDE] for y, x in places])


def black(pictures: Picture, rng: Rng) -> Picture:
    """Nothing."""
    return np.zeros_like(pictures)


def bars(pictures: Picture, rng: Rng) -> Picture:
    """A test picture."""
    colours = np.array(
        [[190, 190, 190], [190, 190, 0], [0, 190, 190], [0, 190, 0], [190, 0, 190], [190, 0, 0]]
    )
    return np.broadcast_to(colours[np.arange(SIDE) * 6 // SIDE].astype(np.uint8), pictures.shape).copy()


def static(pictures: Picture, rng: Rng) -> Picture:
    """Return television noise."""
    grains = rng.integers(0, 256, (len(pictures), SIDE // 2, SIDE // 2, 1), np.uint8)
    return grains.repeat(2, axis=1).repeat(2, axis=2).repeat(3, axis=3)


DULL: tuple[Degradation, ...] = (blurred, dark, panned, shaken, frozen, black, bars, static)


def film(folder: Path, half: str, seed: int, seconds: float = 120) -> Film:
    """A film of the clips of a half, the same for the same seed; taken from the folder if it is there."""
    target = folder / f"{half}_{seed}.mp4"
    if not target.with_suffix(".json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        _make(target, _clips(half), np.random.default_rng(seed), seconds)
    segments = json.loads(target.with_suffix(".json").read_text())
    return Film(target, tuple((start_s, end_s, kind) for start_s, end_s, kind in segments))


def _clips(half: str) -> list[Path]:
    """Half the clips."""
    known = json.loads((SHARED / "videos" / "clips.json").read_text())["clips"]
    files = [SHARED / "videos" / clip["file"] for clip in known]
    return files[0 if half == "even" else 1 :: 2]


def _make(target: Path, clips: Sequence[Path], rng: Rng, seconds: float) -> None:
    """Write a film and what it shows; how much of it is dull differs from film to film."""
    read = [_pictures(clip) for clip in clips]
    is_dull, segments = rng.uniform(0.3, 0.7), list[tuple[float, float, str]]()
    n_frames, seen = 0, list[Picture]()
    with av.open(str(target), "w") as box:
        stream: Any = box.add_stream("libx264", rate=FPS, options={"preset": "veryfast", "crf": "23"})
        stream.width, stream.height, stream.pix_fmt = SIDE, SIDE, "yuv420p"
        while n_frames < seconds * FPS:
            kind, pictures = _segment(read, seen, is_dull, rng)
            for picture in pictures:
                box.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            segments.append((n_frames / FPS, (n_frames + len(pictures)) / FPS, kind))
            n_frames += len(pictures)
        box.mux(stream.encode())
    target.with_suffix(".json").write_text(json.dumps(segments))


def _segment(read: Sequence[Picture], seen: list[Picture], is_dull: float, rng: Rng) -> tuple[str, Picture]:
    """Three to nine seconds of something, and what it is; footage is added to what was seen."""
    source, length = read[rng.integers(len(read))], int(rng.integers(3 * FPS, 9 * FPS))
    start = int(rng.integers(max(1, len(source) - length)))
    footage = source[start : start + length]
    if rng.random() < is_dull:
        degrade = DULL[rng.integers(len(DULL))]
        return degrade.__name__, degrade(footage, rng)
    if seen and rng.random() < 0.2:
        return "footage again", seen[rng.integers(len(seen))]
    seen.append(footage)
    return "footage", footage


def _pictures(clip: Path) -> Picture:
    """[T, SIDE, SIDE, 3] the middle of a clip."""
    with read_frames(probe(str(clip)), [Sampling(FPS, ShortSide(SIDE))]) as frames:
        images = [frame.image for _, frame in frames]
    height, width = images[0].shape[:2]
    top, left = (height - SIDE) // 2, (width - SIDE) // 2
    return np.stack([image[top : top + SIDE, left : left + SIDE] for image in images])
