"""Tests of the steps after the networks: boxes from maps, letters from columns, sizes of inputs."""

from types import SimpleNamespace

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.features.text_boxes import (
    FoundBox,
    cut_line,
    find_bands,
    find_boxes,
    is_tall,
    sort_boxes,
    stretch,
)
from vidsum.features.text_networks import TextRecognizer, input_size


def paint(*rectangles: tuple[tuple[float, float], tuple[float, float], float]) -> np.ndarray:
    """A map of probabilities with rectangles (middle, size, angle) of text."""
    probability = np.zeros((320, 640), np.float32)
    for rectangle in rectangles:
        cv2.fillPoly(probability, [cv2.boxPoints(rectangle).astype(np.int32)], 0.9)
    return probability


any_core = given(
    st.floats(200, 440), st.floats(120, 200), st.floats(60, 200), st.floats(8, 30), st.floats(-80, 80)
)


@any_core
def test_box_is_wider_than_its_core_by_its_area(
    x: float, y: float, width: float, height: float, angle: float
) -> None:
    (box,) = find_boxes(paint(((x, y), (width, height), angle)), 640, 320)
    sides = sorted(float(np.linalg.norm(box.corners[0] - box.corners[n])) for n in (1, 3))
    grown = 2 * 1.6 * width * height / (2 * (width + height))
    assert sides == pytest.approx(sorted((width + grown, height + grown)), abs=12)


@any_core
def test_box_has_the_middle_and_the_score_of_its_core(
    x: float, y: float, width: float, height: float, angle: float
) -> None:
    (box,) = find_boxes(paint(((x, y), (width, height), angle)), 640, 320)
    assert box.corners.mean(axis=0) == pytest.approx((x, y), abs=3)
    assert 0.5 <= box.score <= 0.91


def test_boxes_are_in_pixels_of_the_picture() -> None:
    probability = paint(((320, 160), (200, 20), 0))
    (small,), (large,) = find_boxes(probability, 640, 320), find_boxes(probability, 1920, 960)
    np.testing.assert_allclose(large.corners, 3 * small.corners, atol=2)


def test_weak_spot_is_no_box() -> None:
    assert find_boxes(0.3 * paint(((320, 160), (200, 20), 0)), 640, 320) == []


def test_tiny_spot_is_no_box() -> None:
    assert find_boxes(paint(((320, 160), (2, 1), 0)), 640, 320) == []


def test_curved_core_is_marked() -> None:
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


any_picture = given(st.integers(1, 5000), st.integers(1, 5000))


@any_picture
def test_sides_of_the_detectors_input_are_multiples_of_32(width: int, height: int) -> None:
    assert all(side >= 32 and side % 32 == 0 for side in input_size(width, height))


@any_picture
def test_area_of_the_detectors_input_is_bounded(width: int, height: int) -> None:
    sides = input_size(width, height)
    assert sides[0] * sides[1] <= 1.6e6 or max(width, height) >= 8 * min(width, height)


@pytest.fixture
def line() -> np.ndarray:
    """A line of text, cut from a picture."""
    picture = np.zeros((100, 200, 3), np.uint8)
    picture[40:60, 50:150] = 200
    return cut_line(picture, np.array([[50, 40], [149, 40], [149, 59], [50, 59]], np.float32))


def test_line_is_cut_at_its_corners(line: np.ndarray) -> None:
    assert line.shape == (19, 99, 3)
    assert line.min() == 200


def test_line_that_is_higher_than_wide_is_tall(line: np.ndarray) -> None:
    assert not is_tall(line)
    assert is_tall(np.rot90(line))


@pytest.fixture
def recognizer() -> TextRecognizer:
    """A network that writes `a`, `a`, `b` and a blank into ten columns, with nothing between them."""
    classes = [0, 1, 1, 0, 1, 2, 2, 0, 0, 3]
    output = np.eye(4, dtype=np.float32)[classes][None] * 0.9
    session = SimpleNamespace(
        run=lambda _, inputs, options: [np.repeat(output, len(inputs["x"]), axis=0)],
        get_inputs=lambda: [SimpleNamespace(name="x")],
        get_modelmeta=lambda: SimpleNamespace(custom_metadata_map={"character": "a\nb"}),
    )
    return TextRecognizer(session)


def test_faint_line_is_stretched_from_black_to_white() -> None:
    faint = np.linspace(100, 120, 300).round().astype(np.uint8).reshape(10, 30)
    stretched = stretch(faint).ravel().astype(int)
    assert (stretched[0], stretched[-1]) == (0, 255)
    assert np.diff(stretched).min() >= 0
    assert stretched[150] == pytest.approx(127, abs=10)


def test_single_pixels_do_not_limit_the_contrast_of_a_line() -> None:
    faint = np.tile(np.array([100, 120], np.uint8), (10, 150))
    faint[0, 0], faint[0, 1] = 0, 255
    assert {*np.unique(stretch(faint))} == {0, 255}


def test_even_line_gets_no_contrast() -> None:
    assert np.ptp(stretch(np.full((10, 30), 77, np.uint8))) == 0


def test_columns_of_a_letter_are_the_letter_once(recognizer: TextRecognizer) -> None:
    (letters,) = recognizer.read([np.zeros((48, 320, 3), np.uint8)])
    assert "".join(letter.text for letter in letters) == "aab "


def test_letter_has_the_place_of_its_columns(recognizer: TextRecognizer) -> None:
    (letters,) = recognizer.read([np.zeros((48, 320, 3), np.uint8)])
    assert [letter.place for letter in letters] == pytest.approx([0.15, 0.45, 0.55, 0.95])


def test_no_lines_have_no_letters(recognizer: TextRecognizer) -> None:
    assert recognizer.read([]) == []


any_rows = given(st.lists(st.booleans(), min_size=2, max_size=60), st.integers(1, 60))


@any_rows
def test_bands_fit_the_detector_and_the_picture(rows: list[bool], tens: int) -> None:
    high = 32 * tens
    for top, bottom in find_bands(np.array(rows), high):
        assert 0 <= top < bottom <= high
        assert bottom - top <= 416
        assert (bottom - top) % 32 == 0


def test_rows_of_text_near_each_other_are_one_band() -> None:
    rows = np.zeros(40, np.bool_)
    rows[[10, 13]] = True
    assert find_bands(rows, 1280) == [(256, 512)]


def test_rows_of_text_far_apart_are_two_bands() -> None:
    rows = np.zeros(40, np.bool_)
    rows[[10, 20]] = True
    assert find_bands(rows, 1280) == [(256, 416), (576, 736)]


@any_rows
def test_rows_that_may_have_text_are_in_bands(rows: list[bool], tens: int) -> None:
    high = 32 * tens
    covered = np.zeros(high, np.bool_)
    for top, bottom in find_bands(np.array(rows), high):
        covered[top:bottom] = True
    wanted = np.repeat(rows, high)[np.arange(high) * len(rows)]
    assert covered[wanted].all()
