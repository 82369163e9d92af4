"""Upright crops of three real clips: a captioned one stays whole, in the others the subject is in frame."""

from fractions import Fraction
from pathlib import Path

import pytest

from tests.conftest import deep_but, real_weights
from vidsum.pipelines.clip_style import choose_framing
from vidsum.video.probe import probe

SUBJECTS = {
    "throne.mp4": [(0.29, 0.6), (0.53, 0.7), (0.53, 0.69), (0.53, 0.69)],
    "chef_terrace.mp4": [(0.24, 0.5), (0.37, 0.67), (0.4, 0.68), (0.37, 0.64)],
    "glass_door.mp4": [(0.58, 0.86), (0.53, 0.85), (0.45, 0.82), (0.37, 0.82)],
}
"""Where the subject that a caption names begins and ends, as fractions of the width, at four times of 5 s."""


@pytest.mark.weights
@pytest.mark.shared
@pytest.mark.parametrize("name", deep_but(["glass_door.mp4"], SUBJECTS))
def test_subject_in_frame(shared_videos: Path, name: str) -> None:
    real_weights("efficientnet_lite0")
    video = probe(shared_videos / "wide" / name)
    framing = choose_framing(video, [(0.0, 5.0)], Fraction(9, 16), "cpu")
    share, n_right, is_whole = framing.shape.share, 0, []
    for number, (start, end) in enumerate(SUBJECTS[name]):
        position = framing.position_at(min(5.0, video.duration_s) * (number + 0.5) / 4)
        first = 0.0 if position is None else position * (1 - share)
        last = 1.0 if position is None else first + share
        is_whole.append(position is None)
        n_right += min(last, end) - max(first, start) >= (end - start) / 2
    assert n_right >= 3
    assert is_whole == [name == "throne.mp4"] * 4
