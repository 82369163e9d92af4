"""How much each picture of a video differs from those before: it tells at which frame a shot begins.

The measure is the mean absolute difference of tiny pictures, in levels from 0 to 255. Making one takes less
than a tenth of a millisecond, whatever the size of the video: most of its pixels are not looked at.
"""

from collections import deque
from dataclasses import dataclass

import av
import numpy as np
from av.video.reformatter import Interpolation, VideoReformatter

from vidsum.errors import InputError
from vidsum.types import FloatArray, Picture, TimeArray
from vidsum.video.frames import TOLERANCE_S

NAME = "picture_changes"
AGO_S = 0.5
_WIDTH, _HEIGHT = 32, 18
"""Of a tiny picture, as stored: it is not turned upright."""


@dataclass(frozen=True, eq=False)
class Changes:
    """How much pictures of a video differ from those before."""

    array: FloatArray
    """[N, 3] change of each picture, 1 where it is known to follow the one before, else 0, and how much it
    differs from the first of the last `AGO_S` seconds."""
    timestamps: TimeArray
    """[N] seconds."""


class ChangeMeter:
    """Sees the decoded pictures of a video, in order, and notes how much each differs from the one before."""

    def __init__(self) -> None:
        self._scaler = VideoReformatter()
        self._last = deque[tuple[float, Picture]]()
        """The pictures of the last `AGO_S` seconds, at least one."""
        self._times: list[float] = []
        self._rows: list[tuple[float, bool, float]] = []

    def see(self, time_s: float, frame: av.VideoFrame, *, is_next: bool = True) -> float:
        """See the next picture, and return its change.

        `is_next` is False where pictures between it and the last were not decoded.
        """
        small = self._scaler.reformat(
            frame, _WIDTH, _HEIGHT, "rgb24", interpolation=Interpolation.FAST_BILINEAR
        )
        picture: Picture = small.to_ndarray().astype(np.uint8, copy=False)
        self._last.append((time_s, picture))
        change = _difference(picture, self._last[max(len(self._last) - 2, 0)][1])
        while time_s - self._last[0][0] > AGO_S + TOLERANCE_S and len(self._last) > 1:
            self._last.popleft()
        self._times.append(time_s)
        self._rows.append((change, is_next, _difference(picture, self._last[0][1])))
        return change

    def start_again(self) -> None:
        """Compare the next picture with none."""
        self._last.clear()

    def measured(self, path: str) -> Changes:
        """Those of the pictures it saw. Raises InputError where the video at `path` had none."""
        if not self._times:
            raise InputError(f"{path}: no frame could be decoded")
        return Changes(np.array(self._rows, np.float32), np.array(self._times))


def _difference(one: Picture, other: Picture) -> float:
    """The mean absolute difference of two pictures."""
    # in bytes: half the time that signed numbers take
    return float((np.maximum(one, other) - np.minimum(one, other)).sum(dtype=np.uint32)) / one.size
