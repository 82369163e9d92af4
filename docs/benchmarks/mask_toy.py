"""How fast a deep mask changes: a toy in which attention must find one token, with masks of each depth.

    python -m docs.benchmarks.mask_toy [--steps 150] [--seeds 0 1 2]

Of 16 tokens, each a symbol and a value, the first asks for the value of the one that has its symbol: one
layer of attention, a product with STAMP's mask, AdamW at 1e-3. Of a fixed batch a row tells what one step
changes, medians over the steps: M, as a fraction of M, and the attention, as half the sum of what its weights
change by; then M's deviation, the fraction of its variance that tokens make, and how many answers are right.
"""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from docs.benchmarks import argument_parser
from vidsum.models.attention.heads import MultiHeadAttention
from vidsum.models.attention.learned_mask import LearnedMask, SoftMask
from vidsum.models.configs import MaskConfig

_D, _TOKENS, _VALUES, _BATCH = 64, 16, 8, 64
_LR = 1e-3
VARIANTS: dict[str, tuple[MaskConfig | None, float]] = {
    "none": (None, 1),
    "2": (MaskConfig(), 1),
    "2, he": (MaskConfig(init="he"), 1),
    "8, he": (MaskConfig(depth=8, init="he"), 1),
    "32, he": (MaskConfig(depth=32, init="he"), 1),
    "32, he, rate 1/32": (MaskConfig(depth=32, init="he"), 1 / 32),
    "32": (MaskConfig(depth=32), 1),
}
"""Masks, and how fast they learn, as a multiple of the model's rate."""


class Finder(nn.Module):
    """One layer of attention between embeddings and the answer."""

    def __init__(self, config: MaskConfig | None) -> None:
        super().__init__()
        self.symbol, self.value = nn.Embedding(_TOKENS, _D // 2), nn.Embedding(_VALUES + 1, _D // 2)
        self.attention = MultiHeadAttention(_D, 4)
        self.mask = LearnedMask(config, _D, _TOKENS) if config else None
        self.norm, self.answer = nn.LayerNorm(_D), nn.Linear(_D, _VALUES)

    def attend(self, symbols: Tensor, values: Tensor) -> tuple[Tensor, Tensor, SoftMask | None]:
        """Tokens [B, N, d], the weights [B, h, N, N] over them, and the mask."""
        x = torch.cat([self.symbol(symbols), self.value(values)], dim=2)
        q, k = self.attention.queries(x), self.attention.keys(x)
        logits = q @ k.mT / math.sqrt(q.shape[3])
        mask = self.mask(x, _TOKENS) if self.mask else None
        return x, (mask.fuse(logits) if mask else logits).softmax(3), mask

    def forward(self, symbols: Tensor, values: Tensor) -> Tensor:
        """[B, 8] logits of the value that the first token asks for."""
        x, weights, _ = self.attend(symbols, values)
        read = self.norm(x + self.attention.join(weights @ self.attention.values(x)))
        out: Tensor = self.answer(read[:, 0])
        return out


def draw(batch: int) -> tuple[Tensor, Tensor, Tensor]:
    """Symbols and values [B, N], and the answers [B]."""
    symbols = torch.rand(batch, _TOKENS).argsort(1)
    values = torch.randint(_VALUES, (batch, _TOKENS))
    every, place = torch.arange(batch), torch.randint(1, _TOKENS, (batch,))
    answers = values[every, place]
    symbols[:, 0], values[:, 0] = symbols[every, place], _VALUES
    return symbols, values, answers


def train(config: MaskConfig | None, rate: float, steps: int, seed: int) -> list[float]:
    """The columns of a row."""
    torch.manual_seed(seed)
    model = Finder(config)
    masks = [*model.mask.parameters()] if model.mask else []
    others = [weights for name, weights in model.named_parameters() if not name.startswith("mask.")]
    groups = [{"params": others}, {"params": masks, "lr": rate * _LR}]
    optimizer, fixed = torch.optim.AdamW(groups, lr=_LR), draw(256)
    changes, before = list[tuple[float, float]](), (torch.zeros(()), torch.zeros(()))
    for step in range(steps):
        if step % 5 in (0, 1):
            with torch.no_grad():
                _, weights, mask = model.attend(*fixed[:2])
            now = (torch.zeros(1) if mask is None else mask.dense()), weights
            if step % 5 == 1:
                of_mask = (now[0] - before[0]).norm() / before[0].norm().clamp(min=1e-12)
                of_weights = (now[1] - before[1])[:, :, 0].abs().sum(2).mean() / 2
                changes.append((of_mask.item(), of_weights.item()))
            before = now
        symbols, values, answers = draw(_BATCH)
        optimizer.zero_grad()
        cross_entropy(model(symbols, values), answers).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    dense = before[0]
    by_tokens = (dense.var(1).mean() / dense.var()).item() if masks else math.nan
    with torch.no_grad():
        right = (model(*fixed[:2]).argmax(1) == fixed[2]).float().mean().item()
    deviation = dense.std().item() if masks else math.nan
    return [*np.median(changes, axis=0).tolist(), deviation, by_tokens, right]


def main() -> None:
    """Print the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    chosen = parser.parse_args()
    print("| depth | change of M | of the attention | deviation of M | by tokens | right |")
    print("|---|---|---|---|---|---|")
    for name, (config, rate) in VARIANTS.items():
        rows = [train(config, rate, chosen.steps, seed) for seed in chosen.seeds]
        print(f"| {name} | {' | '.join(f'{each:.3f}' for each in np.mean(rows, axis=0))} |", flush=True)


if __name__ == "__main__":
    main()
