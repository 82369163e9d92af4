"""Faces: boxes from the network's answers, overlaps, the curve along an axis, and the shipped weights."""

from pathlib import Path

import numpy as np
import pytest

from vidsum.crop.faces import decode_boxes, drop_overlaps, face_curve, load_face_detector
from vidsum.video.probe import probe
from vidsum.video.read import read_frames_at


def test_boxes_of_anchors() -> None:
    """Two rows of four anchors, of which the second row's third is a face."""
    classes, objects, boxes = np.full((8, 1), 0.3), np.ones((8, 1)), np.zeros((8, 4))
    classes[6], boxes[6] = 0.81, (0.5, -0.5, np.log(2), np.log(3))
    (face,) = decode_boxes([classes, objects, boxes], stride=8, width=32)
    np.testing.assert_allclose(face, [20 - 8, 4 - 12, 20 + 8, 4 + 12, 0.9])


def test_overlaps() -> None:
    faces = np.array([[0, 0, 10, 10, 0.7], [1, 1, 11, 11, 0.9], [20, 0, 30, 10, 0.8], [9, 9, 19, 19, 0.6]])
    assert drop_overlaps(faces)[:, 4].tolist() == [0.9, 0.8, 0.6]
    assert drop_overlaps(np.zeros((0, 5))).shape == (0, 5)


def test_curve_of_faces() -> None:
    faces = np.array([[0.0, 0.5, 0.1, 0.6, 0.9], [0.5, 0.0, 1.0, 0.9, 0.6]])
    curve = face_curve(faces, 10)
    assert curve.sum() == pytest.approx(1)
    assert curve[0] == pytest.approx(0.6)
    np.testing.assert_allclose(curve[5:], 0.08)
    assert face_curve(faces, 10, is_turned=True)[5] == pytest.approx(0.6 + 0.4 / 9)
    assert face_curve(np.zeros((0, 5)), 10).sum() == 0


def test_no_face_in_noise() -> None:
    rng = np.random.default_rng(0)
    detect = load_face_detector()
    assert detect(np.zeros((100, 70, 3), np.uint8)).shape == (0, 5)
    assert detect(rng.integers(0, 255, (224, 398, 3), np.uint8)).shape == (0, 5)


@pytest.mark.shared
def test_face_of_real_clip(shared_videos: Path) -> None:
    (frame,) = read_frames_at(probe(shared_videos / "wide" / "carphone.mp4"), [0.5])
    (face,) = load_face_detector()(frame.image)
    np.testing.assert_allclose(face[[0, 2]], [0.36, 0.62], atol=0.05)  # as seen in the picture
    assert face[4] > 0.8
