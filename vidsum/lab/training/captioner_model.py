"""The captioner in PyTorch, and its loss: people's sentences are to be likely."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from vidsum.models.captioner import END, UNKNOWN
from vidsum.models.configs import CaptionerConfig

IGNORED = -1
"""In place of the next word, where none is asked for."""


class _Block(nn.Module):
    """A decoder layer: attention to what came before, then a feed-forward network."""

    def __init__(self, config: CaptionerConfig, dropout: float) -> None:
        super().__init__()
        d = config.d
        self.heads, self.rate = config.heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.mix = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, config.d_ff), nn.Linear(config.d_ff, d)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return [B, L, d] of tokens [B, L, d], each of which sees those before."""
        q, k, v = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, dim=2)
        )
        rate = self.rate if self.training else 0.0
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=rate)
        x = x + self.dropout(self.mix(attended.transpose(1, 2).flatten(2)))
        wide = functional.relu(self.up(self.norm2(x)))
        return torch.add(x, self.dropout(self.down(wide)))


class TrainedCaptioner(nn.Module):
    """The captioner in PyTorch; see `vidsum.models.captioner` for the names."""

    def __init__(self, config: CaptionerConfig, input_dropout: float, dropout: float) -> None:
        super().__init__()
        self.config = config
        self.words = nn.Embedding(len(config.words), config.d)
        self.places = nn.Parameter(0.02 * torch.randn(config.prefix + config.longest, config.d))
        self.prefix = nn.Linear(config.dim_in, config.prefix * config.d)
        self.blocks = nn.ModuleList(_Block(config, dropout) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.d)
        self.bias = nn.Parameter(torch.zeros(len(config.words)))
        self.input_dropout, self.dropout = nn.Dropout(input_dropout), nn.Dropout(dropout)
        nn.init.normal_(self.words.weight, std=config.d**-0.5)

    def forward(self, x: Tensor, words: Tensor) -> Tensor:
        """Return [B, L + 1, W] logits of each word [B, L] and of the next, of features [B, D]."""
        prefix = self.prefix(self.input_dropout(x)).view(len(x), self.config.prefix, -1)
        h = torch.cat([prefix, self.words(words) * math.sqrt(self.config.d)], dim=1)
        h = self.dropout(h + self.places[: h.shape[1]])
        for block in self.blocks:
            h = block(h)
        h = self.norm(h[:, self.config.prefix - 1 :])
        return functional.linear(self.dropout(h), self.words.weight, self.bias)


def likelihood_loss(
    model: TrainedCaptioner, x: Tensor, words: Tensor, smoothing: float, lost: float
) -> Tensor:
    """Return the mean of - log p(w_i | w_1 ... w_{i-1}, x) over the words [B, L] of sentences, and their
    ends.

    Of standardised features x [B, D]; words are `IGNORED` after a sentence's end, which is a word.
    `smoothing` is the fraction of the probability that is asked for of all words alike, `lost` that of the
    words that the network does not get to read, so that it relies on x.
    """
    read = words[:, :-1].clamp(min=END)
    read = read.masked_fill(torch.rand(read.shape, device=read.device) < lost, UNKNOWN)
    logits = model(x, read).float().flatten(0, 1)
    targets = words.masked_fill(words == UNKNOWN, IGNORED).flatten()
    return functional.cross_entropy(logits, targets, ignore_index=IGNORED, label_smoothing=smoothing)
