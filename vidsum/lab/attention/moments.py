"""The attention of a trained moment model for queries, and its pictures.

Weights (MRNet, Fig. 7), masks (LAM, Fig. 3; STAMP, Figs. S6-S9), histograms (LAM, Fig. S6; STAMP, Fig. S5).
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure, SubFigure
from torch import Tensor, nn

from vidsum.grounding.moment_model import Model, MomentModel, whole_video
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.io.provenance import label_of
from vidsum.lab.attention.settings import AttentionKind
from vidsum.models.attention.learned_mask import Mask, attention_weights
from vidsum.models.attention.retention import MaskRetention
from vidsum.models.detr import DETREncoderLayer
from vidsum.models.mrnet import MRNet
from vidsum.models.qd_detr import QDDETR, CrossLayer
from vidsum.results import figures
from vidsum.results.moments import Grounding, Moment, shorten
from vidsum.types import FloatArray, TimeArray

Labels = tuple[str | None, ...]
"""Kinds of tokens: a word, or None for a clip. Clips stand together, and cover the video evenly."""
Masks = tuple[tuple[str, FloatArray], ...]
SAMPLES = 64
"""Maximum number of queries whose weights are counted, as in STAMP's Fig. S5."""
_MAX_QUERIES, _MAX_LETTERS = 3, 80
_COUNTED_LAYERS = (1, 8)
"""Layers whose weights are counted beside the last, as in the papers, where there are more than four."""
BINS = np.geomspace(1e-6, 1, 49)


@dataclass(frozen=True, eq=False)
class LayerAttention:
    """The attention of a layer: N tokens attend to K."""

    name: str
    weights: FloatArray
    """[h, N, K]"""
    bare: FloatArray
    """[h, N, K] what they would be if this layer had no mask."""
    rows: Labels
    columns: Labels
    masks: Masks = ()
    """Each [N, K'], of the last K' columns."""


@dataclass(frozen=True, eq=False)
class QueryAttention:
    """The attention of all layers for a query."""

    query: str
    layers: tuple[LayerAttention, ...]


_Panel = tuple[str, FloatArray, Labels, Labels]
"""A name, values [N, K], and what the rows and columns are."""


def plot_moment_attention(
    grounding: Grounding,
    attention: Sequence[QueryAttention],
    kind: AttentionKind,
    target: str | os.PathLike[str],
) -> tuple[str, ...]:
    """Plot the attention of the queries as PNG or SVG; return a warning where only the first are drawn.

    Raises UsageError for another suffix, OutputError.
    """
    duration_s = len(grounding.timestamps) * grounding.step_s  # of the clips, which may end after the video
    by = f"{figures.video_title(grounding.video, 'Video')}, by {Path(grounding.model).name}"
    drawn = list(zip(attention, grounding.queries, strict=False))
    if kind == "weights":
        figure = _histograms(attention, by)
    else:
        drawn = drawn[:_MAX_QUERIES]
        panels = [list(_panels(query, kind)) for query, _ in drawn]
        heights = [0.45 + 3.3 * -(-len(panels_of) // 2) for panels_of in panels]
        figure = figures.new_figure(8.5, 0.4 + sum(heights))
        blocks = figure.subfigures(len(drawn), 1, height_ratios=heights, squeeze=False)[:, 0]
        for block, (query, answer), panels_of in zip(blocks, drawn, panels, strict=True):
            _draw_query(block, query.query, panels_of, kind, answer.moments[:1], duration_s)
        what = "Attention weights, mean of the heads" if kind == "attention" else "Masks"
        figures.draw_heading(figure, f"{what}: rows attend to columns; orange: best moment\n{by}")
    figures.save_figure(figure, target, label_of(grounding.provenance))
    n_queries = len(grounding.queries)
    is_cut = len(drawn) < n_queries
    return (f"{target}: shows the first {len(drawn)} of {n_queries} queries",) if is_cut else ()


def _panels(query: QueryAttention, kind: AttentionKind) -> Iterator[_Panel]:
    for layer in query.layers:
        if kind == "attention":
            yield layer.name, layer.weights.mean(axis=0), layer.rows, layer.columns
            continue
        for name, values in layer.masks:
            yield f"{layer.name}: {name}", values, layer.rows, layer.columns[-values.shape[1] :]


def _draw_query(
    block: SubFigure,
    text: str,
    panels: Sequence[_Panel],
    kind: AttentionKind,
    best: Sequence[Moment],
    duration_s: float,
) -> None:
    block.suptitle(shorten(text, _MAX_LETTERS), x=0.01, ha="left", fontsize=10.5, parse_math=False)
    grid = list(block.subplots(-(-len(panels) // 2), 2, squeeze=False).flat)
    for axes, (name, values, rows, columns) in zip(grid, panels, strict=False):
        is_sparse = kind == "attention" and None in columns
        figures.draw_map(
            axes, values, name, figures.root_norm(values) if is_sparse else figures.quantile_norm(values)
        )
        for axis, side, labels in ((axes.xaxis, "top", columns), (axes.yaxis, "right", rows)):
            _mark_tokens(axes, axis, labels, duration_s)
            for moment in best if None in labels else ():
                ends = np.array([moment.start_s, moment.end_s])
                start, end = _cells(labels, ends, duration_s)
                figures.mark_cells(axes, start, end, figures.OTHERS[0], side)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()


def _mark_tokens(axes: Axes, axis: Axis, labels: Labels, duration_s: float) -> None:
    """Round times where the clips are; a word each where all are words, else a line and a name."""
    if None not in labels:
        axis.set_ticks(range(len(labels)), [str(label) for label in labels], fontsize=8)
        axis.set_tick_params(rotation=90)
        return
    times = np.array(figures.round_times(duration_s, 5))
    figures.label_cells(axis, _cells(labels, times, duration_s), times)
    first = labels.index(None)
    for edge in (first, first + labels.count(None)):
        if 0 < edge < len(labels):
            (axes.axvline if axis is axes.xaxis else axes.axhline)(
                edge - 0.5, color=figures.GREY, linewidth=0.8
            )


def _cells(labels: Labels, times_s: TimeArray, duration_s: float) -> TimeArray:
    """Positions of times on an axis of tokens, whose first is from -0.5 to 0.5."""
    return np.asarray(labels.index(None) + times_s / duration_s * labels.count(None) - 0.5)


def _histograms(attention: Sequence[QueryAttention], by: str) -> Figure:
    """Return a row for each kind of attention; on the left without the masks, on the right with them."""
    kinds: dict[str, list[int]] = {}
    for number, layer in enumerate(attention[0].layers):
        kinds.setdefault(layer.name.rpartition("layer ")[0], []).append(number)
    is_masked = any(layer.masks for layer in attention[0].layers)
    sides = {"without the mask": "bare", "with the mask": "weights"} if is_masked else {"": "weights"}
    figure = figures.new_figure(8.5, 0.7 + 2.8 * len(kinds))
    grid = figure.subplots(len(kinds), len(sides), sharex=True, sharey="row", squeeze=False)
    for row, (kind, numbers) in zip(grid, kinds.items(), strict=True):
        last = len(numbers)
        chosen = [n for n in range(1, last + 1) if last <= 4 or n in (*_COUNTED_LAYERS, last)]
        for axes, (side, field) in zip(row, sides.items(), strict=True):
            for place, n in enumerate(chosen):
                layers = [query.layers[numbers[n - 1]] for query in attention]
                colour = figures.SHADES(0.35 + 0.6 * place / max(1, len(chosen) - 1))
                counts = share_by_weight([getattr(layer, field) for layer in layers])
                axes.stairs(100 * counts, BINS, color=colour, linewidth=1.5, label=f"layer {n}")
            axes.axvline(1 / layers[0].weights.shape[2], color=figures.OTHERS[0], linewidth=1, linestyle="--")
            axes.set_xscale("log")
            axes.set_title(", ".join(filter(None, [kind.rstrip(", "), side])), loc="left", fontsize=10)
            axes.spines[["top", "right"]].set_visible(False)
        row[0].set_ylabel("weights (%)")
        row[0].legend(loc="upper left", frameon=False, fontsize=9)
    for axes in grid[-1]:
        axes.set_xlabel("attention weight, all below 1e-6 at the left (dashed: even)", fontsize=9)
    counted = f"{len(attention)} {'query' if len(attention) == 1 else 'queries'}"
    figures.draw_heading(figure, f"Distribution of attention weights, {counted}\n{by}")
    return figure


def share_by_weight(weights: Sequence[FloatArray]) -> FloatArray:
    """Return [48] the fraction of all weights in each of `BINS`; smaller ones count in the first."""
    counts = sum(np.histogram(np.maximum(array, BINS[0]), BINS)[0] for array in weights)
    return np.asarray(counts / sum(array.size for array in weights), np.float32)


_Call = tuple[nn.Module, tuple[Any, ...]]
"""An attention, and what was compared in it."""


def has_mask(model: Model) -> bool:
    """Return whether some attention has a mask, learned or of retention."""
    return any(
        isinstance(module, Mask) or (isinstance(module, MaskRetention) and module.has_mask)
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
    return np.asarray(batch[0].float().cpu().numpy())
