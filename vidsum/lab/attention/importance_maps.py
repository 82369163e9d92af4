"""The attention of a trained FullTransNet while it summarizes a video: hooks record queries and keys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from vidsum.errors import UsageError
from vidsum.lab.attention.settings import AttentionPart
from vidsum.models.attention.heads import MultiHeadAttention, split_heads
from vidsum.models.attention.learned_mask import LearnedMask, SoftMask, attention_weights
from vidsum.models.attention.local_global import local_global_mask
from vidsum.models.fulltransnet import DecoderLayer, EncoderLayer, FullTransNet, global_tokens
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.summary.fulltransnet import IntArray, decode_samples, windows
from vidsum.summary.importance_model import ImportanceModel
from vidsum.times import format_short_time
from vidsum.types import FloatArray, TimeArray

LONGEST = 1536
"""Maximum number of samples in a map, which is quadratic in them."""


class Recorded(NamedTuple):
    """The inputs of the attentions of one run."""

    projected: Mapping[nn.Module, Tensor]
    """[1, *, d] output of each projection to queries or keys."""
    masks: Mapping[nn.Module, SoftMask]
    """The learned mask that each `LearnedMask` made."""


@dataclass(frozen=True, eq=False)
class AttentionMaps:
    """Attention weights of some layers and heads; rows sum to 1. T samples in C cells, mostly C = T."""

    encoder: FloatArray
    """[N, h, C, C] of the samples, to the samples."""
    decoder: FloatArray
    """[N, h, L, L] of step l, to the tokens that steps 0 ... l have read."""
    cross: FloatArray
    """[N, h, L, C] of step l, to the samples."""
    layers: tuple[int, ...]
    """Numbers of the N layers, from 0."""
    heads: tuple[int, ...]
    key_frames: IntArray
    """[L] or [L - 1] the sample that each step writes; the last step may write the end instead."""
    samples_per_cell: int
    timestamps: TimeArray
    """[T] seconds, of the samples."""
    edges_s: TimeArray
    """[S + 1] of the shots that the samples lie in."""
    warnings: tuple[str, ...] = ()


def attention_maps(
    summarizer: ImportanceModel,
    features: Features,
    shots: Shots,
    fraction: float = 0.15,
    width: int = 1,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    cells: int = 768,
) -> AttentionMaps:
    """Return the maps of Figs. 5-8 for a summary that the model writes with no labels.

    `layers` and `heads` are numbers from 0 (None: all); at most `cells` cells, rows being means of their
    samples' rows, columns sums. Of a long video (`LONGEST`, or what the model reads) only the first window is
    used, with a warning. Raises UsageError: no such layer or head.
    """
    model = _network(summarizer)
    all_shots = shots.numbers_at(features.timestamps)
    window = windows(all_shots, min(LONGEST, model.config.t_max))[0]
    array, shot_of_sample = summarizer.inputs.of(features)[window], all_shots[window]
    decoded = decode_samples(model, array, shot_of_sample, fraction, width)
    # no step reads the last step's token, unless the step after it has written the end
    tokens = torch.tensor(decoded.key_frames[: len(decoded.steps) - 1], dtype=torch.int64)
    is_global = global_tokens(torch.from_numpy(shot_of_sample), model.config.global_tokens)
    recorded = record_attention(model, torch.tensor(array), is_global, tokens)
    some_layers = _numbers("layer", layers, model.config.layers)
    some_heads = _numbers("head", heads, model.config.heads)
    per_cell = -(-len(array) // cells)
    warnings: tuple[str, ...] = ()
    if len(array) < len(features):
        until = format_short_time(float(features.timestamps[len(array)]))
        of_all = format_short_time(features.duration_s)
        warnings = (f"attention is shown for 0:00-{until} only, of {of_all}",)

    def maps(part: Callable[[int, int], Tensor], per_row: int, per_column: int) -> FloatArray:
        rows = [
            [pooled(part(layer, head), per_row, per_column) for head in some_heads] for layer in some_layers
        ]
        return np.array(rows, np.float32)

    return AttentionMaps(
        encoder=maps(lambda *at: encoder_weights(model, recorded, is_global, *at), per_cell, per_cell),
        decoder=maps(lambda *at: decoder_weights(model, recorded, *at), 1, 1),
        cross=maps(lambda *at: cross_weights(model, recorded, *at), 1, per_cell),
        layers=some_layers,
        heads=some_heads,
        key_frames=np.array(decoded.key_frames, np.int64),
        samples_per_cell=per_cell,
        timestamps=features.timestamps[window],
        edges_s=shots.edges_s[: shot_of_sample[-1] + 2],
        warnings=warnings,
    )


@torch.inference_mode()
def record_attention(model: FullTransNet, array: Tensor, is_global: Tensor, tokens: Tensor) -> Recorded:
    """Run a model in `eval` mode by teacher forcing; record the queries and keys of all its attentions.

    Of samples [T, D], `is_global` [T] bool and `tokens` [L - 1] int64, the samples that the decoder reads.
    """
    projected: dict[nn.Module, Tensor] = {}
    masks: dict[nn.Module, SoftMask] = {}

    def keep(projection: nn.Module, _: object, output: Tensor) -> None:
        projected[projection] = output

    def keep_mask(learned: nn.Module, _: object, output: SoftMask) -> None:
        masks[learned] = output

    attentions = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    projections = [projection for attention in attentions for projection in (attention.q, attention.k)]
    hooks = [projection.register_forward_hook(keep) for projection in projections]
    learned_masks = [module for module in model.modules() if isinstance(module, LearnedMask)]
    hooks += [module.register_forward_hook(keep_mask) for module in learned_masks]
    device = next(model.parameters()).device
    try:
        model(*(tensor[None].to(device) for tensor in (array, is_global, tokens)))
    finally:
        for hook in hooks:
            hook.remove()
    return Recorded(projected, masks)


@torch.inference_mode()
def encoder_weights(
    model: FullTransNet, recorded: Recorded, is_global: Tensor, layer: int, head: int
) -> Tensor:
    """Return [T, T] the sparse weights of Eq. 9-10, with the learned mask where there is one."""
    encoder = cast(EncoderLayer, model.encoder[layer])
    is_valid = torch.ones_like(is_global)
    everywhere = {"full": is_valid, "local": ~is_valid}.get(encoder.pattern, is_global)
    attends = local_global_mask(everywhere[None], is_valid[None], encoder.window)[0]
    # without a mask of its own, a layer has that of the first one, if any
    learned = encoder.mask or cast(EncoderLayer, model.encoder[0]).mask
    return _weights(encoder.attention, recorded, head, attends, recorded.masks[learned] if learned else None)


def decoder_weights(model: FullTransNet, recorded: Recorded, layer: int, head: int) -> Tensor:
    """Return [L, L] the masked self-attention of Eq. 6: no step sees a later one."""
    attention = cast(DecoderLayer, model.decoder[layer]).attention
    n_steps = recorded.projected[attention.q].shape[1]
    return _weights(attention, recorded, head, torch.ones(n_steps, n_steps, dtype=torch.bool).tril())


def cross_weights(model: FullTransNet, recorded: Recorded, layer: int, head: int) -> Tensor:
    """Return [L, T] the attention of Eq. 7 to the encoder's output."""
    return _weights(cast(DecoderLayer, model.decoder[layer]).cross, recorded, head)


def pooled(weights: Tensor, per_row: int, per_column: int) -> FloatArray:
    """Means of `per_row` rows and sums of `per_column` columns: each row still sums to 1."""
    row_starts, column_starts = (
        np.arange(0, length, step) for length, step in zip(weights.shape, (per_row, per_column), strict=True)
    )
    counts = np.diff(np.append(row_starts, len(weights)))
    sums = np.add.reduceat(np.add.reduceat(weights.numpy(), row_starts, axis=0), column_starts, axis=1)
    return np.asarray(sums / counts[:, None], np.float32)


def require_part(summarizer: ImportanceModel, part: AttentionPart) -> None:
    """Raise UsageError where the model has no such layer or head, or no decoder."""
    config, (layer, head) = _network(summarizer).config, part if isinstance(part, tuple) else (0, 0)
    _numbers("layer", [layer], config.layers)
    _numbers("head", [head], config.heads)


def _network(summarizer: ImportanceModel) -> FullTransNet:
    if not isinstance(summarizer.model, FullTransNet):
        raise UsageError(f"{summarizer.name} has no decoder, whose attention is drawn")
    return summarizer.model


def _numbers(what: str, chosen: Sequence[int] | None, count: int) -> tuple[int, ...]:
    for number in chosen or ():
        if not 0 <= number < count:
            raise UsageError(f"unknown {what} {number}: the model has 0 to {count - 1}")
    return tuple(range(count) if chosen is None else chosen)


def _weights(
    attention: MultiHeadAttention,
    recorded: Recorded,
    head: int,
    attends: Tensor | None = None,
    mask: SoftMask | None = None,
) -> Tensor:
    queries, keys = (
        split_heads(recorded.projected[projection], attention.heads)[:, head : head + 1]
        for projection in (attention.q, attention.k)
    )
    is_key = None if attends is None else attends[None].to(queries.device)
    return attention_weights(queries, keys, mask, is_key)[0, 0].cpu()
