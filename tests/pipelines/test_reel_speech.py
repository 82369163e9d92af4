"""Parts of a reel do not cut what is said in clips that have no transcript."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import vidsum
from tests import media
from tests.speech import stub
from vidsum.pipelines.reel_speech import speech_in
from vidsum.types import Picture, VideoInfo
from vidsum.video.probe import probe

SAID = (3.0, 6.4)


@pytest.fixture
def talking(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> VideoInfo:
    """A clip of 12 s, in which something is said from 3 to 6.4 s; what moves is seen from 4 to 8 s."""
    stub.install(monkeypatch)
    rate = media.SAMPLE_RATE
    times = np.arange(12 * rate) / rate
    loud = (times >= SAID[0]) & (times < SAID[1])
    sound: npt.NDArray[np.float32] = (0.5 * loud * np.sin(2 * np.pi * 440 * times)).astype(np.float32)

    def paint(number: int, width: int, height: int) -> Picture:
        picture = np.full((height, width, 3), (200, 30, 30), np.uint8)
        picture[:, number % width] = 0
        return picture

    made = media.make_video(tmp_path / "clip.mp4", n_frames=300, paint=paint, sound=True, samples=sound)
    return probe(made.path)


def test_a_part_of_a_clip_has_all_that_is_said_or_nothing(talking: VideoInfo) -> None:
    made = vidsum.make_reel([talking.path], 5.0, max_clip_s=None)
    edges = [edge for segment in made.segments for edge in (segment.start_s, segment.end_s)]
    assert edges
    assert not [edge for edge in edges if SAID[0] < edge < SAID[1]]
    assert made.provenance["inputs"][0]["voice"]


def test_speech_in_a_part_ends_with_the_part(talking: VideoInfo) -> None:
    ((start_s, end_s),) = speech_in(talking, (4.0, 5.0), None)
    assert (start_s, end_s) == pytest.approx((4.0, 5.0), abs=0.06)
    assert not speech_in(talking, (8.0, 10.0), None)
