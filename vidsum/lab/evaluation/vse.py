"""The evaluation of a visual-semantic embedding (`vidsum.models.vse`): retrieval on held-out pictures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.checkpoints.trained import Trained, read_trained
from vidsum.errors import InputError, UsageError, safe_name
from vidsum.features import describe, get_extractor
from vidsum.features.pictures import encode_views
from vidsum.grounding.conse import ClassMixture, class_probabilities, conse, name_embeddings
from vidsum.grounding.text import embed_cached, load_text_encoder
from vidsum.grounding.vse import EXTRACTOR
from vidsum.io.provenance import identify_file
from vidsum.lab.datasets.captioned_pictures import CaptionedPicture, read_captioned_pictures
from vidsum.lab.datasets.clip_captions import ENCODER
from vidsum.lab.evaluation.report import Measured, Report, Row, check_rows
from vidsum.lab.evaluation.settings import VSERequest, checkpoint_of
from vidsum.models.configs import VSEConfig
from vidsum.models.vse import VisualSemanticMap, build_map
from vidsum.types import FloatArray, Progress, TimeArray

Ranks = npt.NDArray[np.int64]

TOP: Final = (1, 5, 10)  # the K of R@K: the fraction of queries with a right answer among their K best
LENGTHS: Final = {"up to 7 words": (0, 7), "8 to 12 words": (8, 12), "over 12 words": (13, 10**9)}
"""Fewest and most words of the sentences of a group."""
_DRAWS = 1000
_ROWS = 1024  # queries that are ranked at a time


@dataclass(frozen=True)
class DirectionMeasures:
    """How well queries of one kind find their answers."""

    n_queries: int
    recall: Mapping[int, Measured]  # K -> R@K
    median_rank: Measured

    def as_json(self) -> dict[str, Any]:
        recall = [{"top": top, **share.as_json()} for top, share in self.recall.items()]
        return {"n_queries": self.n_queries, "recall": recall, "median_rank": self.median_rank.as_json()}


@dataclass(frozen=True)
class RetrievalMeasures:
    """A row: both directions, and the sentences of each length."""

    text_to_image: DirectionMeasures
    image_to_text: DirectionMeasures
    by_length: Mapping[str, DirectionMeasures | None]
    """Measures of sentences, by the names of `LENGTHS`; None where there are none."""

    def as_json(self) -> dict[str, Any]:
        return {
            "text_to_image": self.text_to_image.as_json(),
            "image_to_text": self.image_to_text.as_json(),
            "by_length": {
                name: retrieval and retrieval.as_json() for name, retrieval in self.by_length.items()
            },
        }

    def figures(self) -> dict[str, str]:
        return dict(self._figures())

    def _figures(self) -> Iterator[tuple[str, str]]:
        for name, retrieval in (("text to image", self.text_to_image), ("image to text", self.image_to_text)):
            yield from _recalls(name, retrieval)
            rank = retrieval.median_rank
            yield f"{name} median rank", f"{rank.value:g} [{rank.low:g}, {rank.high:g}]"
        for name, of_length in self.by_length.items():
            if of_length:
                yield from _recalls(name, of_length)


def _recalls(name: str, retrieval: DirectionMeasures) -> Iterator[tuple[str, str]]:
    for top, share in retrieval.recall.items():
        yield f"{name} R@{top}", share.text()


def text_ranks(pictures: FloatArray, sentences: FloatArray, picture_of: Ranks) -> Ranks:
    """Return [M] rank from 1 of its own picture, number `picture_of` [M], for each sentence.

    Of pictures [N, D] and sentences [M, D], whose products are the scores.
    """
    ranks = []
    for start in range(0, len(sentences), _ROWS):
        scores = sentences[start : start + _ROWS] @ pictures.T
        matches = scores[np.arange(len(scores)), picture_of[start : start + _ROWS]]
        ranks.append((scores >= matches[:, None]).sum(axis=1))
    return np.concatenate(ranks)


def picture_ranks(pictures: FloatArray, sentences: FloatArray, picture_of: Ranks) -> Ranks:
    """Return [N] rank of the best of its own sentences for each picture, from 1; see `text_ranks`."""
    ranks = []
    for start in range(0, len(pictures), _ROWS):
        scores = pictures[start : start + _ROWS] @ sentences.T
        is_own = picture_of == np.arange(start, start + len(scores))[:, None]
        best = np.where(is_own, scores, -np.inf).max(axis=1)
        ranks.append(1 + ((scores >= best[:, None]) & ~is_own).sum(axis=1))
    return np.concatenate(ranks)


def measure(text: Ranks, image: Ranks, picture_of: Ranks, words: npt.NDArray[np.int64]) -> RetrievalMeasures:
    """Return the measures of ranks [..., M] of `text_ranks` and [..., N] of `picture_ranks`, draws together.

    Each picture has a sentence; `picture_of` [M] is the picture of each, `words` [M] its number of words.
    """
    lengths = {name: (words >= low) & (words <= high) for name, (low, high) in LENGTHS.items()}
    return RetrievalMeasures(
        text_to_image=_measure_direction(text, picture_of),
        image_to_text=_measure_direction(image, np.arange(image.shape[-1])),
        by_length={
            name: _measure_direction(text[..., chosen], picture_of[chosen]) if chosen.any() else None
            for name, chosen in lengths.items()
        },
    )


def _measure_direction(ranks: Ranks, picture_of: Ranks) -> DirectionMeasures:
    """Measures of ranks [..., Q], the bootstrap drawing the pictures of the queries."""
    pictures, number = np.unique(picture_of, return_inverse=True)
    number = np.broadcast_to(number, ranks.shape).ravel()
    order = np.argsort(ranks, axis=None)
    ranks, number = ranks.ravel()[order], number[order]
    drawn = np.array([_measure_draw(ranks, number, len(pictures), seed) for seed in range(_DRAWS)])
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0).tolist()
    values = [*recall_at(ranks), float(np.median(ranks))]
    *recall, median = [Measured(*interval) for interval in zip(values, low, high, strict=True)]
    return DirectionMeasures(len(ranks), dict(zip(TOP, recall, strict=True)), median)


def _measure_draw(ranks: Ranks, number: Ranks, n_pictures: int, seed: int) -> TimeArray:
    """Return [4] R@1, R@5, R@10 and median of ascending ranks, each as often as its picture is drawn."""
    picks = np.random.default_rng(seed).integers(n_pictures, size=n_pictures)
    times = np.bincount(picks, minlength=n_pictures)[number]
    before = np.cumsum(times)
    hits = [before[last - 1] if (last := int(np.searchsorted(ranks, top, "right"))) else 0 for top in TOP]
    median = ranks[np.searchsorted(before, before[-1] / 2)]
    return np.array([*(np.array(hits) / before[-1]), median])


def recall_at(ranks: Ranks, tops: Sequence[int] = TOP) -> list[float]:
    """Return the fraction of ranks that are among the K best, for each K."""
    return [float((ranks <= top).mean()) for top in tops]


_BLOCK = 1024  # sentences whose embeddings are one file of the cache
CONSE, RANDOM = BASELINES = "conse", "random"


class PictureSentences(NamedTuple):
    """The M sentences of pictures."""

    texts: list[str]
    picture_of: Ranks  # [M] number of each sentence's picture; it does not fall


def sentences_of(pictures: Sequence[CaptionedPicture]) -> PictureSentences:
    texts = [text for picture in pictures for text in picture.sentences]
    return PictureSentences(
        texts, np.repeat(np.arange(len(pictures)), [len(picture.sentences) for picture in pictures])
    )


def embed_sentences(texts: Sequence[str], device: str, progress: Progress | None) -> FloatArray:
    """Return [M, E] of length 1, kept on disk a block at a time; errors as `load_text_encoder`."""

    def encode(part: Sequence[str]) -> FloatArray:
        return load_text_encoder(ENCODER, device).encode(part)

    blocks, sha256 = [], checkpoints.sha256_of(ENCODER)
    for start in range(0, len(texts), _BLOCK):
        blocks.append(embed_cached(texts[start : start + _BLOCK], encode, sha256))
        if progress:
            progress("sentences embedded", min(start + _BLOCK, len(texts)), len(texts))
    return np.concatenate(blocks)


def drop_unreadable(
    pictures: Sequence[CaptionedPicture], features: FloatArray, least: int = 1
) -> tuple[list[CaptionedPicture], FloatArray, list[str]]:
    """Return the readable pictures, features [V, N, D], and a warning. InputError: fewer than `least`."""
    read = [number for number in range(len(pictures)) if not np.isnan(features[:, number]).any()]
    if len(read) == len(pictures):
        return list(pictures), features, []
    wrong = safe_name(pictures[min(set(range(len(pictures))) - set(read))].file)
    if len(read) < least:
        raise InputError(f"only {len(read)} of {len(pictures)} pictures can be read, not {wrong}")
    lost = f"pictures that cannot be read and are left out: {len(pictures) - len(read)}, such as {wrong}"
    return [pictures[number] for number in read], features[:, read], [lost]


def read_map(path: Path) -> tuple[VisualSemanticMap, Trained]:
    """Return the map of a checkpoint. Raises InputError where the file is missing, or does not hold a map."""
    trained = read_trained(path)
    if trained.model != "vse":
        raise InputError(f"{path}: a checkpoint of {safe_name(trained.model)}, not of vse")
    try:
        return build_map(VSEConfig(**trained.config), trained.tensors), trained
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: its tensors and its configuration do not fit together") from error


def evaluate_vse(request: VSERequest, progress: Progress | None = None) -> Report[RetrievalMeasures]:
    """Measure retrieval between the pictures of a split and their sentences: the map, `conse` and `random`.

    Raises InputError: captions, pictures or the checkpoint cannot be read, or the features do not fit the
    map. UsageError: the split has no picture. WeightsError: weights are missing.
    """
    name, checkpoint = checkpoint_of(request.checkpoint)
    check_rows([name], BASELINES, request.seeds)
    map_of_pictures, trained = read_map(checkpoint)
    extractor = trained.features.get("extractor")
    if not isinstance(extractor, str):
        raise InputError(f"{checkpoint}: does not name its extractor")
    spec = describe(extractor)
    if spec.dim + spec.inner != map_of_pictures.config.dim_in:
        raise InputError(f"{checkpoint}: reads features of another size than those of {extractor}")
    pictures, warnings = read_captioned_pictures(request.captions, request.pictures)
    pictures = [picture for picture in pictures if picture.split == request.split]
    if not pictures:
        raise UsageError(f"{request.captions}: has no pictures of the split {request.split}", hint="--split")
    stills = [picture.still for picture in pictures]
    views = encode_views(stills, extractor, [0], device=request.device, progress=progress)
    pictures, (features,), unread = drop_unreadable(pictures, views)
    texts, picture_of = sentences_of(pictures)
    vectors = embed_sentences(texts, request.device, progress)
    words = np.array([len(text.split()) for text in texts])
    rows = {name: map_of_pictures(features)}
    if extractor == EXTRACTOR:
        probabilities = class_probabilities(get_extractor(spec, device=request.device).logits(features))
        rows[CONSE] = conse(ClassMixture(probabilities, name_embeddings(extractor, request.device)))
    measured = {
        row: measure(*_ranks(embedded, vectors, picture_of), picture_of, words)
        for row, embedded in rows.items()
    }
    measured[RANDOM] = _measure_chance(picture_of, words, request.seeds)
    trained_on = {data.get("sha256") for data in trained.training.get("data", ())}
    is_known = request.captions.is_file() and identify_file(request.captions)["sha256"] in trained_on
    if request.split != "test" and is_known:
        unread.append(f"{request.checkpoint}: was trained with the {request.split} part of these pictures")
    facts = {"split": request.split, "n_pictures": len(pictures), "n_sentences": len(texts)}
    return Report(
        "vse",
        tuple(Row(row, measures) for row, measures in measured.items()),
        {**facts, "extractor": extractor, "n_seeds": request.seeds},
        warnings=(*warnings, *unread),
        title=f"{len(texts)} sentences of {len(pictures)} pictures ({request.split}), per cent",
        note=f"in brackets 95 % of a bootstrap over pictures; random: {request.seeds} draws",
    )


def _ranks(pictures: FloatArray, sentences: FloatArray, picture_of: Ranks) -> tuple[Ranks, Ranks]:
    return text_ranks(pictures, sentences, picture_of), picture_ranks(pictures, sentences, picture_of)


def _measure_chance(picture_of: Ranks, words: Ranks, n_seeds: int) -> RetrievalMeasures:
    draws = []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        pictures, sentences = (
            rng.standard_normal((count, 16)).astype(np.float32)
            for count in (picture_of[-1] + 1, len(picture_of))
        )
        draws.append(_ranks(pictures, sentences, picture_of))
    text, image = (np.stack(ranks) for ranks in zip(*draws, strict=True))
    return measure(text, image, picture_of, words)
