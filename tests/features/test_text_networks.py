"""Tests of the steps after the networks: boxes from maps, letters from columns, sizes of inputs."""

from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.features.text_boxes import FoundBox, cut_line, find_bands, find_boxes, is_tall, sort_boxes
from vidsum.features.text_networks import TextRecognizer, input_size


def paint(*rectangles: tuple[tuple[float, float], tuple[float, float], float]) -> np.ndarray:
    """A map of probabilities with rectangles (middle, size, angle) of text."""
    probability = np.zeros((320, 640), np.float32)
    for rectangle in rectangles:
        cv2.fillPoly(probability, [cv2.boxPoints(rectangle).astype(np.int32)], 0.9)
    return probability


@given(st.floats(200, 440), st.floats(120, 200), st.floats(60, 200), st.floats(8, 30), st.floats(-80, 80))
def test_a_box_is_around_its_core(x: float, y: float, width: float, height: float, angle: float) -> None:
    (box,) = find_boxes(paint(((x, y), (width, height), angle)), 640, 320)
    assert box.corners.mean(axis=0) == pytest.approx((x, y), abs=3)
    sides = sorted(float(np.linalg.norm(box.corners[0] - box.corners[n])) for n in (1, 3))
    grown = 2 * 1.6 * width * height / (2 * (width + height))
    assert sides == pytest.approx(sorted((width + grown, height + grown)), abs=12)
    assert 0.5 <= box.score <= 0.91


def test_boxes_are_in_pixels_of_the_picture() -> None:
    probability = paint(((320, 160), (200, 20), 0))
    (small,), (large,) = find_boxes(probability, 640, 320), find_boxes(probability, 1920, 960)
    np.testing.assert_allclose(large.corners, 3 * small.corners, atol=2)


def test_weak_and_tiny_spots_are_no_boxes() -> None:
    assert find_boxes(0.3 * paint(((320, 160), (200, 20), 0)), 640, 320) == []
    assert find_boxes(paint(((320, 160), (2, 1), 0)), 640, 320) == []


def test_a_curved_core_is_marked() -> None:
    probability = np.zeros((320, 640), np.float32)
    cv2.ellipse(probability, (320, 300), (250, 250), 0, 200, 340, 0.9, 20)
    (box,) = find_boxes(probability, 640, 320)
    assert box.is_curved


def test_boxes_are_read_row_by_row() -> None:
    def box(left: float, top: float) -> FoundBox:
        corners = [[left, top], [left + 50, top], [left + 50, top + 20], [left, top + 20]]
        return FoundBox(np.array(corners, np.float32), 0.9)

    boxes = [box(300, 12), box(10, 18), box(10, 100), box(200, 10)]
    assert [box.corners[0].tolist() for box in sort_boxes(boxes)] == [
        [10, 18],
        [200, 10],
        [300, 12],
        [10, 100],
    ]


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_the_detectors_input_is_bounded(width: int, height: int) -> None:
    sides = input_size(width, height)
    assert all(side >= 32 and side % 32 == 0 for side in sides)
    if max(width, height) < 8 * min(width, height):
        assert sides[0] * sides[1] <= 1.6e6


def test_a_line_is_cut_upright() -> None:
    picture = np.zeros((100, 200, 3), np.uint8)
    picture[40:60, 50:150] = 200
    corners = np.array([[50, 40], [149, 40], [149, 59], [50, 59]], np.float32)
    line = cut_line(picture, corners)
    assert line.shape == (19, 99, 3)
    assert line.min() == 200
    assert not is_tall(line)
    assert is_tall(np.rot90(line))


def test_columns_are_letters_once() -> None:
    classes = [0, 1, 1, 0, 1, 2, 2, 0, 0, 3]
    output = np.eye(4, dtype=np.float32)[classes][None] * 0.9
    names = [SimpleNamespace(name="x")]
    session = SimpleNamespace(
        run=lambda _, inputs, options: [np.repeat(output, len(inputs["x"]), axis=0)],
        get_inputs=lambda: names,
        get_modelmeta=lambda: SimpleNamespace(custom_metadata_map={"character": "a\nb"}),
    )
    (letters,) = TextRecognizer(session).read([np.zeros((48, 320, 3), np.uint8)])
    assert "".join(letter.text for letter in letters) == "aab "
    assert [letter.place for letter in letters] == pytest.approx([0.15, 0.45, 0.55, 0.95])
    assert TextRecognizer(session).read([]) == []


@given(st.lists(st.booleans(), min_size=2, max_size=60), st.integers(1, 60))
def test_rows_that_may_have_text_are_looked_at(rows: list[bool], tens: int) -> None:
    high = 32 * tens
    parts = find_bands(np.array(rows), high)
    assert all(0 <= top < bottom <= high and bottom - top <= 416 for top, bottom in parts)
    assert all((bottom - top) % 32 == 0 for top, bottom in parts)
    covered = np.zeros(high, np.bool_)
    for top, bottom in parts:
        covered[top:bottom] = True
    wanted = np.repeat(rows, high)[np.arange(high) * len(rows)]
    assert covered[wanted].all()
