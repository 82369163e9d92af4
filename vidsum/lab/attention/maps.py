"""The attention of a trained FullTransNet while it summarizes a video: recorded by hooks, and drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from torch import Tensor, nn

from vidsum.errors import Mention, UsageError
from vidsum.features.settings import Extraction
from vidsum.io.provenance import label_of
from vidsum.lab.attention.settings import AttentionPart, AttentionRequest, parse_part
from vidsum.models.attention.heads import MultiHeadAttention, split_heads
from vidsum.models.attention.learned_mask import Mask, attention_weights
from vidsum.models.attention.local_global import local_global_mask
from vidsum.models.fulltransnet import DecoderLayer, EncoderLayer, FullTransNet, global_tokens
from vidsum.pipelines.plan import open_input
from vidsum.results import figures
from vidsum.results.clock import shift_times
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.shots.segmentation import find
from vidsum.shots.settings import ShotSettings
from vidsum.summary.fulltransnet_scores import decode_samples, windows
from vidsum.summary.importance import SCORERS
from vidsum.summary.importance_model import ImportanceModel
from vidsum.summary.score import load_importance_checkpoint, weights_sha256
from vidsum.times import format_short_time
from vidsum.types import FloatArray, IntArray, Progress, TimeArray
from vidsum.video.probe import start_offset_s

LONGEST = 1024
"""Maximum number of samples in a map, which is quadratic in them."""


def draw_attention(
    request: AttentionRequest,
    source: str,
    target: Path,
    extraction: Extraction,
    progress: Progress | None = None,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Draw the figure of a request; return facts about it and warnings.

    Raises UsageError before decoding: the model has no such attention; else as `summarize`.
    """
    name, part = request.model, parse_part(request.part)
    if name in ("auto", *SCORERS):
        raise UsageError(f"{name} has no attention to draw", hint=Mention("model", "fulltransnet"))
    model = load_importance_checkpoint(name, extraction.device)
    require_part(model, part)
    opened = open_input(source, extraction)
    (features,), pictures = opened.read(progress)
    shots = find(features, ShotSettings(), pictures)
    maps = attention_maps(model, features, shots, part=part)
    maps = shift_times(maps, start_offset_s(features.video))
    facts = {"model": name, "part": request.part, **weights_sha256([name])}
    label = label_of({**opened.provenance, "attention": facts})
    plot_importance_attention(maps, target, grids=part == "all", label=label)
    return facts, (*features.warnings, *maps.warnings)


@dataclass(frozen=True, eq=False)
class AttentionMaps:
    """Attention weights of some layers and heads; rows sum to 1."""

    encoder: FloatArray  # [N, h, T, T] of the samples, to the samples
    decoder: FloatArray  # [N, h, L, L] of step l, to the tokens that steps 0 ... l have read
    cross: FloatArray  # [N, h, L, T] of step l, to the samples
    layers: tuple[int, ...]  # numbers of the N layers, from 0
    heads: tuple[int, ...]
    key_frames: IntArray  # [L] or, where the last step writes the end, [L - 1] samples
    timestamps: TimeArray  # [T] seconds, of the samples
    edges_s: TimeArray  # [S + 1] of the shots that the samples lie in
    warnings: tuple[str, ...] = ()


@torch.inference_mode()
def attention_maps(
    summarizer: ImportanceModel,
    features: Features,
    shots: Shots,
    fraction: float = 0.15,
    *,
    part: AttentionPart = "all",
) -> AttentionMaps:
    """Return the maps of Figs. 5-8 for a summary that the model writes with no labels.

    Of a long video (`LONGEST`, or what the model reads) only the first window is used, with a warning. Errors
    as `require_part`.
    """
    model = require_part(summarizer, part)
    layers, heads = tuple(range(model.config.layers)), tuple(range(model.config.heads))
    if isinstance(part, tuple):
        layers, heads = (part[0],), (part[1],)
    all_shots = shots.numbers_at(features.timestamps)
    window = windows(all_shots, min(LONGEST, model.config.t_max))[0]
    array, shot_of_sample = summarizer.inputs.of(features)[window], all_shots[window]
    decoded = decode_samples(model, array, shot_of_sample, fraction)
    # no step reads the last step's token, unless the step after it has written the end
    tokens = torch.tensor(decoded.key_frames[: len(decoded.steps) - 1], dtype=torch.int64)
    is_global = global_tokens(torch.from_numpy(shot_of_sample), model.config.global_tokens)
    warnings: tuple[str, ...] = ()
    if len(array) < len(features):
        until = format_short_time(float(features.timestamps[len(array)]))
        of_all = format_short_time(features.duration_s)
        warnings = (f"attention is shown for 0:00-{until} only, of {of_all}",)
    weigh = _record(model, torch.tensor(array), is_global, tokens)
    n_steps = len(tokens) + 1
    earlier = torch.ones(n_steps, n_steps, dtype=torch.bool).tril()  # Eq. 6: no step sees a later one
    is_pair = _encoder_pairs(model, is_global)
    first = cast(EncoderLayer, model.encoder[0])
    encoder, decoder, cross = list[FloatArray](), list[FloatArray](), list[FloatArray]()
    for number in layers:
        reader, writer = cast(EncoderLayer, model.encoder[number]), cast(DecoderLayer, model.decoder[number])
        # without a mask of its own, a layer has the mask of the first layer, if any
        weights = weigh(reader.attention, is_pair, reader.mask or first.mask)
        encoder.append(weights[heads, :].numpy())
        decoder.append(weigh(writer.attention, earlier)[heads, :].numpy())
        cross.append(weigh(writer.cross)[heads, :].numpy())
    return AttentionMaps(
        encoder=np.stack(encoder),
        decoder=np.stack(decoder),
        cross=np.stack(cross),
        layers=layers,
        heads=heads,
        key_frames=np.array(decoded.key_frames, np.int64),
        timestamps=features.timestamps[window],
        edges_s=shots.edges_s[: shot_of_sample[-1] + 2],
        warnings=warnings,
    )


def _record(model: FullTransNet, array: Tensor, is_global: Tensor, tokens: Tensor) -> Callable[..., Tensor]:
    """Run a model in `eval` mode by teacher forcing; return weigh(attention, pairs, mask) -> [h, Q, K].

    Of samples [T, D], `is_global` [T] bool and `tokens` [L - 1] int64, the samples that the decoder reads.
    """
    outputs: dict[nn.Module, Any] = {}  # of the projections to queries and keys, and of learned masks

    def keep(module: nn.Module, _: object, output: object) -> None:
        outputs[module] = output

    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    projections = [projection for attention in attentions for projection in (attention.q, attention.k)]
    recorded = [*projections, *(module for module in model.modules() if isinstance(module, Mask))]
    hooks = [module.register_forward_hook(keep) for module in recorded]
    device = next(model.parameters()).device
    try:
        model(*(tensor[None].to(device) for tensor in (array, is_global, tokens)))
    finally:
        for hook in hooks:
            hook.remove()

    def weigh(attention: MultiHeadAttention, pairs: Tensor | None = None, mask: Mask | None = None) -> Tensor:
        queries, keys = (split_heads(outputs[part], attention.heads) for part in (attention.q, attention.k))
        is_key = None if pairs is None else pairs[None].to(device)
        return attention_weights(queries, keys, outputs[mask] if mask else None, is_key)[0].cpu()

    return weigh


def _encoder_pairs(model: FullTransNet, is_global: Tensor) -> Tensor:
    """Return [T, T] which samples attend to which (Eq. 9-10)."""
    is_valid = torch.ones_like(is_global)
    everywhere = {"full": is_valid, "local": ~is_valid}.get(model.config.attention, is_global)
    return local_global_mask(everywhere[None], is_valid[None], model.config.attention_window)[0]


def require_part(summarizer: ImportanceModel, part: AttentionPart) -> FullTransNet:
    """Return the network. Raises UsageError where it has no such layer or head, or is no FullTransNet."""
    if not isinstance(summarizer.model, FullTransNet):
        raise UsageError(f"{summarizer.name} has no decoder, whose attention is drawn")
    config = summarizer.model.config
    counts = {"layer": config.layers, "head": config.heads}
    for (what, count), number in zip(counts.items(), part, strict=True) if isinstance(part, tuple) else ():
        if number >= count:
            raise UsageError(f"unknown {what} {number}: the model has 0 to {count - 1}")
    return summarizer.model


def plot_importance_attention(
    maps: AttentionMaps, target: Path, *, grids: bool = False, label: str | None = None
) -> None:
    """Draw every layer and head (`grids`, Fig. 5) or their mean (Fig. 6); errors as `figures.save_figure`."""
    figures.save_figure(_draw_grids(maps) if grids else _draw_panels(maps), target, label)


def _draw_panels(maps: AttentionMaps) -> Figure:
    """Encoder top left, decoder top right, cross attention below (Fig. 6); of each the mean of all maps."""
    figure = figures.new_figure(11, 9.8)
    top, bottom = figure.subfigures(2, 1, height_ratios=(5.2, 4.6), squeeze=False)[:, 0]
    encoder, decoder = top.subplots(1, 2)
    cross = bottom.subplots()
    means = [part.mean(axis=(0, 1)) for part in (maps.encoder, maps.decoder, maps.cross)]
    figures.draw_map(encoder, means[0], "Encoder", figures.root_norm(means[0]))
    figures.draw_map(decoder, means[1], "Decoder, masked", figures.root_norm(means[1]))
    colours = figures.quantile_norm(means[2])
    even = 1 / len(maps.timestamps)
    name = f"Cross attention, {colours.vmin:.2g} to {colours.vmax:.2g} (even: {even:.2g})"
    figures.draw_map(cross, means[2], name, colours)
    end_s = min(float(maps.edges_s[-1]), _end_s(maps))
    for axis in (encoder.xaxis, encoder.yaxis, cross.xaxis):
        times = np.array([time_s for time_s in figures.round_times(end_s, 8) if time_s >= maps.timestamps[0]])
        figures.label_cells(axis, _cells(maps, times), times)
    _mark_steps(decoder.xaxis, maps, first="start")
    for axis in (decoder.yaxis, cross.yaxis):
        _mark_steps(axis, maps)
    _mark_shots(encoder, maps, along_y=True)
    _mark_shots(cross, maps, along_y=False)
    _label(encoder, "sample attended to (min:s)", "sample (min:s)")
    _label(decoder, "step whose token it has read", "step")
    _label(cross, "sample attended to (min:s)", "step")
    name, steps = "key frame that the step writes", np.arange(len(maps.key_frames))
    cross.plot(maps.key_frames, steps, "o", ms=5, mfc="none", mec=figures.OTHERS[0], mew=0.9, label=name)
    cross.legend(loc="lower right", bbox_to_anchor=(1.01, 1.015), frameon=False, fontsize=9)
    figures.draw_heading(figure, _title(maps))
    return figure


def _draw_grids(maps: AttentionMaps) -> Figure:
    """Layers from top to bottom, heads from left to right, in three blocks as in Fig. 5."""
    n_layers, n_heads = maps.encoder.shape[:2]
    figure = figures.new_figure(1.05 * n_heads + 1, 3 * (1.05 * n_layers + 0.8))
    parts = {"Encoder": maps.encoder, "Decoder, masked": maps.decoder, "Cross attention": maps.cross}
    blocks = figure.subfigures(3, 1, squeeze=False)[:, 0]
    for block, (name, weights) in zip(blocks, parts.items(), strict=True):
        block.suptitle(f"{name}: rows are layers, columns are heads", x=0.02, ha="left", fontweight="bold")
        grid = block.subplots(n_layers, n_heads, squeeze=False)
        for row, layer in enumerate(maps.layers):
            grid[row, 0].set_ylabel(str(layer), rotation=0, ha="right", va="center")
            for column, axes in enumerate(grid[row]):
                figures.draw_map_image(axes, weights[row, column], figures.root_norm(weights[row, column]))
                axes.set(xticks=[], yticks=[])
        for axes, head in zip(grid[0], maps.heads, strict=True):
            axes.set_title(str(head), fontsize=10)
    return figure


def _mark_steps(axis: Axis, maps: AttentionMaps, first: str = "1") -> None:
    """Ticks at some of the steps, counted from 1; a step that writes no key frame writes the end."""
    n_steps = maps.decoder.shape[2]
    steps = np.unique(np.linspace(0, n_steps - 1, min(n_steps, 8)).astype(int))
    names = {0: first} if first != "1" else {len(maps.key_frames): "end"}
    axis.set_ticks(steps, [names.get(step, str(step + 1)) for step in steps.tolist()], fontsize=8)


def _mark_shots(axes: Axes, maps: AttentionMaps, *, along_y: bool) -> None:
    """A strip of alternating greys along the top, a piece per shot; with `along_y` also on the right."""
    edges = _cells(maps, maps.edges_s)
    edges[-1] = maps.encoder.shape[2] - 0.5  # a window may end inside a shot
    for number, (start, end) in enumerate(pairwise(edges)):
        colour = (figures.GREY, figures.PALE_GREY)[number % 2]
        figures.mark_cells(axes, start, end, colour, "top")
        if along_y:
            figures.mark_cells(axes, start, end, colour, "right")


def _label(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)


def _cells(maps: AttentionMaps, times_s: TimeArray) -> TimeArray:
    """Positions on an axis of cells, whose first cell is from -0.5 to 0.5."""
    samples = np.interp(times_s, [*maps.timestamps, _end_s(maps)], np.arange(len(maps.timestamps) + 1.0))
    return np.asarray(samples - 0.5, np.float64)


def _end_s(maps: AttentionMaps) -> float:
    """Return where the last sample would give way to another."""
    step_s = np.median(np.diff(maps.timestamps)) if len(maps.timestamps) > 1 else maps.edges_s[-1]
    return float(maps.timestamps[-1] + step_s)


def _title(maps: AttentionMaps) -> str:
    parts = (("layer", maps.layers), ("head", maps.heads))
    layers, heads = (
        f"{name} {numbers[0]}" if len(numbers) == 1 else f"mean of {len(numbers)} {name}s"
        for name, numbers in parts
    )
    return f"Attention weights, {layers}, {heads}"
