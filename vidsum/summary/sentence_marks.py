"""Marks of sentences of a talk: how well a passage can begin with each, end with it, and state its subject.

Linear models read a sentence x with its neighbours:

    mark_k = sigmoid(w_k (x - mean) + b_k)

x [D] has the meanings of the sentence, of the sentence before and of the sentence after, as MiniLM embeds
them, ten facts, and three of its place in the talk. In other languages than English meanings and references
are unknown, and count as their means. weights/standing.md has the labels and the measurements.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from vidsum import checkpoints
from vidsum.grounding.text_encoders import DIMS, embed_cached, load_text_encoder
from vidsum.models.scaling import logistic, unit_rows
from vidsum.summary.content_words import all_words, content_words, union
from vidsum.summary.references import OPENING, loose_references
from vidsum.types import FloatArray, Progress

STANDING: Final = "standing"
_ENCODER: Final = "minilm"
_NEAR: Final = 8  # sentences before and after, whose words are compared with those of a sentence
_LATER: Final = (1.0, 0.7, 0.5)  # weight of references in the first, second and third sentence
_QUESTION: Final = re.compile(r"[?？؟][\"'”’»›)\]」』）》]*$")


def sentence_marks(texts: Sequence[str], *, is_english: bool, progress: Progress | None = None) -> FloatArray:
    """Return [S, 3] in [0, 1] for each sentence of a talk: how well passages for viewers who see nothing else
    can begin with it, and end, and how likely it is that it states the talk's subject or conclusion.
    """
    inputs = mark_inputs(texts, is_english=is_english, progress=progress)
    return marks_of(checkpoints.load_arrays(STANDING), inputs)


def marks_sha256() -> dict[str, str]:
    """Return the digests of what marks depend on: the linear models, and the network of meanings."""
    return {f"{name}_sha256": checkpoints.sha256_of(name) for name in (STANDING, _ENCODER)}


def marks_of(tensors: Mapping[str, FloatArray], inputs: FloatArray) -> FloatArray:
    """Return [S, K] what models with `mean` [D], `weight` [K, D] and `bias` [K] say of inputs [S, D]."""
    known = np.nan_to_num(inputs - tensors["mean"])
    return logistic(known @ tensors["weight"].T + tensors["bias"])


def mark_inputs(texts: Sequence[str], *, is_english: bool, progress: Progress | None = None) -> FloatArray:
    """Return [S, D] what the models read of each sentence of a talk, NaN where it is unknown."""
    meanings = np.full((len(texts), DIMS[_ENCODER]), np.nan, np.float32)
    if is_english and texts:
        encode = load_text_encoder(_ENCODER).encode
        meanings = embed_cached(texts, encode, checkpoints.sha256_of(_ENCODER), progress)
    nothing = 0 * meanings[:1]  # ahead of the talk and after it; NaN if meanings are
    before, after = np.concatenate([nothing, meanings[:-1]]), np.concatenate([meanings[1:], nothing])
    cosines = np.stack([(meanings * before).sum(axis=1), (meanings * after).sum(axis=1)], axis=1)
    references = np.array([[_references(texts, at) if is_english else np.nan] for at in range(len(texts))])
    parts = [meanings, before, after, _facts(texts), cosines, references.reshape(-1, 1), _places(meanings)]
    return np.hstack(parts).astype(np.float32)


def is_question(text: str) -> bool:
    """Return whether a text ends with a question mark, in any script."""
    return bool(_QUESTION.search(text.rstrip()))


def _facts(texts: Sequence[str]) -> FloatArray:
    """Return [S, 7]: whether the sentence, the one before and the one after ask; logarithms of the words of
    the sentence and of the one after; the fractions of its words that are new, and that come again.
    """
    asks = [float(is_question(text)) for text in texts]
    lengths = [float(np.log1p(len(all_words(text)))) for text in texts]
    words = [content_words(text) for text in texts]
    rows = list[tuple[float, ...]]()
    for at, mine in enumerate(words):
        before, after = union(words[max(at - _NEAR, 0) : at]), union(words[at + 1 : at + 1 + _NEAR])
        count = max(len(mine), 1)
        new, again = len(mine - before) / count, len(mine & after) / count
        is_last = at + 1 == len(texts)
        neighbours = asks[at - 1] if at else 0.0, 0.0 if is_last else asks[at + 1]
        rows.append((asks[at], *neighbours, lengths[at], 0.0 if is_last else lengths[at + 1], new, again))
    return np.array(rows, np.float32).reshape(-1, 7)


def _places(meanings: FloatArray) -> FloatArray:
    """Return [S, 3]: the cosine of a sentence's meaning with the mean of the talk; the sentence's place, from
    0 to 1, and how far it is from the middle.
    """
    central = meanings @ unit_rows(meanings.sum(axis=0)[None])[0]
    places = np.arange(len(meanings)) / max(len(meanings), 1)
    return np.stack([central, places, np.abs(places - 0.5)], axis=1)


def _references(texts: Sequence[str], at: int) -> float:
    """Return the weight of the loose references of a passage that begins with a sentence."""
    loose = loose_references(texts[at : at + OPENING], texts[max(at - _NEAR, 0) : at])
    return float(np.dot(loose, _LATER[: len(loose)]))
