"""Pictures of a shape, and an extractor of them that needs no weights."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from vidsum.features.extractor import CustomExtractor, _registered

EXTRACTOR = "grid"


def save_circle(path: Path) -> None:
    picture = np.full((80, 96, 3), 90, np.uint8)
    assert cv2.imwrite(str(path), cv2.circle(picture, (48, 40), 20, (30, 30, 220), -1))


def cells(pictures: np.ndarray) -> np.ndarray:
    """The mean colours of 4 x 4 cells."""
    side = pictures.shape[1] // 4
    mean = pictures[:, : 4 * side, : 4 * side].reshape(len(pictures), 4, side, 4, side, 3).mean(axis=(2, 4))
    return np.asarray(mean.reshape(len(pictures), 48), np.float32)


def use_stand_in(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The extractor `grid`; the list has the size of each batch."""
    seen: list[int] = []

    def encode(pictures: np.ndarray) -> np.ndarray:
        seen.append(len(pictures))
        return cells(pictures)

    monkeypatch.setitem(_registered, EXTRACTOR, CustomExtractor(EXTRACTOR, encode, dim=48, size=64))
    return seen
