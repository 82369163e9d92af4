"""Reading pictures with RapidOCR; skipped where the extra is missing."""

import cv2
import numpy as np
import pytest

from vidsum.features.text_reader import is_legible, load_reader, reader_facts
from vidsum.results.screen_text import ScreenLine


def picture_of(*lines: str, scale: float = 1.0, side: tuple[int, int] = (360, 640)) -> np.ndarray:
    picture = np.full((*side, 3), 250, np.uint8)
    for row, text in enumerate(lines):
        cv2.putText(picture, text, (40, 60 + 60 * row), cv2.FONT_HERSHEY_SIMPLEX, scale, (20, 20, 20), 2)
    return picture


def test_lines_have_places_and_words() -> None:
    lines = load_reader().read(picture_of("Quarterly results", "Revenue 12,500"))
    assert [line.text for line in lines] == ["Quarterly results", "Revenue 12,500"]
    assert [word.text for word in lines[0].words] == ["Quarterly", "results"]
    for line in lines:
        assert 0 <= line.box[0] < line.box[2] <= 1
        assert line.confidence > 0.9
    assert lines[0].box[3] < lines[1].box[3]
    assert lines[0].words[0].box[2] <= lines[0].words[1].box[0] + 0.02
    lines = load_reader().read(picture_of("Quarterly results", "Revenue of the year")[:, ::-1])
    assert not any(word in line.text for line in lines for word in ("Quarterly", "results", "Revenue"))
    package, sha256 = reader_facts()
    assert package.startswith("rapidocr 3.")
    assert len(sha256) == 64
    box = (0.0, 0.0, 1.0, 1.0)
    sure = {("a", 0.9): False, ("7", 0.97): True, ("ok", 0.75): True, ("ok", 0.6): False, ("--", 0.99): False}
    assert {key: is_legible(ScreenLine(0, 1, *key, box)) for key in sure} == sure


@pytest.mark.parametrize(
    "picture",
    [
        np.zeros((360, 640, 3), np.uint8),
        np.zeros((1, 1, 3), np.uint8),
        np.random.default_rng(0).integers(0, 255, (240, 320, 3), dtype=np.uint8),
    ],
    ids=["black", "pixel", "noise"],
)
def test_pictures_without_text_have_none(picture: np.ndarray) -> None:
    assert load_reader().read(picture) == []
