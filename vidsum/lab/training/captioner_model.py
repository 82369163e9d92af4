"""The captioner in PyTorch, and its losses: people's sentences shall be likely, its own be like theirs."""

import math
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from vidsum.models.captioner import END, UNKNOWN
from vidsum.models.configs import CaptionerConfig

IGNORED = -1
"""In place of the next word, where none is asked for."""
LONGEST, SIGMA = 4, 6.0
"""Of CIDEr-D: words of an n-gram, and the deviation of lengths that counts little."""

Sentence = tuple[int, ...]
"""Tokens, with `END`."""


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

    def forward(self, x: Tensor, memory: list[Tensor] | None = None) -> Tensor:
        """[B, L, d] of tokens [B, L, d]; `memory` has keys and values of those before, and takes in these."""
        q, k, v = (
            each.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for each in self.qkv(self.norm1(x)).chunk(3, dim=2)
        )
        if memory is not None:
            if memory:
                k, v = torch.cat([memory[0], k], dim=2), torch.cat([memory[1], v], dim=2)
            memory[:] = k, v
        rate = self.rate if self.training else 0.0
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=x.shape[1] > 1, dropout_p=rate)
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
        """[B, L + 1, W] logits of each word [B, L] and of what follows the last, of features [B, D]."""
        h = torch.cat([self._prefix(x), self._embedded(words)], dim=1)
        h = self.dropout(h + self.places[: h.shape[1]])
        for block in self.blocks:
            h = block(h)
        return self._logits(h[:, self.config.prefix - 1 :])

    def begin(self, x: Tensor) -> tuple[Tensor, list[list[Tensor]]]:
        """[B, W] logits of the first word, and the memory of each layer, of features [B, D]."""
        memory: list[list[Tensor]] = [[] for _ in self.blocks]
        return self._read(self._prefix(x), memory), memory

    def read(self, words: Tensor, memory: list[list[Tensor]]) -> Tensor:
        """[B, W] logits of the next word after words [B], which the memory takes in."""
        return self._read(self._embedded(words[:, None]), memory)

    def _read(self, h: Tensor, memory: list[list[Tensor]]) -> Tensor:
        past = memory[0][0].shape[2] if memory[0] else 0
        h = h + self.places[past : past + h.shape[1]]
        for block, own in zip(self.blocks, memory, strict=True):
            h = block(h, own)
        return self._logits(h[:, -1])

    def _logits(self, h: Tensor) -> Tensor:
        return functional.linear(self.dropout(self.norm(h)), self.words.weight, self.bias)

    def _embedded(self, words: Tensor) -> Tensor:
        return torch.mul(self.words(words), math.sqrt(self.config.d))

    def _prefix(self, x: Tensor) -> Tensor:
        tokens: Tensor = self.prefix(self.input_dropout(x))
        return tokens.view(len(x), self.config.prefix, -1)


def likelihood_loss(
    model: TrainedCaptioner, x: Tensor, words: Tensor, smoothing: float, lost: float
) -> Tensor:
    """The mean of - log p(w_i | w_1 ... w_{i-1}, x) over the words [B, L] of sentences, and their ends.

    Args:
        model: in training mode.
        x: [B, D] standardised features.
        words: [B, L] `IGNORED` after a sentence's end, which is a word.
        smoothing: fraction of the probability that is asked for of all words alike.
        lost: fraction of the words that the network does not get to read, so that it relies on x.
    """
    read = words[:, :-1].clamp(min=END)
    read = read.masked_fill(torch.rand(read.shape, device=read.device) < lost, UNKNOWN)
    logits = model(x, read).float().flatten(0, 1)
    asked = words.masked_fill(words == UNKNOWN, IGNORED).flatten()
    return functional.cross_entropy(logits, asked, ignore_index=IGNORED, label_smoothing=smoothing)


def reward_loss(
    model: TrainedCaptioner, x: Tensor, pictures: Sequence[int], reward: "Reward", draws: int
) -> Tensor:
    """Self-critical training (Rennie et al. 2017): the mean of - (r - b) log p over words of drawn sentences.

    r is the reward of a sentence and b the mean of the others of its picture (Luo, "A Better Variant of
    Self-Critical Sequence Training", 2020).

    Args:
        model: in training mode.
        x: [B, D] standardised features.
        pictures: B numbers, as the reward knows them.
        reward: of sentences.
        draws: K, sentences of each picture, at least 2.
    """
    rows = x.repeat_interleave(draws, dim=0)
    words = drawn(model, rows)
    said = [tuple(row[: row.index(END) + 1] if END in row else row) for row in words.tolist()]
    rewards = torch.tensor([reward(pictures[row // draws], own) for row, own in enumerate(said)])
    rewards = rewards.view(-1, draws)
    others = (rewards.sum(dim=1, keepdim=True) - rewards) / (draws - 1)
    gains = (rewards - others).view(-1, 1).to(x.device)
    lengths = torch.tensor([len(own) for own in said], device=x.device)
    is_said = torch.arange(words.shape[1], device=x.device) < lengths[:, None]
    logits = model(rows, words[:, :-1]).float()
    chances = functional.log_softmax(logits, dim=2).gather(2, words[:, :, None])[:, :, 0]
    return -(gains * chances * is_said).sum() / is_said.sum()


@torch.no_grad()
def drawn(model: TrainedCaptioner, x: Tensor) -> Tensor:
    """[B, L] sentences drawn for standardised features [B, D], without dropout; `END` closes them."""
    was_training = model.training
    model.eval()
    logits, memory = model.begin(x)
    words = []
    is_over = torch.zeros(len(x), dtype=torch.bool, device=x.device)
    for _ in range(model.config.longest):
        logits = logits.float()
        logits[:, UNKNOWN] = -math.inf
        word = torch.multinomial(logits.softmax(dim=1), 1)[:, 0].masked_fill(is_over, END)
        words.append(word)
        is_over |= word == END
        if is_over.all():
            break
        logits = model.read(word, memory)
    model.train(was_training)
    return torch.stack(words, dim=1)


class Reward:
    """CIDEr-D (Vedantam et al. 2015) of a sentence among those of its picture, its end being a word.

    The end counts so that sentences do not stop in the middle of a phrase.
    """

    def __init__(self, sentences: Sequence[Sequence[Sentence]]) -> None:
        """Sentences of each picture."""
        seen = Counter(gram for own in sentences for gram in {gram for each in own for gram in _grams(each)})
        self.log_n = math.log(max(2, len(sentences)))
        self.idf = {gram: self.log_n - math.log(count) for gram, count in seen.items()}
        self.own = [[(len(each), *self._weighed(each)) for each in own] for own in sentences]

    def __call__(self, picture: int, sentence: Sentence) -> float:
        """The reward of a sentence of a picture."""
        weights, norms = self._weighed(sentence)
        total = 0.0
        for length, theirs, their_norms in self.own[picture]:
            alike = [0.0] * LONGEST
            for gram in weights.keys() & theirs.keys():
                alike[len(gram) - 1] += min(weights[gram], theirs[gram]) * theirs[gram]
            cosine = sum(each / (a * b) for each, a, b in zip(alike, norms, their_norms, strict=True) if each)
            total += cosine * math.exp(-((length - len(sentence)) ** 2) / (2 * SIGMA**2))
        return 10 * total / LONGEST / len(self.own[picture])

    def _weighed(self, sentence: Sentence) -> tuple[dict[Sentence, float], list[float]]:
        """tf-idf of the n-grams of a sentence, and the length of this vector for each n."""
        counts = Counter(_grams(sentence))
        weights = {gram: count * self.idf.get(gram, self.log_n) for gram, count in counts.items()}
        squares = [0.0] * LONGEST
        for gram, weight in weights.items():
            squares[len(gram) - 1] += weight**2
        return weights, [math.sqrt(square) for square in squares]


def _grams(sentence: Sentence) -> list[Sentence]:
    places = range(len(sentence))
    return [sentence[at : at + n] for n in range(1, LONGEST + 1) for at in places[: len(sentence) - n + 1]]
