"""Curves and rows of one scale."""

import numpy as np
import pytest

from vidsum.models.scaling import changes_around, standardise, unit_range, unit_rows


def test_each_curve_is_standardised_by_its_own_mean_and_deviation() -> None:
    curves = standardise(np.array([[1.0, 3.0], [10.0, 30.0], [5.0, 5.0]]))
    assert curves.tolist() == [[-1, 1], [-1, 1], [0, 0]]


@pytest.mark.parametrize("flat", [0.0, 0.5, 1.0])
def test_curve_reaches_from_0_to_1(flat: float) -> None:
    assert unit_range(np.array([2, 4, 3], np.float32), flat).tolist() == [0.0, 1.0, 0.5]


@pytest.mark.parametrize("flat", [0.0, 0.5, 1.0])
def test_flat_curve_has_the_given_value(flat: float) -> None:
    assert unit_range(np.full(3, 7, np.float32), flat).tolist() == [flat] * 3


def test_rows_have_unit_length_and_rows_of_zeros_stay() -> None:
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)
    assert rows.dtype == np.float32


def test_change_of_a_row_is_to_the_nearer_of_its_neighbours() -> None:
    rows = np.array([[1, 0], [1, 0], [0, 1], [-1, 0]], np.float32)
    assert changes_around(rows).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(("rows", "changes"), [([[1, 0], [0, 1]], [1, 1]), ([[1, 0]], [0])])
def test_one_or_two_rows_have_changes_too(rows: list[list[float]], changes: list[float]) -> None:
    assert changes_around(np.array(rows, np.float32)).tolist() == changes
