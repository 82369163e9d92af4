"""Upright crops of three real clips: a captioned one stays whole, in the others the subject is in frame."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from docs.benchmarks.crops import SUBJECTS, is_right, parts_at, times_of
from tests.conftest import real_weights
from vidsum.pipelines.shorts import choose_framing
from vidsum.video.probe import probe


@pytest.mark.weights
@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "is_whole"), [("throne.mp4", True), ("chef_terrace.mp4", False), ("glass_door.mp4", False)]
)
def test_subject_in_frame(shared_videos: Path, name: str, is_whole: bool) -> None:
    real_weights("efficientnet_lite0")
    video = probe(shared_videos / "wide" / name)
    framing = choose_framing(video, [(0.0, 5.0)], Fraction(9, 16), "cpu")
    parts = parts_at(framing, times_of(video))
    assert is_right(parts, json.loads(SUBJECTS.read_text())["reported"][name])
    assert all(part == (0.0, 1.0) for part in parts) == is_whole
