"""The attention of a trained model to a video and a query: the weights of each layer, and its masks."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vidsum.grounding.moment_model import Model, MomentModel, whole_video
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.lab.attention.moment_plot import LayerAttention, QueryAttention
from vidsum.models.attention.learned_mask import LearnedMask, StaticMask, attention_weights
from vidsum.models.attention.retention import MaskRetention
from vidsum.models.detr import DETREncoderLayer
from vidsum.models.mrnet import MRNet
from vidsum.models.qd_detr import QDDETR, CrossLayer
from vidsum.types import FloatArray

_Call = tuple[nn.Module, tuple[Any, ...]]
"""An attention, and what was compared in it."""


def has_mask(model: Model) -> bool:
    """Return whether some attention has a mask, learned or of retention."""
    return any(
        isinstance(module, LearnedMask | StaticMask)
        or (isinstance(module, MaskRetention) and module.has_mask)
        for module in model.modules()
    )


@torch.inference_mode()
def capture_attention(
    grounder: MomentModel,
    video: ClipEmbeddings,
    texts: Sequence[tuple[str, Sequence[str]]],
    tokens: Sequence[FloatArray],
    vectors: FloatArray,
) -> list[QueryAttention]:
    """Return the attention of each query with its tokens as words; the whole video is one window."""
    calls: list[_Call] = []

    def keep(layer: nn.Module, _: nn.Module, compared: tuple[Any, ...]) -> None:
        calls.append((layer, compared))

    hooks = [
        (layer.weigh if isinstance(layer, MaskRetention) else layer.attend).register_forward_pre_hook(
            partial(keep, layer)
        )
        for layer in grounder.model.modules()
        if isinstance(layer, MaskRetention | DETREncoderLayer | CrossLayer)
    ]
    captured = []
    try:
        inputs = whole_video(grounder, video, tokens, vectors)
        for (text, words), (clips, query) in zip(texts, inputs, strict=True):
            calls.clear()
            list(grounder.predictor.predict([clips], [query]))
            captured.append(QueryAttention(text, _layers(grounder.model, calls, words[: len(query)])))
    finally:
        for hook in hooks:
            hook.remove()
    return captured


def _layers(model: Model, calls: Sequence[_Call], words: Sequence[str]) -> tuple[LayerAttention, ...]:
    """Return the attentions in their order, numbered among their own kind; tokens of padding are left out."""
    counts, layers = Counter[type[nn.Module]](), []
    for layer, (q, k, *rest) in calls:
        masks: list[tuple[str, Tensor]] = []
        if isinstance(layer, MaskRetention):
            attends, retention, learned = rest
            weigh = partial(layer.weigh.forward, q, k, attends)
            weights = weigh(retention, learned), weigh(torch.ones_like(retention), None)
            keys = np.ones(k.shape[2], np.bool_)
            masks += [("retention mask M_R", retention[None])] if layer.has_mask else []
        else:
            learned, is_key = rest[1:3]
            weights = attention_weights(q, k, learned, is_key), attention_weights(q, k, None, is_key)
            keys = is_key[0].cpu().numpy()
        masks += [] if learned is None else [("learned mask M", learned.dense())]
        rows = np.ones(q.shape[2], np.bool_) if isinstance(layer, CrossLayer) else keys
        # of their size: retention without a softmax has negative ones
        with_mask, bare = (np.abs(_array(array))[:, rows][..., keys] for array in weights)
        visible_masks = tuple((name, _array(mask)[rows][:, keys[-mask.shape[2] :]]) for name, mask in masks)
        counts[type(layer)] += 1
        kind, before, after = _tokens(model, layer, words)
        labels = (*before, *[None] * (int(rows.sum()) - len(before) - len(after)), *after)
        columns = tuple(words) if isinstance(layer, CrossLayer) else labels
        layers.append(
            LayerAttention(
                f"{kind}, layer {counts[type(layer)]}", with_mask, bare, labels, columns, visible_masks
            )
        )
    return tuple(layers)


def _tokens(model: Model, layer: nn.Module, words: Sequence[str]) -> tuple[str, Sequence[str], Sequence[str]]:
    """Return a name of what attends to what, and the tokens before and after the clips."""
    if isinstance(model, MRNet):
        return "query and clips", ["query"], []
    if isinstance(layer, MaskRetention):
        return "token, words and clips", ["token", *words], []
    if isinstance(layer, CrossLayer):
        return "clips to words", [], []
    return ("token and clips", ["token"], []) if isinstance(model, QDDETR) else ("clips and words", [], words)


def _array(batch: Tensor) -> FloatArray:
    array: FloatArray = batch[0].float().cpu().numpy()
    return array
