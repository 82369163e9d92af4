"""The evaluation of a visual-semantic embedding (`vidsum.models.vse`): retrieval on held-out pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vidsum import checkpoints
from vidsum.checkpoints.trained import Trained, read_trained
from vidsum.datasets.captioned_pictures import CaptionedPicture, read_captioned_pictures
from vidsum.errors import InputError, UsageError
from vidsum.evaluation.report import Report, Row, check_rows
from vidsum.evaluation.retrieval_metrics import Ranks, RetrievalMeasures, measure, picture_ranks, text_ranks
from vidsum.evaluation.settings import VSERequest
from vidsum.evaluation.sources import checkpoint_of
from vidsum.features import describe, kept_extractor
from vidsum.features.pictures import features_of_views
from vidsum.grounding.conse import ClassMixture, class_probabilities, conse, name_embeddings
from vidsum.grounding.text import embed_once, load_text_encoder
from vidsum.grounding.vse import EXTRACTOR
from vidsum.models.configs import VSEConfig
from vidsum.models.vse import VisualSemanticMap, map_of
from vidsum.provenance import of_file
from vidsum.text_files import named
from vidsum.types import FloatArray, Progress

ENCODER = "minilm"
"""Whose sentences a map is trained on."""
_BLOCK = 1024
"""Sentences whose embeddings are one file of the cache."""
CONSE, RANDOM = BASELINES = "conse", "random"


class Sentences(NamedTuple):
    """The M sentences of pictures."""

    texts: list[str]
    picture_of: Ranks
    """[M] number of each sentence's picture; it does not fall."""


def sentences_of(pictures: Sequence[CaptionedPicture]) -> Sentences:
    """All sentences of pictures, in their order."""
    texts = [text for picture in pictures for text in picture.sentences]
    return Sentences(texts, np.repeat(np.arange(len(pictures)), [len(each.sentences) for each in pictures]))


def embed_sentences(texts: Sequence[str], device: str, progress: Progress | None) -> FloatArray:
    """[M, E] of length 1, kept on disk a block at a time; errors as `load_text_encoder`."""

    def encode(part: Sequence[str]) -> FloatArray:
        return load_text_encoder(ENCODER, device).encode(part)

    blocks, sha256 = [], checkpoints.sha256_of(ENCODER)
    for start in range(0, len(texts), _BLOCK):
        blocks.append(embed_once(texts[start : start + _BLOCK], encode, sha256))
        if progress:
            progress("sentences embedded", min(start + _BLOCK, len(texts)), len(texts))
    return np.concatenate(blocks)


def readable(
    pictures: Sequence[CaptionedPicture], features: FloatArray, least: int = 1
) -> tuple[list[CaptionedPicture], FloatArray, list[str]]:
    """Pictures and their features [V, N, D] without those that could not be read, and a warning of these.

    Raises InputError: fewer than `least` could be read.
    """
    read = [number for number in range(len(pictures)) if not np.isnan(features[:, number]).any()]
    if len(read) == len(pictures):
        return list(pictures), features, []
    wrong = named(pictures[min(set(range(len(pictures))) - set(read))].file)
    if len(read) < least:
        raise InputError(f"only {len(read)} of {len(pictures)} pictures can be read, not {wrong}")
    lost = f"pictures that cannot be read and are left out: {len(pictures) - len(read)}, such as {wrong}"
    return [pictures[number] for number in read], features[:, read], [lost]


def read_map(path: Path) -> tuple[VisualSemanticMap, Trained]:
    """The map of a checkpoint. Raises InputError where the file is missing, or does not hold a map."""
    trained = read_trained(path)
    if trained.model != "vse":
        raise InputError(f"{path}: a checkpoint of {named(trained.model)}, not of vse")
    try:
        return map_of(VSEConfig(**trained.config), trained.tensors), trained
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: its tensors and its configuration do not fit together") from error


def evaluate_vse(request: VSERequest, progress: Progress | None = None) -> Report[RetrievalMeasures]:
    """Retrieval between the pictures of a split and their sentences.

    Returns:
        Rows: the map, `conse` for the extractor that it knows, `random`.

    Raises:
        InputError: captions, pictures or the checkpoint cannot be read, or the features do not fit the map.
        UsageError: the split has no picture.
        WeightsError: weights are missing.
    """
    name, checkpoint = checkpoint_of(request.checkpoint)
    check_rows([name], BASELINES, request.seeds)
    map_of_pictures, trained = read_map(checkpoint)
    extractor = trained.features.get("extractor")
    if not isinstance(extractor, str):
        raise InputError(f"{checkpoint}: does not name its extractor")
    if describe(extractor).dim != map_of_pictures.config.dim_in:
        raise InputError(f"{checkpoint}: reads features of another size than those of {extractor}")
    pictures, warnings = read_captioned_pictures(request.captions, request.pictures)
    pictures = [picture for picture in pictures if picture.split == request.split]
    if not pictures:
        raise UsageError(f"{request.captions}: has no pictures of the split {request.split}", hint="--split")
    stills = [picture.still for picture in pictures]
    views = features_of_views(stills, extractor, [0], device=request.device, progress=progress)
    pictures, (features,), unread = readable(pictures, views)
    texts, picture_of = sentences_of(pictures)
    vectors = embed_sentences(texts, request.device, progress)
    words = np.array([len(text.split()) for text in texts])
    rows = {name: map_of_pictures(features)}
    if extractor == EXTRACTOR:
        rows[CONSE] = _by_class_names(features, extractor, request.device)
    measured = {
        row: measure(*_ranks(embedded, vectors, picture_of), picture_of, words)
        for row, embedded in rows.items()
    }
    measured[RANDOM] = _chance(picture_of, words, request.seeds)
    facts = {"split": request.split, "n_pictures": len(pictures), "n_sentences": len(texts)}
    return Report(
        "vse",
        tuple(Row(row, measures) for row, measures in measured.items()),
        {**facts, "extractor": extractor, "n_seeds": request.seeds},
        warnings=(*warnings, *unread, *_seen(request, trained)),
        title=f"{len(texts)} sentences of {len(pictures)} pictures ({request.split}), per cent",
        note=f"in brackets 95 % of a bootstrap over pictures; random: {request.seeds} draws",
    )


def _ranks(pictures: FloatArray, sentences: FloatArray, picture_of: Ranks) -> tuple[Ranks, Ranks]:
    return text_ranks(pictures, sentences, picture_of), picture_ranks(pictures, sentences, picture_of)


def _by_class_names(features: FloatArray, extractor: str, device: str) -> FloatArray:
    """[N, E] as ConSE has it."""
    logits = kept_extractor(describe(extractor), device=device).logits(features)
    return conse(ClassMixture(class_probabilities(logits), name_embeddings(extractor, device)))


def _chance(picture_of: Ranks, words: Ranks, n_seeds: int) -> RetrievalMeasures:
    """What vectors drawn at random would reach."""
    draws = []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        pictures, sentences = (
            rng.standard_normal((count, 16)).astype(np.float32)
            for count in (picture_of[-1] + 1, len(picture_of))
        )
        draws.append(_ranks(pictures, sentences, picture_of))
    text, image = (np.stack(each) for each in zip(*draws, strict=True))
    return measure(text, image, picture_of, words)


def _seen(request: VSERequest, trained: Trained) -> list[str]:
    """Whether the map was trained on, or chosen by, these pictures."""
    trained_on = {data.get("sha256") for data in trained.training.get("data", ())}
    is_known = request.captions.is_file() and of_file(request.captions)["sha256"] in trained_on
    if request.split == "test" or not is_known:
        return []
    return [f"{request.checkpoint}: was trained with the {request.split} part of these pictures"]
