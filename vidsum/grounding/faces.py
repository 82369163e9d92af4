"""Faces in pictures, by YuNet (Wu, Peng and Yu, "YuNet: A tiny millisecond-level face detector", 2023)."""

from collections.abc import Callable
from itertools import product
from typing import Final

import numpy as np

from vidsum import checkpoints
from vidsum.features.onnx_backend import open_session
from vidsum.types import FloatArray, Picture

MIN_SCORE: Final = 0.6  # least score of a face
_MAX_OVERLAP: Final = 0.3  # intersection over union from which two boxes are one face
_STRIDES: Final = (8, 16, 32)  # pixels from one anchor to the next
_CHECKPOINT: Final = "yunet"

FaceDetector = Callable[[Picture], FloatArray]
"""Function from a picture [H, W, 3] to faces [N, 5], best first: left, top, right, bottom, score. Edges are
fractions of the width or the height."""


def load_face_detector() -> FaceDetector:
    """Return a function that detects faces of about 10 to 300 pixels. Raises WeightsError."""
    session = open_session(checkpoints.path_of(_CHECKPOINT))
    names = [f"{kind}_{stride}" for stride, kind in product(_STRIDES, ("cls", "obj", "bbox"))]

    def detect(picture: Picture) -> FloatArray:
        high, wide = picture.shape[:2]
        padding = (0, -high % _STRIDES[-1]), (0, -wide % _STRIDES[-1]), (0, 0)
        levels = np.pad(picture[..., ::-1], padding).transpose(2, 0, 1)[None].astype(np.float32)
        outputs = session.run(names, {"input": levels})
        rows = []
        for number, stride in enumerate(_STRIDES):
            classes, objects, boxes = (output[0] for output in outputs[3 * number : 3 * number + 3])
            rows.append(decode_boxes(classes, objects, boxes, stride, levels.shape[3]))
        faces = drop_overlaps(np.concatenate(rows))
        faces[:, :4] = np.clip(faces[:, :4] / (wide, high, wide, high), 0, 1)
        return faces

    return detect


def decode_boxes(
    classes: FloatArray, objects: FloatArray, boxes: FloatArray, stride: int, width: int
) -> FloatArray:
    """Return faces [N, 5] in pixels from the scores [A, 1] and boxes [A, 4] of the anchors of one stride."""
    scores = np.sqrt(np.clip(classes[:, 0], 0, 1) * np.clip(objects[:, 0], 0, 1))
    chosen = np.flatnonzero(scores >= MIN_SCORE)
    anchors = np.stack([chosen % (width // stride), chosen // (width // stride)], axis=1)
    centres, halves = (anchors + boxes[chosen, :2]) * stride, np.exp(boxes[chosen, 2:]) * stride / 2
    return np.concatenate([centres - halves, centres + halves, scores[chosen, None]], axis=1)


def drop_overlaps(faces: FloatArray) -> FloatArray:
    """Return faces [N, 5], best first, without those that overlap a better one."""
    faces = faces[np.argsort(-faces[:, 4], kind="stable")]
    areas = (faces[:, 2] - faces[:, 0]) * (faces[:, 3] - faces[:, 1])
    chosen: list[int] = []
    for number, face in enumerate(faces):
        better = faces[chosen]
        sides = np.minimum(better[:, 2:4], face[2:4]) - np.maximum(better[:, :2], face[:2])
        shared = np.maximum(sides, 0).prod(axis=1)
        if np.all(shared <= _MAX_OVERLAP * (areas[chosen] + areas[number] - shared)):
            chosen.append(number)
    return faces[chosen]


def face_curve(faces: FloatArray, n_places: int, *, is_turned: bool = False) -> FloatArray:
    """Return [n_places] where faces are along the width, or the height if `is_turned`; the sum is at most 1.

    Each face counts by its score.
    """
    first, end = (faces[:, 1], faces[:, 3]) if is_turned else (faces[:, 0], faces[:, 2])
    edges = np.linspace(0, 1, n_places + 1)
    covers = np.minimum(edges[1:], end[:, None]) - np.maximum(edges[:-1], first[:, None])
    covers = np.maximum(covers, 0)
    mass = (faces[:, 4:] * covers / np.maximum(covers.sum(axis=1, keepdims=True), 1e-9)).sum(axis=0)
    return np.asarray(mass / max(float(mass.sum()), 1e-9))
