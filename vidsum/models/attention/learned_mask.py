"""Learned masks: how much each token attends to each other one, predicted from the tokens or learned for all.

LAM (Barrios et al., "Multi-layer Learnable Attention Mask for Multimodal Tasks") and STAMP ("Soft Token
Attention Masking Process") predict; the sparse mask of SwinBERT (Lin et al. 2022), with which both papers
compare, and of MRNet's Eq. 5 is one for all videos. docs/algorithms/learned-masks.md lists where the papers
are silent, what was chosen, what it costs, and how another model uses it.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout as drop
from torch.nn.functional import pad, relu, scaled_dot_product_attention

from vidsum.models.configs import Bound, Fusion, MaskConfig

_OPEN_LOGIT = 6.0  # logit of a bounded mask that starts neutral: 0.9975, which still has a gradient
_HIDDEN_LOGIT = 10000.0  # subtracted from a logit where `hide` has M = 0, as in SwinBERT and BERT


class SoftMask(NamedTuple):
    """M [B, N, N_k] of a batch as factors, M = rows columns^T + bias, of which sparse attention takes a part.

    With a bound, M is the sigmoid of that. There are N rows for the tokens that attend and N_k for the keys.
    N is N_k where tokens attend to themselves; it differs in cross-attention, and is larger in MRNet, whose
    queries attend to the clips too. A mask that is the same for all videos has B = 1, columns that are the
    same have none; users of a mask expand both (`of_videos`).
    """

    rows: Tensor  # [B or 1, N, H], the input of the last linear layer
    columns: Tensor  # [N_k, H], the weights of that layer; or [B, N_k, H]
    bias: Tensor  # [N_k]; or [B, N_k]
    fusion: Fusion
    bound: Bound = "none"

    def of_videos(self, n_videos: int) -> "SoftMask":
        """Return the same mask with factors for each of B videos: [B, N, H], [B, N_k, H] and [B, N_k]."""
        rows, columns, bias = (
            part.expand(n_videos, *part.shape[-n_axes:])
            for part, n_axes in ((self.rows, 2), (self.columns, 2), (self.bias, 1))
        )
        return self._replace(rows=rows, columns=columns, bias=bias)

    def dense(self) -> Tensor:
        """Return M itself, [B or 1, N, N_k]."""
        mask = self.rows @ self.columns.mT + self.bias[..., None, :]
        return mask.sigmoid() if self.bound == "sigmoid" else mask

    def fuse(self, logits: Tensor) -> Tensor:
        """Return [B, h, N, N_k]: scaled logits with one mask for all heads, the diamond of STAMP Eq. 5."""
        return logits * self.dense()[:, None] if self.fusion == "product" else logits + self.added()[:, None]

    def added(self) -> Tensor:
        """Return the bias of the logits [B or 1, N, N_k], where M does not multiply them."""
        mask = self.dense()
        return (mask - 1) * _HIDDEN_LOGIT if self.fusion == "hide" else mask


class Mask(nn.Module):
    """A mask of one attention, or of all layers that share it; `MASKS` has the class of each kind."""

    def __init__(self, config: MaskConfig, d: int, n_keys: int, *, cross: bool = False) -> None:
        """Make a mask of at most n_keys keys.

        Args:
            config: of a kind of this class; `shared` is for `learned_masks`.
            d: numbers in a token.
            n_keys: maximum number of keys; fewer take the first columns.
            cross: whether the keys are another sequence than the tokens that attend.
        """
        super().__init__()
        self.config = config

    def reset_parameters(self) -> None:
        """Start anew; needed by a mask with linear layers, which `heads.initialise` overwrites before."""
        raise NotImplementedError

    def of_cross_attention(self, x: Tensor, q: Tensor, k: Tensor, is_key: Tensor | None = None) -> SoftMask:
        """Return the mask of a cross-attention, which LAM makes from its logits.

        In self-attention, layers call the mask itself, with the tokens alone; see `forward`.

        Args:
            x: [B, N, d] tokens that attend.
            q: [B, h, N, d_k]
            k: [B, h, N_k, d_k]
            is_key: [B, N_k] bool, False for padding; all are keys if not given.

        Raises ValueError: there are more keys than the mask has columns.
        """
        mask: SoftMask = self(x, k.shape[2])
        return mask

    def forward(self, x: Tensor, n_keys: int) -> SoftMask:
        """Return the mask of tokens [B, N, d] over n_keys keys, with a row for each token.

        N may be larger than n_keys, as in MRNet, or smaller, as in cross-attention; a kind whose traits say
        `is_square` is called with N = n_keys alone. Raises ValueError: the mask has fewer columns.
        """
        raise NotImplementedError


class LearnedMask(Mask):
    """STAMP Eq. 1-4, LAM Eq. 1-5: L linear layers with a ReLU between them, from tokens to rows of M.

    In cross-attention LAM reads Q K^T (LAM Eq. 2) in place of the tokens. All heads have one mask, so that is
    the mean over the heads of the scaled logits; padded keys, and those missing to `n_keys`, are 0 in it.
    """

    def __init__(self, config: MaskConfig, d: int, n_keys: int, *, cross: bool = False) -> None:
        """Hidden layers are as wide as a token (STAMP Sec. 3.2); arguments as `Mask`."""
        super().__init__(config, d, n_keys, cross=cross)
        self.reads_logits = cross and config.kind == "lam"
        widths = [n_keys if self.reads_logits else d, *[d] * (config.depth - 1), n_keys]
        self.layers = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start anew. A model that initialises all its linear layers in its own way calls this after."""
        last = self._linear()[-1]
        for layer in self._linear():
            layer.reset_parameters()
            if self.config.init == "xavier":
                nn.init.xavier_uniform_(layer.weight)
            elif self.config.init == "he":
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                nn.init.zeros_(layer.bias)
        if self.config.identity:
            nn.init.zeros_(last.weight)
            nn.init.constant_(last.bias, _neutral(self.config))

    def of_cross_attention(self, x: Tensor, q: Tensor, k: Tensor, is_key: Tensor | None = None) -> SoftMask:
        """See `Mask`; LAM reads the logits."""
        if self.reads_logits:
            logits = (q @ k.mT).mean(dim=1) / math.sqrt(k.shape[3])
            if is_key is not None:
                logits = logits.masked_fill(~is_key[:, None, :], 0.0)
            x = pad(logits, (0, max(0, self._linear()[0].in_features - k.shape[2])))
        return super().of_cross_attention(x, q, k, is_key)

    def forward(self, x: Tensor, n_keys: int) -> SoftMask:
        """Return the mask over n_keys keys, of tokens [B, N, d] or of logits; see `of_cross_attention`."""
        *hidden, last = self._linear()
        if n_keys > last.out_features:
            raise ValueError(f"{n_keys} keys are more than the mask's {last.out_features}")
        for layer in hidden:
            x = relu(layer(x))
        return SoftMask(x, last.weight[:n_keys], last.bias[:n_keys], self.config.fusion, self.config.bound)

    def _linear(self) -> list[nn.Linear]:
        return [layer for layer in self.layers if isinstance(layer, nn.Linear)]


class StaticMask(Mask):
    """SwinBERT's learnable sparse mask: `sparse_mask` of self-attention, the same for all videos.

    As there, it hides what it does not keep: the fusion `hide`. It starts from normal weights, as MRNet's
    does; `static_sparsity` is its loss.
    """

    def __init__(self, config: MaskConfig, d: int, n_keys: int, *, cross: bool = False) -> None:
        """Fewer tokens than n_keys take the first rows and columns; arguments as `Mask`."""
        super().__init__(config, d, n_keys, cross=cross)
        self.weights = nn.Parameter(torch.empty(n_keys, n_keys))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start anew; an identity start is a mask of nearly 1 everywhere."""
        if self.config.identity:  # `hide` magnifies what is missing to 1
            more = math.log(_HIDDEN_LOGIT) if self.config.fusion == "hide" else 0.0
            nn.init.constant_(self.weights, _OPEN_LOGIT + more)
        else:
            nn.init.normal_(self.weights)

    def forward(self, x: Tensor, n_keys: int) -> SoftMask:
        """Return the mask of tokens [B, n_keys, d]; ValueError where they are more than the mask has."""
        if n_keys > len(self.weights):
            raise ValueError(f"{n_keys} keys are more than the mask's {len(self.weights)}")
        mask = sparse_mask(self.weights[:n_keys, :n_keys])
        return SoftMask(mask[None], torch.eye(n_keys).to(mask), mask.new_zeros(n_keys), self.config.fusion)


MASKS: Mapping[str, type[Mask]] = MappingProxyType(
    {"lam": LearnedMask, "stamp": LearnedMask, "static": StaticMask}
)  # the class of each `MaskKind`


def sparse_mask(weights: Tensor) -> Tensor:
    """Return [T, T] M_LS of MRNet's Eq. 5: sigmoid of the learned weights [T, T], and 1 on the diagonal."""
    diagonal = torch.eye(len(weights), device=weights.device, dtype=weights.dtype)
    return (1 - diagonal) * weights.sigmoid() + diagonal


def static_sparsity(model: nn.Module) -> Tensor:
    """Return the sparsity loss of a model's static masks: the mean of each, its diagonal as 0, averaged.

    SwinBERT adds it with a weight. It is 0 where the model has no static mask.
    """
    masks = [module.weights for module in model.modules() if isinstance(module, StaticMask)]
    if not masks:
        return torch.zeros(())  # a scalar on the CPU: tensors of any device can be added to it
    means = [(sparse_mask(weights).sum() - len(weights)) / weights.numel() for weights in masks]
    return torch.stack(means).mean()


def _neutral(config: MaskConfig) -> float:
    """Return the last bias with which a mask changes nothing; with a bound, next to nothing."""
    if config.bound == "sigmoid":
        return _OPEN_LOGIT if config.fusion == "product" else -_OPEN_LOGIT
    return 1.0 if config.fusion == "product" else 0.0


def learned_masks(
    config: MaskConfig | None, d: int, n_keys: int, layers: int, *, cross: bool = False
) -> list[Mask | None]:
    """Return the mask of each layer; if shared, of the first, which the others are given.

    None without config, or for cross-attention a square mask, whose tokens are its keys.
    """
    if config is None or (cross and config.traits.is_square):
        return [None] * layers
    make, n_masks = MASKS[config.kind], 1 if config.shared else layers
    return [make(config, d, n_keys, cross=cross) if n < n_masks else None for n in range(layers)]


def fused_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: SoftMask | None, is_key: Tensor | None = None, dropout: float = 0.0
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k) <> M) V, STAMP Eq. 5 and LAM Eq. 6.

    A sum is a bias, which PyTorch's kernels take; a product needs the logits. Both need M itself: its factors
    as more columns of q and k would do without, but each head would then multiply H more numbers.

    Args:
        q: [B, h, N, d_k]
        k, v: [B, h, N_k, d_k]
        mask: none leaves plain attention.
        is_key: [B, N_k] bool, or [B, N, N_k] for each query; False is -inf after the fusion. Each query must
            have a key.
        dropout: fraction of the attention's weights that is dropped; 0 outside of training.

    Returns [B, h, N, d_k]
    """
    if mask is not None and mask.fusion == "product":
        return drop(attention_weights(q, k, mask, is_key), dropout) @ v
    attends = _attends(is_key)
    if mask is None:
        return scaled_dot_product_attention(q, k, v, attn_mask=attends, dropout_p=dropout)
    bias = mask.added()[:, None].to(q.dtype)
    bias = bias if attends is None else bias.masked_fill(~attends, -math.inf)
    return scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=dropout)


def attention_weights(q: Tensor, k: Tensor, mask: SoftMask | None, is_key: Tensor | None = None) -> Tensor:
    """Return [B, h, N, N_k] softmax(Q K^T / sqrt(d_k) <> M); arguments as `fused_attention`."""
    logits = q @ k.mT / math.sqrt(k.shape[3])
    logits = logits if mask is None else mask.fuse(logits)
    attends = _attends(is_key)
    return (logits if attends is None else logits.masked_fill(~attends, -math.inf)).softmax(dim=3)


def _attends(is_key: Tensor | None) -> Tensor | None:
    """Return [B, 1, 1 or N, N_k] bool"""
    return None if is_key is None else is_key.reshape(len(is_key), 1, -1, is_key.shape[-1])
