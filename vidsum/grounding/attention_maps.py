"""What a trained model attends to in a video for a query: the weights of each layer, and its masks.

Hooks record what reaches each attention; the weights, which some models never make, come from that.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vidsum.grounding.attention_plot import LayerAttention, Masks, QueryAttention
from vidsum.grounding.grounder import Grounder, Model, whole_video
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.models.attention.learned_mask import LearnedMask, SoftMask, StaticMask, attention_weights
from vidsum.models.attention.retention import MaskRetention
from vidsum.models.detr import EncoderLayer
from vidsum.models.mrnet import MRNet
from vidsum.models.qd_detr import QDDETR, CrossLayer
from vidsum.types import FloatArray

_LEARNED, _RETENTION, _ALL = "learned mask M", "retention mask M_R", "token, words and clips"
_Call = tuple[nn.Module, tuple[Any, ...]]
"""An attention and the arguments that it was given."""


def has_mask(model: Model) -> bool:
    """Whether some attention has a mask, learned or of retention."""
    return any(
        isinstance(module, LearnedMask | StaticMask)
        or (isinstance(module, MaskRetention) and module.has_mask)
        for module in model.modules()
    )


@torch.inference_mode()
def attention_of(
    grounder: Grounder,
    video: ClipEmbeddings,
    texts: Sequence[tuple[str, Sequence[str]]],
    tokens: Sequence[FloatArray],
    vectors: FloatArray,
) -> list[QueryAttention]:
    """The attention of each query; the whole video goes through the model as one window.

    `texts` are each query with its tokens as words; for the rest see `vidsum.grounding.grounder`.
    """
    model, found = grounder.model, []
    inputs = whole_video(grounder, video, tokens, vectors)
    for (text, words), (clips, query) in zip(texts, inputs, strict=True):
        calls: list[_Call] = []
        hooks = [
            module.register_forward_pre_hook(lambda module, given, calls=calls: calls.append((module, given)))
            for module in model.modules()
            if isinstance(module, EncoderLayer | CrossLayer | MaskRetention)
        ]
        try:
            list(grounder.family.predict([clips], [query]))
        finally:
            for hook in hooks:
                hook.remove()
        found.append(QueryAttention(text, tuple(_layers(model, calls, words[: len(query)]))))
    return found


def _layers(model: Model, calls: Sequence[_Call], words: Sequence[str]) -> Iterator[LayerAttention]:
    """The attention of each call, numbered among its own kind."""
    counts = dict[type[nn.Module], int]()
    for module, given in calls:
        counts[type(module)] = number = counts.get(type(module), 0) + 1
        if isinstance(module, MaskRetention):
            is_alone = isinstance(model, MRNet)
            before, name = (["query"], "query and clips") if is_alone else (["token", *words], _ALL)
            yield _retained(module, f"{name}, layer {number}", before, *given)
        elif isinstance(module, CrossLayer):
            yield _crossed(module, f"clips to words, layer {number}", tuple(words), *given)
        else:
            assert isinstance(module, EncoderLayer)
            is_qd = isinstance(model, QDDETR)
            name = "token and clips" if is_qd else "clips and words"
            around = (["token"], []) if is_qd else ([], words)
            yield _encoded(module, f"{name}, layer {number}", *around, *given)


def _encoded(
    layer: EncoderLayer,
    name: str,
    before: Sequence[str],
    after: Sequence[str],
    x: Tensor,
    positions: Tensor,
    is_token: Tensor,
    shared: SoftMask | None = None,
) -> LayerAttention:
    """Self-attention; clips of padding are left out."""
    compared = layer.compared(x, positions, shared)
    kept = is_token[0].cpu().numpy()
    labels = _labels(before, int(kept.sum()) - len(before) - len(after), after)
    weights, bare, masks = _weighed(*compared, is_token)
    masks = tuple((kind, mask[kept][:, kept]) for kind, mask in masks)
    return LayerAttention(name, weights[:, kept][..., kept], bare[:, kept][..., kept], labels, labels, masks)


def _crossed(
    layer: CrossLayer,
    name: str,
    words: tuple[str, ...],
    clips: Tensor,
    positions: Tensor,
    keys: Tensor,
    is_word: Tensor,
    shared: SoftMask | None = None,
) -> LayerAttention:
    weights, bare, masks = _weighed(*layer.compared(clips, positions, keys, is_word, shared), is_word)
    return LayerAttention(name, weights, bare, _labels([], clips.shape[1]), words, masks)


def _weighed(
    q: Tensor, k: Tensor, mask: SoftMask | None, is_key: Tensor
) -> tuple[FloatArray, FloatArray, Masks]:
    """Weights with the mask and without it, and the mask if there is one."""
    weights, bare = (_array(attention_weights(q, k, one, is_key)) for one in (mask, None))
    return weights, bare, () if mask is None else ((_LEARNED, _array(mask.dense())),)


def _retained(
    module: MaskRetention, name: str, first: Sequence[str], x: Tensor, n_queries: int, *masked: Any
) -> LayerAttention:
    """Weights of retention, of their size where there is no softmax; a learned mask is of the clips alone."""
    weights = [np.abs(_array(module.weights(x, n_queries, *masked, masked=own))) for own in (True, False)]
    labels = _labels(first, x.shape[1] - n_queries)
    learned = masked[-1]
    masks = [(_RETENTION, module.mask(n_queries, x.shape[1])[None])] if module.has_mask else []
    masks += [] if learned is None else [(_LEARNED, learned.dense())]
    return LayerAttention(
        name, weights[0], weights[1], labels, labels, tuple((kind, _array(mask)) for kind, mask in masks)
    )


def _labels(before: Sequence[str], n_clips: int, after: Sequence[str] = ()) -> tuple[str | None, ...]:
    return (*before, *[None] * n_clips, *after)


def _array(batch: Tensor) -> FloatArray:
    """The first of a batch."""
    array: FloatArray = batch[0].float().cpu().numpy()
    return array
