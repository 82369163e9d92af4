"""Movement and actions: the shipped graphs against the published file, and a stream that forgets at cuts."""

import json
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kills import SAMPLE
from vidsum.errors import InputError
from vidsum.features.extractor import crop_centre
from vidsum.features.movinet import (
    DIM,
    FPS,
    N_CLASSES,
    SAMPLING,
    SIDE,
    MovementStream,
    action_names,
    classify_actions,
    read_movement,
)
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray, Picture
from vidsum.video.frames import Frame
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

OUTPUTS = Path(__file__).with_name("movinet_outputs.json")
"""The numbers of frames 12 to 36 of the sample film, as LiteRT computes them from the published file, and
onnxruntime from its conversion without rounding (`python -m docs.benchmarks.movinet store FOLDER`)."""
STORED_ROWS = [0, 12, 24]


@pytest.fixture(scope="module")
def frames() -> Picture:
    with read_frames(probe(SAMPLE), [SAMPLING]) as numbered:
        return np.stack([crop_centre(frame.image, SIDE) for _, frame in islice(numbered, 12, 37)])


@pytest.fixture(scope="module")
def rows(frames: Picture) -> FloatArray:
    return MovementStream().read(frames)


@pytest.fixture(scope="module")
def stored() -> dict[str, FloatArray]:
    return {name: np.array(values, np.float32) for name, values in json.loads(OUTPUTS.read_text()).items()}


def test_frames_have_the_numbers_of_the_published_weights(
    rows: FloatArray, stored: dict[str, FloatArray]
) -> None:
    np.testing.assert_allclose(rows[STORED_ROWS], stored["rows"], atol=5e-3)


def test_logits_are_near_those_of_the_published_file(rows: FloatArray, stored: dict[str, FloatArray]) -> None:
    (logits,) = classify_actions(rows.mean(axis=0, keepdims=True))
    np.testing.assert_allclose(logits, stored["logits"], atol=0.02)
    assert unit_rows(logits[None])[0] @ unit_rows(stored["lite_logits"][None])[0] > 0.9


def test_every_action_has_a_name() -> None:
    assert len(set(action_names())) == N_CLASSES
    assert "dancing ballet" in action_names()


@settings(max_examples=5, deadline=None)
@given(st.sets(st.integers(1, 24), max_size=4))
def test_frames_have_the_same_numbers_however_many_come_at_once(
    frames: Picture, rows: FloatArray, edges: set[int]
) -> None:
    stream = MovementStream()
    parts = [stream.read(frames[start:end]) for start, end in pairwise([0, *sorted(edges), len(frames)])]
    np.testing.assert_allclose(np.concatenate(parts), rows, atol=1e-4)


def test_nothing_is_remembered_across_a_cut(frames: Picture, rows: FloatArray) -> None:
    other = np.uint8(255) - frames[::-1]
    joined = MovementStream().read(np.concatenate([other, frames]))
    np.testing.assert_allclose(joined[len(other) :], rows, atol=1e-4)


def test_what_came_before_is_remembered_without_a_cut(frames: Picture, rows: FloatArray) -> None:
    assert np.abs(MovementStream().read(frames[5:6])[0] - rows[5]).max() > 0.05


def test_the_middle_of_each_frame_is_read_five_times_a_second(rows: FloatArray) -> None:
    video = probe(SAMPLE)
    with read_frames(video, [SAMPLING]) as numbered:
        features = read_movement((frame for _, frame in islice(numbered, 12, 37)), video)
    np.testing.assert_allclose(features.array, rows, atol=1e-4)
    np.testing.assert_allclose(features.timestamps, np.arange(12, 37) / FPS)
    assert features.dim == DIM


def test_a_video_without_frames_is_refused() -> None:
    with pytest.raises(InputError, match="no frame"):
        read_movement(iter(list[Frame]()), probe(SAMPLE))
