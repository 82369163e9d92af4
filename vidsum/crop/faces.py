"""Faces in pictures, by YuNet (Wu, Peng and Yu, "YuNet: A tiny millisecond-level face detector", 2023)."""

from collections.abc import Callable
from itertools import product
from typing import Final

import numpy as np

from vidsum import checkpoints
from vidsum.features.onnx_backend import open_session
from vidsum.types import FloatArray, Picture, TimeArray

MIN_SCORE: Final = 0.6  # least score of a face
_MAX_OVERLAP: Final = 0.3  # intersection over union from which two boxes are one face
_MAX_CUT: Final = 0.1  # of a face at either edge of a crop that shows it
_STRIDES: Final = (8, 16, 32)  # pixels from one anchor to the next


def load_face_detector() -> Callable[[Picture], FloatArray]:
    """Return a function from a picture [H, W, 3] to faces [N, 5], best first. Raises WeightsError.

    They are left, top, right, bottom, as fractions of the picture, and score, of about 10 to 300 pixels.
    """
    session = open_session(checkpoints.path_of("yunet"))
    names = [f"{kind}_{stride}" for stride, kind in product(_STRIDES, ("cls", "obj", "bbox"))]

    def detect(picture: Picture) -> FloatArray:
        high, wide = picture.shape[:2]
        padding = (0, -high % _STRIDES[-1]), (0, -wide % _STRIDES[-1]), (0, 0)
        levels = np.pad(picture[..., ::-1], padding).transpose(2, 0, 1)[None].astype(np.float32)
        outputs = [output[0] for output in session.run(names, {"input": levels})]
        rows = [decode_boxes(outputs[n * 3 : n * 3 + 3], _STRIDES[n], levels.shape[3]) for n in range(3)]
        faces = drop_overlaps(np.concatenate(rows))
        faces[:, :4] = np.clip(faces[:, :4] / (wide, high, wide, high), 0, 1)
        return faces

    return detect


def decode_boxes(outputs: list[FloatArray], stride: int, width: int) -> FloatArray:
    """Return faces [N, 5] in pixels from two scores [A, 1] and the boxes [A, 4] of a stride's anchors."""
    classes, objects, boxes = outputs
    scores = np.sqrt(np.clip(classes[:, 0], 0, 1) * np.clip(objects[:, 0], 0, 1))
    chosen = np.flatnonzero(scores >= MIN_SCORE)
    anchors = np.stack([chosen % (width // stride), chosen // (width // stride)], axis=1)
    centres, halves = (anchors + boxes[chosen, :2]) * stride, np.exp(boxes[chosen, 2:]) * stride / 2
    return np.concatenate([centres - halves, centres + halves, scores[chosen, None]], axis=1)


def drop_overlaps(faces: FloatArray) -> FloatArray:
    """Return faces [N, 5], best first, without those that overlap a better one."""
    import cv2

    boxes = np.concatenate([faces[:, :2], faces[:, 2:4] - faces[:, :2]], axis=1)
    chosen = cv2.dnn.NMSBoxes(boxes.tolist(), faces[:, 4].tolist(), 0.0, _MAX_OVERLAP)
    return faces[np.asarray(chosen, np.intp).reshape(-1)]


def face_curve(faces: FloatArray, n_places: int, *, is_turned: bool = False) -> FloatArray:
    """Return [n_places] where faces are, by their scores, along the width or, if `is_turned`, the height.

    The sum is 1, or 0 without faces.
    """
    first, end = (faces[:, 1], faces[:, 3]) if is_turned else (faces[:, 0], faces[:, 2])
    edges = np.linspace(0, 1, n_places + 1)
    covers = np.maximum(np.minimum(edges[1:], end[:, None]) - np.maximum(edges[:-1], first[:, None]), 0)
    mass = (faces[:, 4:] * covers / np.maximum(covers.sum(axis=1, keepdims=True), 1e-9)).sum(axis=0)
    return np.asarray(mass / max(float(mass.sum()), 1e-9))


def main_faces(faces: FloatArray, *, is_turned: bool = False) -> FloatArray:
    """Return [M, 2] where faces begin and end along the width or, if `is_turned`, the height, without those
    that are less than half as high as the highest.
    """
    heights = faces[:, 3] - faces[:, 1]
    main: FloatArray = faces[heights >= 0.5 * heights.max(initial=0)]
    return main[:, [1, 3] if is_turned else [0, 2]]


def held_faces(faces: FloatArray, starts: TimeArray, share: float) -> TimeArray:
    """Return [P] the fraction of faces [M, 2] that crops of a length show whole; 1 without faces."""
    edge = _MAX_CUT * (faces[:, 1] - faces[:, 0])
    is_held = (faces[:, 0] + edge >= starts[:, None]) & (faces[:, 1] - edge <= starts[:, None] + share)
    return np.asarray(is_held.mean(axis=1) if len(faces) else np.ones(len(starts)))
