"""Columns of boxes that are letters one above the other."""

from hypothesis import given
from hypothesis import strategies as st

from tests.features.text_pictures import draw_stack
from vidsum.features.text_stacks import Rectangle, enclose, find_columns, lay_flat


def column(count: int, pitch: float, width: float = 30, height: float = 36) -> list[Rectangle]:
    return [(100, 20 + n * pitch, 100 + width, 20 + n * pitch + height) for n in range(count)]


def test_rectangle_around_others_has_their_outermost_sides() -> None:
    assert enclose([(1, 2, 3, 4), (0, 3, 2, 9)]) == (0, 2, 3, 9)


@given(st.integers(3, 12), st.floats(37, 80))
def test_letters_above_each_other_are_a_column(count: int, pitch: float) -> None:
    assert find_columns(column(count, pitch), []) == [list(range(count))]


def test_letters_far_apart_are_no_column() -> None:
    assert find_columns(column(5, 120), []) == []


def test_letters_on_a_slant_are_no_column() -> None:
    slanted = [(100 + 40 * n, 20 + 40 * n, 130 + 40 * n, 56 + 40 * n) for n in range(5)]
    assert find_columns(slanted, []) == []


def test_labels_of_a_list_are_no_column() -> None:
    labels = column(4, 50)
    texts = [(150.0, box[1], 400.0, box[3]) for box in labels]
    assert find_columns(labels, texts) == []


def test_stack_is_laid_flat() -> None:
    flat = lay_flat(draw_stack("HOTEL", 40, 48)[:, 170:230])
    assert flat is not None
    assert flat.shape[1] > 2 * flat.shape[0]


def test_two_letters_are_no_stack() -> None:
    assert lay_flat(draw_stack("HO", 40, 48)[:, 170:230]) is None
