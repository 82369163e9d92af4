"""The spaces in which clips of a video and texts are compared."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vidsum import checkpoints
from vidsum.errors import UsageError
from vidsum.features import describe
from vidsum.grounding.bridge import conse, unit
from vidsum.grounding.text import load_text_tower
from vidsum.settings import Extraction
from vidsum.types import Features, FloatArray, TimeArray

SPACES = ("auto", "clip", "conse")
STEP_S = 1.0


@dataclass(frozen=True, eq=False)
class ClipEmbeddings:
    """A video in a space, on one grid of clips: clip t is [timestamps[t], timestamps[t] + step_s)."""

    parts: tuple[FloatArray, ...]
    """Each [T, D], rows of length 1: of `conse` motion and objects, of `clip` one."""
    timestamps: TimeArray
    """[T] seconds at which each clip begins."""
    step_s: float
    duration_s: float
    """Length of the whole video."""

    def __len__(self) -> int:
        return len(self.timestamps)


def space_for(name: str) -> str:
    """The space that a name stands for: `auto` is clip where its weights are in the cache, else conse.

    Raises:
        UsageError: there is no such space.
    """
    if name not in SPACES:
        raise UsageError(f"there is no space {name!r}", hint=f"choose from {', '.join(SPACES)}")
    if name == "auto":
        return "conse" if checkpoints.find("clip") is None else "clip"
    return name


def extractions_of(space: str, how: Extraction) -> tuple[Extraction, ...]:
    """What must be extracted of a video for a space; device, reader and the like are those of `how`."""
    if space == "clip":
        return (replace(how, extractor="clip", fps=1.0, clip_frames=None, stride_frames=None, logits=False),)
    return (
        replace(how, extractor="i3d", fps=25.0, clip_frames=32, stride_frames=32, logits=True),
        replace(how, extractor="mobilenet_v2", fps=1.0, clip_frames=None, stride_frames=None, logits=True),
    )


def embed_video(space: str, features: Sequence[Features], device: str = "auto") -> ClipEmbeddings:
    """A video in a space.

    Args:
        space: from `space_for`.
        features: those of `extractions_of`, in that order.
        device: where the text tower runs.
    """
    duration_s = features[0].duration_s
    rows = [one.array if space == "clip" else _bridged(one, device) for one in features]
    times = np.arange(max(1, int(np.ceil(duration_s / STEP_S - 1e-6))), dtype=np.float64) * STEP_S
    parts = tuple(_on_grid(row, one, times) for row, one in zip(rows, features, strict=True))
    return ClipEmbeddings(parts, times, STEP_S, duration_s)


def embed_queries(space: str, texts: Sequence[str], device: str = "auto") -> FloatArray:
    """Texts in a space: [M, D], each of length 1."""
    return load_text_tower("clip" if space == "clip" else "minilm", device).encode(texts)


def similarity(video: ClipEmbeddings, queries: FloatArray) -> FloatArray:
    """How well each clip fits each query, [M, T], with mean 0 and deviation 1 over the whole video."""
    curves = [_standard(queries @ part.T) for part in video.parts]
    return _standard(np.mean(curves, axis=0))


def _standard(curves: FloatArray) -> FloatArray:
    spread = curves.std(axis=1, keepdims=True)
    centred = curves - curves.mean(axis=1, keepdims=True)
    return np.asarray(centred / np.maximum(spread, 1e-6), np.float32)


def _bridged(features: Features, device: str) -> FloatArray:
    names = describe(features.extractor).class_names
    if names is None or features.logits is None:
        raise UsageError(f"features of {features.extractor} have no class scores")
    return conse(features.logits, load_text_tower("minilm", device).encode(list(names())))


def _on_grid(rows: FloatArray, features: Features, times: TimeArray) -> FloatArray:
    middle = features.timestamps + features.covers_s / 2
    nearest = np.abs(times[:, None] + STEP_S / 2 - middle[None, :]).argmin(axis=1)
    return unit(rows[nearest])
