"""Where TransNetV2 sees cuts. Frames stream through: memory does not grow with the video.

The frames must be all frames of the video, 48 x 27 pixels: `SAMPLING` asks a reader for them.
"""

from collections.abc import Iterable

import numpy as np
import torch

from vidsum import checkpoints
from vidsum.device import choose_device
from vidsum.errors import UsageError
from vidsum.models.transnetv2 import FRAME_HEIGHT, FRAME_WIDTH, WINDOW, TransNetV2
from vidsum.types import Picture, TimeArray
from vidsum.video.frames import Exact, Frame, Sampling

SAMPLING = Sampling(fps=None, size=Exact(FRAME_WIDTH, FRAME_HEIGHT))
CHECKPOINT = "transnetv2"

_MARGIN = 25
"""Frames at either end of a window whose predictions are not used: they lack neighbours."""
_STEP = WINDOW - 2 * _MARGIN


def load_model(device: str = "auto") -> TransNetV2:
    """TransNetV2 with its published weights.

    Raises:
        WeightsError: the weights cannot be had.
        UsageError: there is no such device.
    """
    model = TransNetV2()
    model.load_state_dict(checkpoints.load_state_dict(CHECKPOINT))
    return model.eval().to(choose_device(device))


def find_cuts(frames: Iterable[Frame], device: str = "auto", *, threshold: float = 0.5) -> TimeArray:
    """Times at which a new shot starts, of all frames of a video in time order.

    Args:
        frames: as `SAMPLING` asks for them.
        device: `auto`, `cpu`, `cuda`, `cuda:N` or `mps`.
        threshold: a frame whose probability of a transition is above it belongs to one.

    Returns:
        Seconds, ascending.

    Raises:
        WeightsError: the weights cannot be had.
        UsageError: there is no such device, or a frame has another size.
    """
    finder = CutFinder(load_model(device), threshold=threshold)
    for frame in frames:
        finder.add(frame)
    return finder.finish()


class CutFinder:
    """Takes the frames of one video one by one and tells the cuts at the end: for use within a single decode
    pass."""

    def __init__(self, model: TransNetV2, *, threshold: float = 0.5) -> None:
        self._model = model
        self._device = next(model.parameters()).device
        self._threshold = threshold
        self._times_s: list[float] = []
        self._probabilities: list[float] = []
        self._window: list[Picture] = []

    def add(self, frame: Frame) -> None:
        """Take the next frame.

        Raises:
            UsageError: the frame is not 48 x 27 pixels.
        """
        height, width = frame.image.shape[:2]
        if (width, height) != (FRAME_WIDTH, FRAME_HEIGHT):
            raise UsageError(
                f"TransNetV2 takes frames of {FRAME_WIDTH} x {FRAME_HEIGHT} pixels, not {width} x {height}"
            )
        if not self._times_s:
            self._window = [frame.image] * _MARGIN
        self._times_s.append(frame.time_s)
        self._window.append(frame.image)
        self._look_if_full()

    def finish(self) -> TimeArray:
        """Times at which a new shot starts, ascending; the last frame stands for those after the end."""
        while len(self._probabilities) < len(self._times_s):
            self._window.append(self._window[-1])
            self._look_if_full()
        probabilities = np.array(self._probabilities[: len(self._times_s)])
        return np.array(self._times_s)[first_frames(probabilities > self._threshold)]

    def _look_if_full(self) -> None:
        if len(self._window) < WINDOW:
            return
        with torch.inference_mode():
            frames = torch.from_numpy(np.stack(self._window)).to(self._device)
            logits, _ = self._model(frames[None])
        self._probabilities += logits[0, _MARGIN:-_MARGIN].sigmoid().tolist()
        del self._window[:_STEP]


def first_frames(
    in_transition: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Number of the frame that starts each new shot.

    A hard cut marks one frame, the last of the old shot, and the new shot starts at the next. A gradual
    transition marks a run; its middle counts. A run that touches the first or last frame of the video
    separates nothing.

    Args:
        in_transition: [T] whether the frame belongs to a transition.
    """
    steps = np.diff(in_transition.astype(np.int8), prepend=0, append=0)
    first, last = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
    starts = (first + last) // 2 + 1
    return starts[(last < len(in_transition) - 1)]
