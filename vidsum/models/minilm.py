"""MiniLM sentence embeddings: a BERT encoder of six layers, its tokens averaged (Wang et al. 2020).

The post-norm transformer of Devlin et al. 2019, with the pooling of all-MiniLM-L6-v2 (Reimers and Gurevych
2019): the mean over the tokens without padding, to length 1. In NumPy, from the published tensors under
their own names: a query takes milliseconds, and importing torch seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.models.scaling import softmax, unit_rows
from vidsum.types import FloatArray

Tokens = npt.NDArray[np.int64]
IsToken = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MiniLM:
    """Tokens [B, L] to embeddings [B, d] of length 1; the tensors give d, the layers and their sizes."""

    weights: Mapping[str, npt.NDArray[Any]]
    heads: int = 12

    def __call__(self, tokens: Tokens, is_token: IsToken) -> FloatArray:
        """Return [B, d] embeddings of length 1; `is_token` [B, L] is False for padding, which comes last."""
        return unit_rows((self.read(tokens, is_token) * is_token[:, :, None]).sum(axis=1))

    def read(self, tokens: Tokens, is_token: IsToken) -> FloatArray:
        """Return [B, L, d] output of the last layer; rows of padding mean nothing."""
        words, places, types = (
            self.weights[f"embeddings.{kind}_embeddings.weight"]
            for kind in ("word", "position", "token_type")
        )
        x = self._norm(words[tokens] + (places[: tokens.shape[1]] + types[0]), "embeddings.LayerNorm")
        number = 0
        while f"encoder.layer.{number}.output.dense.weight" in self.weights:
            x = self._layer(x, is_token, f"encoder.layer.{number}")
            number += 1
        return x

    def _layer(self, x: FloatArray, is_token: IsToken, name: str) -> FloatArray:
        """Self-attention and a feed-forward network; a norm after each residual."""
        q, k, v = (self._per_head(x, f"{name}.attention.self.{part}") for part in ("query", "key", "value"))
        logits = q @ k.swapaxes(2, 3) / np.float32(np.sqrt(q.shape[-1]))
        logits = np.where(is_token[:, None, None, :], logits, np.float32(-np.inf))
        attended = (softmax(logits) @ v).swapaxes(1, 2).reshape(x.shape)
        mixed = self._linear(attended, f"{name}.attention.output.dense")
        x = self._norm(x + mixed, f"{name}.attention.output.LayerNorm")
        wide = _gelu(self._linear(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._linear(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _per_head(self, x: FloatArray, name: str) -> FloatArray:
        """Return [B, heads, L, d / heads]"""
        rows = self._linear(x, name)
        return rows.reshape(*rows.shape[:2], self.heads, -1).swapaxes(1, 2)

    def _linear(self, x: FloatArray, name: str) -> FloatArray:
        kernel, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        # one product, where NumPy would take one per text
        rows: FloatArray = x.reshape(-1, x.shape[-1]) @ kernel.T
        rows += bias
        return rows.reshape(*x.shape[:-1], -1)

    def _norm(self, x: FloatArray, name: str) -> FloatArray:
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        return np.asarray(centred / scale * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"])


def _gelu(x: FloatArray) -> FloatArray:
    """x P(a normal number is below x), to 1e-6: the error function by Abramowitz and Stegun's 7.1.26."""
    z = np.abs(x) * np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series: FloatArray = np.zeros_like(x)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = np.asarray((series + np.float32(factor)) * t, np.float32)
    above = series * np.exp(-np.square(z)) / 2  # P(a normal number is above |x|)
    return np.asarray(x * np.where(x < 0, above, 1 - above))
