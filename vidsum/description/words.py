"""Everyday words for the segments of a video: one or two things, an activity and a place of our own lists.

With rows of length 1 of an image-text space, f of a segment, w of a word and b of everyday phrases:

    z(w) = (w . f - mean_b b . f) / sd_b b . f
    p(w) = 1 / (1 + exp(-a z(w) - c log(share(w) + .0003) - d))

share(w) is how often people mention the word. A parent ("an animal") is as likely as the likeliest of its
words. docs/algorithms/describe.md has the fit, and how right it is. Activities are seen in movement too
(activities.py).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final

import numpy as np

from vidsum import checkpoints
from vidsum.evidence.match_probability import embed_background
from vidsum.grounding.spaces import describe_space
from vidsum.io.cache import cached_rows
from vidsum.models.scaling import logistic, unit_rows
from vidsum.types import FloatArray

WORD_CURVE: Final = (1.1, 1.25, 0.14)  # the curve's a, c and d, fitted in `vse`
SPECIFIC_SURE: Final = 0.9  # confidence from which a specific name is written, otherwise its parent
DOUBTFUL_SURE: Final = 0.75
"""Confidence from which words are named that are often seen where they are not, and from which a person is
called a woman, a child or an athlete: a wrong guess offends."""
SCENE_SURE: Final = 0.65  # confidence from which an activity or a place is named
_PERSON: Final = "a person"
_CARTOON: Final = "a cartoon"
_MARGIN = 0.1  # by how much other words may be less sure than the surest, and a word than its parent
_RARE = 3e-4  # what is added to every share: a word that people never mentioned is not impossible
_MOST: Final = {"thing": 2, "activity": 1, "place": 1}  # words of each kind in a description, in its order


@dataclass(frozen=True)
class EverydayWord:
    """A thing, a place or an activity in everyday words."""

    kind: str
    text: str
    names: tuple[str, ...]  # texts that mean it: the word without preposition, and other names
    share: float  # of pictures that people describe by it
    parent: int | None  # number of the general word
    is_specific: bool
    is_doubtful: bool  # often seen where it is not


@lru_cache(maxsize=1)
def read_words() -> tuple[EverydayWord, ...]:
    """Return the words that ship with vidsum; a parent comes before its words."""
    words: list[EverydayWord] = []
    numbers: dict[tuple[str, str], int] = {}
    for line in files("vidsum.description").joinpath("words.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        head, mark, entries = re.split(r"\s?([:>]) ", line, maxsplit=1)
        kind, _, parent = head.partition(" ")
        for entry in entries.split("; "):
            word = _read_entry(entry, kind, numbers[kind, parent] if parent else None, mark == ">")
            numbers[kind, word.text] = len(words)
            words.append(word)
    return tuple(words)


def _read_entry(entry: str, kind: str, parent: int | None, is_specific: bool) -> EverydayWord:
    match = re.fullmatch(r"(.+?) (\d+)(!?)(?: \((.+)\))?", entry)
    assert match, entry
    text, count, mark, others = match.groups()
    bare = text.partition(" ")[2] if kind == "place" and " " in text else text  # "in a kitchen"
    names = (bare, *(others.split(", ") if others else ()))
    return EverydayWord(kind, text, names, int(count) / 10_000, parent, is_specific, mark == "!")


def embed_names(space: str, words: Sequence[EverydayWord]) -> FloatArray:
    """Return [P, D] of words, each the mean of its names, kept on disk. Raises WeightsError."""
    described, names = describe_space(space), [name for word in words for name in word.names]
    provenance = {"space": space, "names": [word.names for word in words], "prompts": described.prompts}
    provenance["weights_sha256"] = checkpoints.sha256_of(described.text_encoder)

    def embed() -> FloatArray:
        starts = np.cumsum([0, *(len(word.names) for word in words[:-1])])
        return unit_rows(np.add.reduceat(described.encode_texts(names), starts))

    return cached_rows("words", provenance, embed)


def standard_scores(space: str, rows: FloatArray) -> FloatArray:
    """Return [N, P] z(w) of all words for segments [N, D]. Raises WeightsError."""
    usual = rows @ embed_background(space).T
    mean, deviation = usual.mean(axis=1, keepdims=True), usual.std(axis=1, keepdims=True)
    return np.asarray((rows @ embed_names(space, read_words()).T - mean) / deviation, np.float32)


def log_shares() -> FloatArray:
    """Return [P] the logarithms of how often people mention each word, with `_RARE` added: none is of 0."""
    return np.log([word.share + _RARE for word in read_words()]).astype(np.float32)


def word_probabilities(scores: FloatArray, moving: FloatArray | None = None) -> FloatArray:
    """Return [N, P] how likely each word is right.

    Args:
        scores: `standard_scores` [N, P] of the pictures: how likely people mention it.
        moving: [N, P] how likely it is by what moves, if that was looked at; the likelier counts, where the
            pictures resemble the word more than most phrases.
    """
    words = read_words()
    slope, prior, offset = WORD_CURVE
    chances = logistic(slope * scores + prior * log_shares() + offset)
    if moving is not None:
        chances = np.maximum(chances, np.where(scores > 0, moving, 0))
    for number in reversed(range(len(words))):
        if (parent := words[number].parent) is not None:
            chances[:, parent] = np.maximum(chances[:, parent], chances[:, number])
    return np.asarray(chances, np.float32)


def choose_words(chances: FloatArray, min_sure: float) -> list[int]:
    """Return the numbers of the words of a description, from their probabilities [P].

    Of the words that are sure enough, without their parents, the likeliest below each topmost parent can be
    taken, first those that say most: by probability times -log share. Only a man, women and so on are said to
    be talking: of pictures without anybody, "a person, talking" is the likeliest. Of a cartoon only the place
    is said: drawings resemble children, toys and games. None if nothing is sure, or only that there is a
    person, indoors or outdoors.
    """
    words, says = read_words(), -chances * log_shares()
    ranked = sorted(_sure_words(chances, min_sure), key=lambda number: chances[number])
    chosen: list[int] = []
    for kind, most in _MOST.items():
        of_kind = [number for number in ranked if words[number].kind == kind]
        best = {_top(number): number for number in of_kind}  # the last is the likeliest
        first = sorted(best.values(), key=lambda number: -float(says[number]))[:most]
        chosen += sorted(first, key=lambda number: -float(chances[number]))
    if any(words[number].text == _CARTOON for number in chosen):
        chosen = [n for n in chosen if words[n].text == _CARTOON or words[n].kind == "place"]
    if not any(_top(number) == _PERSON and words[number].text != _PERSON for number in chosen):
        chosen = [number for number in chosen if _top(number) != "talking"]
    is_telling = any(
        _top(number) != _PERSON and words[number].text not in ("indoors", "outdoors") for number in chosen
    )
    return chosen if is_telling and chances[chosen].max(initial=0) >= min_sure else []


def _sure_words(chances: FloatArray, min_sure: float) -> set[int]:
    """Return the words that are sure enough, each the closest name of what is seen.

    A word stands for its parent if it is sure by itself, or nearly as sure: "a vehicle" of .9 is no car
    of .6.
    """
    words, limits = read_words(), np.array([_limit(word) for word in read_words()])
    sure = set(np.flatnonzero(chances >= np.maximum(limits, min_sure - _MARGIN)).tolist())
    for number in sorted(sure):
        parent = words[number].parent
        if parent in sure and chances[number] < min(min_sure, chances[parent] - _MARGIN):
            sure.remove(number)
    return sure - {above for number in sure for above in parents_of(number)}


def is_elsewhere(place: int, before: int | None) -> bool:
    """Return whether a place, by number, differs from the place before, and neither is in the other."""
    return before is None or (before not in (place, *parents_of(place)) and place not in parents_of(before))


def _limit(word: EverydayWord) -> float:
    """Return the least probability at which a word is written."""
    if word.is_specific:
        return SPECIFIC_SURE
    is_person = word.parent is not None and read_words()[word.parent].text == _PERSON
    if word.is_doubtful or is_person:
        return DOUBTFUL_SURE
    return 0.0 if word.kind == "thing" else SCENE_SURE


def _top(number: int) -> str:
    """Return the topmost parent of a word, or the word itself."""
    return read_words()[[number, *parents_of(number)][-1]].text


def parents_of(number: int) -> Iterator[int]:
    """Yield the numbers of a word's parents, from its own up to the topmost."""
    words = read_words()
    while (parent := words[number].parent) is not None:
        yield parent
        number = parent
