"""Multilingual E5 (Wang et al. 2024): a BERT encoder of twelve layers, its tokens averaged.

The post-norm transformer of Devlin et al. 2019, in NumPy. Matrices come in blocks of 32 numbers of 4 bits
with one scale, and become fp32 when they are used: in fp32, the matrices of the layers would take 85 MB.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.models.scaling import softmax, unit_rows
from vidsum.types import FloatArray

Tokens = npt.NDArray[np.int64]
IsToken = npt.NDArray[np.bool_]
BLOCK = np.dtype([("scale", "<f2"), ("codes", "u1", 16)])
Blocks = npt.NDArray[np.void]
_EPSILON = np.float32(1e-12)


def unpack_blocks(blocks: Blocks) -> FloatArray:
    """Return [..., 32 n] fp32 of blocks [..., n]: codes of 4 bits less 8, times the block's scale."""
    codes = blocks["codes"]
    numbers = np.concatenate([codes & 15, codes >> 4], axis=-1).astype(np.float32) - 8
    numbers *= blocks["scale"][..., None]
    return np.asarray(numbers.reshape(*blocks.shape[:-1], -1))


@dataclass(frozen=True, eq=False)
class E5:
    """Tokens [B, L] to embeddings [B, d] of length 1."""

    pieces: Blocks  # [V, d / 32]
    weights: Mapping[str, Any]  # by the names of the published file: `emb.pos`, or `l0.q.w` in blocks
    layers: int = 12
    heads: int = 12

    def __call__(self, tokens: Sequence[Sequence[int]]) -> FloatArray:
        """Return [B, d] the mean over the tokens of each text, to length 1."""
        padded, is_token = pad(tokens)
        return unit_rows((self.read(padded, is_token) * is_token[:, :, None]).sum(axis=1))

    def read(self, tokens: Tokens, is_token: IsToken) -> FloatArray:
        """Return [B, L, d] output of the last layer; rows of padding mean nothing."""
        d = self.weights["emb.ln.w"].size
        places = self.weights["emb.pos"].reshape(-1, d)[: tokens.shape[1]]
        x = unpack_blocks(self.pieces[tokens]) + places + self.weights["emb.type"][:d]
        x = self._norm(x, "emb.ln")
        for number in range(self.layers):
            x = self._layer(x, is_token, f"l{number}")
        return x

    def _layer(self, x: FloatArray, is_token: IsToken, name: str) -> FloatArray:
        """Self-attention and a feed-forward network; a norm after each residual."""
        q, k, v = (self._per_head(x, f"{name}.{part}") for part in ("q", "k", "v"))
        logits = q @ k.swapaxes(2, 3) / np.float32(np.sqrt(q.shape[-1]))
        logits = np.where(is_token[:, None, None, :], logits, np.float32(-np.inf))
        attended = (softmax(logits) @ v).swapaxes(1, 2).reshape(x.shape)
        x = self._norm(x + self._linear(attended, f"{name}.ao"), f"{name}.aln")
        wide = gelu(self._linear(x, f"{name}.fi"))
        return self._norm(x + self._linear(wide, f"{name}.fo"), f"{name}.oln")

    def _per_head(self, x: FloatArray, name: str) -> FloatArray:
        """Return [B, heads, L, d / heads]"""
        rows = self._linear(x, name)
        return rows.reshape(*rows.shape[:2], self.heads, -1).swapaxes(1, 2)

    def _linear(self, x: FloatArray, name: str) -> FloatArray:
        # one product, where NumPy would take one per text
        rows: FloatArray = x.reshape(-1, x.shape[-1]) @ unpack_blocks(self.weights[f"{name}.w"]).T
        rows += self.weights[f"{name}.b"]
        return rows.reshape(*x.shape[:-1], -1)

    def _norm(self, x: FloatArray, name: str) -> FloatArray:
        centred = x - x.mean(axis=-1, keepdims=True)
        scale = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + _EPSILON)
        return np.asarray(centred / scale * self.weights[f"{name}.w"] + self.weights[f"{name}.b"])


def pad(rows: Sequence[Sequence[int]]) -> tuple[Tokens, IsToken]:
    """Return the tokens [B, L] of texts, and [B, L] bool, False for padding, which comes last."""
    tokens = np.zeros((len(rows), max(map(len, rows))), np.int64)
    is_token = np.zeros(tokens.shape, np.bool_)
    for number, row in enumerate(rows):
        tokens[number, : len(row)] = row
        is_token[number, : len(row)] = True
    return tokens, is_token


def gelu(x: FloatArray) -> FloatArray:
    """x P(a normal number is below x)."""
    from scipy.special import erf

    return np.asarray(x * (1 + erf(x * np.float32(np.sqrt(0.5)))) / 2, np.float32)
