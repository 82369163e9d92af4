"""Dull footage: a clip frozen, nearly dark, out of focus, or blank."""

from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np

from vidsum.features.extractor import Extractor
from vidsum.types import FloatArray, Picture
from vidsum.video.read import read_frames

SUFFIXES = (".mp4", ".mkv", ".webm", ".mov")
Rng = np.random.Generator
Degradation = Callable[[Picture, Rng], Picture]


def videos_in(sources: Sequence[Path]) -> list[Path]:
    """The videos among files and in folders."""
    found = [sorted(source.iterdir()) if source.is_dir() else [source] for source in sources]
    return [path for paths in found for path in paths if path.suffix in SUFFIXES]


def frozen(pictures: Picture, rng: Rng) -> Picture:
    """One of the pictures all the time."""
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
    with read_frames(str(video), [extractor.spec.sampling]) as frames:
        return np.stack([extractor.spec.crop(frame.image) for _, frame in frames])


def features_of(pictures: Picture, extractor: Extractor) -> FloatArray:
    """[T, D]"""
    return np.concatenate([extractor.encode(picture[None, None]) for picture in pictures])
