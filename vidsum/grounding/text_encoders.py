"""Text encoders: networks and word vectors that embed a text as a whole, or each of its words."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.device import cached_model
from vidsum.errors import UsageError, unknown_name_error
from vidsum.features.clip_family import CLIP_MODELS
from vidsum.io.cache import cached_rows
from vidsum.io.packages import install_extra_command
from vidsum.models.e5 import pad
from vidsum.models.scaling import unit_rows
from vidsum.results.moments import quote_queries
from vidsum.types import FloatArray, Progress

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

MINILM_TOKENS = 256  # maximum number of tokens for all-MiniLM-L6-v2, as published (it was trained on 128)
DIMS = {"minilm": 384, "glove": 50, **{name: model.dim for name, model in CLIP_MODELS.items()}}
"""D of each encoder, known without loading it."""
_BATCH, _BATCH_TOKENS = 64, 2048
"""At most, of texts and of their tokens: attention takes 50 KB a token of the longest text, for each text."""
_TEXTS_PER_REPORT = 1000  # between two reports of progress

Texts = Sequence[str]
Embed = Callable[[Texts], Iterable[FloatArray]]
IsToken = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """Embeds texts as vectors."""

    name: str
    encode: Callable[[Texts], FloatArray] = field(repr=False)
    """Texts to [M, D] of length 1; a text of more than `max_tokens` is cut, see `cuts`."""
    encode_words: Callable[[Texts], list[FloatArray]] = field(repr=False)
    """Texts to an [L, D] each, rows of length 1: the last layer's tokens, start and end marks included; for
    `glove` the known words."""
    split: Callable[[str], list[str]] = field(repr=False)
    """The tokens of a text, start and end marks included; for `glove` the known words."""
    max_tokens: int | None = None  # of a text that are read; None for all

    def cuts(self, text: str) -> bool:
        """Return whether a text has more tokens than are read."""
        return self.max_tokens is not None and len(self.split(text)) > self.max_tokens


def load_text_encoder(name: str) -> TextEncoder:
    """Load one of `TEXT_ENCODERS`, on the CPU and kept in memory.

    Raises UsageError: unknown encoder, or a package is missing. WeightsError: no weights.
    """
    if name not in _LOADERS:
        raise unknown_name_error("text encoder", name, TEXT_ENCODERS)
    return _load(name, checkpoints.sha256_of(name))


def embed_in_batches(
    texts: Texts, encode: Callable[[Texts], FloatArray], step: str, progress: Progress | None
) -> FloatArray:
    """Return the vectors [M, D] of many texts, with progress."""
    parts: list[FloatArray] = []
    for start in range(0, len(texts), _TEXTS_PER_REPORT):
        parts.append(encode(texts[start : start + _TEXTS_PER_REPORT]))
        if progress:
            progress(step, start + len(parts[-1]), len(texts))
    return np.concatenate(parts)


def embed_cached(
    texts: Texts, encode: Callable[[Texts], FloatArray], encoder: str, progress: Progress | None = None
) -> FloatArray:
    """Return [N, D] of captions by `TextEncoder.encode`, each distinct one once, cached under `encoder`."""
    distinct = sorted(set(texts), key=lambda text: (len(text), text))  # neighbours need little padding
    provenance = {"encoder": encoder, "texts": distinct}
    make = partial(embed_in_batches, distinct, encode, "sentences embedded", progress)
    rows = cached_rows("captions", provenance, make)
    row_of = {text: row for row, text in enumerate(distinct)}
    return rows[[row_of[text] for text in texts]]


@cached_model(maxsize=3)
def _load(name: str, weights_sha256: str) -> TextEncoder:
    """Load an encoder once for each digest of its weights; there is room for one of the CLIP family."""
    return _LOADERS[name]()


def _minilm() -> TextEncoder:
    """all-MiniLM-L6-v2 (Reimers and Gurevych 2019), 384-d.

    Weights are stored in 8 bits and multiplied in fp32, the same on every processor. Folding the constants
    would make them fp32 in memory, 90 MiB of them, to save a millisecond a batch.
    """
    from tokenizers import Tokenizer

    from vidsum.features.onnx_backend import open_session

    tokenizer = Tokenizer.from_file(str(checkpoints.path_of("minilm") / "minilm-tokenizer.json"))
    tokenizer.no_padding()  # the file asks for texts of exactly 128 tokens
    tokenizer.no_truncation()

    @cache  # many calls only split texts
    def session() -> "InferenceSession":
        return open_session(checkpoints.path_of("minilm") / "minilm.onnx", without=["ConstantFolding"])

    def read(texts: Texts) -> tuple[FloatArray, IsToken]:
        """Return the last layer's rows [B, L, 384], and [B, L] False for padding, whose rows mean nothing."""
        tokens, is_token = _pad(tokenizer, texts)
        inputs = {"input_ids": tokens, "attention_mask": is_token.astype(np.int64)}
        return session().run(None, {**inputs, "token_type_ids": np.zeros_like(tokens)})[0], is_token

    def embed(texts: Texts) -> FloatArray:
        rows, is_token = read(texts)
        return unit_rows((rows * is_token[:, :, None]).sum(axis=1))

    def embed_words(texts: Texts) -> list[FloatArray]:
        return [unit_rows(row[seen]) for row, seen in zip(*read(texts), strict=True)]

    def split(text: str) -> list[str]:
        tokens: list[str] = tokenizer.encode(text).tokens
        return tokens

    return _batched_encoder("minilm", embed, embed_words, split, MINILM_TOKENS)


def _pad(tokenizer: "Tokenizer", texts: Texts) -> tuple[npt.NDArray[np.int64], IsToken]:
    """Return the tokens [B, L] of the texts, and [B, L] bool, False for padding."""
    rows = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
    # a cut text keeps its last token, which marks the end
    rows = [row if len(row) <= MINILM_TOKENS else row[: MINILM_TOKENS - 1] + row[-1:] for row in rows]
    return pad(rows)


def _clip(name: str) -> TextEncoder:
    """Return the text encoder of a network of the CLIP family, in its images' space."""
    from vidsum.features.text_tower import load_text_tower

    tower = load_text_tower(name)
    return _batched_encoder(name, tower.encode, tower.encode_words, tower.split, tower.model.max_tokens)


def _glove() -> TextEncoder:
    """Return the mean of the known words' GloVe vectors (Pennington et al. 2014), 50-d."""
    if find_spec("pyarrow") is None:
        raise UsageError("glove needs the package pyarrow", hint=install_extra_command("glove"))
    from pyarrow import parquet

    folder = checkpoints.path_of("glove")
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    words = parquet.read_table(folder / "words.parquet").column(0).to_pylist()
    row_of = {word: row for row, word in enumerate(words)}

    def known(text: str) -> list[str]:
        return [word for word in re.findall(r"[^\W_]+", text.lower()) if word in row_of]

    def word_vectors(texts: Texts) -> list[FloatArray]:
        rows = [known(text) for text in texts]
        if unknown := [text for text, words in zip(texts, rows, strict=True) if not words]:
            fault = f"GloVe has no word of {quote_queries(unknown)}"
            raise UsageError(fault, hint="use another text encoder")
        return [np.asarray(vectors[[row_of[word] for word in words]], np.float32) for words in rows]

    def encode(texts: Texts) -> FloatArray:
        means = np.array([rows.mean(axis=0) for rows in word_vectors(texts)])
        return unit_rows(means.reshape(len(texts), vectors.shape[1]))

    def encode_words(texts: Texts) -> list[FloatArray]:
        return [unit_rows(rows) for rows in word_vectors(texts)]

    return TextEncoder("glove", encode, encode_words, known)


def _batched_encoder(
    name: str, embed: Embed, embed_words: Embed, split: Callable[[str], list[str]], most_tokens: int
) -> TextEncoder:
    """Return the encoder of a network that reads texts of similar length together, with less padding."""

    def encode(texts: Texts) -> FloatArray:
        return np.array(lists(embed, texts), np.float32).reshape(len(texts), DIMS[name])

    def lists(embed: Embed, texts: Texts) -> list[FloatArray]:
        rows: dict[int, FloatArray] = {}
        for batch in _batches([min(len(split(text)), most_tokens) for text in texts]):
            rows |= zip(batch, embed([texts[number] for number in batch]), strict=True)
        return [rows[number] for number in range(len(texts))]

    return TextEncoder(name, encode, partial(lists, embed_words), split, most_tokens)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the numbers of texts of similar lengths, shortest first, as many as the memory allows."""
    batch = list[int]()
    for number in sorted(range(len(lengths)), key=lambda number: lengths[number]):
        if batch and (len(batch) == _BATCH or (len(batch) + 1) * lengths[number] > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


_LOADERS: dict[str, Callable[[], TextEncoder]] = {
    "minilm": _minilm,
    **{name: partial(_clip, name) for name in CLIP_MODELS},
    "glove": _glove,
}

TEXT_ENCODERS = tuple(_LOADERS)  # the names of the text encoders
