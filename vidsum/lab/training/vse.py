"""Training a visual-semantic embedding (`vidsum.models.vse`) on features of pictures and their sentences.

Each of several maps minimises CLIP's contrastive loss (Radford et al. 2021) over the pairs of a batch:

    L = (CE(S / t) + CE(S^T / t)) / 2,    S[i, j] = f(x_i) . y_j,    the right answer of row i being i

of a view x of each picture and a sentence y, sometimes shortened. The mean of the maps is one map again.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from vidsum import checkpoints
from vidsum.checkpoints.trained import Trained, read_trained, save_trained
from vidsum.device import choose_device
from vidsum.errors import InputError
from vidsum.features import describe, weights_sha256
from vidsum.features.pictures import encode_views
from vidsum.io.provenance import identify_file
from vidsum.lab.datasets.captioned_pictures import CaptionedPicture, read_captioned_pictures
from vidsum.lab.datasets.clip_captions import ENCODER
from vidsum.lab.evaluation.vse import (
    PictureSentences,
    Ranks,
    drop_unreadable,
    embed_sentences,
    recall_at,
    sentences_of,
    text_ranks,
)
from vidsum.lab.training.loop import Recipe, first_weights, fit, half_cosine
from vidsum.lab.training.sentences import shorten
from vidsum.lab.training.settings import plain_fields
from vidsum.lab.training.state import BEST, clear, make_folder, refuse_foreign
from vidsum.lab.training.summary_settings import VSEData, VSESettings
from vidsum.lab.training.vse_measured import FOLDS, cohort_classes, measure_map
from vidsum.models.configs import VSEConfig
from vidsum.models.vse import CLASSES, VisualSemanticMap, pack, signed_root, unpack
from vidsum.types import FloatArray, Progress

_MIN_SCALE = 1e-3  # added to the deviation of a feature, which may be 0
_WARM_UP = 0.1  # fraction of the epochs in which the learning rate rises
_FIRST_LR_SHARE = 0.04  # fraction of the learning rate that the first step has
_PHRASINGS = 2  # shortened forms of each sentence


class PairBatch(NamedTuple):
    """B pairs of a step, by numbers [B]."""

    view: Ranks
    picture: Ranks
    form: Ranks  # form of the sentence: 0 as it is, else shortened
    sentence: Ranks


@dataclass(frozen=True)
class PictureResult:
    checkpoint: Path
    validation: Mapping[str, float]
    """Measures on the validation pictures by name: R@1, R@5, R@10 from text to image."""
    n_validation: int
    up_to_date: bool  # whether there was nothing left to train
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Part:
    features: FloatArray  # [V, N, D]
    sentences: PictureSentences
    vectors: FloatArray  # [1 + P, M, E] of the sentences: as they are, then shortened


class TrainedMap(nn.Module):
    """One map; see `vidsum.models.vse` for the names."""

    def __init__(self, config: VSEConfig, input_dropout: float, dropout: float) -> None:
        super().__init__()
        self.input_dropout = nn.Dropout(input_dropout)
        self.hidden = nn.Linear(config.dim_in, config.hidden)
        self.output = nn.Linear(config.hidden, config.dim_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return [N, E] of length 1 of standardised features [N, D]."""
        hidden = functional.relu(self.hidden(self.input_dropout(x)))
        return functional.normalize(self.output(self.dropout(hidden)), dim=1)


def train_vse(
    data: VSEData,
    settings: VSESettings,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> PictureResult:
    """Train maps in folders of `out`, and write their mean to `best.safetensors` there.

    An interrupted run is resumed. Raises InputError: captions or pictures cannot be read, or are too few.
    UsageError, WeightsError: see `encode_views`. OutputError, VidsumError: see `fit`.
    """
    make_folder(out)
    refuse_foreign(out)
    read, warnings = read_splits(data, settings.views, {"train": 2, "val": FOLDS}, settings.device, progress)
    parts = []
    for pictures, features in read:
        sentences, rng = sentences_of(pictures), np.random.default_rng(settings.loop.seed)
        forms = [sentences.texts, *(shorten(sentences.texts, rng) for _ in range(_PHRASINGS))]
        vectors = np.stack([embed_sentences(texts, settings.device, progress) for texts in forms])
        parts.append(_Part(features, sentences, vectors))
    train, validation = parts
    config = replace(settings.model, dim_in=train.features.shape[2], dim_out=train.vectors.shape[2])
    about = _describe(data, replace(settings, model=config), parts)
    standard = feature_standard(train.features)
    views, held_out = (standardise(rows, standard) for rows in (train.features, validation.features.copy()))
    standardised = replace(train, features=views), replace(validation, features=held_out)
    if overwrite:
        for folder in (out, *out.glob("map_*")):
            clear(folder)
    fits = []
    for number in range(settings.maps):
        loop = replace(settings.loop, seed=settings.loop.seed + number)
        recipe = _recipe(*standardised, about, replace(settings, model=config, loop=loop))
        fits.append(fit(recipe, loop, out / f"map_{number}", progress=progress))
    mean_map = average_maps([read_trained(fitted.checkpoint) for fitted in fits], views[0])
    tensors = pack({**standard, **mean_map})
    config = replace(config, hidden=settings.maps * config.hidden)
    embedded = VisualSemanticMap(config, unpack(tensors))(validation.features[0])
    tensors |= pack(measure_map(embedded, validation.vectors[0], validation.sentences.picture_of))
    if len(classes := cohort_classes(validation.features[0], data.extractor, settings.device)):
        tensors[CLASSES] = classes
    recall = _recall(embedded, validation)
    best = {"epochs": [fitted.best.epoch for fitted in fits], "recall": recall}
    training = {**about.training, **asdict(settings.loop), "best": best}
    save_trained(out / BEST, Trained("vse", asdict(config), about.features, training, tensors))
    up_to_date = all(fitted.up_to_date for fitted in fits)
    measures = dict(zip(("r1", "r5", "r10"), recall, strict=True))
    return PictureResult(out / BEST, measures, len(embedded), up_to_date, tuple(warnings))


def read_splits(
    data: VSEData, n_views: int, least: Mapping[str, int], device: str, progress: Progress | None
) -> tuple[list[tuple[list[CaptionedPicture], FloatArray]], list[str]]:
    """Return the pictures of splits, their features [V, N, D], and warnings of those that cannot be read.

    `least` is the minimum number by split, else InputError. `train` has `n_views` views, others one.
    """
    pictures, warnings = read_captioned_pictures(data.captions, data.pictures)
    parts = []
    for split, fewest in least.items():
        of_split = [picture for picture in pictures if picture.split == split]
        if len(of_split) < fewest:
            fault = f"{data.captions}: has {len(of_split)} pictures of the split {split}, {fewest} are needed"
            raise InputError(fault, hint="more pictures, or a column split")
        views = range(n_views if split == "train" else 1)
        stills = [picture.still for picture in of_split]
        features = encode_views(stills, data.extractor, views, device=device, progress=progress)
        pictures_read, features, unread = drop_unreadable(of_split, features, fewest)
        parts.append((list(pictures_read), features))
        warnings += unread
    return parts, warnings


def _describe(data: VSEData, settings: VSESettings, parts: Sequence[_Part]) -> Trained:
    """Return the facts that checkpoints of a map record; a run with other facts is not resumed."""
    digest = hashlib.sha256()
    for part in parts:
        for array in (part.features, part.vectors, part.sentences.picture_of):
            digest.update(np.ascontiguousarray(array).data)
    n_pictures = [part.features.shape[1] for part in parts]
    is_file = data.captions.is_file()
    training = {
        "data": [{"name": data.captions.name, **identify_file(data.captions)}] if is_file else [],
        "pictures": dict(zip(("train", "val"), n_pictures, strict=True)),
        "content_sha256": digest.hexdigest(),
        "encoder": {"name": ENCODER, "sha256": checkpoints.sha256_of(ENCODER)},
        "validated_by": "mean of R@1, R@5 and R@10 from text to image",
        **plain_fields(settings),
        "device": choose_device(settings.device).type,
    }
    spec = describe(data.extractor)
    features = {"extractor": spec.name, "dim": settings.model.dim_in, "weights_sha256": weights_sha256(spec)}
    return Trained("vse-map", asdict(settings.model), features, training, {})


def _recipe(
    train: _Part, validation: _Part, about: Trained, settings: VSESettings
) -> Recipe[TrainedMap, PairBatch]:
    """Return the training of one map; the features are standardised."""
    device = choose_device(settings.device)
    views, vectors, validation_features = (
        torch.from_numpy(array).to(device)
        for array in (train.features, train.vectors, validation.features[0])
    )

    def loss(model: TrainedMap, batch: PairBatch) -> Tensor:
        pictures = model(views[batch.view, batch.picture])
        return contrastive_loss(pictures, vectors[batch.form, batch.sentence], settings.temperature)

    with first_weights(settings.loop.seed):
        model = TrainedMap(settings.model, settings.input_dropout, settings.dropout).to(device)
    return Recipe(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay),
        examples=lambda epoch: batches(train.sentences.picture_of, settings, epoch),
        loss=loss,
        validate=lambda model: float(np.mean(_recall(model(validation_features).cpu().numpy(), validation))),
        about=about,
        lr_share=lambda epochs: lr_share(epochs / settings.loop.epochs),
    )


def batches(picture_of: Ranks, settings: VSESettings, epoch: int) -> dict[str, PairBatch]:
    """Return the steps of an epoch: each picture once, with a random view and sentence."""
    rng = np.random.default_rng([settings.loop.seed, epoch])
    counts = np.bincount(picture_of)
    pictures = rng.permutation(len(counts))
    first = (np.cumsum(counts) - counts)[pictures]
    sentences = first + rng.integers(counts[pictures])
    views = rng.integers(settings.views, size=len(counts))
    forms = rng.integers(1, 1 + _PHRASINGS, size=len(counts))
    forms[rng.random(len(counts)) >= settings.phrases] = 0
    n_steps = max(1, len(counts) // settings.batch_size)
    parts = (np.array_split(array, n_steps) for array in (views, pictures, forms, sentences))
    return {f"step {number}": PairBatch(*arrays) for number, arrays in enumerate(zip(*parts, strict=True), 1)}


def contrastive_loss(pictures: Tensor, sentences: Tensor, temperature: float) -> Tensor:
    """Return the scalar L of pairs [N, E] and [N, E], rows of length 1."""
    scores = pictures @ sentences.T / temperature
    answers = torch.arange(len(scores), device=scores.device)
    return (functional.cross_entropy(scores, answers) + functional.cross_entropy(scores.T, answers)) / 2


def lr_share(done: float) -> float:
    """Fraction of the learning rate after a fraction of the training: up in a line, down in half a cosine."""
    if done < _WARM_UP:
        return _FIRST_LR_SHARE + (1 - _FIRST_LR_SHARE) * done / _WARM_UP
    return half_cosine((done - _WARM_UP) / (1 - _WARM_UP))


def feature_standard(features: FloatArray) -> dict[str, FloatArray]:
    """Return [D] `mean` and `scale` of the roots of features [V, N, D]."""
    moments = np.array([(view.mean(axis=0), view.var(axis=0)) for view in map(signed_root, features)])
    mean, variance = moments.mean(axis=0)
    return {"mean": mean, "scale": np.sqrt(variance) + np.float32(_MIN_SCALE)}


def standardise(features: FloatArray, standard: Mapping[str, FloatArray]) -> FloatArray:
    """Standardise the roots of features [V, N, D] in place, since they may fill the memory."""
    for view in features:
        view[:] = (signed_root(view) - standard["mean"]) / standard["scale"]
    return features


def average_maps(maps: Sequence[Trained], features: FloatArray) -> dict[str, FloatArray]:
    """Return the layers of the mean of several maps, their hidden layers side by side.

    Outputs are scaled to a mean length of 1 on standardised features [N, D].
    """
    layers: dict[str, list[FloatArray]] = {}
    for trained in maps:
        layers_of_map = {name: np.asarray(tensor) for name, tensor in trained.tensors.items()}
        hidden = np.maximum(features @ layers_of_map["hidden.weight"].T + layers_of_map["hidden.bias"], 0)
        outputs = hidden @ layers_of_map["output.weight"].T + layers_of_map["output.bias"]
        scale = 1 / np.linalg.norm(outputs, axis=1).mean() / len(maps)
        for name, tensor in layers_of_map.items():
            layers.setdefault(name, []).append(tensor * scale if name.startswith("output") else tensor)
    return {
        "hidden.weight": np.concatenate(layers["hidden.weight"]),
        "hidden.bias": np.concatenate(layers["hidden.bias"]),
        "output.weight": np.concatenate(layers["output.weight"], axis=1),
        "output.bias": np.sum(layers["output.bias"], axis=0),
    }


def _recall(embedded: FloatArray, part: _Part) -> list[float]:
    return recall_at(text_ranks(embedded, part.vectors[0], part.sentences.picture_of))
