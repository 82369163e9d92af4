"""Movement in 480 numbers a frame, and 600 actions, by MoViNet-A0-Stream.

Kondratyuk et al., "MoViNets: Mobile Video Networks for Efficient Video Recognition", 2021. The network sees
five frames a second, each with what it remembers of the frames before; it forgets them at a cut. The actions
are the classes of Kinetics-600 (Carreira et al., "A Short Note about Kinetics-600", 2018).
"""

from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from vidsum import checkpoints
from vidsum.device import cached_model
from vidsum.errors import InputError
from vidsum.features.extractor import crop_centre, read_class_names
from vidsum.features.growing_rows import GrowingRows
from vidsum.features.onnx_backend import open_session
from vidsum.results.features import Features
from vidsum.types import BoolArray, FloatArray, Picture, Progress, VideoInfo
from vidsum.video.frames import Frame, Sampling, ShortSide

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

NAME = "movinet_a0"
FPS = 5.0
DIM, N_CLASSES = 480, 600
SIDE = 172  # of the square in the middle that the network sees, in pixels
SAMPLING = Sampling(FPS, ShortSide(SIDE), is_guest=True)
_FRAMES_AT_ONCE = 8  # their activations fit the cache
_STEP = 4  # of the pixels that are compared for a cut
_MIN_CUT = 30.0
"""Mean difference of frames, in levels of 255: low, since to forget at fast movement does little harm."""


def action_names() -> Sequence[str]:
    """Return the 600 actions, in the order of the logits."""
    return read_class_names("kinetics_600")


def classify_actions(means: FloatArray) -> FloatArray:
    """Return logits [W, 600] of means [W, 480] of the numbers of frames. Raises WeightsError."""
    logits: FloatArray = _open_graph(f"{NAME}_head.onnx").run(None, {"means": means})[0]
    return logits


@cached_model(maxsize=2)
def _open_graph(file: str) -> "InferenceSession":
    # its layers are small: two threads are no faster
    return open_session(checkpoints.path_of(NAME) / file, threads=1)


class MovementStream:
    """The network, and what it remembers of the frames of a stream."""

    def __init__(self) -> None:
        """Begin a stream. Raises WeightsError."""
        self._session = _open_graph(f"{NAME}.onnx")
        self._blank = {
            state.name: np.zeros(state.shape, np.float32) for state in self._session.get_inputs()[1:]
        }
        self._states = self._blank
        self._last: Picture | None = None

    def read(self, frames: Picture) -> FloatArray:
        """Return the numbers [N, 480] of the next frames [N, 172, 172, 3], N >= 1."""
        begins, rows = self._begin_shots(frames), list[FloatArray]()
        edges = [0, *np.flatnonzero(begins[1:]) + 1, len(frames)]
        for start, end in pairwise(edges):
            if begins[start]:
                self._states = self._blank
            vectors, *states = self._session.run(None, {"frames": frames[start:end], **self._states})
            self._states = dict(zip(self._blank, states, strict=True))
            rows.append(vectors)
        return np.concatenate(rows)

    def _begin_shots(self, frames: Picture) -> BoolArray:
        """Return [N] whether a cut is before a frame."""
        small = frames[:, ::_STEP, ::_STEP]
        first = small[:1] if self._last is None else self._last
        self._last = small[-1:]
        changes = np.abs(np.diff(small.astype(np.int16), axis=0, prepend=first)).mean(axis=(1, 2, 3))
        return np.asarray(changes >= _MIN_CUT)


def read_movement(frames: Iterable[Frame], video: VideoInfo, progress: Progress | None = None) -> Features:
    """Return 480 numbers [T, 480] of each of the frames of `SAMPLING`.

    Raises InputError: there are no frames. WeightsError.
    """
    stream, rest = MovementStream(), iter(frames)
    times, rows = list[float](), GrowingRows()
    while batch := list(islice(rest, _FRAMES_AT_ONCE)):
        rows.add(stream.read(np.stack([crop_centre(frame.image, SIDE) for frame in batch])))
        times += [frame.time_s for frame in batch]
        if progress:
            progress("looking for actions", min(times[-1] + 1 / FPS, video.duration_s), video.duration_s)
    if not times:
        raise InputError(f"{video.path}: no frame could be decoded")
    return Features(
        rows.array(),
        np.array(times),
        step_s=1 / FPS,
        covers_s=1 / FPS,
        duration_s=video.duration_s,
        video_fps=video.fps,
        extractor=NAME,
        video=video,
    )
