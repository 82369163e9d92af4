"""Sentences for N segments of a video: everyday words, or the nearest of a list."""

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from vidsum import checkpoints
from vidsum.description.activities import activity_probabilities
from vidsum.description.animals import animal_shares, weigh_animals
from vidsum.description.words import (
    choose_words,
    is_elsewhere,
    parents_of,
    read_words,
    standard_scores,
    word_probabilities,
)
from vidsum.errors import InputError
from vidsum.grounding.text_encoders import embed_cached, load_text_encoder
from vidsum.io.text import plain_cell, read_packed_text
from vidsum.models.scaling import logistic, softmax
from vidsum.types import FloatArray, Progress

NEAREST, TEMPERATURE = 100, 0.05  # sentences of a bank that vote, and how farther ones fade
CONFIDENCE: Final = (5.8, 12.8, -10.5)
"""Weights of cosine and agreement and the offset of `retrieve`'s confidence; docs/algorithms/describe.md."""
MAX_SHORT_LIST: Final = 500
SHORT_LIST_CONFIDENCE: Final = (14.8, 2.2, -7.5)
"""For lists of at most `MAX_SHORT_LIST` sentences, which hardly ever agree: weights of the cosine and of the
sentence's share of the votes, and the offset."""
_SEGMENTS_PER_BATCH = 64  # segments that are compared with a bank together: this bounds the memory
_COLUMNS = ("caption", "sentence", "text")


@dataclass(frozen=True)
class Sentence:
    """A sentence written for a segment."""

    text: str
    confidence: float | None
    """Probability in [0, 1]. Of a sentence: that it is as near to what people wrote of the picture as four
    fifths of their own sentences are to each other, fitted on photographs of Flickr8k. Of everyday
    words: that the surest one is right. None: of a vision-language model."""

    def is_sure(self, min_sure: float) -> bool:
        """Return whether there is a text, and its confidence is enough if it has one."""
        return bool(self.text) and (self.confidence is None or self.confidence >= min_sure)


@dataclass(frozen=True, eq=False)
class SeenSegments:
    """Rows and actions of N segments."""

    rows: FloatArray  # [N, D] the mean of their rows in the space, of length 1
    actions: FloatArray | None = None  # [N, 600] probabilities of actions, where they were looked for
    objects: FloatArray | None = None  # [N, 1000] probabilities of ImageNet's classes, in `vse`


Writer = Callable[[SeenSegments], list[Sentence]]


@dataclass(frozen=True, eq=False)
class Bank:
    """Sentences that people wrote."""

    texts: tuple[str, ...]
    vectors: FloatArray  # [B, 384] by MiniLM, of length 1


def write_words(
    seen: SeenSegments, space: str, min_sure: float, *, only_changes: bool = False
) -> list[Sentence]:
    """Name what is sure enough, "A woman, singing, on a stage."; the surest word gives the confidence.

    With `only_changes`, nothing is said of a segment without an activity, or a place that is another one than
    the last. Raises WeightsError: the text encoder of the space is unavailable.
    """
    words, sentences, last = read_words(), list[Sentence](), None
    moving = None if seen.actions is None else activity_probabilities(seen.actions)
    probabilities = word_probabilities(standard_scores(space, seen.rows), moving)
    if seen.objects is not None:
        probabilities = weigh_animals(probabilities, animal_shares(seen.objects))
    for chances in probabilities:
        chosen = choose_words(chances, min_sure)
        by_kind = {words[number].kind: number for number in chosen}
        place = by_kind.get("place")
        is_moved = place is not None and is_elsewhere(place, last)
        if place is not None and (is_moved or any(last == above for above in parents_of(place))):
            last = place  # not if it only holds the last one: that tells nothing of where it is now
        if only_changes and not (is_moved or "activity" in by_kind):
            chosen = []
        text = tidy(", ".join(_without_repeats([words[number].text for number in chosen])))
        sentences.append(Sentence(text, float(chances[chosen].max(initial=0))))
    return sentences


def _without_repeats(texts: list[str]) -> list[str]:
    """Return texts without those that another one holds: "snow" says nothing next to "in the snow"."""
    words = [{*text.lower().split()} - {"a", "an", "the"} for text in texts]
    return [text for text, mine in zip(texts, words, strict=True) if not any(mine < other for other in words)]


def retrieve(rows: FloatArray, bank: Bank) -> list[Sentence]:
    """Choose the nearest sentence that the others resemble most: a consensus, as in Devlin et al.,
    "Exploring Nearest Neighbor Approaches for Image Captioning" (2015), weighted by nearness.

    Its agreement with the others, and its cosine with the picture, give the confidence; of a short list, its
    lead over the others in place of the agreement.
    """
    curve = CONFIDENCE if len(bank.texts) > MAX_SHORT_LIST else SHORT_LIST_CONFIDENCE
    said: list[Sentence] = []
    for start in range(0, len(rows), _SEGMENTS_PER_BATCH):
        cosines = rows[start : start + _SEGMENTS_PER_BATCH] @ bank.vectors.T
        k = min(NEAREST, cosines.shape[1])
        for row, nearest in zip(cosines, np.argpartition(-cosines, k - 1, axis=1)[:, :k], strict=True):
            weights = softmax(row[nearest] / np.float32(TEMPERATURE))
            votes = bank.vectors[nearest] @ bank.vectors[nearest].T @ weights
            # its own vote too: else a list in which nothing else is like the right sentence never says it
            chosen = int(np.argmax(votes))
            weight = float(weights[chosen])
            agreement = (float(votes[chosen]) - weight) / max(1 - weight, 1e-6)
            backing = agreement if curve is CONFIDENCE else weight
            sure = curve[0] * row[nearest[chosen]] + curve[1] * backing + curve[2]
            said.append(Sentence(bank.texts[nearest[chosen]], float(logistic(sure))))
    return said


def read_bank(path: Path, progress: Progress | None = None) -> Bank:
    """Return the sentences of a file, embedded and kept on disk. Raises InputError, WeightsError."""
    texts = read_sentences(path)
    encode = load_text_encoder("minilm").encode
    return Bank(texts, embed_cached(texts, encode, checkpoints.sha256_of("minilm"), progress))


def read_sentences(path: Path) -> tuple[str, ...]:
    """Return the sentences of a file, each once. Raises InputError: it cannot be read, or holds none.

    CSV with a column `caption`, `sentence` or `text`, or text with one sentence per line, which may follow
    the name of its picture and a tab; either may end in `.gz`.
    """
    content = read_packed_text(path)
    is_csv = path.name.removesuffix(".gz").endswith(".csv")
    cells = _cells(path, content) if is_csv else (line.rpartition("\t")[2] for line in content.splitlines())
    texts = tuple(dict.fromkeys(filter(None, map(tidy, cells))))
    if not texts:
        hint = "a sentence per line, or CSV with a column caption"
        raise InputError("holds no sentence", hint, subject=path)
    return texts


def _cells(path: Path, content: str) -> Iterator[str]:
    rows = csv.reader(io.StringIO(content, newline=""))
    try:
        head = [name.strip().lower() for name in next(rows, [])]
        column = next((head.index(name) for name in _COLUMNS if name in head), None)
        if column is None:
            fault = f"has no column {', '.join(_COLUMNS[:-1])} or {_COLUMNS[-1]}"
            raise InputError(
                fault, hint="name the columns in the first line, such as file,caption", subject=path
            )
        yield from (plain_cell(row[column]) for row in rows if len(row) > column)
    except csv.Error as error:
        raise InputError(f"line {rows.line_num} is not CSV ({error})", subject=path) from error


def tidy(text: str) -> str:
    """Return a sentence as it is printed: single spaces, a capital, a full stop; empty without a word."""
    text = re.sub(r"\s+([.,;:!?])", r"\1", " ".join(text.split())).rstrip(" .,;")
    if not any(letter.isalpha() for letter in text) or text.lower() == "nan":
        return ""
    return f"{text[0].upper()}{text[1:]}{'' if text[-1] in '!?。！？' else '.'}"
