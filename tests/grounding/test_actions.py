"""Actions in the clips of a video, and what they add to its similarity with queries."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.features.movinet import DIM, FPS, N_CLASSES, action_names, classify_actions
from vidsum.grounding.actions import average_movement, embed_action_names, mix_actions, segment_actions
from vidsum.grounding.spaces import (
    ClassMixture,
    ClipEmbeddings,
    class_probabilities,
    embed_queries,
    similarity_curves,
)
from vidsum.models.scaling import unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray, TimeArray

STEP_S = 1.0


def movement_of(rows: FloatArray) -> Features:
    return Features.from_array(rows, FPS)


def middles(duration_s: float) -> TimeArray:
    return np.arange(0, duration_s, STEP_S) + STEP_S / 2


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 100))
def test_no_action_crosses_a_cut(lengths: list[int], seed: int) -> None:
    of_shots = np.random.default_rng(seed).random((len(lengths), DIM)).astype(np.float32)
    shots_s = np.cumsum([0, *lengths]) / FPS
    times = middles(float(shots_s[-1]))
    means = average_movement(movement_of(np.repeat(of_shots, lengths, axis=0)), times, shots_s)
    shot_of = [max(n for n, start_s in enumerate(shots_s[:-1]) if start_s <= time_s) for time_s in times]
    np.testing.assert_allclose(means, of_shots[shot_of], atol=1e-4)


def test_a_clip_has_the_actions_of_two_seconds_around_it() -> None:
    rows = np.random.default_rng(0).random((50, DIM)).astype(np.float32)
    means = average_movement(movement_of(rows), middles(10.0), np.array([0.0, 10.0]))
    np.testing.assert_allclose(means[4], rows[18:28].mean(axis=0), atol=1e-4)  # from 3.5 s up to 5.5 s


def test_a_shot_between_two_frames_has_the_movement_of_the_next() -> None:
    rows = np.random.default_rng(0).random((10, DIM)).astype(np.float32)
    means = average_movement(movement_of(rows), np.array([0.5]), np.array([0.0, 0.45, 0.55, 2.0]))
    np.testing.assert_allclose(means, rows[3:4], atol=1e-4)


@given(st.lists(st.integers(2, 30), min_size=3, max_size=3), st.integers(0, 100))
def test_segments_have_the_actions_of_their_shots_alone(lengths: list[int], seed: int) -> None:
    of_shots = np.random.default_rng(seed).random((3, DIM)).astype(np.float32)
    first, second, end = (np.cumsum(lengths) / FPS).tolist()
    movement = movement_of(np.repeat(of_shots, lengths, axis=0))
    shots_s, segments = np.array([0.0, first, end]), [(0.0, first), (first, second), (second, end)]
    expected = class_probabilities(classify_actions(of_shots))
    np.testing.assert_allclose(segment_actions(movement, segments, shots_s), expected, atol=1e-4)


def test_segment_of_two_shots_has_the_actions_of_both() -> None:
    of_shots = np.random.default_rng(0).random((2, DIM)).astype(np.float32)
    movement = movement_of(np.repeat(of_shots, 10, axis=0))
    probabilities = segment_actions(movement, [(0.0, 4.0)], np.array([0.0, 2.0, 4.0]))
    expected = class_probabilities(classify_actions(of_shots)).mean(axis=0, keepdims=True)
    np.testing.assert_allclose(probabilities, expected, atol=1e-4)


def test_names_are_sentences_of_length_1() -> None:
    names = embed_action_names()
    assert names.shape == (N_CLASSES, 384)
    (query,) = embed_queries("vse", ["someone is dancing ballet"])
    assert action_names()[int((names @ query).argmax())] == "dancing ballet"


@pytest.fixture(scope="module")
def video() -> ClipEmbeddings:
    rng = np.random.default_rng(1)
    rows = unit_rows(rng.normal(size=(8, 384)).astype(np.float32))
    movement = movement_of(rng.random((40, DIM)).astype(np.float32))
    actions = mix_actions(movement, np.arange(8.0) + STEP_S / 2, np.array([0.0, 8.0]))
    return ClipEmbeddings(rows, np.arange(8.0), STEP_S, 8.0, actions=actions)


def test_clips_with_an_action_are_nearer_to_its_query(video: ClipEmbeddings) -> None:
    assert video.actions is not None
    number = action_names().index("juggling balls")
    query = embed_queries("vse", ["someone is juggling balls"])
    before = similarity_curves(replace(video, actions=None), query)[0, -1]
    lowest = int(before.argmin())
    probabilities = np.full((8, N_CLASSES), 1e-4, np.float32)
    probabilities[lowest, number] = 1
    actions = replace(video.actions, probabilities=probabilities / probabilities.sum(axis=1, keepdims=True))
    curves = similarity_curves(replace(video, actions=actions), query)[0]
    assert len(curves) == 3  # of the rows, the actions, and both
    assert curves[-1][lowest] > before[lowest] + 1


def test_queries_without_a_near_action_are_compared_as_before(video: ClipEmbeddings) -> None:
    query = embed_queries("vse", ["pink clouds in the sky"])
    before = similarity_curves(replace(video, actions=None), query)[0, -1]
    np.testing.assert_allclose(similarity_curves(video, query)[0, -1], before, atol=1e-5)


def test_every_clip_has_probabilities(video: ClipEmbeddings) -> None:
    assert isinstance(video.actions, ClassMixture)
    np.testing.assert_allclose(video.actions.probabilities.sum(axis=1), 1, atol=1e-5)
