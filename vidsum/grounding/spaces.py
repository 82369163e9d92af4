"""The spaces in which the clips of a video and texts are compared.

`clip`   CLIP's own: image and text encoders that were trained together
`conse`  built from networks that were not: the actions that I3D recognises and the objects that
         EfficientNet-Lite0 recognises, as MiniLM embeds their names
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.device import takes_bf16
from vidsum.errors import UsageError
from vidsum.grounding.conse import ClassMixture, class_probabilities, conse, log_likelihood, name_embeddings
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.windows import grid, on_grid
from vidsum.names import unknown
from vidsum.scaling import unit_rows
from vidsum.settings import Extraction
from vidsum.types import Features, FloatArray, TimeArray

SPACES = ("auto", "clip", "conse")
STEP_S = 1.0
"""Seconds from one clip to the next."""
CLASSIFIERS = ("i3d", "efficientnet_lite0")
"""Networks whose classes `conse` uses: actions and objects."""
QUICK = "i3d_128"
"""Stands for the first of them where motion need not be seen in detail."""
_MOSTLY_STILL = 0.2
"""Fraction of still clips above which they are the video's content, as slides are."""
_GUIDE_SCALE = 0.25
"""Factor of the guide's curves, whose deviation is 1, beside embeddings of length 1."""


@dataclass(frozen=True, eq=False)
class ClipEmbeddings:
    """A video in a space, on one grid of clips: clip t is [timestamps[t], timestamps[t] + step_s)."""

    parts: tuple[FloatArray, ...]
    """[T, D] each, rows of length 1: motion and objects for `conse`, one for `clip`."""
    timestamps: TimeArray
    """[T] seconds at which each clip begins."""
    step_s: float
    duration_s: float
    """Length of the whole video."""
    mixtures: tuple[ClassMixture, ...] = ()
    """One for each part of `conse`, which is made of it."""
    shots_s: TimeArray | None = None
    """[S + 1] edges of the video's shots, where they are known."""
    is_still: npt.NDArray[np.bool_] | None = None
    """[T] True for clips of a still picture (an end card, black), where that is known."""

    def __len__(self) -> int:
        return len(self.timestamps)


def space_for(name: str) -> str:
    """The space of a name: `auto` is clip where its weights are cached, else conse; UsageError if unknown."""
    if name not in SPACES:
        raise unknown("space", name, SPACES)
    if name == "auto":
        return "conse" if checkpoints.find("clip") is None else "clip"
    return name


def extractions_of(space: str, extraction: Extraction, *, thorough: bool = True) -> tuple[Extraction, ...]:
    """The features that a space needs; device, reader and so on are those of `extraction`.

    Motion is seen in bf16 where that is what the CPU does best, and in small pictures without `thorough`.
    """
    fixed = replace(
        extraction, fast=False, fps=None, clip_frames=None, stride_frames=None, logits=space != "clip"
    )
    if space == "clip":
        return (replace(fixed, extractor="clip", fps=1.0),)
    # clips of I3D that do not overlap cost half of what its default does
    actions, objects = (replace(fixed, extractor=name) for name in CLASSIFIERS)
    actions = replace(actions, stride_frames=32)
    if fixed.precision in ("auto", "int8"):  # which is for objects
        is_bf16 = fixed.backend != "onnx" and takes_bf16(fixed.precision, fixed.device)
        actions = replace(actions, precision="bf16" if is_bf16 else "fp32")
    if not thorough:
        actions = replace(actions, extractor=QUICK)
    return actions, objects


def embed_video(space: str, features: Sequence[Features], device: str = "auto") -> ClipEmbeddings:
    """A video in a space, from the features of `extractions_of`; the text encoder runs on `device`.

    Raises:
        UsageError: features lack class scores that the space needs.
        WeightsError: the text encoder's weights are missing, cannot be fetched or fail their check.
    """
    duration_s = features[0].duration_s
    times = grid(duration_s, STEP_S)
    if space != "conse":
        parts = tuple(unit_rows(on_grid(each.array, each, times, STEP_S)) for each in features)
        return ClipEmbeddings(parts, times, STEP_S, duration_s)
    mixtures = []
    for each in features:
        if each.logits is None:
            fault = f"the features of {each.extractor} have no class scores"
            raise UsageError(fault, hint="extract them with --logits")
        probabilities = on_grid(class_probabilities(each.logits), each, times, STEP_S)
        mixtures.append(ClassMixture(probabilities, name_embeddings(each.extractor, device)))
    return of_mixtures(mixtures, times, duration_s)


def of_mixtures(mixtures: Sequence[ClassMixture], times: TimeArray, duration_s: float) -> ClipEmbeddings:
    """A video in the space `conse`, from the mixtures of its T clips, one for each network."""
    parts = tuple(conse(mixture) for mixture in mixtures)
    return ClipEmbeddings(parts, times, STEP_S, duration_s, tuple(mixtures))


def embed_queries(space: str, texts: Sequence[str], device: str = "auto") -> FloatArray:
    """Texts in a space, [M, D], each of length 1. Raises WeightsError, see `embed_video`."""
    return load_text_encoder(text_encoder_of(space), device).encode(texts)


def embed_words(space: str, texts: Sequence[str], device: str = "auto") -> list[FloatArray]:
    """The tokens of texts, an [L, D] for each, rows of length 1; errors as `embed_queries`."""
    return load_text_encoder(text_encoder_of(space), device).encode_words(texts)


def text_encoder_of(space: str) -> str:
    """The name of the text encoder that reads a space's queries."""
    return "clip" if space == "clip" else "minilm"


def similarity(video: ClipEmbeddings, queries: FloatArray) -> FloatArray:
    """[M, T] how well each clip fits each query [M, D], by all parts of the space.

    Clips of a still picture reach no more than the median of all, unless still pictures are its content.
    """
    curves = curves_of(video, queries)[:, -1]
    if video.is_still is None or video.is_still.mean() > _MOSTLY_STILL:
        return curves
    usual = np.median(curves, axis=1, keepdims=True)
    return np.where(video.is_still, np.minimum(curves, usual), curves)


def curves_of(video: ClipEmbeddings, queries: FloatArray) -> FloatArray:
    """[M, C, T] how well each clip fits each query [M, D]: by each part of the space, last by all.

    A part of `conse` gives the likelihood, that of `clip` the cosine. The curve of each part, and the sum of
    several, is standardised over the whole video to mean 0 and deviation 1; a flat curve is 0.
    """
    if video.mixtures:
        curves = [_standard(log_likelihood(mixture, queries)) for mixture in video.mixtures]
    else:
        curves = [_standard(queries @ part.T) for part in video.parts]
    combined = [_standard(np.sum(curves, axis=0))] if len(curves) > 1 else []
    return np.stack([*curves, *combined], axis=1)


def rows_of(video: ClipEmbeddings) -> FloatArray:
    """[T, D] the parts of the space side by side, as a trained model reads them."""
    return np.concatenate(video.parts, axis=1)


def guided_rows(video: ClipEmbeddings, query: FloatArray) -> FloatArray:
    """[T, D + C] for one query [Dq]: the parts of the space, then the guide, which is the query's curves.

    The curves are standardised over the whole video, so that each window of a long one shows whether the
    query is likelier elsewhere. The guide is our addition to MRNet's input (docs/algorithms/captions.md).
    """
    return np.concatenate([rows_of(video), guide_of(video, query)], axis=1)


def guide_of(video: ClipEmbeddings, query: FloatArray) -> FloatArray:
    """[T, C] the guide of one query [Dq], see `guided_rows`."""
    return np.asarray(_GUIDE_SCALE * curves_of(video, query[None])[0].T)


def _standard(curves: FloatArray) -> FloatArray:
    """[M, T] each row with mean 0 and deviation 1, zeros where it is flat."""
    centred = curves - curves.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    scaled = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 1e-6)
    return np.asarray(scaled, np.float32)
