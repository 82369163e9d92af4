"""Saliency of a picture along one axis: the network's features at 7 x 7 positions, faces, and motion."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vidsum import checkpoints
from vidsum.crop.faces import face_curve, load_face_detector, main_faces
from vidsum.features import describe
from vidsum.features.onnx_backend import build_cell_runner
from vidsum.grounding.vse_map import EXTRACTOR
from vidsum.types import FloatArray, Picture

SIDE = 224  # pixels of the squares that the network reads
STEP = 8  # pixels from one position to the next

# Tuned numbers (docs/tasks/make-shorts.md, tests/crop/test_saliency.py).
FACE_WEIGHT = 0.5  # weight of faces, relative to the features of the network
_BASE_PERCENTILE = 20  # percentile of a curve that counts as nothing
_PIXEL_NOISE = 6.0  # levels that a pixel changes by itself
_FULL_MOTION = 1.0  # mean change in levels at which motion counts fully


@dataclass(frozen=True, eq=False)
class Look:
    """The places of a picture that matter, along one axis."""

    curve: FloatArray  # [X] saliency at positions `STEP` apart; the sum is 1, and more where faces are
    faces: FloatArray  # [M, 2] where the main faces begin and end, as fractions
    face_height: float = 0.0  # of the highest face, as a fraction of the picture's; 0 without faces


class SaliencyModel:
    """Saliency of pictures [SIDE, L, 3], which the network reads in overlapping squares."""

    def __init__(self, device: str) -> None:
        """Load the networks. Raises WeightsError: they are unavailable."""
        spec = describe(EXTRACTOR)
        folder = checkpoints.path_of(spec.checkpoint)
        self._cells: Callable[[Picture], FloatArray] = build_cell_runner(spec, folder, device)
        self._dim, self._detect = spec.dim, load_face_detector()

    def look(self, picture: Picture, *, is_turned: bool = False) -> Look:
        """Return what matters in a picture.

        `is_turned`: rows and columns of the picture were exchanged, so that positions run from top to bottom.
        """
        seen = normalise(self._columns(picture).sum(axis=1))
        upright = np.ascontiguousarray(picture.transpose(1, 0, 2)) if is_turned else picture
        faces = self._detect(upright)
        curve = seen + FACE_WEIGHT * face_curve(faces, len(seen), is_turned=is_turned)
        highest = float((faces[:, 3] - faces[:, 1]).max(initial=0))
        return Look(np.asarray(curve), main_faces(faces, is_turned=is_turned), highest)

    def _columns(self, picture: Picture) -> FloatArray:
        """Return [X, D] features by place: means over the other axis, overlaps mixed."""
        length = picture.shape[1]
        firsts = sorted({*range(0, length - SIDE, SIDE // 2), length - SIDE})
        squares = np.stack([picture[:, first : first + SIDE] for first in firsts])[:, None]
        cells = self._cells(squares)[:, : self._dim].mean(axis=2)  # [squares, D, 7]
        places = np.arange(STEP / 2, length, STEP)
        rows, weights = np.zeros((len(places), cells.shape[1])), np.zeros(len(places))
        width = SIDE / cells.shape[2]
        for first, cell in zip(firsts, cells, strict=True):
            inside = (places >= first) & (places < first + SIDE)
            at = np.clip((places[inside] - first) / width - 0.5, 0, cells.shape[2] - 1)
            low = np.minimum(at.astype(int), cells.shape[2] - 2)
            part = (at - low)[:, None]
            weight = 1e-3 + np.minimum(places[inside] - first, first + SIDE - places[inside])
            rows[inside] += weight[:, None] * ((1 - part) * cell[:, low].T + part * cell[:, low + 1].T)
            weights[inside] += weight
        return np.asarray(rows / weights[:, None], np.float32)


def motion_curve(before: FloatArray, after: FloatArray, n_places: int) -> FloatArray:
    """Return [X] the motion between two grey pictures [H, W] without the camera's; the sum is at most 1."""
    import cv2

    window = cv2.createHanningWindow(before.shape[::-1], cv2.CV_32F)
    (right, down), _ = cv2.phaseCorrelate(before, after, window)
    shift = np.array([[1, 0, -right], [0, 1, -down]], np.float32)
    aligned = cv2.warpAffine(after, shift, before.shape[::-1], borderMode=cv2.BORDER_REPLICATE)
    change = np.minimum(np.abs(after - before), np.abs(aligned - before))
    columns = np.maximum(change - _PIXEL_NOISE, 0).mean(axis=0)
    at = (np.arange(n_places) + 0.5) * len(columns) / n_places - 0.5
    curve = np.interp(at, np.arange(len(columns)), columns)
    above = np.maximum(curve - np.percentile(curve, _BASE_PERCENTILE), 0)
    return np.asarray(normalise(curve) * min(1.0, float(above.mean()) / _FULL_MOTION))


def normalise(curve: FloatArray) -> FloatArray:
    """Return a curve above its base percentile, so that the sum is 1; zeros where it is flat."""
    above = np.maximum(curve - np.percentile(curve, _BASE_PERCENTILE), 0)
    return np.asarray(above / max(float(above.sum()), 1e-9))
