"""Train the map `vse` that ships, on collected pictures with sentences; a killed run resumes.

    python -m vidsum.weights.recipes.vse_pictures FOLDER
    python -m vidsum.weights.recipes.vse FOLDER weights/vse-efficientnet_lite0.safetensors

vse_data.py says which sentences FOLDER holds beside the pictures. Each of three maps minimises CLIP's
contrastive loss (Radford et al. 2021) over the pairs of a batch:

    L = (CE(S / t) + CE(S^T / t)) / 2,    S[i, j] = f(x_i) . y_j,    the right answer of row i being i

of a view x of each picture and a sentence y, sometimes shortened. The mean of the maps is one map again.
docs/algorithms/vse.md explains the rest.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from vidsum import checkpoints
from vidsum.checkpoints.trained import Trained, read_trained, save_trained
from vidsum.features import describe, get_extractor, weights_sha256
from vidsum.grounding.spaces import class_probabilities
from vidsum.grounding.text_encoders import embed_cached, load_text_encoder
from vidsum.grounding.vse_map import EXTRACTOR, NAME
from vidsum.lab.training.embedded_sentences import shorten
from vidsum.lab.training.loop import Recipe, first_weights, fit
from vidsum.lab.training.settings import LoopSettings
from vidsum.models.vse import CLASSES, UnpackedTensors, VisualSemanticMap, signed_root
from vidsum.types import FloatArray, TimeArray
from vidsum.weights.recipes.vse_data import CaptionedPicture, read_pictures
from vidsum.weights.recipes.vse_views import encode_views

HIDDEN, EPOCHS, BATCH = 1024, 40, 512
LR, WEIGHT_DECAY, TEMPERATURE = 1e-3, 0.01, 0.05
INPUT_DROPOUT, DROPOUT = 0.2, 0.5
PHRASES, PHRASINGS = 0.3, 2  # fraction of the sentences that are shortened, and shortened forms of each
WARM_UP, FIRST_LR = 0.1, 0.04  # fraction of the epochs in which the rate rises, and from which fraction of it
PENALTIES, FOLDS = (3.0, 10.0, 30.0, 100.0, 300.0), 5  # of the regression of pictures on sentences
COHORT = 256  # photographs whose classes are stored
EVERYTHING = ("flickr8k", "coco", "msrvtt", "msvd")

Numbers = npt.NDArray[np.int64]


class Run(NamedTuple):
    """A map: the sets of pictures that train it, the views of each picture, and the seed."""

    sets: tuple[str, ...]
    views: int
    seed: int


RUNS = (Run(("flickr8k",), 8, 0), Run(EVERYTHING, 4, 0), Run(EVERYTHING, 4, 1))


class PairBatch(NamedTuple):
    """B pairs of a step, by numbers [B]; `form` 0 is the sentence as it is."""

    view: Numbers
    picture: Numbers
    form: Numbers
    sentence: Numbers


@dataclass(frozen=True, eq=False)
class Part:
    """Pictures and sentences as numbers."""

    features: FloatArray  # [V, N, D]
    vectors: FloatArray  # [F, M, E] of the sentences: as they are, then shortened
    picture_of: Numbers  # [M] number of each sentence's picture; it does not fall


class TrainedMap(nn.Module):
    """One map; see `vidsum.models.vse` for the names."""

    def __init__(self, dim_in: int, dim_out: int) -> None:
        super().__init__()
        self.input_dropout, self.dropout = nn.Dropout(INPUT_DROPOUT), nn.Dropout(DROPOUT)
        self.hidden, self.output = nn.Linear(dim_in, HIDDEN), nn.Linear(HIDDEN, dim_out)

    def forward(self, x: Tensor) -> Tensor:
        """Return [N, E] of length 1 of standardised features [N, D]."""
        hidden = functional.relu(self.hidden(self.input_dropout(x)))
        return functional.normalize(self.output(self.dropout(hidden)), dim=1)


def load_part(pictures: Sequence[CaptionedPicture], n_views: int, seed: int) -> Part:
    """Return the features of pictures and the vectors of their sentences."""
    texts = [text for picture in pictures for text in picture.sentences]
    counts = [len(picture.sentences) for picture in pictures]
    rng, encode = np.random.default_rng(seed), load_text_encoder("minilm").encode
    forms = [texts, *(shorten(texts, rng) for _ in range(PHRASINGS))]
    vectors = np.stack([embed_cached(form, encode, checkpoints.sha256_of("minilm")) for form in forms])
    features = encode_views([picture.path for picture in pictures], n_views)
    return Part(features, vectors, np.repeat(np.arange(len(pictures)), counts))


def train_map(train: Part, validation: Part, standard: Mapping[str, FloatArray], run: Run, out: Path) -> Path:
    """Train a map in the folder `out`, and return its checkpoint."""
    x, y = (torch.from_numpy(array) for array in (standardise(train.features, standard), train.vectors))
    held_out = torch.from_numpy(standardise(validation.features[:1], standard)[0])
    with first_weights(run.seed):
        model = TrainedMap(x.shape[2], y.shape[2])

    def loss(model: TrainedMap, batch: PairBatch) -> Tensor:
        return contrastive_loss(model(x[batch.view, batch.picture]), y[batch.form, batch.sentence])

    facts = {"sets": list(run.sets), "views": run.views, "pictures": x.shape[1], "sentences": y.shape[1]}
    settings = LoopSettings(epochs=EPOCHS, seed=run.seed)
    recipe = Recipe(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=WEIGHT_DECAY),
        examples=lambda epoch: batches(train.picture_of, run, epoch),
        loss=loss,
        validate=lambda model: float(np.mean(recall(model(held_out).numpy(), validation))),
        about=Trained("vse-map", {"hidden": HIDDEN}, {"extractor": EXTRACTOR}, facts, {}),
        lr_share=lambda epochs: lr_share(epochs / EPOCHS),
    )
    return fit(recipe, settings, out).checkpoint


def batches(picture_of: Numbers, run: Run, epoch: int) -> dict[str, Callable[[], PairBatch]]:
    """Return the steps of an epoch: each picture once, with a random view and sentence."""
    rng = np.random.default_rng([run.seed, epoch])
    counts = np.bincount(picture_of)
    pictures = rng.permutation(len(counts))
    sentences = (np.cumsum(counts) - counts)[pictures] + rng.integers(counts[pictures])
    views = rng.integers(run.views, size=len(counts))
    forms = rng.integers(1, 1 + PHRASINGS, size=len(counts))
    forms[rng.random(len(counts)) >= PHRASES] = 0
    n_steps = max(1, len(counts) // BATCH)
    parts = (np.array_split(array, n_steps) for array in (views, pictures, forms, sentences))
    return {
        f"step {number}": partial(PairBatch, *arrays)
        for number, arrays in enumerate(zip(*parts, strict=True), 1)
    }


def contrastive_loss(pictures: Tensor, sentences: Tensor) -> Tensor:
    """Return the scalar L of pairs [N, E] and [N, E], rows of length 1."""
    scores = pictures @ sentences.T / TEMPERATURE
    answers = torch.arange(len(scores), device=scores.device)
    return (functional.cross_entropy(scores, answers) + functional.cross_entropy(scores.T, answers)) / 2


def lr_share(done: float) -> float:
    """Return the fraction of the learning rate after a part of the training: a line, then half a cosine."""
    if done < WARM_UP:
        return FIRST_LR + (1 - FIRST_LR) * done / WARM_UP
    return float((1 + np.cos(np.pi * (done - WARM_UP) / (1 - WARM_UP))) / 2)


def recall(pictures: FloatArray, part: Part) -> list[float]:
    """Return R@1, R@5 and R@10 of sentences, whose right answer is their picture."""
    scores = part.vectors[0] @ pictures.T
    right = scores[np.arange(len(scores)), part.picture_of]
    ranks = (scores >= right[:, None]).sum(axis=1)
    return [float((ranks <= top).mean()) for top in (1, 5, 10)]


def feature_standard(features: FloatArray) -> dict[str, FloatArray]:
    """Return [D] `mean` and `scale` of the roots of features [V, N, D]."""
    moments = np.array([(view.mean(axis=0), view.var(axis=0)) for view in map(signed_root, features)])
    mean, variance = moments.mean(axis=0)
    return {"mean": mean, "scale": np.sqrt(variance) + np.float32(1e-3)}


def standardise(features: FloatArray, standard: Mapping[str, FloatArray]) -> FloatArray:
    """Return the standardised roots of features [V, N, D]."""
    return np.asarray((signed_root(features) - standard["mean"]) / standard["scale"], np.float32)


def mean_of_maps(
    maps: Sequence[Mapping[str, FloatArray]],
    standards: Sequence[Mapping[str, FloatArray]],
    sample: FloatArray,
) -> dict[str, FloatArray]:
    """Return the layers of the mean of maps, side by side, for features that the last standard standardises.

    The outputs of each have a mean length of 1 / number of maps on features [N, D].
    """
    common, parts = standards[-1], list[dict[str, FloatArray]]()
    for layers, own in zip(maps, standards, strict=True):
        x = standardise(sample[None], own)[0]
        hidden = np.maximum(x @ layers["hidden.weight"].T + layers["hidden.bias"], 0)
        outputs = hidden @ layers["output.weight"].T + layers["output.bias"]
        gain = 1 / np.linalg.norm(outputs, axis=1).mean() / len(maps)
        shift = layers["hidden.weight"] @ ((common["mean"] - own["mean"]) / own["scale"])
        parts.append({
            "hidden.weight": layers["hidden.weight"] * (common["scale"] / own["scale"]),
            "hidden.bias": layers["hidden.bias"] + shift,
            "output.weight": layers["output.weight"] * gain,
            "output.bias": layers["output.bias"] * gain,
        })  # fmt: skip
    return {
        **common,
        "hidden.weight": np.concatenate([part["hidden.weight"] for part in parts]),
        "hidden.bias": np.concatenate([part["hidden.bias"] for part in parts]),
        "output.weight": np.concatenate([part["output.weight"] for part in parts], axis=1),
        "output.bias": np.sum([part["output.bias"] for part in parts], axis=0),
    }


def measure_map(pictures: FloatArray, sentences: FloatArray, picture_of: Numbers) -> dict[str, FloatArray]:
    """Return the tensors of the map other than its layers, from held-out pictures [N, E], sentences [M, E].

    `answer`: ridge regression of pictures on sentences; `noise`: a factor of the covariance of its residuals
    in folds; `cohort`: mean, and a factor of the covariance, of the pictures.
    """
    x, y = sentences.astype(np.float64), pictures[picture_of].astype(np.float64)
    tried = []
    for penalty in PENALTIES:
        residuals = np.empty_like(y)
        for fold in range(FOLDS):
            is_out = picture_of % FOLDS == fold
            weight, bias = _regression(x[~is_out], y[~is_out], penalty)
            residuals[is_out] = y[is_out] - x[is_out] @ weight.T - bias
        tried.append((float((residuals**2).sum()), penalty, residuals))
    _, penalty, residuals = min(tried, key=lambda trial: trial[0])
    weight, bias = _regression(x, y, penalty)
    cohort = pictures.mean(axis=0)
    tensors = {
        "answer.weight": weight,
        "answer.bias": bias,
        "noise.weight": _factor(residuals),
        "cohort.weight": _factor((pictures - cohort).astype(np.float64)),
        "cohort.mean": cohort,
    }
    return {name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()}


def _regression(x: TimeArray, y: TimeArray, penalty: float) -> tuple[TimeArray, TimeArray]:
    """Return W [E, E] and b [E] that minimise the sum of |y - W x - b|^2 + penalty |W - g I|^2."""
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    centred, answers = x - mean_x, y - mean_y
    gain = float((centred * answers).sum() / (centred**2).sum())
    products = centred.T @ centred + penalty * np.eye(x.shape[1])
    weight = gain * np.eye(x.shape[1]) + np.linalg.solve(products, centred.T @ (answers - gain * centred)).T
    return weight, mean_y - weight @ mean_x


def _factor(rows: TimeArray) -> TimeArray:
    """Return [E, E] whose product with its transpose is the mean of the squares of rows [N, E]."""
    variances, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    return np.asarray(axes * np.sqrt(np.maximum(variances, 0)))


def pack(tensors: Mapping[str, FloatArray]) -> dict[str, npt.NDArray[Any]]:
    """Return tensors whose matrices are in 8 bits, with a scale for each row, `NAME.steps`."""
    small: dict[str, npt.NDArray[Any]] = dict(tensors)
    for name, tensor in tensors.items():
        if tensor.ndim == 2:
            steps = np.maximum(np.abs(tensor).max(axis=1), np.float32(1e-12)) / 127
            small[name] = np.round(tensor / steps[:, None]).astype(np.int8)
            small[f"{name}.steps"] = np.asarray(steps, np.float32)
    return small


def make_map(folder: Path, target: Path, runs: Sequence[Run] = RUNS) -> None:
    """Train the maps of runs in `folder`, and write their mean."""
    validation_pictures = [p for p in read_pictures(folder, ("flickr8k",)) if p.split == "val"]
    validation = load_part(validation_pictures, 1, seed=0)
    maps, standards, made_of = list[dict[str, FloatArray]](), list[dict[str, FloatArray]](), []
    for run in runs:
        pictures = [picture for picture in read_pictures(folder, run.sets) if picture.split == "train"]
        train = load_part(pictures, run.views, run.seed)
        standards.append(feature_standard(train.features))
        name = f"{'_'.join(run.sets)}_{run.seed}"
        trained = read_trained(train_map(train, validation, standards[-1], run, folder / "runs" / name))
        maps.append({key: tensor.numpy() for key, tensor in trained.tensors.items()})
        made_of.append(dict(trained.training))
    tensors = pack(mean_of_maps(maps, standards, train.features[0]))
    embedded = VisualSemanticMap(UnpackedTensors(tensors))(validation.features[0])
    tensors |= pack(measure_map(embedded, validation.vectors[0], validation.picture_of))
    logits = get_extractor(describe(EXTRACTOR)).logits(validation.features[0][:COHORT])
    tensors[CLASSES] = np.round(np.sqrt(class_probabilities(logits)) * 255).astype(np.uint8)
    dim_in, dim_out = validation.features.shape[2], validation.vectors.shape[2]
    config = {"dim_in": dim_in, "hidden": HIDDEN * len(maps), "dim_out": dim_out}
    features = {"extractor": EXTRACTOR, "dim": dim_in, "weights_sha256": weights_sha256(describe(EXTRACTOR))}
    save_trained(target, Trained(NAME, config, features, {"mean_of": made_of}, tensors))


if __name__ == "__main__":
    make_map(Path(sys.argv[1]), Path(sys.argv[2]))
