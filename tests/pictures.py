"""Pictures of coloured shapes with sentences that name them, and networks that need no weights."""

import csv
import zlib
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from vidsum.features.extractor import CustomExtractor, _registered

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (30, 40, 220), "yellow": (220, 210, 40)}
SHAPES = ("circle", "square", "bar", "cross")
EXTRACTOR = "grid"
SENTENCES = (
    "a {} {} on a grey wall",
    "there is one {} {}",
    "someone painted a large {} {} in the middle of it",
)


def painted(colour: str, shape: str, width: int = 96, height: int = 80) -> np.ndarray:
    picture = np.full((height, width, 3), 90, np.uint8)
    middle, side, paint = (width // 2, height // 2), height // 4, COLOURS[colour]
    if shape == "circle":
        cv2.circle(picture, middle, side, paint, -1)
    if shape == "square":
        cv2.rectangle(
            picture, (middle[0] - side, middle[1] - side), (middle[0] + side, middle[1] + side), paint, -1
        )
    if shape in ("bar", "cross"):
        cv2.line(picture, (0, middle[1]), (width, middle[1]), paint, 12)
    if shape == "cross":
        cv2.line(picture, (middle[0], 0), (middle[0], height), paint, 12)
    return picture


def save(path: Path, picture: np.ndarray) -> None:
    assert cv2.imwrite(str(path), cv2.cvtColor(picture, cv2.COLOR_RGB2BGR))


def make_pictures(folder: Path, count: int = 48) -> dict[str, list[str]]:
    """`images/NNN.png` of one shape each, and `captions.csv`; returns its sentences by picture."""
    (folder / "images").mkdir(parents=True)
    kinds = list(product(COLOURS, SHAPES))
    sentences = {}
    for number in range(count):
        colour, shape = kinds[(7 * number + number // 16) % len(kinds)]
        name = f"{number:03}.png"
        save(folder / "images" / name, painted(colour, shape, 96 + number % 3, 80))
        sentences[name] = [sentence.format(colour, shape) for sentence in SENTENCES[: 1 + number % 3]]
    write_csv(folder / "captions.csv", sentences)
    return sentences


def write_csv(
    path: Path, sentences: dict[str, list[str]], columns: Sequence[str] = ("image", "caption")
) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows((name, item) for name, values in sentences.items() for item in values)
    return path


def cells(pictures: np.ndarray) -> np.ndarray:
    """The mean colours of 4 x 4 cells."""
    side = pictures.shape[1] // 4
    mean = pictures[:, : 4 * side, : 4 * side].reshape(len(pictures), 4, side, 4, side, 3).mean(axis=(2, 4))
    return np.asarray(mean.reshape(len(pictures), 48), np.float32)


def embedded(texts: Sequence[str]) -> np.ndarray:
    """[N, 32] of length 1: the words, each with a direction of its own."""
    rows = [
        sum(np.random.default_rng(zlib.crc32(word.encode())).standard_normal(32) for word in text.split())
        for text in texts
    ]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def use_stand_ins(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The extractor `grid`, and words in MiniLM's place; the list has the size of each batch."""
    seen: list[int] = []

    def encode(pictures: np.ndarray) -> np.ndarray:
        seen.append(len(pictures))
        return cells(pictures)

    monkeypatch.setitem(_registered, EXTRACTOR, CustomExtractor(EXTRACTOR, encode, dim=48, size=64))
    encoder = SimpleNamespace(encode=embedded)
    monkeypatch.setattr("vidsum.lab.evaluation.vse.load_text_encoder", lambda name, device: encoder)
    monkeypatch.setattr("vidsum.lab.evaluation.vse.checkpoints.sha256_of", lambda name: f"sha of {name}")
    return seen
