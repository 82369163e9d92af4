"""The text encoders of the CLIP family in onnxruntime: exported once by PyTorch, then run without it."""

import gzip
import html
import logging
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.device import Precision, prefers_int8
from vidsum.features.clip_family import CLIP_MODELS, ClipModel, build_text_tower
from vidsum.features.onnx_backend import export, open_session
from vidsum.io.cache import cached_bytes
from vidsum.io.packages import require_extra
from vidsum.io.provenance import hash_file
from vidsum.types import FloatArray

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"  # CLIP's, with a mark at the end of each
_END, _N_MERGES = "</w>", 48_894
_TO_TEXT = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True, eq=False)
class TextTower:
    """The text encoder of a network of the family."""

    model: ClipModel
    precision: Precision

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return features [N, D] of length 1; a text of more than `max_tokens` is cut, its end mark stays."""
        return self._run(self._tokens(texts)[0])[0]

    def encode_words(self, texts: Sequence[str]) -> list[FloatArray]:
        """Return the last layer's rows [L, W] of each text, of length 1, marks included."""
        tokens, lengths = self._tokens(texts)
        return [rows[:length] for rows, length in zip(self._run(tokens)[1], lengths, strict=True)]

    def split(self, text: str) -> list[str]:
        """Return the tokens of a text, marks included."""
        decode = self._tokenizer.decode
        return [decode([token], skip_special_tokens=False).removesuffix(_END) for token in self._encode(text)]

    def _encode(self, text: str) -> list[int]:
        if self.model.has_own_tokenizer:
            words = " ".join(text.replace("_", " ").translate(_TO_TEXT).lower().split())
            ids: list[int] = self._tokenizer.encode(words).ids
            return ids
        start = self._tokenizer.get_vocab_size() - 2
        return [start, *self._tokenizer.encode(_clean(text)).ids, start + 1]

    def _tokens(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int64], list[int]]:
        most = self.model.max_tokens
        rows = [self._encode(text) for text in texts]
        rows = [row if len(row) <= most else [*row[: most - 1], row[-1]] for row in rows]
        tokens = np.zeros((len(rows), most), np.int64)  # 0 is padding
        for number, row in enumerate(rows):
            tokens[number, : len(row)] = row
        return tokens, [len(row) for row in rows]

    def _run(self, tokens: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Return features [N, D] and rows [N, L, W], a text at a time: all have the same length."""
        results = [self._session.run(None, {"tokens": row[None]}) for row in tokens]
        features, rows = (np.concatenate(parts) for parts in zip(*results, strict=True))
        return features, rows

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        if not self.model.has_own_tokenizer:
            return _byte_pair_tokenizer()
        tokenizer = Tokenizer.from_file(str(checkpoints.path_of(self.model.name) / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    @cached_property
    def _session(self) -> "InferenceSession":
        name = self.model.name
        provenance = {"tower": "text", "weights": checkpoints.sha256_of(name), "precision": self.precision}
        provenance["code"] = hash_file(Path(__file__))
        return open_session(cached_bytes("onnx", provenance, lambda: _export(name, self.precision)))


def load_text_tower(name: str) -> TextTower:
    """Return the text encoder of a network of the family, for CPUs: int8 where `prefers_int8`, else fp32.

    Raises WeightsError: no weights; PackageError, UsageError: a package is missing that exports it.
    """
    if checkpoints.find(name) is None:
        require_extra("torch", name)
    return TextTower(CLIP_MODELS[name], "int8" if prefers_int8("cpu") else "fp32")


def _export(name: str, precision: Precision) -> bytes:
    """Return the encoder as an ONNX file; weights of matrices in 8 bits, a scale for each column."""
    require_extra("onnx", name)
    import onnx
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    tower = build_text_tower(name, checkpoints.load_state_dict(name))
    example = torch.ones(1, CLIP_MODELS[name].max_tokens, dtype=torch.int64)  # always padded to this length
    model = export(tower, example, "tokens", ["features", "rows"])
    if precision != "int8":
        return model
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)  # it recommends a step that changes nothing here
    try:
        with TemporaryDirectory() as folder:
            small, matrices = Path(folder) / "small.onnx", ["MatMul", "Gemm", "Gather"]
            whole = onnx.load_from_string(model)
            quantize_dynamic(whole, small, matrices, per_channel=True, weight_type=QuantType.QInt8)
            return small.read_bytes()
    finally:
        logging.disable(disabled)


def _clean(text: str) -> str:
    """Return a text as CLIP reads it: broken encodings repaired, single spaces, lower case."""
    if not text.isascii():
        import ftfy  # comes with open_clip

        text = ftfy.fix_text(text)
    return " ".join(html.unescape(html.unescape(text)).split()).lower()


def _byte_pair_tokenizer() -> "Tokenizer":
    """Return CLIP's tokenizer without its marks, from the list of merged pairs that open_clip has."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    spec = find_spec("open_clip")
    if spec is None or spec.origin is None:
        require_extra("torch", "CLIP's tokenizer")
    assert spec is not None
    path = Path(str(spec.origin)).with_name("bpe_simple_vocab_16e6.txt.gz")
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")[1 : _N_MERGES + 1]
    merges = [(first, second) for first, second in map(str.split, lines)]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())  # in the order of the vocabulary
    words = [*letters, *(letter + _END for letter in letters), *map("".join, merges), "[start]", "[end]"]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, end_of_word_suffix=_END))
    split = pre_tokenizers.Split(Regex(_WORDS), "removed", invert=True)
    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, as_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
