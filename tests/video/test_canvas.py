"""Pictures on the canvas of a reel."""

import numpy as np
import pytest

from tests.media import video_info
from tests.video.test_framing import NINE_BY_SIXTEEN, columns
from vidsum.video.canvas import CanvasPainter
from vidsum.video.decode import DecodedFrame
from vidsum.video.framing import CropPath, Framing

WHOLE = video_info(width=320, height=180)


@pytest.mark.parametrize(("time_s", "level"), [(0.0, 51), (1.0, 120), (2.0, 188)])
def test_crop_on_the_canvas_is_where_the_framing_has_it_at_that_second(time_s: float, level: int) -> None:
    framing = Framing(NINE_BY_SIXTEEN, [CropPath(0.0, np.array([0.0, 2.0]), np.array([0.0, 1.0]))])
    picture = CanvasPainter(90, 160).from_frame(DecodedFrame(time_s, columns(320, 180)), WHOLE, framing)
    assert picture.shape == (160, 90, 3)
    assert picture.mean() == pytest.approx(level, abs=3)


def test_picture_without_a_framing_is_whole_on_the_canvas() -> None:
    picture = CanvasPainter(90, 160).from_frame(DecodedFrame(0.0, columns(320, 180)), WHOLE)
    assert picture[80, [2, -3]].mean(axis=1) == pytest.approx([24, 216], abs=5)
