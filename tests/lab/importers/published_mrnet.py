"""What xian-sh/MRNet computes, written out once more: state dicts at random, scores, and moments of scores.

Two files of a model are published: one has projections of clips and of queries (`W_...`), the other one
projection for both (`linears.0` to `linears.2`). The tensors show which it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import batch_norm, conv2d, gelu, layer_norm, linear, max_pool1d, normalize

HEADS = 8


@dataclass(frozen=True)
class Theirs:
    """The lines of checkpoints/best/*/config.yml that the answers depend on."""

    input_size: int
    num_pre_clips: int
    num_clips: int
    pooling_counts: tuple[int, ...]
    kernel_size: int
    num_stack_layers: int
    trans_layer: int
    att_mode: str
    att_softmax: bool
    gamma: float
    contrastive_score_pow: float
    nms_thresh: float


CONFIGS = {
    "mrnet-activitynet": Theirs(500, 256, 64, (15, 8, 8), 9, 4, 2, "all", True, 0.98, 0.5, 0.5),
    "mrnet-charades": Theirs(1024, 128, 64, (15, 8, 8), 17, 2, 4, "v", False, 0.98, 0.5, 0.5),
    "mrnet-tacos": Theirs(500, 512, 128, (15, 8, 8, 8), 5, 3, 1, "all", True, 0.999, 0.3, 0.4),
}


def state_dict(
    how: Theirs, *, is_shared: bool, d: int = 16, hidden: int = 8, dim_query: int = 9, seed: int = 5
) -> dict[str, Tensor]:
    """At random, with numbers large enough that proposals differ: activations of order 1 everywhere.

    The published sizes are d 256, hidden 512 and 768 numbers of a query; FEATPOOL's 512 is 24 here.
    """
    draw = _Draw(seed)
    draw.layer("featpool.conv", 24, how.input_size, 1)
    for number, width in enumerate((24, d)):
        draw.norm(f"input_vid_proj.{number}.LayerNorm", width)
        draw.layer(f"input_vid_proj.{number}.net.1", d, width)
    for name in ("fc_out1", "fc_out2"):
        draw.layer(f"text_encoder.{name}", d, dim_query)
        draw.layer(f"text_out.{name}", d, d)
    draw.norm("text_out.layernorm", d)
    for number in range(how.trans_layer):
        _draw_block(draw, number, how, is_shared, d)
    draw.norm("trans_ret.norm", d)
    _draw_map(draw, how, d, hidden)
    return draw.tensors


class _Draw:
    """Fills tensors by name."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)
        self.tensors: dict[str, Tensor] = {}

    def fill(self, name: str, *shape: int, spread: float = 0.3, around: float = 0.0) -> None:
        self.tensors[name] = around + torch.randn(*shape, generator=self.generator) * spread

    def layer(self, name: str, rows: int, *columns: int, gain: float = 1.5) -> None:
        self.fill(f"{name}.weight", rows, *columns, spread=gain * columns[0] ** -0.5)
        self.fill(f"{name}.bias", rows)

    def norm(self, name: str, width: int) -> None:
        self.fill(f"{name}.weight", width, around=1.0)
        self.fill(f"{name}.bias", width)


def _draw_block(draw: _Draw, number: int, how: Theirs, is_shared: bool, d: int) -> None:
    name = f"trans_ret.rets.{number}"
    draw.fill(f"{name}.learn_vid_ret.weight", how.num_clips**2, 1, spread=1.0)
    draw.fill(f"{name}.xpos.scale", d // 2)
    if not is_shared:
        for one in (f"{side}_{letter}" for side in ("vid", "txt") for letter in "QKV"):
            draw.fill(f"{name}.W_{one}", d, d, spread=2.5 * d**-0.5)
    for place in range(4 if is_shared else 1):
        draw.layer(f"{name}.self_attn.linears.{place}", d, d, gain=2.0)
    draw.layer(f"trans_ret.ffns.{number}.0", 4 * d, d)
    draw.layer(f"trans_ret.ffns.{number}.2", d, 4 * d)
    draw.norm(f"trans_ret.layer_norms_1.{number}", d)
    draw.norm(f"trans_ret.layer_norms_2.{number}", d)


def _draw_map(draw: _Draw, how: Theirs, d: int, hidden: int) -> None:
    """What comes into a convolution has been divided by the cells under a kernel before it.

    The middle of each kernel is its strongest part, or the mean of all proposals would be left.
    """
    k = how.kernel_size
    away = (torch.arange(k) - k // 2).square()
    for number in range(how.num_stack_layers):
        conv, bn = f"proposal_conv.convs.{number}", f"proposal_conv.bn.{number}"
        width, scale = (hidden, k**2) if number else (d, 1)
        draw.fill(f"{conv}.weight", hidden, width, k, k, spread=scale * width**-0.5)
        draw.tensors[f"{conv}.weight"] /= 1 + away[:, None] + away
        draw.fill(f"{conv}.bias", hidden)
        draw.norm(bn, hidden)
        draw.fill(f"{bn}.running_mean", hidden)
        draw.tensors[f"{bn}.running_var"] = torch.rand(hidden, generator=draw.generator) + 0.5
        draw.tensors[f"{bn}.num_batches_tracked"] = torch.tensor(7)
    for name in ("proposal_conv.conv1x1_iou", "proposal_conv.conv1x1_contrastive"):
        draw.layer(name, d, hidden, 1, 1)
        draw.tensors[f"{name}.bias"] /= k**2


def score_map(w: dict[str, Tensor], how: Theirs, video: Tensor, queries: Tensor) -> Tensor:
    """[M, T, T] of a video [NUM_PRE_CLIPS, Dv] with all its queries [M, Dq] at once; 0 is no proposal."""
    n_clips = how.num_clips
    clips = _layer(w, "featpool.conv", video).relu().view(n_clips, how.num_pre_clips // n_clips, -1).mean(1)
    clips = _layer(w, "input_vid_proj.0.net.1", _norm(w, "input_vid_proj.0.LayerNorm", clips)).relu()
    clips = _layer(w, "input_vid_proj.1.net.1", _norm(w, "input_vid_proj.1.LayerNorm", clips))
    m = len(queries)
    x = torch.cat([_layer(w, "text_encoder.fc_out2", queries), clips])
    for number in range(how.trans_layer):
        ffn = f"trans_ret.ffns.{number}"
        x = x + _retain(
            w, how, f"trans_ret.rets.{number}", _norm(w, f"trans_ret.layer_norms_1.{number}", x), m
        )
        x = x + _layer(
            w, f"{ffn}.2", gelu(_layer(w, f"{ffn}.0", _norm(w, f"trans_ret.layer_norms_2.{number}", x)))
        )
    x = _norm(w, "trans_ret.norm", x)
    cells, exists = _map(w, how, x[m:].T)
    iou, contrastive = (
        normalize(conv2d(cells, w[f"{name}.weight"], w[f"{name}.bias"])[0], dim=0)
        for name in ("proposal_conv.conv1x1_iou", "proposal_conv.conv1x1_contrastive")
    )
    requested = normalize(_layer(w, "text_out.fc_out1", x[:m]), dim=1)
    of_iou = (10 * torch.einsum("md,dij->mij", requested, iou)).sigmoid() * exists
    cosine = torch.einsum("md,dij->mij", normalize(x[:m], dim=1), contrastive) * exists
    return (cosine * 0.5 + 0.5) ** how.contrastive_score_pow * of_iou


def _layer(w: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    return linear(x, w[f"{name}.weight"].flatten(1), w[f"{name}.bias"])


def _norm(w: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    return layer_norm(x, x.shape[-1:], w[f"{name}.weight"], w[f"{name}.bias"])


def _retain(w: dict[str, Tensor], how: Theirs, name: str, x: Tensor, m: int) -> Tensor:
    """A layer of their model on m queries and then the clips, [M + T, d] to the same."""
    texts, clips = x[:m], x[m:]
    inputs = {
        "Q": (texts + _sinusoid(texts), _xpos(clips, 1)),
        "K": (texts + _sinusoid(texts), _xpos(clips, -1)),
        "V": (texts, clips),
    }
    is_shared = f"{name}.W_vid_Q" not in w
    if not is_shared:
        inputs = {
            letter: (text @ w[f"{name}.W_txt_{letter}"], clip @ w[f"{name}.W_vid_{letter}"])
            for letter, (text, clip) in inputs.items()
        }
    # in the mode `v` queries are left as they are here, and only clips go on
    mask = _clip_mask(w, how, name)
    if how.att_mode == "all":
        whole = torch.ones(len(x), len(x))
        whole[m:, m:] = mask
        return _attend(w, how, name, [torch.cat(pair) for pair in inputs.values()], whole, is_shared)
    of_clips = _attend(w, how, name, [pair[1] for pair in inputs.values()], mask, is_shared)
    return torch.cat([inputs["V"][0], of_clips])


def _attend(
    w: dict[str, Tensor], how: Theirs, name: str, qkv: Sequence[Tensor], mask: Tensor, is_shared: bool
) -> Tensor:
    q, k, v = qkv
    linears = f"{name}.self_attn.linears"
    if is_shared:
        q, k, v = (_layer(w, f"{linears}.{place}", one) for place, one in enumerate((q, k, v)))
    width = q.shape[1] // HEADS
    heads = []
    for columns in (slice(h * width, (h + 1) * width) for h in range(HEADS)):
        logits = (q[:, columns] / width**0.5) @ k[:, columns].T * mask
        if how.att_softmax:
            weights = logits.softmax(dim=1)
        else:  # the file with projections of each has weights only where there is a softmax
            weights = logits if is_shared else torch.zeros_like(logits)
        heads.append(weights @ v[:, columns])
    return _layer(w, f"{linears}.{3 if is_shared else 0}", torch.cat(heads, dim=1))


def _clip_mask(w: dict[str, Tensor], how: Theirs, name: str) -> Tensor:
    """[T, T] the decay below the diagonal and its transpose added, times the learned mask."""
    n_clips = how.num_clips
    place = torch.arange(n_clips)
    lower = torch.where(place[:, None] >= place, how.gamma ** (place[:, None] - place).float(), 0.0)
    learned = w[f"{name}.learn_vid_ret.weight"].reshape(n_clips, n_clips).sigmoid()
    return (lower + lower.T) * torch.where(torch.eye(n_clips).bool(), 1.0, learned)


def _sinusoid(x: Tensor) -> Tensor:
    """Of Moment-DETR, normalised: place n of m is 2 pi n / (m + 1e-6)."""
    m, d = x.shape
    place = torch.arange(1, m + 1)[:, None] / (m + 1e-6) * 2 * torch.pi
    angle = place / 10000 ** (torch.arange(0, d, 2) / d)
    return torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1)


def _xpos(x: Tensor, sign: int) -> Tensor:
    """Pairs of numbers as complex ones, turned and scaled; the scale of keys (sign -1) is the inverse."""
    length, d = x.shape
    pair, place = torch.arange(d // 2), torch.arange(length)[:, None]
    turn = torch.polar(torch.ones(length, d // 2), place * 10000 ** (-pair / (d // 2)))
    scale = ((2 * pair + 0.4 * d) / (1.4 * d)) ** (sign * place / 512)
    return torch.view_as_real(torch.view_as_complex(x.reshape(length, d // 2, 2)) * turn * scale).flatten(1)


def _map(w: dict[str, Tensor], how: Theirs, clips: Tensor) -> tuple[Tensor, Tensor]:
    """The map [1, hidden, T, T] after the convolutions, of clips [d, T], and where a proposal is [T, T]."""
    n_clips = how.num_clips
    cells = torch.zeros(1, len(clips), n_clips, n_clips)
    first = torch.zeros(n_clips, n_clips)
    place = torch.arange(n_clips)
    cells[0, :, place, place], first[place, place] = clips, 1
    offset, pooled = 0, clips[None]
    for level, count in enumerate(how.pooling_counts):
        stride = 2**level
        for step in range(count):
            pooled = max_pool1d(pooled, 3, 2) if level and not step else max_pool1d(pooled, 2, 1)
            offset += stride
            start = torch.arange(0, n_clips - offset, stride)
            cells[0, :, start, start + offset], first[start, start + offset] = pooled[0], 1
    k, exists = how.kernel_size, first[None, None]
    for number in range(how.num_stack_layers):
        name, bn = f"proposal_conv.convs.{number}", f"proposal_conv.bn.{number}"
        padding = 0 if number else (k - 1) * how.num_stack_layers // 2
        cells = conv2d(cells, w[f"{name}.weight"], w[f"{name}.bias"], padding=padding)
        mean, variance = w[f"{bn}.running_mean"], w[f"{bn}.running_var"]
        cells = batch_norm(cells, mean, variance, w[f"{bn}.weight"], w[f"{bn}.bias"]).relu()
        count_below = conv2d(exists, torch.ones(1, 1, k, k), padding=padding).round()
        exists = (count_below > 0).float()
        cells = cells * exists / count_below.clamp(min=1)
    return cells, first


def averaged(features: Tensor, how: Theirs) -> Tensor:
    """[NUM_PRE_CLIPS, D] means of features [N, D] between rounded borders."""
    n = len(features)
    borders = torch.arange(0, how.num_pre_clips + 1, 1.0) / how.num_pre_clips * n
    borders = borders.round().long().clamp(max=n - 1)
    pairs = zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)
    return torch.stack([features[s:e].mean(dim=0) if s < e else features[s] for s, e in pairs])


def moments(scores: Tensor, how: Theirs, duration_s: float) -> list[tuple[float, float, float]]:
    """(start, end, score) of a query's map [T, T] after their suppression, best first."""
    found = [
        (i * duration_s / how.num_clips, (j + 1) * duration_s / how.num_clips, scores[i, j].item())
        for i, j in scores.nonzero().tolist()
    ]
    left = sorted(found, key=lambda one: -one[2])
    kept = []
    while left:
        best, *rest = left
        kept.append(best)
        left = [one for one in rest if _iou(one, best) <= how.nms_thresh]
    return kept


def _iou(a: tuple[float, float, float], b: tuple[float, float, float]) -> float:
    both = min(a[1], b[1]) - max(a[0], b[0])
    return max(both, 0) / (max(a[1], b[1]) - min(a[0], b[0]))
