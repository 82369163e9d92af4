"""How much each picture of a video differs from the one before: it tells at which frame a shot begins.

The measure is the mean absolute difference of tiny pictures, in levels from 0 to 255. Making one takes less
than a tenth of a millisecond, whatever the size of the video: most of its pixels are not looked at.
"""

from dataclasses import dataclass

import av
import numpy as np
import numpy.typing as npt
from av.video.reformatter import Interpolation, VideoReformatter

from vidsum.errors import InputError
from vidsum.types import FloatArray, TimeArray

NAME = "changes"
_WIDTH, _HEIGHT = 32, 18
"""Of a tiny picture, as stored: it is not turned upright."""


@dataclass(frozen=True, eq=False)
class Changes:
    """How much pictures of a video differ from the one before."""

    array: FloatArray
    """[N, 2] change of each picture, and 1 where it is known to follow the one before, else 0."""
    timestamps: TimeArray
    """[N] seconds."""


class ChangeMeter:
    """Sees the decoded pictures of a video, in order, and notes how much each differs from the one before."""

    def __init__(self) -> None:
        self._scaler = VideoReformatter()
        self._before: npt.NDArray[np.int16] | None = None
        self._times: list[float] = []
        self._rows: list[tuple[float, bool]] = []

    def see(self, time_s: float, frame: av.VideoFrame, *, is_next: bool = True) -> float:
        """See the next picture, and return its change.

        `is_next` is False where pictures between it and the last were not decoded.
        """
        small = self._scaler.reformat(
            frame, _WIDTH, _HEIGHT, "rgb24", interpolation=Interpolation.FAST_BILINEAR
        )
        picture = small.to_ndarray().astype(np.int16)
        change = 0.0 if self._before is None else float(np.abs(picture - self._before).mean())
        self._before = picture
        self._times.append(time_s)
        self._rows.append((change, is_next))
        return change

    def start_again(self) -> None:
        """Compare the next picture with none."""
        self._before = None

    def measured(self, path: str) -> Changes:
        """Those of the pictures it saw. Raises InputError where the video at `path` had none."""
        if not self._times:
            raise InputError(f"{path}: no frame could be decoded")
        return Changes(np.array(self._rows, np.float32), np.array(self._times))
