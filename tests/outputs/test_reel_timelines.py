"""Timelines of reels have the size and rate of the film, whatever its first segment is."""

import re
from pathlib import Path
from typing import get_args

import av
import pytest
from PIL import Image

from tests.conftest import deep
from tests.media import make_video
from tests.results.test_formats import render
from vidsum.outputs.timelines import timeline_text
from vidsum.results.formats import FORMATS, PROGRAMS, TimelineFormat
from vidsum.results.reel import Canvas, Reel, ReelSegment, ReelSource
from vidsum.results.settings import EditorName, ExportName


@pytest.fixture
def reel(tmp_path: Path) -> Reel:
    """An upright photograph, then clips of other sizes and rates."""
    Image.new("RGB", (60, 80), "red").save(tmp_path / "a.jpg")
    make_video(tmp_path / "b.mp4", width=160, height=90, n_frames=50, fps=25, sound=True)
    make_video(tmp_path / "c.mp4", width=96, height=96, n_frames=60, fps=30)
    sources = [
        ReelSource(
            str(path), "video" if path.suffix == ".mp4" else "photograph", path.stat().st_size, "0", None, 2.0
        )
        for path in sorted(tmp_path.iterdir())
    ]
    parts = [ReelSegment(0, 0.0, 3.0, "picture", 1.0), ReelSegment(1, 0.4, 1.4, "time", 1.0)]
    parts += [ReelSegment(2, 0.0, 1.0, "time", 1.0)]
    return Reel(tuple(parts), tuple(sources), Canvas(160, 90, 25.0), 10.0, 7.0)


SIZES = {
    "xml": r"<format>.*?<width>(\d+)</width>\s*<height>(\d+)</height>",
    "fcpxml": r'id="frame"[^>]* width="(\d+)" height="(\d+)"',
    "mlt": r'<profile[^>]* width="(\d+)" height="(\d+)"',
    "kdenlive": r'<profile[^>]* width="(\d+)" height="(\d+)"',
}


@pytest.mark.parametrize("format", SIZES)
def test_a_timeline_has_the_size_of_the_film(reel: Reel, format: str, tmp_path: Path) -> None:
    text, _ = timeline_text(reel, format, tmp_path / f"film.{format}")
    sized = re.search(SIZES[format], text, re.DOTALL)
    assert sized
    assert sized.groups() == ("160", "90")


def test_an_original_has_its_size(reel: Reel, tmp_path: Path) -> None:
    text, _ = timeline_text(reel, "fcpxml", tmp_path / "film.fcpxml")
    assert re.findall(r'format="(\w+)" start', text) == ["frame1", "frame", "frame3"]
    assert '<format id="frame1" frameDuration="1/25s" width="60" height="80" />' in text


def middles(path: Path) -> list[tuple[int, ...]]:
    """The size of each frame, and whether its middle is red."""
    with av.open(str(path)) as container:
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    centres = [picture[40:50, 75:85].mean(axis=(0, 1)) for picture in pictures]
    return [
        (picture.shape[1], picture.shape[0], int(red > 200 and green < 80))
        for picture, (red, green, _) in zip(pictures, centres, strict=True)
    ]


@pytest.mark.parametrize("format", ["mlt", deep("kdenlive")])
def test_mlt_renders_the_length_of_the_film(reel: Reel, format: str, tmp_path: Path) -> None:
    timeline = tmp_path / f"film.{format}"
    timeline.write_text(timeline_text(reel, format, timeline)[0])
    assert render(timeline, tmp_path / "film.mp4", middles) == [(160, 90, 1)] * 75 + [(160, 90, 0)] * 50


def test_the_names_of_reels_formats_are_those_that_can_name_several_videos() -> None:
    joint = [name for name, writer in FORMATS.items() if isinstance(writer, TimelineFormat)]
    names = [name for name in get_args(ExportName) if PROGRAMS.get(name, name) in joint]
    assert {*get_args(EditorName)} == {*names}
