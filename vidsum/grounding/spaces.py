"""The image-text spaces, in which the clips of a video, pictures and texts are compared.

The CLIP family: image and text encoders that were trained together, `CLIP_FAMILY`.

`vse`: the space of MiniLM's sentences. A map learned from photographs with sentences brings
EfficientNet-Lite0's features into it. `similarity` also compares queries with the names of the objects that
the network sees: class probabilities are a bridge from video to text (ConSE; Norouzi et al., "Zero-Shot
Learning by Convex Combination of Semantic Embeddings", 2014).

docs/algorithms/grounding-spaces.md explains how the constants were chosen.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.errors import InputError, Mention, UsageError, unknown_name_error
from vidsum.features import describe
from vidsum.features.clip_family import CLIP_MODELS
from vidsum.features.settings import CLIP_FAMILY, Extraction
from vidsum.grounding import languages, vse_map
from vidsum.grounding.scenes import find_scenes, scene_cosine
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.grounding.windows import grid, to_grid
from vidsum.io.cache import cached_rows
from vidsum.io.file_names import missing_file
from vidsum.models.scaling import softmax, standardise, unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray, TimeArray

STEP_S = 1.0  # seconds from one clip to the next
_TEMPERATURE = 2.0  # divides the logits: trained networks are too sure of one class
SHARPNESS = 10.0  # weight of near class names; close to 0 it gives the order of ConSE
MIXTURE_WEIGHT_LINE = (0.67, -0.05)
"""Slope and offset of a network's weight (the map's is 1) over the cosine of the query and a class name.
Learned on photographs of topics that the map had not seen (docs/algorithms/grounding-spaces.md)."""
_MOSTLY_STILL = 0.2  # fraction of still clips above which they are the video's content, as slides are
GUIDE_SCALE = 0.25  # factor of the guide's curve, whose deviation is 1, relative to embeddings of length 1


@dataclass(frozen=True, eq=False)
class ClassMixture:
    """The clips of a video as mixtures of the classes that one network knows."""

    probabilities: FloatArray  # [T, K] probability of each class; rows sum to 1
    names: FloatArray  # [K, D] embeddings of the classes' names, each of length 1
    weight_line: tuple[float, float] = MIXTURE_WEIGHT_LINE


@dataclass(frozen=True, eq=False)
class ClipEmbeddings:
    """A video in a space, on one grid of clips: clip t is [timestamps[t], timestamps[t] + step_s)."""

    rows: FloatArray  # [T, D] of length 1
    timestamps: TimeArray  # [T] seconds at which each clip begins
    step_s: float
    duration_s: float  # length of the whole video
    objects: ClassMixture | None = None  # classes seen in the clips, in `vse`
    shots_s: TimeArray | None = None  # [S + 1] edges of the video's shots, where they are known
    is_still: npt.NDArray[np.bool_] | None = None  # [T] whether a clip is a still picture, if known
    scenes_s: TimeArray | None = None  # [K + 1] edges of its scenes, which are runs of shots, if known
    actions: ClassMixture | None = None  # actions in the clips, in `vse`, if they were looked for

    def __len__(self) -> int:
        return len(self.timestamps)


@dataclass(frozen=True)
class ImageTextSpace:
    """Encoders of pictures and of texts whose rows [D] of length 1 can be compared."""

    name: str
    dim: int  # D
    extractor: str  # its features are the rows, or what the map reads
    text_encoder: str
    weights: tuple[str, ...]  # their names in the registry, which has the sources and licences
    fps: float | None = None  # frames per second of videos; None for the extractor's own
    is_mapped: bool = False  # whether a map makes the rows of features, and class names are compared too
    prompts: tuple[str, ...] = ("{}",)
    """The sentences into which a text is put; the mean of their embeddings is the text's."""
    is_multilingual: bool = False  # whether its text encoder reads other languages than English
    is_measured: bool = False  # whether docs/ has measurements of its answers

    @property
    def notes(self) -> tuple[str, ...]:
        """The warning that answers of this space have, if it was never measured."""
        return () if self.is_measured else (f"the space {self.name} was never measured: check its answers",)

    def is_installed(self) -> bool:
        """Return whether all weights are in the cache; nothing is fetched or hashed."""
        return all(checkpoints.find(name) for name in self.weights)

    def encode_images(self, images: Sequence[str | Path], device: str = "auto") -> FloatArray:
        """Return [N, D] of image files. Raises InputError: one is missing, or cannot be read."""
        from vidsum.features.pictures import encode_pictures  # imports Pillow

        paths = [Path(path) for path in images]
        for path in paths:
            if not path.exists():
                raise missing_file(path)
            if not path.is_file():
                raise InputError("is not a file", subject=path)
        features = encode_pictures(paths, self.extractor, device)
        return vse_map.load_map()(features) if self.is_mapped else unit_rows(features)

    def encode_texts(self, texts: Sequence[str]) -> FloatArray:
        """Return [M, D] of texts. Raises WeightsError: the text encoder is unavailable."""
        prompted = [prompt.format(text) for prompt in self.prompts for text in texts]
        rows = load_text_encoder(self.text_encoder).encode(prompted)
        return unit_rows(rows.reshape(len(self.prompts), len(texts), -1).mean(axis=0))

    def rows_of(self, features: Features) -> FloatArray:
        """Return [T, D] of a video's features, whose lengths vary. Raises UsageError: see `mapped_rows`."""
        return vse_map.mapped_rows(features) if self.is_mapped else features.array


_SPACES = (
    *(
        ImageTextSpace(name, model.dim, name, name, (name,), fps=1.0, is_multilingual=model.is_multilingual)
        for name, model in CLIP_MODELS.items()
    ),
    ImageTextSpace(
        vse_map.NAME,
        384,
        vse_map.EXTRACTOR,
        "minilm",
        (vse_map.EXTRACTOR, vse_map.NAME, "minilm"),
        is_mapped=True,
        is_measured=True,
        prompts=("{}", "there is {}"),
    ),
)
SPACES: Mapping[str, ImageTextSpace] = MappingProxyType({space.name: space for space in _SPACES})
"""The spaces by name."""


def describe_space(name: str) -> ImageTextSpace:
    """Return a space by its name. Raises UsageError where there is none."""
    if name not in SPACES:
        raise unknown_name_error("space", name, ("auto", *SPACES))
    return SPACES[name]


def resolve_space(name: str) -> str:
    """Return the space of a name; `auto` is the first installed one of `CLIP_FAMILY`, else `vse`.

    Raises UsageError where there is none of that name.
    """
    if name != "auto":
        return describe_space(name).name
    return next((name for name in CLIP_FAMILY if SPACES[name].is_installed()), vse_map.NAME)


def find_space_of_features(extractor: str) -> str | None:
    """Return the space whose rows are an extractor's features as they are; None where there is none."""
    return next((space.name for space in SPACES.values() if space.weights == (extractor,)), None)


def extraction_for(space: str, extraction: Extraction) -> Extraction:
    """Return the settings of the features that a space needs, on the device and reader of `extraction`."""
    described = describe_space(space)
    sampled = replace(extraction, fps=described.fps, clip_frames=None, stride_frames=None)
    return replace(sampled, extractor=described.extractor, logits=described.is_mapped)


def embed_video(space: str, features: Features) -> ClipEmbeddings:
    """Return a video in a space, from the features of `extraction_for`; another space is the features' own.

    Raises UsageError: features lack class scores. WeightsError: the map or text encoder is unavailable.
    """
    described, times = SPACES.get(space), grid(features.duration_s, STEP_S)
    rows = described.rows_of(features) if described else features.array
    rows, objects = unit_rows(to_grid(rows, features, times, STEP_S)), None
    if described and described.is_mapped:
        if features.logits is None:
            fault = f"the features of {features.extractor} have no class scores"
            raise UsageError(fault, hint=("extract them with ", Mention("logits", True)))
        probabilities = to_grid(features.logits, features, times, STEP_S, class_probabilities)
        objects = ClassMixture(probabilities, name_embeddings())
    return ClipEmbeddings(rows, times, STEP_S, features.duration_s, objects)


def scenes_of(video: ClipEmbeddings, shots_s: TimeArray, name: str) -> TimeArray:
    """Return [K + 1] edges of the scenes of a video with shots [S + 1]; its rows are of the space `name`."""
    return find_scenes(video.rows, video.timestamps + video.step_s / 2, shots_s, scene_cosine(name))


def class_probabilities(logits: FloatArray) -> FloatArray:
    """Return probabilities [T, K] of class scores [T, K]."""
    return softmax(logits / np.float32(_TEMPERATURE))


def log_likelihood(mixture: ClassMixture, queries: FloatArray) -> FloatArray:
    """Return [M, T] log-likelihood of each query [M, D] (of length 1) for each clip, if its class gives it.

        log p(q | clip) = log sum_k p(k | clip) exp(sharpness * cos(q, name of k)) + a constant

    With a small sharpness this is the mean cosine of the classes, which ConSE measures. A larger one gives
    more weight to classes near the query, so that a wrong class next to the right one does no harm.
    """
    nearness = np.exp(np.float32(SHARPNESS) * (queries @ mixture.names.T))
    return np.asarray(np.log(nearness @ mixture.probabilities.T), np.float32)


def name_embeddings() -> FloatArray:
    """Return the names of `EXTRACTOR`'s classes, [K, 384] of length 1, by MiniLM; kept on disk.

    Raises WeightsError: MiniLM's weights are unavailable.
    """
    list_names = describe(vse_map.EXTRACTOR).class_names
    assert list_names is not None
    texts = ["there is a " + re.sub(r"\s*\([^)]*\)", "", name) for name in list_names()]  # without remarks
    provenance = {"weights_sha256": checkpoints.sha256_of("minilm"), "sentences": texts}
    return cached_rows("class_names", provenance, lambda: load_text_encoder("minilm").encode(texts))


def embed_queries(space: str, texts: Sequence[str], language: str = "auto") -> FloatArray:
    """Embed texts in a space, [M, D], each of length 1; in `vse`, texts in other languages by E5.

    Raises WeightsError, see `embed_video`.
    """
    described = describe_space(space)
    if not described.is_mapped:
        return described.encode_texts(texts)
    return languages.encode_in(texts, language, described.encode_texts)


def embed_words(space: str, texts: Sequence[str]) -> list[FloatArray]:
    """Return the tokens of texts, an [L, D] for each, rows of length 1; errors as `embed_queries`."""
    return load_text_encoder(describe_space(space).text_encoder).encode_words(texts)


def similarity(video: ClipEmbeddings, queries: FloatArray) -> FloatArray:
    """Return [M, T] how well each clip fits each query [M, D], by the last of the `similarity_curves`.

    A clip of a still picture has the median of the video at most, unless the video is mostly still pictures.
    """
    curves = similarity_curves(video, queries)[:, -1]
    if video.is_still is None or video.is_still.mean() > _MOSTLY_STILL:
        return curves
    usual = np.median(curves, axis=1, keepdims=True)
    return np.where(video.is_still, np.minimum(curves, usual), curves)


def similarity_curves(video: ClipEmbeddings, queries: FloatArray) -> FloatArray:
    """Return [M, C, T] how well each clip fits each query [M, D]: by each part of the space, last by all.

    The first part is the cosine; for `vse` the next are the likelihoods of objects and actions, whose weights
    grow with the cosine of the query and the nearest class name (`weight_line`). Every curve is
    standardised over the whole video to mean 0 and deviation 1; a flat curve is 0.
    """
    cosines = standardise(queries @ video.rows.T)
    parts, combined = [cosines], cosines
    for mixture in (video.objects, video.actions):
        if mixture is not None:
            parts.append(standardise(log_likelihood(mixture, queries)))
            combined = combined + parts[-1] * mixture_weights(mixture, queries)[:, None]
    return np.stack(parts if len(parts) == 1 else [*parts, standardise(combined)], axis=1)


def mixture_weights(mixture: ClassMixture, queries: FloatArray) -> FloatArray:
    """Return [M] the weight of a network's names for queries [M, D], by its line."""
    slope, offset = mixture.weight_line
    nearness = (queries @ mixture.names.T).max(axis=1)
    return np.asarray(np.maximum(0, slope * nearness + offset), np.float32)


def guided_rows(video: ClipEmbeddings, query: FloatArray) -> FloatArray:
    """Return [T, D + 1] for a query [Dq]: the rows of the space, then the guide: the query's curve.

    Standardised over the whole video, it shows each window whether the query is likelier elsewhere: our
    addition to MRNet's input (docs/algorithms/captions.md).
    """
    return np.concatenate([video.rows, guide_column(video, query)], axis=1)


def guide_column(video: ClipEmbeddings, query: FloatArray) -> FloatArray:
    """Return [T, 1] the guide of one query [Dq], see `guided_rows`; models are trained without actions."""
    curves = similarity_curves(replace(video, actions=None), query[None])
    return np.asarray(GUIDE_SCALE * curves[0, -1:].T)
