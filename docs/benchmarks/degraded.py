"""Dull footage: a clip frozen, nearly dark, out of focus, or blank, and videos that are joined from it."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import cv2
import numpy as np

from docs.benchmarks import argument_parser
from vidsum.features import describe, load_extractor
from vidsum.features.extractor import Extractor
from vidsum.features.settings import DEFAULT_EXTRACTOR, EXTRACTORS
from vidsum.types import FloatArray, Picture
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

SUFFIXES = (".mp4", ".mkv", ".webm", ".mov")
Rng = np.random.Generator
Degradation = Callable[[Picture, Rng], Picture]
Kinds = list[FloatArray]
"""[T, D] features of a clip: as it is, then made dull in each of several ways."""

FPS: Final = 2.0
"""Features per second."""


def videos_in(sources: Sequence[Path]) -> list[Path]:
    """The videos among files and in folders."""
    paths_by_source = [sorted(source.iterdir()) if source.is_dir() else [source] for source in sources]
    return [path for paths in paths_by_source for path in paths if path.suffix in SUFFIXES]


def frozen(pictures: Picture, rng: Rng) -> Picture:
    """Repeat one picture."""
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


DEGRADATIONS: tuple[Degradation, ...] = (frozen, dark, blurred, blank)


def pictures_of(video: Path, extractor: Extractor) -> Picture:
    """[T, crop, crop, 3] what the extractor sees of a video."""
    with read_frames(probe(str(video)), [extractor.spec.sampling]) as frames:
        return np.stack([extractor.spec.crop(frame.image) for _, frame in frames])


def features_of(pictures: Picture, extractor: Extractor) -> FloatArray:
    """[T, D]"""
    return np.concatenate([extractor.encode(picture[None, None]) for picture in pictures])[
        :, : extractor.spec.dim
    ]


def parse_options(description: str | None) -> argparse.Namespace:
    """The options of a benchmark of joined videos."""
    parser = argument_parser(description)
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--extractor", choices=EXTRACTORS, default=DEFAULT_EXTRACTOR)
    parser.add_argument("--videos", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def kinds_of(options: argparse.Namespace, degradations: Sequence[Degradation], rng: Rng) -> list[Kinds]:
    """The kinds of each clip."""
    extractor = load_extractor(describe(options.extractor), device="cpu")
    made = []
    for clip in videos_in(options.clips):
        pictures = pictures_of(clip, extractor)
        variants = [pictures, *(degrade(pictures, rng) for degrade in degradations)]
        made.append([features_of(pictures_of_kind, extractor) for pictures_of_kind in variants])
    return made


def cut_segment(array: FloatArray, rng: Rng) -> FloatArray:
    """Any 3 to 10 s of features [T, D]."""
    length = min(int(rng.integers(3 * FPS, 10 * FPS + 1)), len(array))
    start = int(rng.integers(len(array) - length + 1))
    return array[start : start + length]
