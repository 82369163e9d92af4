"""Training a captioner (`vidsum.models.captioner`) on features of pictures and their sentences.

Each sentence is to be likely, word by word:

    L = - sum_i log p(w_i | w_1 ... w_{i-1}, x),    labels smoothed

What is written has 8 bits a weight. docs/algorithms/captioner.md has the reasons.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from vidsum.checkpoints.trained import Trained, read_trained, save_trained
from vidsum.device import choose_device
from vidsum.features import describe
from vidsum.lab.evaluation.caption_metrics import cider, tokenize
from vidsum.lab.training.captioner_model import IGNORED, TrainedCaptioner, likelihood_loss
from vidsum.lab.training.loop import Recipe, first_weights, fit
from vidsum.lab.training.state import BEST, clear, make_folder, refuse_foreign
from vidsum.lab.training.summary_settings import CaptionerSettings, VSEData
from vidsum.lab.training.vse import lr_share, read_splits, recorded, standard_of, standardise
from vidsum.models.captioner import END, SPECIAL, captioner_of, tokens_of, words_of
from vidsum.models.configs import CaptionerConfig
from vidsum.models.vse import packed
from vidsum.types import FloatArray, Progress

_SMOOTHING, _LOST = 0.1, 0.1
"""See `vidsum.lab.training.captioner_model.likelihood_loss`."""
_ALIKE = 16
"""Batches of like length that are made at a time: little padding, and the order is still random."""
_LEAST = 2
"""Minimum number of pictures of a part."""
_WIDTH = 3
"""Of the beam search that validates."""
_LARGEST_NORM = 1.0
"""Of a step's gradient."""
FOLDER = "sentences"
"""Of a run: the network in 32 bits, its state and its log."""

Numbers = npt.NDArray[np.int64]


class Batch(NamedTuple):
    """B sentences of a step."""

    view: Numbers
    """[B]"""
    picture: Numbers
    """[B]"""
    words: Tensor
    """[B, L] with their end, then `IGNORED`."""


@dataclass(frozen=True)
class CaptionerResult:
    """A trained captioner."""

    checkpoint: Path
    cider: float
    """CIDEr-D of the validation pictures, by beam search of the width that is used."""
    n_validation: int
    up_to_date: bool
    """Whether there was nothing left to train."""
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Part:
    """The pictures of training or validation."""

    features: FloatArray
    """[V, N, D]"""
    sentences: tuple[tuple[str, ...], ...]
    """Of each picture."""


@dataclass(frozen=True, eq=False)
class _Judge:
    """CIDEr-D of what a captioner writes of the validation pictures, as they are."""

    part: _Part

    def __call__(self, config: CaptionerConfig, tensors: Mapping[str, npt.NDArray[Any]]) -> float:
        found = captioner_of(config, tensors).write(self.part.features[0], _WIDTH)
        said = [tokenize(each[0].text) for each in found]
        people = [[tokenize(text) for text in own] for own in self.part.sentences]
        return float(cider(said, people).mean())


def train_captioner(
    data: VSEData,
    settings: CaptionerSettings,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> CaptionerResult:
    """Train a captioner in the folder `FOLDER` of `out`, and write it in 8 bits to `best.safetensors` there.

    A run that is killed goes on: features are kept on disk, and the network after each epoch. Pictures to
    test on are not read. Raises InputError: captions or pictures cannot be read, or there are too few of
    them. UsageError, WeightsError: see `vidsum.features.pictures.encode_views`. OutputError,
    VidsumError: see `vidsum.lab.training.loop.fit`.
    """
    make_folder(out)
    refuse_foreign(out)
    least = {"train": _LEAST, "val": _LEAST}
    read, warnings = read_splits(data, settings.views, least, settings.device, progress)
    dim = describe(data.extractor).dim
    train, validation = (
        _Part(seen[:, :, :dim], tuple(each.sentences for each in kept)) for kept, seen in read
    )
    words = vocabulary([text for own in train.sentences for text in own], settings.least)
    config = replace(settings.model, words=words, dim_in=dim)
    settings = replace(settings, model=config)
    about = _about(data, settings, (train, validation))
    standard = standard_of(train.features)
    train = replace(train, features=standardise(train.features, standard))
    if overwrite:
        clear(out)
    judge = _Judge(validation)
    recipe = _recipe(train, standard, judge, about, settings)
    fitted = fit(recipe, settings.loop, out / FOLDER, overwrite=overwrite, progress=progress)
    tensors = packed({**standard, **_arrays(read_trained(fitted.checkpoint).tensors)})
    score = judge(config, tensors)
    best = {"epoch": fitted.best.epoch, "cider": score}
    save_trained(
        out / BEST,
        replace(about, tensors=tensors, training={**about.training, **asdict(settings.loop), "best": best}),
    )
    return CaptionerResult(out / BEST, score, len(validation.sentences), fitted.up_to_date, tuple(warnings))


def vocabulary(sentences: Sequence[str], least: int) -> tuple[str, ...]:
    """Return the words that occur at least so often, after `SPECIAL`; in the order of the alphabet."""
    counts = Counter(word for sentence in sentences for word in words_of(sentence))
    return (*SPECIAL, *sorted(word for word, count in counts.items() if count >= least))


def _about(data: VSEData, settings: CaptionerSettings, parts: Sequence[_Part]) -> Trained:
    def content() -> Iterator[bytes | memoryview]:
        for part in parts:
            yield np.ascontiguousarray(part.features).data
            yield repr(part.sentences).encode(errors="surrogateescape")

    n_pictures = [part.features.shape[1] for part in parts]
    return recorded("captioner", data, settings, n_pictures, content(), validated_by="CIDEr-D")


def _recipe(
    train: _Part,
    standard: Mapping[str, FloatArray],
    judge: _Judge,
    about: Trained,
    settings: CaptionerSettings,
) -> Recipe[TrainedCaptioner, Batch]:
    """Return the training on people's sentences; the features are standardised."""
    device = choose_device(settings.device)
    views = torch.from_numpy(train.features).to(device)
    with first_weights(settings.loop.seed):
        model = TrainedCaptioner(settings.model, settings.input_dropout, settings.dropout).to(device)
    numbers = {word: number for number, word in enumerate(settings.model.words)}
    sentences = [[encoded(text, numbers, settings.model) for text in own] for own in train.sentences]

    def loss(model: TrainedCaptioner, batch: Batch) -> Tensor:
        x = views[batch.view, batch.picture]
        return likelihood_loss(model, x, batch.words.to(device), _SMOOTHING, _LOST)

    return Recipe(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay),
        examples=lambda epoch: batches(sentences, len(views), settings, epoch),
        loss=loss,
        validate=lambda model: judge(settings.model, {**standard, **_arrays(model.state_dict())}),
        about=replace(about, model="captioner-sentences"),
        max_norm=_LARGEST_NORM,
        lr_share=lambda epochs: lr_share(epochs / settings.loop.epochs),
    )


def encoded(text: str, numbers: Mapping[str, int], config: CaptionerConfig) -> tuple[int, ...]:
    """Return the tokens of a sentence, with its end."""
    return (*tokens_of(text, numbers)[: config.longest], END)


def batches(
    sentences: Sequence[Sequence[tuple[int, ...]]], n_views: int, settings: CaptionerSettings, epoch: int
) -> dict[str, Batch]:
    """Return the steps of an epoch: each sentence once, with a view of its picture drawn for it.

    Sentences of a step are of like length.
    """
    rng = np.random.default_rng([settings.loop.seed, epoch])
    pairs = [(picture, sentence) for picture, own in enumerate(sentences) for sentence in own]
    order = rng.permutation(len(pairs))
    steps: dict[str, Batch] = {}
    for pool in np.array_split(order, max(1, round(len(order) / settings.batch_size / _ALIKE))):
        alike = sorted(pool.tolist(), key=lambda pair: len(pairs[pair][1]))
        for part in np.array_split(alike, max(1, round(len(alike) / settings.batch_size))):
            own = [torch.tensor(pairs[pair][1]) for pair in part.tolist()]
            words = pad_sequence(own, batch_first=True, padding_value=IGNORED)
            pictures = np.array([pairs[pair][0] for pair in part.tolist()])
            steps[f"step {len(steps) + 1}"] = Batch(rng.integers(n_views, size=len(part)), pictures, words)
    return steps


def _arrays(tensors: Mapping[str, Tensor]) -> dict[str, FloatArray]:
    """Return the tensors of `TrainedCaptioner` under the names of `vidsum.models.captioner.shapes_of`."""
    return {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
