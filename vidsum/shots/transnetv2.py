"""Cuts by TransNetV2 from all frames of the video, 48 x 27 pixels (`SAMPLING`), which stream through."""

from collections.abc import Iterable, Iterator

import numpy as np
import torch

from vidsum import checkpoints
from vidsum.device import cached_model, choose_device
from vidsum.errors import InputError, UsageError
from vidsum.models.transnetv2 import FRAME_HEIGHT, FRAME_WIDTH, WINDOW, TransNetV2
from vidsum.results.features import Features
from vidsum.types import Picture, Progress, TimeArray, VideoInfo
from vidsum.video.frames import Exact, Frame, Sampling

SAMPLING = Sampling(fps=None, size=Exact(FRAME_WIDTH, FRAME_HEIGHT))
CHECKPOINT = "transnetv2"

_MARGIN = 25  # frames at either end of a window whose predictions are not used: they lack context
_STEP = WINDOW - 2 * _MARGIN


def load_model(device: str = "auto", progress: Progress | None = None) -> TransNetV2:
    """Load TransNetV2, cached. Raises WeightsError: no weights. UsageError: an unknown device."""
    if checkpoints.find(CHECKPOINT) is None:
        checkpoints.fetch(CHECKPOINT, progress)
    return _load(str(choose_device(device)), checkpoints.sha256_of(CHECKPOINT))


@cached_model(maxsize=1)
def _load(device: str, weights_sha256: str) -> TransNetV2:
    model = TransNetV2()
    model.load_state_dict(checkpoints.load_state_dict(CHECKPOINT))
    return model.eval().to(device)


def predict_transitions(
    frames: Iterable[Frame], model: TransNetV2, video: VideoInfo, progress: Progress | None = None
) -> Features:
    """Return the probability of each frame to be part of a transition, as features [T, 1].

    `frames` are those of `SAMPLING`. Raises InputError: none. UsageError: one is not 48 x 27 pixels.
    """
    device = next(model.parameters()).device
    times: list[float] = []
    probabilities: list[float] = []
    for window in _windows(frames, times):
        with torch.inference_mode():
            logits, _ = model(torch.from_numpy(window).to(device)[None])
        probabilities += logits[0, _MARGIN:-_MARGIN].sigmoid().tolist()
        if progress:
            progress("looking for cuts", times[-1], video.duration_s)
    if not times:
        raise InputError(f"{video.path}: no frame could be decoded")
    return Features(
        array=np.array(probabilities[: len(times)], np.float32)[:, None],
        timestamps=np.array(times),
        step_s=1 / video.fps,
        covers_s=1 / video.fps,
        duration_s=video.duration_s,
        video_fps=video.fps,
        extractor=CHECKPOINT,
        video=video,
    )


def find_cuts(transitions: Features, threshold: float = 0.5) -> TimeArray:
    """Return seconds, ascending, at which shots start after transitions more likely than `threshold`."""
    cuts: TimeArray = transitions.timestamps[first_frames(transitions.array[:, 0] > threshold)]
    return cuts


def _windows(frames: Iterable[Frame], times: list[float]) -> Iterator[Picture]:
    """Yield overlapping windows [WINDOW, 27, 48, 3], ends repeated; add the frames' times to `times`."""
    window: list[Picture] = []
    n_windows = 0
    for frame in frames:
        height, width = frame.image.shape[:2]
        if (width, height) != (FRAME_WIDTH, FRAME_HEIGHT):
            size = f"{FRAME_WIDTH} x {FRAME_HEIGHT} pixels, not {width} x {height}"
            raise UsageError(f"TransNetV2 takes frames of {size}")
        if not times:
            window = [frame.image] * _MARGIN
        times.append(frame.time_s)
        window.append(frame.image)
        if len(window) == WINDOW:
            yield np.stack(window)
            n_windows += 1
            del window[:_STEP]
    while n_windows * _STEP < len(times):
        window += window[-1:] * (WINDOW - len(window))
        yield np.stack(window)
        n_windows += 1
        del window[:_STEP]


def first_frames(
    in_transition: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the frames that start new shots.

    A hard cut marks one frame, the last of the old shot. Of a gradual transition, the middle frame counts.
    Transitions that touch the first or last frame of the video separate nothing.
    """
    steps = np.diff(in_transition.astype(np.int8), prepend=0, append=0)
    first, last = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
    starts = (first + last) // 2 + 1
    return starts[(first > 0) & (last < len(in_transition) - 1)]
