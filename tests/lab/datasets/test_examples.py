"""Examples of both families: arrays of wrong shapes are refused with the video's name."""

import numpy as np
import pytest

from vidsum.errors import UsageError
from vidsum.lab.datasets.examples import HighlightExample, MomentExample


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (MomentExample, {"video": (4,)}),
        (MomentExample, {"video": (0, 3)}),
        (MomentExample, {"queries": (0, 5), "windows": (0, 2)}),
        (MomentExample, {"windows": (3, 2)}),
        (MomentExample, {"windows": (2, 3)}),
        (MomentExample, {"windows": (2,)}),
        (HighlightExample, {"video": (4,)}),
        (HighlightExample, {"words": (0, 5)}),
        (HighlightExample, {"windows": (1, 3)}),
        (HighlightExample, {"saliency": (3,)}),
    ],
)
def test_wrong_shapes_are_refused(kind: type, wrong: dict[str, tuple[int, ...]]) -> None:
    shapes: dict[str, tuple[int, ...]] = {"video": (4, 3), "windows": (2, 2)}
    shapes |= {"queries": (2, 5)} if kind is MomentExample else {"words": (2, 5), "saliency": (4,)}
    kind("film", **{name: np.zeros(shape, np.float32) for name, shape in shapes.items()})
    with pytest.raises(UsageError, match="film:"):
        kind("film", **{name: np.zeros(shape, np.float32) for name, shape in {**shapes, **wrong}.items()})
