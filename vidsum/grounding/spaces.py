"""The spaces in which the clips of a video and texts are compared.

`clip`  CLIP's own: image and text encoders that were trained together
`vse`   that of MiniLM's sentences: a map learned from photographs with sentences brings EfficientNet-Lite0's
        features into it. For `similarity` the objects that the network names join in, and with `thorough`
        the actions that I3D names
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.device import takes_bf16
from vidsum.errors import UsageError, unknown_name_error
from vidsum.features.settings import Extraction
from vidsum.grounding.conse import ClassMixture, class_probabilities, log_likelihood, name_embeddings
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.vse import EXTRACTOR, mapped_rows
from vidsum.grounding.windows import grid, to_grid
from vidsum.models.scaling import unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray, TimeArray

SPACES = ("auto", "clip", "vse")
STEP_S = 1.0  # seconds from one clip to the next
MOTION = "i3d_128"  # the network that names actions
MIXTURE_WEIGHT_LINE = (0.67, -0.05)
"""Slope and offset of a network's weight (the map's is 1) over the cosine of the query and a class name.
Learned on photographs of topics that the map had not seen (docs/algorithms/grounding-spaces.md)."""
_MOSTLY_STILL = 0.2  # fraction of still clips above which they are the video's content, as slides are
GUIDE_SCALE = 0.25  # factor of the guide's curve, whose deviation is 1, relative to embeddings of length 1


@dataclass(frozen=True, eq=False)
class ClipEmbeddings:
    """A video in a space, on one grid of clips: clip t is [timestamps[t], timestamps[t] + step_s)."""

    rows: FloatArray  # [T, D] of length 1
    timestamps: TimeArray  # [T] seconds at which each clip begins
    step_s: float
    duration_s: float  # length of the whole video
    mixtures: tuple[ClassMixture, ...] = ()  # classes seen in the clips in `vse`: objects, perhaps actions
    shots_s: TimeArray | None = None  # [S + 1] edges of the video's shots, where they are known
    is_still: npt.NDArray[np.bool_] | None = None  # [T] whether a clip is a still picture, if known

    def __len__(self) -> int:
        return len(self.timestamps)


def resolve_space(name: str) -> str:
    """Return the space of a name; `auto` is clip if its weights are here, else vse. Raises UsageError."""
    if name not in SPACES:
        raise unknown_name_error("space", name, SPACES)
    if name == "auto":
        return "vse" if checkpoints.find("clip") is None else "clip"
    return name


def extractions_for(space: str, extraction: Extraction, *, thorough: bool = False) -> tuple[Extraction, ...]:
    """Return the features that a space needs, those of pictures last; device and reader are given."""
    fixed = replace(extraction, fps=None, clip_frames=None, stride_frames=None, logits=space != "clip")
    if space == "clip":
        return (replace(fixed, extractor="clip", fps=1.0),)
    pictures = replace(fixed, extractor=EXTRACTOR)
    if not thorough:
        return (pictures,)
    # 50 / 3 frames a second in clips that do not overlap cost a third of what I3D's default does
    motion = replace(fixed, extractor=MOTION, fps=50 / 3, stride_frames=32)
    if fixed.precision in ("auto", "int8"):  # which is for pictures
        is_bf16 = fixed.backend != "onnx" and takes_bf16(fixed.precision, fixed.device)
        motion = replace(motion, precision="bf16" if is_bf16 else "fp32")
    return motion, pictures


def embed_video(space: str, features: Sequence[Features], device: str = "auto") -> ClipEmbeddings:
    """Return a video in a space, from the features of `extractions_for`.

    Raises UsageError: features lack class scores. WeightsError: the map or text encoder is unavailable.
    """
    pictures, duration_s = features[-1], features[-1].duration_s
    times = grid(duration_s, STEP_S)
    rows = mapped_rows(pictures) if space == "vse" else pictures.array
    rows = unit_rows(to_grid(rows, pictures, times, STEP_S))
    mixtures = []
    for part in reversed(features) if space == "vse" else ():
        if part.logits is None:
            fault = f"the features of {part.extractor} have no class scores"
            raise UsageError(fault, hint="extract them with --logits")
        probabilities = to_grid(class_probabilities(part.logits), part, times, STEP_S)
        mixtures.append(ClassMixture(probabilities, name_embeddings(part.extractor, device)))
    return ClipEmbeddings(rows, times, STEP_S, duration_s, tuple(mixtures))


def embed_queries(space: str, texts: Sequence[str], device: str = "auto") -> FloatArray:
    """Embed texts in a space, [M, D], each of length 1. Raises WeightsError, see `embed_video`."""
    return load_text_encoder(text_encoder_name(space), device).encode(texts)


def embed_words(space: str, texts: Sequence[str], device: str = "auto") -> list[FloatArray]:
    """Return the tokens of texts, an [L, D] for each, rows of length 1; errors as `embed_queries`."""
    return load_text_encoder(text_encoder_name(space), device).encode_words(texts)


def text_encoder_name(space: str) -> str:
    """Return the name of the text encoder that reads a space's queries."""
    return "clip" if space == "clip" else "minilm"


def similarity(video: ClipEmbeddings, queries: FloatArray) -> FloatArray:
    """Return [M, T] how well each clip fits each query [M, D], by all parts of the space.

    Clips of a still picture reach no more than the median of all, unless still pictures are its content.
    """
    curves = similarity_curves(video, queries)[:, -1]
    if video.is_still is None or video.is_still.mean() > _MOSTLY_STILL:
        return curves
    usual = np.median(curves, axis=1, keepdims=True)
    return np.where(video.is_still, np.minimum(curves, usual), curves)


def similarity_curves(video: ClipEmbeddings, queries: FloatArray) -> FloatArray:
    """Return [M, C, T] how well each clip fits each query [M, D]: by each part of the space, last by all.

    The first part is the cosine; the others, for `vse`, are the likelihoods of objects and of actions, whose
    weight grows with the cosine of the query and the nearest class name (`MIXTURE_WEIGHT_LINE`). Every curve
    is standardised over the whole video to mean 0 and deviation 1; a flat curve is 0.
    """
    curves = [standardise(queries @ video.rows.T)]
    if not video.mixtures:
        return curves[0][:, None]
    combined = curves[0].copy()
    for mixture in video.mixtures:
        curves.append(standardise(log_likelihood(mixture, queries)))
        combined += curves[-1] * mixture_weights(mixture, queries)[:, None]
    return np.stack([*curves, standardise(combined)], axis=1)


def mixture_weights(mixture: ClassMixture, queries: FloatArray) -> FloatArray:
    """Return [M] the weight of a network's names for queries [M, D], by `MIXTURE_WEIGHT_LINE`."""
    slope, offset = MIXTURE_WEIGHT_LINE
    nearness = (queries @ mixture.names.T).max(axis=1)
    return np.asarray(np.maximum(0, slope * nearness + offset), np.float32)


def guided_rows(video: ClipEmbeddings, query: FloatArray) -> FloatArray:
    """Return [T, D + 1] for a query [Dq]: the rows of the space, then the guide: the query's curve.

    Standardised over the whole video, it shows each window whether the query is likelier elsewhere: our
    addition to MRNet's input (docs/algorithms/captions.md).
    """
    return np.concatenate([video.rows, guide_column(video, query)], axis=1)


def guide_column(video: ClipEmbeddings, query: FloatArray) -> FloatArray:
    """Return [T, 1] the guide of one query [Dq], see `guided_rows`."""
    return np.asarray(GUIDE_SCALE * similarity_curves(video, query[None])[0, -1:].T)


def standardise(curves: FloatArray) -> FloatArray:
    """Return [M, T] each row with mean 0 and deviation 1, zeros where it is flat."""
    centred = curves - curves.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    scaled = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 1e-6)
    return np.asarray(scaled, np.float32)
