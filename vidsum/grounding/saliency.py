"""Saliency of a picture along one axis: the network's features at 7 x 7 positions, people, and motion."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from vidsum import checkpoints
from vidsum.features import describe, weights_sha256
from vidsum.features.onnx_backend import build_cell_runner
from vidsum.grounding.spaces import embed_queries
from vidsum.grounding.vse import EXTRACTOR, load_map
from vidsum.types import FloatArray, Picture

SIDE = 224  # pixels of the squares that the network reads
STEP = 8  # pixels from one position to the next
_PEOPLE = ("a person", "a woman", "a man", "a child", "the face of a person")
_THINGS = ("an empty room", "a landscape", "a wall", "a table", "things on the ground")


@dataclass(frozen=True)
class SaliencyParams:
    """Tuned numbers (docs/tasks/make-shorts.md, tests/grounding/test_saliency.py)."""

    part_width: int = 10  # positions compared with texts about people: a person's width
    people_weight: float = 3.0  # weight of people, relative to the features of the network
    base_percentile: float = 20  # percentile of a curve that counts as nothing
    min_people: float = 0.03  # similarity to people, less that to things: below, there are none
    people_range: float = 0.04  # range of that similarity over which people become certain
    everywhere: float = 0.1  # mean similarity at which people fill the picture: the curve then says nothing
    pixel_noise: float = 6.0  # levels that a pixel changes by itself
    full_motion: float = 1.0  # mean change in levels at which motion counts fully


PARAMS: Final = SaliencyParams()


class SaliencyModel:
    """Saliency of pictures [SIDE, L, 3], which the network reads in overlapping squares."""

    def __init__(self, device: str) -> None:
        """Load the network. Raises WeightsError: network, map or text encoder are unavailable."""
        spec = describe(EXTRACTOR)
        self._cells: Callable[[Picture], FloatArray] = build_cell_runner(
            spec, checkpoints.load_arrays(spec.checkpoint), weights_sha256(spec), device
        )
        self._map, self._dim = load_map(), spec.dim
        people, things = (embed_queries("vse", texts, device).mean(axis=0) for texts in (_PEOPLE, _THINGS))
        self._people = people - things

    def curve(self, picture: Picture) -> FloatArray:
        """Return [X] the saliency at positions `STEP` apart; the sum is 1, and more where people are."""
        columns = self._columns(picture)
        parts = np.stack(
            [
                columns[first : first + PARAMS.part_width].mean(axis=0)
                for first in range(len(columns) - PARAMS.part_width + 1)
            ]
        )
        near = self._map(parts) @ self._people
        sure = np.clip((near.max() - PARAMS.min_people) / PARAMS.people_range, 0, 1) * np.clip(
            1.3 - near.mean() / PARAMS.everywhere, 0, 1
        )
        places = np.arange(len(columns))
        people = np.interp(places, np.arange(len(near)) + (PARAMS.part_width - 1) / 2, near)
        return np.asarray(
            normalise(columns[:, : self._dim].sum(axis=1)) + PARAMS.people_weight * sure * normalise(people)
        )

    def _columns(self, picture: Picture) -> FloatArray:
        """Return [X, D + inner] features by place: means over the other axis, overlaps mixed."""
        length = picture.shape[1]
        firsts = sorted({*range(0, length - SIDE, SIDE // 2), length - SIDE})
        squares = np.stack([picture[:, first : first + SIDE] for first in firsts])[:, None]
        cells = self._cells(squares).mean(axis=2)  # [squares, D, 7]
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
    columns = np.maximum(change - PARAMS.pixel_noise, 0).mean(axis=0)
    at = (np.arange(n_places) + 0.5) * len(columns) / n_places - 0.5
    curve = np.interp(at, np.arange(len(columns)), columns)
    above = np.maximum(curve - np.percentile(curve, PARAMS.base_percentile), 0)
    return np.asarray(normalise(curve) * min(1.0, float(above.mean()) / PARAMS.full_motion))


def normalise(curve: FloatArray) -> FloatArray:
    """Return a curve above its base percentile, so that the sum is 1; zeros where it is flat."""
    above = np.maximum(curve - np.percentile(curve, PARAMS.base_percentile), 0)
    return np.asarray(above / max(float(above.sum()), 1e-9))
