"""Faces: boxes from the network's answers, overlaps, the curve along an axis, and the shipped weights."""

from pathlib import Path

import numpy as np
import pytest

from vidsum.crop.faces import (
    decode_boxes,
    drop_overlaps,
    face_curve,
    held_faces,
    load_face_detector,
    main_faces,
)
from vidsum.video.probe import probe
from vidsum.video.read import read_frames_at


def test_box_of_a_face_is_decoded_from_its_anchor() -> None:
    """Two rows of four anchors, of which the second row's third is a face."""
    classes, objects, boxes = np.full((8, 1), 0.3), np.ones((8, 1)), np.zeros((8, 4))
    classes[6], boxes[6] = 0.81, (0.5, -0.5, np.log(2), np.log(3))
    (face,) = decode_boxes([classes, objects, boxes], stride=8, width=32)
    np.testing.assert_allclose(face, [20 - 8, 4 - 12, 20 + 8, 4 + 12, 0.9])


def test_of_overlapping_faces_the_surest_stays() -> None:
    faces = np.array([[0, 0, 10, 10, 0.7], [1, 1, 11, 11, 0.9], [20, 0, 30, 10, 0.8], [9, 9, 19, 19, 0.6]])
    assert drop_overlaps(faces)[:, 4].tolist() == [0.9, 0.8, 0.6]


def test_no_faces_overlap_nothing() -> None:
    assert drop_overlaps(np.zeros((0, 5))).shape == (0, 5)


TWO_FACES = np.array([[0.0, 0.5, 0.1, 0.6, 0.9], [0.5, 0.0, 1.0, 0.9, 0.6]])
"""One in the left tenth, and one in the right half, as shares of the picture."""


def test_curve_shares_one_among_faces_by_their_confidence() -> None:
    curve = face_curve(TWO_FACES, 10)
    assert curve.sum() == pytest.approx(1)
    assert curve[0] == pytest.approx(0.6)
    np.testing.assert_allclose(curve[5:], 0.08)


def test_curve_of_a_turned_picture_is_by_height() -> None:
    assert face_curve(TWO_FACES, 10, is_turned=True)[5] == pytest.approx(0.6 + 0.4 / 9)


def test_curve_without_faces_is_nothing() -> None:
    assert face_curve(np.zeros((0, 5)), 10).sum() == 0


def test_small_faces_are_no_main_faces() -> None:
    assert main_faces(TWO_FACES).tolist() == [[0.5, 1.0]]
    assert main_faces(TWO_FACES, is_turned=True).tolist() == [[0.0, 0.9]]
    assert main_faces(np.zeros((0, 5))).shape == (0, 2)


def test_crop_holds_the_faces_that_it_shows_whole() -> None:
    faces = np.array([[0.1, 0.2], [0.6, 0.7]])
    assert held_faces(faces, np.array([0.0, 0.15, 0.5, 0.09]), 0.3).tolist() == [0.5, 0.0, 0.5, 0.5]
    assert held_faces(faces, np.array([0.1]), 0.6).tolist() == [1.0]
    assert held_faces(np.zeros((0, 2)), np.array([0.0]), 0.3).tolist() == [1.0]


@pytest.mark.parametrize("kind", ["black", "noise"])
def test_shipped_detector_sees_no_face_in(kind: str) -> None:
    pictures = {
        "black": np.zeros((100, 70, 3), np.uint8),
        "noise": np.random.default_rng(0).integers(0, 255, (224, 398, 3), np.uint8),
    }
    assert load_face_detector()(pictures[kind]).shape == (0, 5)


@pytest.mark.shared
def test_face_of_a_real_clip_is_found(shared_videos: Path) -> None:
    (frame,) = read_frames_at(probe(shared_videos / "wide" / "carphone.mp4"), [0.5])
    (face,) = load_face_detector()(frame.image)
    np.testing.assert_allclose(face[[0, 2]], [0.36, 0.62], atol=0.05)  # as seen in the picture
    assert face[4] > 0.8
