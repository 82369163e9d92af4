"""MiniLM, in PyTorch and in NumPy, against a plain BERT, head by head: random and published weights."""

import math

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from tests.conftest import real_weights
from vidsum import checkpoints
from vidsum.models.minilm import MiniLM, MiniLMConfig, from_published, load_minilm
from vidsum.models.minilm_numpy import NumpyMiniLM

Array = npt.NDArray[np.float64]
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
    """One text, without padding: Devlin et al. 2019, head by head, then the mean and length 1."""

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
    mean = x.mean(axis=0)
    unit: Array = mean / np.linalg.norm(mean)
    return unit


@pytest.fixture
def small() -> tuple[MiniLM, dict[str, Array]]:
    published = published_names(SMALL)
    model = MiniLM(SMALL).eval()
    model.load_state_dict(from_published(published))
    return model, {name: tensor.double().numpy() for name, tensor in published.items()}


TEXTS = [[1, 7, 49, 2], [1, 2], [1, *range(10, 20), 2]]


def padded(texts: list[list[int]]) -> tuple[Tensor, Tensor]:
    tokens, is_token = torch.full((3, 12), 33), torch.zeros(3, 12, dtype=torch.bool)
    for row, text in enumerate(texts):
        tokens[row, : len(text)] = torch.tensor(text)
        is_token[row, : len(text)] = True
    return tokens, is_token


def test_a_batch_with_padding_agrees_with_a_plain_bert_text_by_text(
    small: tuple[MiniLM, dict[str, Array]],
) -> None:
    model, weights = small
    tokens, is_token = padded(TEXTS)
    with torch.inference_mode():
        found = model(tokens, is_token).numpy()
    in_numpy = NumpyMiniLM({name: array.astype(np.float32) for name, array in weights.items()}, SMALL.heads)
    expected = np.stack([bert(weights, text, SMALL) for text in TEXTS])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(in_numpy(tokens.numpy(), is_token.numpy()), expected, atol=1e-5)


def test_the_tokens_are_the_same_in_numpy(small: tuple[MiniLM, dict[str, Array]]) -> None:
    model, weights = small
    tokens, is_token = padded(TEXTS)
    with torch.inference_mode():
        expected = model.read(tokens, is_token)[is_token].numpy()
    in_numpy = NumpyMiniLM({name: array.astype(np.float32) for name, array in weights.items()}, SMALL.heads)
    found = in_numpy.read(tokens.numpy(), is_token.numpy())[is_token.numpy()]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_every_published_tensor_is_used_but_the_pooler() -> None:
    published = published_names(SMALL)
    state = from_published(published)
    assert set(state) == set(MiniLM(SMALL).state_dict())
    assert (
        len(published) - len(state) == 4
    )  # token types (added to the places), position_ids, the pooler's two


def test_a_checkpoint_that_lacks_a_tensor_is_refused() -> None:
    published = published_names(SMALL)
    del published["encoder.layer.1.output.dense.bias"]
    with pytest.raises(RuntimeError, match=r"layers\.1\.narrow\.bias"):
        MiniLM(SMALL).load_state_dict(from_published(published))


@pytest.mark.weights
def test_the_published_weights_agree_with_a_plain_bert() -> None:
    real_weights("minilm")
    published = checkpoints.load_state_dict("minilm")
    tokens = [101, 1037, 2711, 18054, 2015, 1037, 6090, 17955, 102]  # [CLS] a person flips a pancake [SEP]
    plain = {name: tensor.double().numpy() for name, tensor in published.items()}
    with torch.inference_mode():
        found = load_minilm(published)(torch.tensor([tokens]), torch.ones(1, 9, dtype=torch.bool))[0].numpy()
    in_numpy = NumpyMiniLM(checkpoints.load_arrays("minilm"))(np.array([tokens]), np.ones((1, 9), np.bool_))[
        0
    ]
    np.testing.assert_allclose(found, bert(plain, tokens, MiniLMConfig()), atol=1e-5)
    np.testing.assert_allclose(in_numpy, found, atol=1e-5)
