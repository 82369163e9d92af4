"""What learned masks cost: parameters, FLOPs and MACs, time and memory, as Tables 4 and 7 of the STAMP paper.

python -m docs.benchmarks.learned_mask                # all three tables, as Markdown
python -m docs.benchmarks.learned_mask --rounds 20    # slower, more exact
python -m docs.benchmarks.learned_mask --spread       # how much a new mask differs from token to token

Times are the least of all rounds; in a round each row runs once, so that what else the machine does meets all
rows alike. FLOPs are those of PyTorch's counter, which counts matrix products and attention; a MAC is two.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast, get_args

import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.functional import pad, scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode

from docs.benchmarks import argument_parser
from docs.benchmarks.attention import peak_bytes
from vidsum.models.attention.learned_mask import (
    LearnedMask,
    SoftMask,
    cross_masks,
    fused_attention,
    learned_masks,
    shared_mask,
)
from vidsum.models.configs import DETRConfig, FullTransNetConfig, MaskConfig, MaskInit
from vidsum.models.detr import EncoderLayer
from vidsum.models.fulltransnet import FullTransNet, global_tokens
from vidsum.models.qd_detr import CrossLayer

SIZES = DETRConfig()
"""QD-DETR's, as published."""
BATCH = 32
DEEP = 32
"""Layers of the papers' best mask."""
LONG = 1536

Run = Callable[[], object]


class Encoder(nn.Module):
    """QD-DETR's encoders without its inputs: clips attend to words, then to each other."""

    def __init__(self, config: DETRConfig, bottleneck: int = 0) -> None:
        super().__init__()
        across = cross_masks(config.mask, config.d, config.words, config.layers)
        within = learned_masks(config.mask, config.d, config.clips, config.layers)
        self.cross = nn.ModuleList(CrossLayer(config, mask) for mask in across)
        self.own = nn.ModuleList(EncoderLayer(config, mask, nn.PReLU()) for mask in within)
        pairs = 2 * config.layers if bottleneck else 0
        self.linear = nn.ModuleList(
            nn.Sequential(nn.Linear(config.d, bottleneck), nn.ReLU(), nn.Linear(bottleneck, config.d))
            for _ in range(pairs)
        )

    def forward(self, clips: Tensor, words: Tensor, is_clip: Tensor, is_word: Tensor) -> Tensor:
        """[B, T, d] clips and [B, W, d] words to [B, T, d]."""
        place, more = torch.zeros_like(clips), iter(self.linear)
        shared = cast(CrossLayer, self.cross[0]).shared_mask(clips, place, words, is_word)
        for layer in self.cross:
            clips = layer(clips, place, words, is_word, shared)
            clips = next(more)(clips) if self.linear else clips
        shared = shared_mask(self.own, clips)
        for layer in self.own:
            clips = layer(clips, place, is_clip, shared)
            clips = next(more)(clips) if self.linear else clips
        return clips


def encoders() -> dict[str, Encoder]:
    """The rows of Tables 3 and 4, and the masks of each depth and kind."""
    stamp = Encoder(replace(SIZES, mask=MaskConfig()))
    missing = count(stamp) - count(Encoder(SIZES))
    bottleneck = round((missing / (2 * SIZES.layers) - SIZES.d) / (2 * SIZES.d + 1))
    masks = {
        **{f"STAMP, depth {depth}": MaskConfig(depth=depth) for depth in (1, 2, 8, DEEP)},
        **{f"STAMP, depth {depth}, shared": MaskConfig(depth=depth, shared=True) for depth in (2, DEEP)},
        **{f"STAMP, depth {depth}, sum": MaskConfig(depth=depth, fusion="sum") for depth in (2, DEEP)},
        **{f"LAM, depth {depth}": MaskConfig(kind="lam", depth=depth) for depth in (2, DEEP)},
    }
    return {
        "plain": Encoder(SIZES),
        "+ linear layers": Encoder(SIZES, bottleneck),
        "+ transformer layers": Encoder(replace(SIZES, layers=SIZES.layers + 1)),
        **{name: Encoder(replace(SIZES, mask=mask)) for name, mask in masks.items()},
    }


def count(model: nn.Module) -> int:
    """Parameters."""
    return sum(one.numel() for one in model.parameters())


@torch.no_grad()
def mebibytes(run: Run) -> float:
    """Most that tensors held at one moment of a call."""
    return peak_bytes(run, "cpu") / 2**20


def flops(run: Run) -> int:
    """Of one call."""
    with FlopCounterMode(display=False) as counter:
        run()
    return int(counter.get_total_flops())


@torch.no_grad()
def milliseconds(runs: Mapping[str, Run], rounds: int) -> dict[str, float]:
    """The least time of each, the rows taking turns."""
    best = dict.fromkeys(runs, math.inf)
    for number in range(rounds + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if number:  # the first is to warm up
                best[name] = min(best[name], 1000 * (time.perf_counter() - start))
    return best


def encoder_table(rounds: int) -> None:
    """Tables 4 and 7: the whole encoder, in use and in training."""
    clips, words = torch.randn(BATCH, SIZES.clips, SIZES.d), torch.randn(BATCH, SIZES.words, SIZES.d)
    is_clip, is_word = torch.arange(SIZES.clips) < 70, torch.arange(SIZES.words) < 20
    given = clips, words, is_clip.expand(BATCH, -1), is_word.expand(BATCH, -1)
    models = {name: model.eval() for name, model in encoders().items()}

    def trains(model: Encoder) -> Run:
        weights = list(model.parameters())
        return torch.enable_grad()(lambda: torch.autograd.grad(model(*given).sum(), weights))

    def answers(model: Encoder) -> Run:
        return lambda: model(*given)

    used = milliseconds({name: answers(model) for name, model in models.items()}, rounds)
    trained = milliseconds({name: trains(model) for name, model in models.items()}, rounds)
    print("| | parameters | GFLOPs | GMACs | ms | ratio | training ms | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name, model in models.items():
        operations = flops(answers(model)) / 1e9
        print(
            f"| {name} | {count(model) / 1e6:.2f} M | {operations:.2f} | {operations / 2:.2f} "
            f"| {used[name]:.0f} | {used[name] / used['plain']:.2f} "
            f"| {trained[name]:.0f} | {trained[name] / trained['plain']:.2f} |"
        )


def widened_sum(q: Tensor, k: Tensor, v: Tensor, mask: SoftMask) -> Tensor:
    """What `fused_attention` gives for a sum, with the factors of M as more columns: M is never made."""
    batch, heads, _, d_k = q.shape
    rows = pad(mask.rows, (0, 1), value=1.0)[:, None].expand(-1, heads, -1, -1)
    columns = torch.cat([mask.columns, mask.bias[:, None]], dim=1).expand(batch, heads, -1, -1)
    wide_q, wide_k = torch.cat([q / math.sqrt(d_k), rows], dim=3), torch.cat([k, columns], dim=3)
    filled = pad(v, (0, wide_k.shape[3] - d_k))  # the kernels want values as wide as keys
    return scaled_dot_product_attention(wide_q, wide_k, filled, scale=1.0)[..., :d_k]


def dense_sum(q: Tensor, k: Tensor, v: Tensor, mask: SoftMask) -> Tensor:
    """A sum as Eq. 5 is written."""
    return mask.fuse(q @ k.mT / math.sqrt(q.shape[3])).softmax(dim=3) @ v


def by_flex(compiled: Callable[..., Any]) -> Callable[[Tensor, Tensor, Tensor, SoftMask], Tensor]:
    """Either fusion as the score function of PyTorch's flex_attention."""

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: SoftMask) -> Tensor:
        dense = mask.dense()

        def score(logit: Tensor, video: Tensor, _: Tensor, n: Tensor, m: Tensor) -> Tensor:
            own = dense[video, n, m]
            return logit * own if mask.fusion == "product" else logit + own

        out: Tensor = compiled(q, k, v, score_mod=score)
        return out

    return attend


def fusion_table(rounds: int) -> None:
    """One attention by all ways to fuse, at a batch of short sequences and at one long one."""
    flex = by_flex(torch.compile(flex_attention, dynamic=False))
    print("| tokens | fusion | way | GFLOPs | ms | ratio to none | MiB |\n|---|---|---|---|---|---|---|")
    for batch, n_tokens in ((BATCH, SIZES.clips + SIZES.words), (1, LONG)):
        torch.manual_seed(0)
        x, (q, k, v) = torch.randn(batch, n_tokens, SIZES.d), torch.randn(3, batch, 8, n_tokens, 32)
        made = {
            fusion: LearnedMask(MaskConfig(fusion=fusion), SIZES.d, n_tokens) for fusion in ("product", "sum")
        }
        ways: dict[tuple[str, str], Callable[[Tensor, Tensor, Tensor, SoftMask], Tensor]] = {
            ("product", "written out (vidsum)"): fused_attention,
            ("product", "flex_attention, compiled"): flex,
            ("sum", "as a kernel's bias (vidsum)"): fused_attention,
            ("sum", "written out"): dense_sum,
            ("sum", "factors as columns of q and k"): widened_sum,
            ("sum", "flex_attention, compiled"): flex,
        }
        runs = {("none", "kernel"): _once(None, fused_attention, x, q, k, v)}
        for (fusion, way), attend in ways.items():
            runs[fusion, way] = _once(made[fusion], attend, x, q, k, v)
            with torch.no_grad():  # on a CPU flex_attention has no gradients
                _same(runs[fusion, way](), fused_attention(q, k, v, made[fusion](x, n_tokens)))
        found = milliseconds({" | ".join(names): run for names, run in runs.items()}, rounds)
        for names, run in runs.items():
            operations = "-" if "flex" in names[1] else f"{flops(run) / 1e9:.2f}"
            ms = found[" | ".join(names)]
            print(
                f"| {batch} x {n_tokens} | {names[0]} | {names[1]} | {operations} | {ms:.1f} "
                f"| {ms / found['none | kernel']:.1f} | {mebibytes(run):.1f} |"
            )


def _once(module: LearnedMask | None, attend: Callable[..., Tensor], x: Tensor, *given: Tensor) -> Run:
    q, k, v = given
    return lambda: attend(q, k, v, module and module(x, k.shape[2]))


def _same(found: object, wanted: Tensor) -> None:
    if not (isinstance(found, Tensor) and torch.allclose(found, wanted, atol=1e-4)):
        raise AssertionError("the ways do not give the same")


def long_table(rounds: int) -> None:
    """FullTransNet's encoder on one long video: what a mask adds to dense and to local-global attention."""
    is_global = global_tokens(torch.arange(LONG) // 90, 3)[None]
    features = torch.randn(1, LONG, 1024)
    masks = {
        "none": None,
        "product": MaskConfig(),
        "sum": MaskConfig(fusion="sum"),
        "product, shared": MaskConfig(shared=True),
    }
    runs = {}
    for pattern in ("full", "local-global"):
        for name, mask in masks.items():
            config = FullTransNetConfig(attention=pattern, mask=mask)  # type: ignore[arg-type]
            model = FullTransNet(config).eval()
            runs[pattern, name] = _encodes(model, features, is_global)
    found = milliseconds({" | ".join(names): run for names, run in runs.items()}, rounds)
    print("| attention | mask | GFLOPs | ms | ratio to none | MiB |\n|---|---|---|---|---|---|")
    for names, run in runs.items():
        ms = found[" | ".join(names)]
        print(
            f"| {names[0]} | {names[1]} | {flops(run) / 1e9:.2f} | {ms:.0f} "
            f"| {ms / found[f'{names[0]} | none']:.2f} | {mebibytes(run):.1f} |"
        )


def _encodes(model: FullTransNet, features: Tensor, is_global: Tensor) -> Run:
    return lambda: model.encode(features, is_global)


def spread_table() -> None:
    """How much a new mask deviates, how much of it from token to token, and whether it can learn that."""
    for init in get_args(MaskInit):
        print(f"--mask-init {init}:\n")
        print("| depth | deviation | of one key, from token to token | gradient, first layer / last |")
        print("|---|---|---|---|")
        for depth in (1, 2, 4, 8, 16, DEEP, 64):
            torch.manual_seed(0)
            rows = [_new_mask(depth, init) for _ in range(20)]
            deviation, between, gradient = torch.tensor(rows).mean(dim=0).tolist()
            print(f"| {depth} | {deviation:.3f} | {between:.1e} | {gradient:.1e} |")
        print(flush=True)


def _new_mask(depth: int, init: MaskInit) -> tuple[float, float, float]:
    module = LearnedMask(MaskConfig(depth=depth, init=init), SIZES.d, SIZES.clips)
    dense = module(torch.randn(1, SIZES.clips, SIZES.d), SIZES.clips).dense()[0]
    weights = [next(module.layers[number].parameters()) for number in (0, -1)]
    first, last = torch.autograd.grad((dense * torch.randn_like(dense)).sum(), weights)
    return dense.std().item(), dense.std(dim=0).mean().item(), (first.norm() / last.norm()).item()


def main() -> None:
    """See the module."""
    parser = argument_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spread", action="store_true")
    chosen = parser.parse_args()
    torch.manual_seed(0)
    if chosen.spread:
        spread_table()
        return
    for table in (long_table, encoder_table, fusion_table):
        table(chosen.rounds)
        print(flush=True)


if __name__ == "__main__":
    main()
