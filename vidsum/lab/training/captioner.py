"""Training a captioner (`vidsum.models.captioner`) on features of pictures and their sentences.

    L = - sum_i log p(w_i | w_1 ... w_{i-1}, x),    labels smoothed

The result has 8 bits a weight. docs/algorithms/captioner.md has the reasons.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from vidsum.checkpoints.trained import Trained, read_trained, save_trained
from vidsum.device import choose_device
from vidsum.features import describe
from vidsum.lab.evaluation.caption_metrics import cider, tokenize
from vidsum.lab.training.loop import Recipe, first_weights, fit
from vidsum.lab.training.state import BEST, clear, make_folder, refuse_foreign
from vidsum.lab.training.summary_settings import CaptionerSettings, VSEData
from vidsum.lab.training.vse import (
    PictureResult,
    describe_training,
    feature_standard,
    lr_share,
    read_splits,
    standardise,
)
from vidsum.models.captioner import END, SPECIAL, UNKNOWN, build_captioner, number_words, split_words
from vidsum.models.configs import CaptionerConfig
from vidsum.models.vse import pack
from vidsum.types import FloatArray, Progress

_SMOOTHING, _LOST_WORDS = 0.1, 0.1
"""See `likelihood_loss`."""
_POOLED_BATCHES = 16
"""Batches of like length that are made at a time: little padding, and the order is still random."""
_MIN_PICTURES = 2
_BEAM_WIDTH = 3
_MAX_NORM = 1.0
FOLDER = "sentences"
"""Subfolder of a run: the network in 32 bits, its state and its log."""

IGNORED = -1
"""In place of the next word, where none is asked for."""

Numbers = npt.NDArray[np.int64]


class _Block(nn.Module):
    """A decoder layer: attention to what came before, then a feed-forward network."""

    def __init__(self, config: CaptionerConfig, dropout: float) -> None:
        super().__init__()
        d = config.d
        self.heads, self.rate = config.heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.mix = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, config.d_ff), nn.Linear(config.d_ff, d)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, L, d] of tokens [B, L, d], each of which sees those before."""
        q, k, v = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=2)
        )
        rate = self.rate if self.training else 0.0
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=rate)
        x = x + self.dropout(self.mix(attended.transpose(1, 2).flatten(2)))
        wide = functional.relu(self.up(self.norm2(x)))
        return torch.add(x, self.dropout(self.down(wide)))


class TrainedCaptioner(nn.Module):
    """The captioner in PyTorch; see `vidsum.models.captioner` for the names."""

    def __init__(self, config: CaptionerConfig, input_dropout: float, dropout: float) -> None:
        super().__init__()
        self.config = config
        self.words = nn.Embedding(len(config.words), config.d)
        self.places = nn.Parameter(0.02 * torch.randn(config.prefix + config.longest, config.d))
        self.prefix = nn.Linear(config.dim_in, config.prefix * config.d)
        self.blocks = nn.ModuleList(_Block(config, dropout) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.d)
        self.bias = nn.Parameter(torch.zeros(len(config.words)))
        self.input_dropout, self.dropout = nn.Dropout(input_dropout), nn.Dropout(dropout)
        nn.init.normal_(self.words.weight, std=config.d**-0.5)

    def forward(self, x: Tensor, words: Tensor) -> Tensor:
        """Return [B, L + 1, W] logits of each word [B, L] and of the next, of features [B, D]."""
        prefix = self.prefix(self.input_dropout(x)).view(len(x), self.config.prefix, -1)
        h = torch.cat([prefix, self.words(words) * math.sqrt(self.config.d)], dim=1)
        h = self.dropout(h + self.places[: h.shape[1]])
        for block in self.blocks:
            h = block(h)
        h = self.norm(h[:, self.config.prefix - 1 :])
        return functional.linear(self.dropout(h), self.words.weight, self.bias)


def likelihood_loss(
    model: TrainedCaptioner, x: Tensor, words: Tensor, smoothing: float, lost: float
) -> Tensor:
    """Return the mean of - log p(w_i | w_1 ... w_{i-1}, x) over the words [B, L] and ends of sentences.

    Of standardised features x [B, D]; words are `IGNORED` after a sentence's end, which is a word.
    `smoothing` is the label smoothing, `lost` the fraction of words that the network does not read, so that
    it relies on x.
    """
    read = words[:, :-1].clamp(min=END)
    read = read.masked_fill(torch.rand(read.shape, device=read.device) < lost, UNKNOWN)
    logits = model(x, read).float().flatten(0, 1)
    targets = words.masked_fill(words == UNKNOWN, IGNORED).flatten()
    return functional.cross_entropy(logits, targets, ignore_index=IGNORED, label_smoothing=smoothing)


class SentenceBatch(NamedTuple):
    """B sentences of a step."""

    view: Numbers
    """[B]"""
    picture: Numbers
    """[B]"""
    words: Tensor
    """[B, L] with their end, then `IGNORED`."""


@dataclass(frozen=True, eq=False)
class _Part:
    """The pictures of training or validation."""

    features: FloatArray
    """[V, N, D]"""
    sentences: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class _Judge:
    """CIDEr-D of what a captioner writes of the validation pictures, as they are."""

    part: _Part

    def __call__(self, config: CaptionerConfig, tensors: Mapping[str, npt.NDArray[Any]]) -> float:
        captions = build_captioner(config, tensors).write(self.part.features[0], _BEAM_WIDTH)
        said = [tokenize(ranked[0].text) for ranked in captions]
        people = [[tokenize(text) for text in texts] for texts in self.part.sentences]
        return float(cider(said, people).mean())


def train_captioner(
    data: VSEData,
    settings: CaptionerSettings,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> PictureResult:
    """Train a captioner in the folder `FOLDER` of `out`, and write it in 8 bits to `best.safetensors` there.

    An interrupted run is resumed. Raises InputError: captions or pictures cannot be read, or are too few.
    UsageError, WeightsError: see `encode_views`. OutputError, VidsumError: see `fit`.
    """
    make_folder(out)
    refuse_foreign(out)
    least = {"train": _MIN_PICTURES, "val": _MIN_PICTURES}
    read, warnings = read_splits(data, settings.views, least, settings.device, progress)
    dim = describe(data.extractor).dim
    train, validation = (
        _Part(seen[:, :, :dim], tuple(picture.sentences for picture in pictures)) for pictures, seen in read
    )
    words = vocabulary([text for texts in train.sentences for text in texts], settings.least)
    config = replace(settings.model, words=words, dim_in=dim)
    settings = replace(settings, model=config)
    sizes = [part.features.shape[1] for part in (train, validation)]
    content = _content_of(train, validation)
    about = describe_training("captioner", data, settings, sizes, content, validated_by="CIDEr-D")
    standard = feature_standard(train.features)
    train = replace(train, features=standardise(train.features, standard))
    if overwrite:
        clear(out)
    judge = _Judge(validation)
    recipe = _recipe(train, standard, judge, about, settings)
    fitted = fit(recipe, settings.loop, out / FOLDER, overwrite=overwrite, progress=progress)
    tensors = pack({**standard, **_arrays(read_trained(fitted.checkpoint).tensors)})
    score = judge(config, tensors)
    best = {"epoch": fitted.best.epoch, "cider": score}
    save_trained(
        out / BEST,
        replace(about, tensors=tensors, training={**about.training, **asdict(settings.loop), "best": best}),
    )
    n_validation = len(validation.sentences)
    return PictureResult(out / BEST, {"cider": score}, n_validation, fitted.up_to_date, tuple(warnings))


def vocabulary(sentences: Sequence[str], least: int) -> tuple[str, ...]:
    """Return `SPECIAL`, then the words that occur at least `least` times, in alphabetical order."""
    counts = Counter(word for sentence in sentences for word in split_words(sentence))
    return (*SPECIAL, *sorted(word for word, count in counts.items() if count >= least))


def _content_of(*parts: _Part) -> Iterator[bytes | memoryview]:
    for part in parts:
        yield np.ascontiguousarray(part.features).data
        yield repr(part.sentences).encode(errors="surrogateescape")


def _recipe(
    train: _Part, standard: dict[str, FloatArray], judge: _Judge, about: Trained, settings: CaptionerSettings
) -> Recipe[TrainedCaptioner, SentenceBatch]:
    """Return the training on people's sentences; the features are standardised."""
    device = choose_device(settings.device)
    views = torch.from_numpy(train.features).to(device)
    with first_weights(settings.loop.seed):
        model = TrainedCaptioner(settings.model, settings.input_dropout, settings.dropout).to(device)
    numbers = {word: number for number, word in enumerate(settings.model.words)}
    sentences = [
        [(*number_words(text, numbers)[: settings.model.longest], END) for text in texts]
        for texts in train.sentences
    ]

    def loss(model: TrainedCaptioner, batch: SentenceBatch) -> Tensor:
        x = views[batch.view, batch.picture]
        return likelihood_loss(model, x, batch.words.to(device), _SMOOTHING, _LOST_WORDS)

    return Recipe(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay),
        examples=lambda epoch: batches(sentences, len(views), settings, epoch),
        loss=loss,
        validate=lambda model: judge(settings.model, {**standard, **_arrays(model.state_dict())}),
        about=replace(about, model="captioner-sentences"),
        max_norm=_MAX_NORM,
        lr_share=lambda epochs: lr_share(epochs / settings.loop.epochs),
    )


def batches(
    sentences: Sequence[Sequence[tuple[int, ...]]], n_views: int, settings: CaptionerSettings, epoch: int
) -> dict[str, SentenceBatch]:
    """Return the steps of an epoch: each sentence once, with a random view, in steps of like length."""
    rng = np.random.default_rng([settings.loop.seed, epoch])
    pairs = [(picture, sentence) for picture, texts in enumerate(sentences) for sentence in texts]
    order = rng.permutation(len(pairs))
    steps: dict[str, SentenceBatch] = {}
    for pool in np.array_split(order, max(1, round(len(order) / settings.batch_size / _POOLED_BATCHES))):
        alike = sorted(pool.tolist(), key=lambda pair: len(pairs[pair][1]))
        for part in np.array_split(alike, max(1, round(len(alike) / settings.batch_size))):
            tokens = [torch.tensor(pairs[pair][1]) for pair in part.tolist()]
            words = pad_sequence(tokens, batch_first=True, padding_value=IGNORED)
            pictures = np.array([pairs[pair][0] for pair in part.tolist()])
            steps[f"step {len(steps) + 1}"] = SentenceBatch(
                rng.integers(n_views, size=len(part)), pictures, words
            )
    return steps


def _arrays(tensors: Mapping[str, Tensor]) -> dict[str, FloatArray]:
    """Return the tensors of `TrainedCaptioner` under the names of `vidsum.models.captioner.shapes_of`."""
    return {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
