"""Looks: which parts of a video look alike, and how much of them a summary shows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.grounding.scenes import look_cosine, samples_between
from vidsum.models.scaling import unit_rows
from vidsum.results.features import Features
from vidsum.summary.slide_importance import number_slides
from vidsum.types import FloatArray, Interval

_MIN_DIRECTION = 1e-4  # a look that differs by less from the look of the whole video is the same


class Looks:
    """Mean features of parts of a video; parts are frames [start, end)."""

    def __init__(
        self, features: Features, sampled: npt.NDArray[Any], slides: Sequence[Interval] = ()
    ) -> None:
        """`sampled` [T] are the frames of the samples, or seconds where parts are in seconds.

        Each of `slides`, which are in seconds, is a look of its own, unless it comes again.
        """
        self._rows, self.sampled, self.dim = unit_rows(features.array), sampled, features.dim
        self._slides, self.important_slides = number_slides(self._rows, features.timestamps, slides)
        self.same = look_cosine(features.extractor)
        self._mean = self._rows.mean(axis=0)

    def samples(self, start: float, end: float) -> slice:
        """Return the samples of a part; between two samples, the one before."""
        return samples_between(self.sampled, start, end)

    def absolute(self, start: float, end: float) -> FloatArray:
        """Return [D] the mean feature, of length 1."""
        mean = self._rows[self.samples(start, end)].mean(axis=0)
        return np.asarray(unit_rows(mean[None])[0], np.float32)

    def relative(self, start: int, end: int) -> FloatArray:
        """Return [D] the mean feature less the video's, of length 1; zeros where it is the video's."""
        mean = self._rows[self.samples(start, end)].mean(axis=0) - self._mean
        length = float(np.linalg.norm(mean))
        return np.asarray(mean / length if length > _MIN_DIRECTION else mean * 0, np.float32)

    def slide(self, start: float, end: float) -> int:
        """Return the number of the slide in the middle of a part, or -1."""
        numbers = self._slides[self.samples(start, end)]
        return int(numbers[len(numbers) // 2])

    def are_alike(self, part: tuple[int, int], other: tuple[int, int]) -> bool:
        slide, other_slide = self.slide(*part), self.slide(*other)
        if max(slide, other_slide) >= 0:
            return slide == other_slide
        return float(self.absolute(*part) @ self.absolute(*other)) >= self.same

    def count(self, parts: Sequence[tuple[int, int]], enough: int) -> int:
        """Return the number of looks among parts, up to `enough`: those that look like none before them.

        Slides that are not important do not count.
        """
        different, slides = np.zeros((0, self.dim), np.float32), set[int]()
        for part in parts:
            if (slide := self.slide(*part)) >= 0:
                slides |= {slide} & self.important_slides
                continue
            look = self.absolute(*part)
            if len(different) < enough and (different @ look < self.same).all():
                different = np.vstack([different, look])
        return min(len(different) + len(slides), enough)


class Coverage:
    """How much of the looks of a video's shots has been shown."""

    def __init__(self, looks: Looks, shots: Sequence[tuple[int, int]], worth: npt.ArrayLike) -> None:
        """`shots` are the best windows of S shots, `worth` [S] their importance."""
        self._looks, self._added = looks, np.zeros((0, looks.dim), np.float32)
        self._of_shots = np.stack([looks.relative(*shot) for shot in shots])
        alike = np.array([np.maximum(self._of_shots @ look, 0).sum() for look in self._of_shots])
        self._weights = np.asarray(worth) / np.maximum(alike, 1)
        self._most_alike = np.zeros(len(shots), np.float32)
        self._slides = set[int]()

    def _alike(self, start: int, end: int) -> FloatArray:
        """Return [S] how much a part looks like the best window of each shot."""
        return np.asarray(np.maximum(self._of_shots @ self._looks.relative(start, end), 0))

    def gain(self, start: int, end: int) -> float:
        """Return how much more of the shots' importance is shown with a part."""
        return float(self._weights @ np.maximum(self._alike(start, end) - self._most_alike, 0))

    def has_look(self, start: int, end: int) -> bool:
        """Return whether a part looks like one that was added."""
        if (slide := self._looks.slide(start, end)) >= 0:
            return slide in self._slides
        return bool((self._added @ self._looks.absolute(start, end) >= self._looks.same).any())

    def add(self, start: int, end: int) -> None:
        if (slide := self._looks.slide(start, end)) >= 0:
            self._slides.add(slide)
        else:
            self._added = np.vstack([self._added, self._looks.absolute(start, end)])
        self._most_alike = np.maximum(self._most_alike, self._alike(start, end))
