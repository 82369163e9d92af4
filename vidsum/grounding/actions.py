"""Actions in the clips of a video, as mixtures of Kinetics-600's actions (docs/algorithms/actions.md)."""

from collections.abc import Sequence

import numpy as np

from vidsum import checkpoints
from vidsum.features.extractor import crop_centre
from vidsum.features.movinet import FPS, N_CLASSES, SIDE, MovementStream, action_names, classify_actions
from vidsum.grounding.spaces import ClassMixture, class_probabilities
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.io.cache import cached_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray, Interval, Picture, TimeArray

_WINDOW_S = 2.0  # of the frames that a clip's actions are of
WEIGHT_LINE = (2.0, -0.8)  # of names of actions; nothing for queries that no action is near
_CLIPS_AT_ONCE = 256


def average_movement(movement: Features, middles_s: TimeArray, shots_s: TimeArray) -> FloatArray:
    """Return means [T, 480] of the numbers of frames in windows, none of which reaches into another shot.

    Args:
        movement: numbers [N, 480] of frames, by `vidsum.features.movinet.read_movement`.
        middles_s: the middles [T] of the windows.
        shots_s: edges [S + 1] of the shots.
    """
    shot_of = np.searchsorted(shots_s[1:-1], middles_s, side="right")
    start_s = np.maximum(middles_s - _WINDOW_S / 2, shots_s[shot_of])
    end_s = np.minimum(middles_s + _WINDOW_S / 2, shots_s[shot_of + 1])
    first, after = np.searchsorted(movement.timestamps, [start_s, end_s])
    first = np.minimum(first, len(movement) - 1)
    after = np.maximum(after, first + 1)  # a shot between two frames gets the next frame
    means = np.empty((len(middles_s), movement.dim), np.float32)
    for row, start, end in zip(means, first.tolist(), after.tolist(), strict=True):  # sums of all are large
        row[:] = movement.array[start:end].mean(axis=0)
    return means


def mix_actions(movement: Features, middles_s: TimeArray, shots_s: TimeArray) -> ClassMixture:
    """Return the actions in the windows of `average_movement`. Raises WeightsError."""
    probabilities = np.empty((len(middles_s), N_CLASSES), np.float32)
    for start in range(0, len(middles_s), _CLIPS_AT_ONCE):  # the layers of the head are large
        block = slice(start, start + _CLIPS_AT_ONCE)
        means = average_movement(movement, middles_s[block], shots_s)
        probabilities[block] = class_probabilities(classify_actions(means))
    return ClassMixture(probabilities, embed_action_names(), WEIGHT_LINE)


def segment_actions(movement: Features, segments: Sequence[Interval], shots_s: TimeArray) -> FloatArray:
    """Return probabilities [N, 600] of the actions of segments, the means of about a clip a second.

    No clip reaches into another segment, or shot of edges `shots_s` [S + 1]. Raises WeightsError.
    """
    rows = np.empty((len(segments), N_CLASSES), np.float32)
    for row, (start_s, end_s) in zip(rows, segments, strict=True):
        n_clips = max(1, round(end_s - start_s))
        middles_s = start_s + (np.arange(n_clips) + 0.5) * (end_s - start_s) / n_clips
        means = average_movement(movement, middles_s, np.union1d(shots_s, (start_s, end_s)))
        row[:] = class_probabilities(classify_actions(means)).mean(axis=0)
    return rows


class LiveActions:
    """Actions of a live source, one second after another.

    The actions of a second are also of the half second before it, unless it begins a shot. `mix_actions` also
    looks at the half second after it, which has not come yet.
    """

    def __init__(self) -> None:
        """Begin a source. Raises WeightsError."""
        self._stream, self._names = MovementStream(), embed_action_names()
        self._before: FloatArray | None = None

    @property
    def names(self) -> FloatArray:
        """The names of the actions, [600, 384]."""
        return self._names

    def mix(self, frames: Sequence[Picture], *, begins_shot: bool) -> ClassMixture | None:
        """Return the actions of a second by its frames of `movinet.SAMPLING`; None where there are none."""
        if not frames:
            return None
        rows = self._stream.read(np.stack([crop_centre(frame, SIDE) for frame in frames]))
        seen = rows if begins_shot or self._before is None else np.concatenate([self._before, rows])
        self._before = rows[-int(FPS / 2) :]
        logits = classify_actions(seen.mean(axis=0, keepdims=True))
        return ClassMixture(class_probabilities(logits), self._names, WEIGHT_LINE)


def embed_action_names() -> FloatArray:
    """Return the names of the actions, [600, 384] of length 1, by MiniLM; kept on disk.

    Raises WeightsError: MiniLM's weights are unavailable.
    """
    texts = [f"someone is {name}" for name in action_names()]
    provenance = {"weights_sha256": checkpoints.sha256_of("minilm"), "sentences": texts}
    return cached_rows("class_names", provenance, lambda: load_text_encoder("minilm").encode(texts))
