"""MiniLM against a plain BERT, head by head: random and published weights."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from tests.conftest import real_weights
from vidsum import checkpoints
from vidsum.models.minilm import MiniLM

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MiniLMConfig:
    """Sizes, with those of all-MiniLM-L6-v2."""

    vocabulary: int = 30522
    positions: int = 512
    d: int = 384
    layers: int = 6
    heads: int = 12
    d_ff: int = 1536


SMALL = MiniLMConfig(vocabulary=50, positions=12, d=24, layers=2, heads=3, d_ff=40)


def published_names(config: MiniLMConfig) -> dict[str, Tensor]:
    """Random tensors under the names of the published checkpoint, those not used among them."""
    d, wide = config.d, config.d_ff
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (config.vocabulary, d),
        "embeddings.position_embeddings.weight": (config.positions, d),
        "embeddings.token_type_embeddings.weight": (2, d),
        "embeddings.LayerNorm.weight": (d,),
        "embeddings.LayerNorm.bias": (d,),
        "embeddings.position_ids": (1, config.positions),
        "pooler.dense.weight": (d, d),
        "pooler.dense.bias": (d,),
    }
    for number in range(config.layers):
        layer = f"encoder.layer.{number}"
        for part in ("attention.self.query", "attention.self.key", "attention.self.value"):
            shapes |= {f"{layer}.{part}.weight": (d, d), f"{layer}.{part}.bias": (d,)}
        for part, size in (
            ("attention.output.dense", (d, d)),
            ("intermediate.dense", (wide, d)),
            ("output.dense", (d, wide)),
        ):
            shapes |= {f"{layer}.{part}.weight": size, f"{layer}.{part}.bias": (size[0],)}
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{layer}.{part}.weight": (d,), f"{layer}.{part}.bias": (d,)}
    random = torch.Generator().manual_seed(0)
    return {name: torch.randn(*shape, generator=random) / 2 for name, shape in shapes.items()}


def bert(weights: dict[str, Array], tokens: list[int], config: MiniLMConfig) -> Array:
    """One text, without padding: Devlin et al. 2019, head by head, its tokens."""

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        out: Array = scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]
        return out

    def dense(x: Array, name: str) -> Array:
        out: Array = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
        return out

    x = weights["embeddings.word_embeddings.weight"][tokens]
    x = x + weights["embeddings.position_embeddings.weight"][: len(tokens)]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    size = config.d // config.heads
    for number in range(config.layers):
        layer = f"encoder.layer.{number}"
        query, key, value = (dense(x, f"{layer}.attention.self.{part}") for part in ("query", "key", "value"))
        heads = []
        for head in range(config.heads):
            own = slice(head * size, (head + 1) * size)
            scores = np.exp(query[:, own] @ key[:, own].T / math.sqrt(size))
            heads.append(scores / scores.sum(axis=1, keepdims=True) @ value[:, own])
        attended = dense(np.concatenate(heads, axis=1), f"{layer}.attention.output.dense")
        x = norm(x + attended, f"{layer}.attention.output.LayerNorm")
        wide = dense(x, f"{layer}.intermediate.dense")
        wide = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
        x = norm(x + dense(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return x


def unit_mean(x: Array) -> Array:
    mean = x.mean(axis=0)
    unit: Array = mean / np.linalg.norm(mean)
    return unit


@pytest.fixture
def weights() -> dict[str, Array]:
    return {name: tensor.double().numpy() for name, tensor in published_names(SMALL).items()}


def model_of(weights: dict[str, Array]) -> MiniLM:
    return MiniLM({name: array.astype(np.float32) for name, array in weights.items()}, SMALL.heads)


TEXTS = [[1, 7, 49, 2], [1, 2], [1, *range(10, 20), 2]]


def padded(texts: list[list[int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    tokens, is_token = np.full((3, 12), 33), np.zeros((3, 12), np.bool_)
    for row, text in enumerate(texts):
        tokens[row, : len(text)] = text
        is_token[row, : len(text)] = True
    return tokens, is_token


def test_batch_with_padding_agrees_with_a_plain_bert(weights: dict[str, Array]) -> None:
    expected = [bert(weights, text, SMALL) for text in TEXTS]
    model = model_of(weights)
    np.testing.assert_allclose(model(*padded(TEXTS)), list(map(unit_mean, expected)), atol=1e-5)
    for rows, tokens in zip(model.read(*padded(TEXTS)), expected, strict=True):
        np.testing.assert_allclose(rows[: len(tokens)], tokens, atol=1e-4)


def test_a_checkpoint_that_lacks_a_tensor_is_refused(weights: dict[str, Array]) -> None:
    del weights["encoder.layer.1.output.dense.bias"]
    with pytest.raises(KeyError, match=r"encoder\.layer\.1\.output\.dense\.bias"):
        model_of(weights)(*padded(TEXTS))


@pytest.mark.weights
def test_the_published_weights_agree_with_a_plain_bert() -> None:
    real_weights("minilm")
    arrays = checkpoints.load_arrays("minilm")
    tokens = [101, 1037, 2711, 18054, 2015, 1037, 6090, 17955, 102]  # [CLS] a person flips a pancake [SEP]
    plain = {name: array.astype(np.float64) for name, array in arrays.items()}
    (found,) = MiniLM(arrays)(np.array([tokens]), np.ones((1, 9), np.bool_))
    np.testing.assert_allclose(found, unit_mean(bert(plain, tokens, MiniLMConfig())), atol=1e-5)
