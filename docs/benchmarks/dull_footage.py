"""Dull footage, and films of real and dull footage in which the interesting parts are known."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np

from docs.benchmarks.joined import FIRST
from vidsum.types import FloatArray, Picture
from vidsum.video.frames import Sampling, ShortSide
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

FPS, SIDE = 25, 256
Rng = np.random.Generator
HALVES = {"even": slice(0, None, 2), "odd": slice(1, None, 2)}
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


def frozen(pictures: Picture, rng: Rng) -> Picture:
    """One picture again and again."""
    return np.repeat(pictures[[rng.integers(len(pictures))]], len(pictures), axis=0)


def dark(pictures: Picture, rng: Rng) -> Picture:
    """As with the lens covered but for some light."""
    return (pictures * rng.uniform(0.02, 0.1)).astype(np.uint8)


def blurred(pictures: Picture, rng: Rng) -> Picture:
    """Far out of focus."""
    return np.stack([cv2.GaussianBlur(picture, (0, 0), rng.uniform(12, 20)) for picture in pictures])


def blank(pictures: Picture, rng: Rng) -> Picture:
    """One colour."""
    return np.full_like(pictures, rng.integers(256, size=3, dtype=np.uint8))


def black(pictures: Picture, rng: Rng) -> Picture:
    """Nothing."""
    return np.zeros_like(pictures)


def panned(pictures: Picture, rng: Rng) -> Picture:
    """A slow walk of the camera over one of the pictures."""
    still = cv2.resize(pictures[rng.integers(len(pictures))], None, fx=1.5, fy=1.5)
    way = np.linspace(0, len(still) - SIDE, len(pictures)).astype(np.int64)
    across = way if rng.random() < 0.5 else way[::-1]
    return np.stack([still[y : y + SIDE, x : x + SIDE] for y, x in zip(way, across, strict=True)])


def shaken(pictures: Picture, rng: Rng) -> Picture:
    """One picture, shifted as by an unsteady hand."""
    still = cv2.resize(pictures[rng.integers(len(pictures))], None, fx=1.15, fy=1.15)
    room = len(still) - SIDE
    steps = np.cumsum(rng.normal(0, 2.5, (len(pictures), 2)), axis=0)
    places = room - np.abs((steps + room / 2) % (2 * room) - room)  # turns back at the edge
    return np.stack([still[y : y + SIDE, x : x + SIDE] for y, x in places.astype(np.int64)])


def bars(pictures: Picture, rng: Rng) -> Picture:
    """A test picture."""
    colours = [[190, 190, 190], [190, 190, 0], [0, 190, 190], [0, 190, 0], [190, 0, 190], [190, 0, 0]]
    stripes = np.array(colours, np.uint8)[np.arange(SIDE) * 6 // SIDE]
    return np.broadcast_to(stripes, pictures.shape).copy()


def static(pictures: Picture, rng: Rng) -> Picture:
    """Television noise."""
    grains = rng.integers(0, 256, (len(pictures), SIDE // 2, SIDE // 2, 1), np.uint8)
    return grains.repeat(2, axis=1).repeat(2, axis=2).repeat(3, axis=3)


DULL: Sequence[Callable[[Picture, Rng], Picture]] = (
    blurred,
    dark,
    panned,
    shaken,
    frozen,
    black,
    bars,
    static,
)


@dataclass(frozen=True)
class GradedFilm:
    """A video and what it shows when."""

    path: Path
    segments: tuple[tuple[float, float, str], ...]
    """(start_s, end_s, one of GRADES), one after the other."""

    def shares(self, clip_s: float, kinds: Sequence[str]) -> FloatArray:
        """[C] the share of each clip that shows one of the kinds; the last clip may be shorter."""
        end_s = self.segments[-1][1]
        starts = np.arange(0, end_s, clip_s)
        ends = np.minimum(starts + clip_s, end_s)
        seen_s = np.zeros(len(starts))
        for start_s, stop_s, kind in self.segments:
            if kind in kinds:
                seen_s += np.clip(np.minimum(ends, stop_s) - np.maximum(starts, start_s), 0, None)
        return np.asarray(seen_s / (ends - starts), np.float32)

    def grades(self, clip_s: float) -> FloatArray:
        """[C] the mean grade of what each clip shows."""
        return np.sum([grade * self.shares(clip_s, [kind]) for kind, grade in GRADES.items()], axis=0)


def graded_film(folder: Path, half: str, seed: int, seconds: float) -> GradedFilm:
    """A film of the first clips of a half, made once."""
    target = folder / f"{half}_{seconds:g}_{seed}.mp4"
    if not target.with_suffix(".json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        listed = json.loads((FIRST / "clips.json").read_text())["clips"][HALVES[half]]
        clips = [squares_of(FIRST / clip["file"]) for clip in listed]
        target.with_suffix(".json").write_text(
            json.dumps(_make(target, clips, np.random.default_rng(seed), seconds))
        )
    segments = json.loads(target.with_suffix(".json").read_text())
    return GradedFilm(target, tuple((start_s, end_s, kind) for start_s, end_s, kind in segments))


def squares_of(clip: Path) -> Picture:
    """[T, SIDE, SIDE, 3] the middle of a clip."""
    with read_frames(probe(clip), [Sampling(FPS, ShortSide(SIDE))]) as frames:
        images = [frame.image for _, frame in frames]
    height, width = images[0].shape[:2]
    top, left = (height - SIDE) // 2, (width - SIDE) // 2
    return np.stack([image[top : top + SIDE, left : left + SIDE] for image in images])


def _make(target: Path, clips: Sequence[Picture], rng: Rng, seconds: float) -> list[tuple[float, float, str]]:
    """Write a film and return its segments; how much of it is dull differs from film to film."""
    is_dull, n_frames = rng.uniform(0.3, 0.7), 0
    segments, seen = list[tuple[float, float, str]](), list[Picture]()
    with av.open(str(target), "w") as box:
        stream: Any = box.add_stream("libx264", rate=FPS, options={"preset": "veryfast", "crf": "23"})
        stream.width, stream.height, stream.pix_fmt = SIDE, SIDE, "yuv420p"
        while n_frames < seconds * FPS:
            kind, pictures = _segment(clips, seen, is_dull, rng)
            for picture in pictures:
                box.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            segments.append((n_frames / FPS, (n_frames + len(pictures)) / FPS, kind))
            n_frames += len(pictures)
        box.mux(stream.encode())
    return segments


def _segment(clips: Sequence[Picture], seen: list[Picture], is_dull: float, rng: Rng) -> tuple[str, Picture]:
    """Three to nine seconds of something, and what it is; footage is added to what was seen."""
    source, length = clips[rng.integers(len(clips))], int(rng.integers(3 * FPS, 9 * FPS))
    start = int(rng.integers(max(1, len(source) - length)))
    footage = source[start : start + length]
    if rng.random() < is_dull:
        degrade = DULL[rng.integers(len(DULL))]
        return degrade.__name__, degrade(footage, rng)
    if seen and rng.random() < 0.2:
        return "footage again", seen[rng.integers(len(seen))]
    seen.append(footage)
    return "footage", footage
