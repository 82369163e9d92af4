"""Sentences for segments of a video: names of classes, or the nearest of sentences that people wrote.

A writer takes what is seen of N segments (`Seen`) and gives one sentence for each. The confidence of all of
them is one measure, `confidences`. docs/algorithms/describe.md has the methods and the measurements.
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from vidsum import checkpoints
from vidsum.errors import InputError
from vidsum.features import describe
from vidsum.grounding.conse import class_probabilities
from vidsum.grounding.text import embed_once, load_text_encoder
from vidsum.grounding.vse import EXTRACTOR, load_map
from vidsum.scaling import logistic
from vidsum.text_files import read_packed_text
from vidsum.types import FloatArray, Progress

SURE: Final = {"write": (0.9, -1.9), "retrieve": (0.9, -1.9), "tags": (0.9, -1.9)}
"""Slope and offset of each writer's logistic curve, from z to the confidence; docs/algorithms/describe.md."""
NEAREST = 50
"""Sentences of a bank that vote on which of them is said."""
_MOST_TAGS, _LEAST_CHANCE = 3, 0.05
_AT_ONCE = 64
"""Segments that are compared with a bank together: this bounds the memory."""
_COLUMNS = ("caption", "sentence", "text")


@dataclass(frozen=True, eq=False)
class Seen:
    """What is seen of N segments."""

    features: FloatArray
    """[N, 1280] mean of each segment's EfficientNet-Lite0 features."""
    embeddings: FloatArray
    """[N, 384] mean of the map's vectors (`vidsum.grounding.vse`) of each segment, scaled to length 1."""
    class_logits: FloatArray | None = None
    """[N, 1000] mean of the network's class scores; only `tags` needs them."""


@dataclass(frozen=True)
class Sentence:
    """What is said of a segment."""

    text: str
    confidence: float
    """Probability that the sentence is as near to what people wrote of the picture as their own sentences are
    to each other: a logistic curve of its z-score, fitted on photographs of Flickr8k. See `confidences`."""


Writer = Callable[[Seen], list[Sentence]]


@dataclass(frozen=True, eq=False)
class Bank:
    """Sentences that people wrote."""

    texts: tuple[str, ...]
    vectors: FloatArray
    """[B, 384] by MiniLM, of length 1."""


def tags(seen: Seen) -> list[Sentence]:
    """The likeliest classes of ImageNet, such as "golden retriever, tennis ball"."""
    assert seen.class_logits is not None
    names = describe(EXTRACTOR).class_names
    assert names is not None
    known = [re.sub(r"\s*\([^)]*\)", "", name) for name in names()]
    chances = class_probabilities(seen.class_logits)
    order = np.argsort(-chances, axis=1, kind="stable")[:, :_MOST_TAGS]
    texts = [
        ", ".join(known[k] for rank, k in enumerate(best) if rank == 0 or row[k] >= _LEAST_CHANCE)
        for row, best in zip(chances, order.tolist(), strict=True)
    ]
    return _judged("tags", seen, texts, _embedded(texts))


def retrieve(seen: Seen, bank: Bank) -> list[Sentence]:
    """Of the nearest sentences, the one that the others resemble most (consensus; Devlin et al., "Exploring
    Nearest Neighbor Approaches for Image Captioning", 2015).

    The nearest are those with the largest z (`z_scores`), which no sentence near every picture can lead.
    """
    chosen: list[int] = []
    for start in range(0, len(seen.embeddings), _AT_ONCE):
        z = z_scores(seen.embeddings[start : start + _AT_ONCE], bank.vectors)
        k = min(NEAREST, z.shape[1])
        for nearest in np.argpartition(-z, k - 1, axis=1)[:, :k]:
            vectors = bank.vectors[nearest]
            chosen.append(int(nearest[np.argmax(vectors @ vectors.sum(axis=0))]))
    return _judged("retrieve", seen, [bank.texts[row] for row in chosen], bank.vectors[chosen])


def retrieving(bank: Bank) -> Writer:
    """The writer `retrieve` with its sentences."""
    return partial(retrieve, bank=bank)


def z_scores(pictures: FloatArray, sentences: FloatArray) -> FloatArray:
    """[N, M] how far the cosine of each picture [N, 384] and each sentence [M, 384] lies above those
    of photographs with the sentence, in their deviations: the first part of z in `vidsum.grounding.presence`.
    """
    tensors = load_map().tensors
    spread = np.linalg.norm(sentences @ tensors["cohort.weight"], axis=1)
    centred = pictures - tensors["cohort.mean"]
    return np.asarray(centred @ (sentences / np.maximum(spread, 1e-6)[:, None]).T, np.float32)


def confidences(writer: str, pictures: FloatArray, sentences: FloatArray) -> list[float]:
    """How sure each sentence [N, 384] of a writer is of its picture [N, 384]: `Sentence.confidence`."""
    slope, offset = SURE[writer]
    z = np.array([z_scores(*pair)[0, 0] for pair in zip(pictures[:, None], sentences[:, None], strict=True)])
    return [float(each) for each in logistic(slope * z + offset)]


def judged(writer: str, seen: Seen, texts: Sequence[str]) -> list[Sentence]:
    """The sentences of a writer with their confidence."""
    return _judged(writer, seen, texts, _embedded(texts))


def _judged(writer: str, seen: Seen, texts: Sequence[str], vectors: FloatArray) -> list[Sentence]:
    return [
        Sentence(text, confidence)
        for text, confidence in zip(texts, confidences(writer, seen.embeddings, vectors), strict=True)
    ]


def _embedded(texts: Sequence[str]) -> FloatArray:
    return load_text_encoder("minilm").encode(texts)


def read_bank(path: Path, progress: Progress | None = None) -> Bank:
    """The sentences of a file, embedded once and kept on disk.

    Args:
        path: CSV with a column `caption`, `sentence` or `text`, or text with one sentence per line, which may
            follow the name of its picture and a tab; either may end in `.gz`. Cells and lines without a
            letter are left out.
        progress: called while they are embedded.

    Raises:
        InputError: the file cannot be read, or holds no sentence.
        WeightsError: MiniLM's weights are missing, cannot be fetched or fail their check.
    """
    content = read_packed_text(path)
    is_csv = path.name.removesuffix(".gz").endswith(".csv")
    cells = _cells(path, content) if is_csv else (line.rpartition("\t")[2] for line in content.splitlines())
    texts = tuple(dict.fromkeys(filter(None, map(tidied, cells))))
    if not texts:
        raise InputError(f"{path}: holds no sentence", hint="a sentence a line, or CSV with a column caption")
    encode = load_text_encoder("minilm").encode
    return Bank(texts, embed_once(texts, encode, checkpoints.sha256_of("minilm"), progress))


def _cells(path: Path, content: str) -> Iterator[str]:
    rows = csv.reader(io.StringIO(content, newline=""))
    try:
        head = [name.strip().lower() for name in next(rows, [])]
        column = next((head.index(name) for name in _COLUMNS if name in head), None)
        if column is None:
            fault = f"{path}: has no column {', '.join(_COLUMNS[:-1])} or {_COLUMNS[-1]}"
            raise InputError(fault, hint="name the columns in the first line, such as file,caption")
        yield from (row[column] for row in rows if len(row) > column)
    except csv.Error as error:
        raise InputError(f"{path}: line {rows.line_num} is not CSV ({error})") from error


def tidied(text: str) -> str:
    """A sentence as it is printed: single spaces, none before punctuation, a capital, a full stop.

    Empty where it holds no word; `nan` is what tables write for an empty cell.
    """
    text = re.sub(r"\s+([.,;:!?])", r"\1", " ".join(text.split())).rstrip(" .,;")
    if not any(letter.isalpha() for letter in text) or text.lower() == "nan":
        return ""
    return f"{text[0].upper()}{text[1:]}{'' if text[-1] in '!?' else '.'}"
