"""Which windows of a video exclude each other, and which become one segment."""

import numpy as np
import pytest

from vidsum.summary.choose_units import WindowLimits, _relations
from vidsum.summary.units import SPOKEN, Unit

LIMITS = WindowLimits(shortest=20, longest=50, apart=20)


def relation(first: Unit, second: Unit) -> str:
    numbers = np.array([0]), np.array([1])
    are_rivals, are_joined = _relations([first, second], *numbers, LIMITS)
    return {(True, False): "rivals", (False, True): "joined", (False, False): "free"}[
        bool(are_rivals[0]), bool(are_joined[0])
    ]


@pytest.mark.parametrize(("end", "expected"), [(50, "joined"), (51, "rivals")])
def test_windows_that_touch_are_joined_up_to_the_longest_segment(end: int, expected: str) -> None:
    assert relation(Unit(0, 25, 0), Unit(25, end, 1)) == expected


@pytest.mark.parametrize(
    ("start", "cell", "expected"),
    [(44, 0, "rivals"), (45, 0, "free"), (29, 1, "rivals"), (30, 1, "free")],
    ids=["same shot, near", "same shot, apart", "other shot, near", "other shot, apart"],
)
def test_windows_keep_their_distance(start: int, cell: int, expected: str) -> None:
    assert relation(Unit(0, 25, 0), Unit(start, start + 20, cell)) == expected


def test_speech_keeps_no_distance() -> None:
    assert relation(Unit(0, 25, SPOKEN), Unit(26, 46, 1)) == "free"
