"""Previews show the right pictures for the right time, whatever their format."""

import io
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from tests.media import make_video, read_number
from vidsum.errors import UsageError
from vidsum.pipelines.export import iter_previews
from vidsum.results.summary import Summary
from vidsum.types import Picture, VideoInfo
from vidsum.video.probe import probe
from vidsum.video.settings import PreviewFormat

FPS = 25


def summary_of(video: VideoInfo | None, *segments: tuple[float, float]) -> Summary:
    """A summary of these segments."""
    curve, times = np.zeros(1, np.float32), np.zeros(1)
    return Summary(segments, (), curve, times, 10.0, 10.0, FPS, "ridge", "kts", video=video)


def pictures_of(content: bytes, format: PreviewFormat) -> tuple[list[Picture], float]:
    """The pictures of a preview, and its seconds."""
    if format == "mp4":
        with av.open(io.BytesIO(content)) as container:
            frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
            return frames, (container.duration or 0) / 1e6
    pictures, milliseconds = [], 0
    with Image.open(io.BytesIO(content)) as image:
        assert image.format == format.upper()
        assert image.n_frames == 1 or image.info["loop"] == 0
        for number in range(image.n_frames):
            image.seek(number)
            pictures.append(np.asarray(image.convert("RGB")))
            milliseconds += image.info.get("duration", 0)
    return pictures, milliseconds / 1000


@pytest.mark.parametrize("format", ["gif", "webp", "mp4"])
def test_each_picture_is_the_one_on_screen_at_its_time(format: PreviewFormat, tmp_path: Path) -> None:
    path = make_video(tmp_path / "numbers.mp4", n_frames=250, fps=FPS).path
    segments = [(1.0, 1.52), (2.04, 9.0), (9.96, 10.0)]
    made = dict(iter_previews(summary_of(probe(path), *segments), format))
    assert list(made) == [f"1.{format}", f"2.{format}", f"3.{format}"]
    for content, (start_s, _), n_pictures in zip(made.values(), segments, (5, 48, 1), strict=True):
        pictures, seconds = pictures_of(content, format)
        expected = [int((start_s + number / 8) * FPS + 1e-6) for number in range(n_pictures)]
        assert [read_number(picture) for picture in pictures] == expected
        assert pictures[0].shape == (48, 64, 3)
        if n_pictures > 1:  # a single picture of a GIF or WebP has no duration
            assert seconds == pytest.approx(n_pictures / 8, abs=0.006)


@pytest.mark.parametrize(("turn_deg", "shape"), [(0, (180, 320, 3)), (90, (320, 180, 3))])
def test_previews_of_large_pictures(turn_deg: int, shape: tuple[int, int, int], tmp_path: Path) -> None:
    path = tmp_path / "large.mp4"
    make_video(path, n_frames=10, width=1280, height=722, rotation_deg=turn_deg)
    ((_, content),) = iter_previews(summary_of(probe(path), (0.0, 0.25)), "mp4")
    pictures, _ = pictures_of(content, "mp4")
    assert [(picture.shape, read_number(picture)) for picture in pictures] == [(shape, 0), (shape, 3)]


def test_features_have_no_pictures() -> None:
    with pytest.raises(UsageError, match="features only"):
        list(iter_previews(summary_of(None), "gif"))
