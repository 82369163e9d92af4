"""A captioner: a small transformer decoder that writes a sentence about the features of a picture.

    p(w_i | w_1 ... w_{i-1}, x) = softmax(E h_i + b),    h = decoder(P_1 x, ..., P_k x, e_{w_1}, e_{w_2}, ...)

e_w is sqrt(d) times the row of E of a word w, and x are the standardised roots of pooled features (as
`vidsum.models.vse` reads them). P_1 x ... P_k x are tokens in front of the words, which Vinyals et al.,
"Show and Tell" (2015) gave a recurrent network and Mokady et al., "ClipCap" (2021) GPT-2. The decoder has the
layers of Vaswani et al. (2017), each of which normalises its input. In NumPy: what ships needs no torch.
docs/algorithms/captioner.md has the training and the measurements.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.models.configs import CaptionerConfig
from vidsum.models.scaling import normalise_rows
from vidsum.models.vse import signed_root, unpack
from vidsum.types import FloatArray

END, UNKNOWN = 0, 1  # tokens: the end of a sentence, and a word that is not in the vocabulary
SPECIAL: Final = ("", "?")  # their entries in the vocabulary
_WORD = re.compile(r"'s\b|[a-z0-9]+(?:-[a-z0-9]+)*")
_IMPOSSIBLE = np.float32(-1e9)  # log-probability of forbidden tokens

_BLOCK_PICTURES = 32  # pictures per beam search

Tokens = npt.NDArray[np.int64]
Words = tuple[int, ...]


class ScoredSentence(NamedTuple):
    """A sentence that beam search found."""

    text: str
    log_probability: float  # mean over its words and its end


@dataclass
class DecoderCache:
    """Cached keys and values [R, heads, L, d / heads] of R unfinished sentences."""

    keys: list[FloatArray]
    values: list[FloatArray]

    def select(self, rows: Tokens) -> "DecoderCache":
        return DecoderCache([layer[rows] for layer in self.keys], [layer[rows] for layer in self.values])


@dataclass(frozen=True, eq=False)
class Captioner:
    """Features [N, D] of pictures to sentences."""

    config: CaptionerConfig
    tensors: Mapping[str, FloatArray]  # see `shapes_of`

    def write(self, features: FloatArray, width: int) -> list[list[ScoredSentence]]:
        """Return up to `width` sentences of each picture by beam search, the likeliest first."""
        x = self.standardise(features)
        starts = range(0, len(x), _BLOCK_PICTURES)
        return [
            sentences
            for start in starts
            for sentences in self._search(x[start : start + _BLOCK_PICTURES], width)
        ]

    def standardise(self, features: FloatArray) -> FloatArray:
        """Return [N, D] standardised features, the input of the decoder."""
        return np.asarray((signed_root(features) - self.tensors["mean"]) / self.tensors["scale"], np.float32)

    def begin(self, x: FloatArray) -> tuple[FloatArray, DecoderCache]:
        """Return [N, W] log-probabilities of the first word, and the cache, of standardised features."""
        c, t = self.config, self.tensors
        tokens = (x @ t["prefix.weight"].T + t["prefix.bias"]).reshape(len(x), c.prefix, c.d)
        empty = np.empty((len(x), c.heads, 0, c.d // c.heads), np.float32)
        memory = DecoderCache([empty] * c.layers, [empty] * c.layers)
        for place in range(c.prefix):
            h = self._advance(tokens[:, place], memory)
        return self._log_probabilities(h), memory

    def read(self, words: Tokens, memory: DecoderCache) -> FloatArray:
        """Return [R, W] log-probabilities of the next word after words [R], and extend the cache."""
        rows = self.tensors["words.weight"][words] * np.float32(np.sqrt(self.config.d))
        return self._log_probabilities(self._advance(rows, memory))

    def _advance(self, h: FloatArray, memory: DecoderCache) -> FloatArray:
        """Return [R, d] the last layer's output for one more token [R, d]."""
        heads = self.config.heads
        h = h + self.tensors["places"][memory.keys[0].shape[2]]
        for layer in range(self.config.layers):
            name = f"blocks.{layer}"
            q, k, v = (
                part.reshape(len(h), heads, 1, -1)
                for part in np.split(self._linear(self._norm(h, f"{name}.norm1"), f"{name}.qkv"), 3, axis=1)
            )
            memory.keys[layer] = keys = np.concatenate([memory.keys[layer], k], axis=2)
            memory.values[layer] = values = np.concatenate([memory.values[layer], v], axis=2)
            weights = np.exp(log_softmax(q @ keys.swapaxes(2, 3) / np.float32(np.sqrt(q.shape[3]))))
            h = h + self._linear((weights @ values).reshape(len(h), -1), f"{name}.mix")
            wide = np.maximum(self._linear(self._norm(h, f"{name}.norm2"), f"{name}.up"), 0)
            h = h + self._linear(wide, f"{name}.down")
        return h

    def _log_probabilities(self, h: FloatArray) -> FloatArray:
        logits = self._norm(h, "norm") @ self.tensors["words.weight"].T + self.tensors["bias"]
        logits[:, UNKNOWN] = _IMPOSSIBLE
        return log_softmax(logits)

    def _linear(self, x: FloatArray, name: str) -> FloatArray:
        return np.asarray(x @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"])

    def _norm(self, x: FloatArray, name: str) -> FloatArray:
        return normalise_rows(x) * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]

    def _search(self, x: FloatArray, width: int) -> list[list[ScoredSentence]]:
        """Search the sentences of pictures [N, D]: the `width` best beginnings grow word by word.

        Sentences are ranked by their mean log-probability, so that short ones are not preferred.
        """
        chances, memory = self.begin(x)
        begun: list[Words] = [()] * len(x)
        sums = np.zeros(len(x), np.float32)
        finished: list[list[tuple[float, Words]]] = [[] for _ in x]
        for length in range(1, self.config.longest + 2):
            n_beams = len(sums) // len(x)
            for row, end in enumerate(((sums + chances[:, END]) / length).tolist()):
                if begun[row] and end > _IMPOSSIBLE / length:
                    finished[row // n_beams].append((end, begun[row]))
            if length > self.config.longest:
                break
            chances[:, END] = _IMPOSSIBLE
            totals = (sums[:, None] + chances).reshape(len(x), -1)
            some = min(width, totals.shape[1])
            best = np.argpartition(-totals, some - 1, axis=1)[:, :some]
            rows, words = np.divmod(best, chances.shape[1])
            rows += n_beams * np.arange(len(x))[:, None]
            begun = [(*begun[row], word) for row, word in zip(rows.flat, words.flat, strict=True)]
            sums, memory = np.take_along_axis(totals, best, axis=1).ravel(), memory.select(rows.ravel())
            chances = self.read(words.ravel(), memory)
        best_of = (sorted(candidates, reverse=True)[:width] for candidates in finished)
        return [
            [ScoredSentence(self.sentence(words), chance) for chance, words in candidates]
            for candidates in best_of
        ]

    def sentence(self, words: Iterable[int]) -> str:
        """Return the text of tokens, as it is printed."""
        return join_words(self.config.words[word] for word in words)


def log_softmax(scores: FloatArray) -> FloatArray:
    """Return [..., K] logarithms of the probabilities of scores [..., K]."""
    scores = scores - scores.max(axis=-1, keepdims=True)
    return np.asarray(scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True)), np.float32)


def split_words(sentence: str) -> list[str]:
    """Return the words of a sentence, in lower case, without punctuation."""
    return _WORD.findall(sentence.lower())


def join_words(words: Iterable[str]) -> str:
    """Return the text of words, with a capital and a full stop; empty where there are none."""
    text = " ".join(words).replace(" 's", "'s")
    return f"{text[0].upper()}{text[1:]}." if text else ""


def number_words(sentence: str, numbers: Mapping[str, int]) -> list[int]:
    """Return the numbers of a sentence's words; `UNKNOWN` of a word that has none."""
    return [numbers.get(word, UNKNOWN) for word in split_words(sentence)]


def tensor_shapes(config: CaptionerConfig) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a captioner's tensors, by name."""
    d, wide, n_prefix, n_words = config.d, config.d_ff, config.prefix, len(config.words)
    layers = {
        "norm1": (d,),
        "qkv": (3 * d, d),
        "mix": (d, d),
        "norm2": (d,),
        "up": (wide, d),
        "down": (d, wide),
    }
    linear: dict[str, tuple[int, ...]] = {"prefix": (n_prefix * d, config.dim_in), "norm": (d,)}
    linear |= {f"blocks.{n}.{name}": shape for n in range(config.layers) for name, shape in layers.items()}
    shapes: dict[str, tuple[int, ...]] = {"mean": (config.dim_in,), "scale": (config.dim_in,)}
    shapes |= {"words.weight": (n_words, d), "bias": (n_words,), "places": (n_prefix + config.longest, d)}
    for name, shape in linear.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes


def build_captioner(config: CaptionerConfig, tensors: Mapping[str, npt.NDArray[Any]]) -> Captioner:
    """Build the captioner of a checkpoint. Raises ValueError where the tensors do not fit the config."""
    whole = unpack(tensors)
    shapes = tensor_shapes(config)
    if {name: tensor.shape for name, tensor in whole.items()} != shapes:
        raise ValueError(f"tensors of the shapes {shapes} are needed")
    if not all(np.isfinite(tensor).all() for tensor in whole.values()):
        raise ValueError("weights must be finite numbers")
    return Captioner(config, whole)
