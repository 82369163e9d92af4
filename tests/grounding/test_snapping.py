"""Moving the edges of moments to those of shots."""

import numpy as np
import pytest

from vidsum.grounding.snapping import snapped
from vidsum.types import Moment

SHOTS = np.array([0.0, 4.0, 4.5, 10.0])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((3.2, 9.1), (4.0, 10.0)),  # both within a second
        ((5.0, 9.0), (4.5, 10.0)),  # exactly a second away
        ((2.0, 8.0), (2.0, 8.0)),  # both too far
        ((0.4, 7.0), (0.0, 7.0)),  # one of them
        ((3.8, 4.1), (3.8, 4.1)),  # nothing would be left
    ],
)
def test_edges_move_to_the_nearest_edge_within_a_second(
    before: tuple[float, float], after: tuple[float, float]
) -> None:
    assert snapped([Moment(*before, 0.5)], SHOTS) == [Moment(*after, 0.5)]
