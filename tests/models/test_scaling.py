"""Rows of unit length, and curves scaled to [0, 1]."""

import numpy as np
import pytest

from vidsum.models.scaling import unit_range, unit_rows


def test_rows_get_length_1_and_rows_of_zeros_stay() -> None:
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)
    assert rows.dtype == np.float32


@pytest.mark.parametrize("flat", [0.0, 0.5, 1.0])
def test_a_curve_reaches_from_0_to_1_unless_it_is_flat(flat: float) -> None:
    assert unit_range(np.array([2, 4, 3], np.float32), flat).tolist() == [0.0, 1.0, 0.5]
    assert unit_range(np.full(3, 7, np.float32), flat).tolist() == [flat] * 3
