"""The MP4 of a reel: clips of which no crop shows enough."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vidsum
from tests.commands.test_reel import clip
from vidsum.outputs import reel_film
from vidsum.video.framing import CropPath, Framing, Shape


def test_clips_that_are_whole_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    clip(Path("a.mp4"), "red")
    reel = vidsum.make_reel("a.mp4", "4s", fit="crop")
    shape = Shape.of(vidsum.probe("a.mp4"), Fraction(9, 16))
    framings = {
        "1 clip shown whole: no crop shows enough": Framing(shape, [CropPath(0.0, np.zeros(1), None)]),
        "": Framing(shape),
    }
    for line, framing in framings.items():
        monkeypatch.setattr(reel_film, "choose_framing", lambda *_, chosen=framing: chosen)
        assert reel_film.encode_reel(reel, Path("film.mp4"), "cpu", None) == ((line,) if line else ())
