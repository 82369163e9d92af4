"""Measures of captions against people's: CIDEr-D, BLEU and ROUGE-L by coco-caption (pycocoevalcap).

Its tokenizer is a Java program, whose place `tokenize` takes.
"""

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from vidsum.types import TimeArray

Tokens = tuple[str, ...]
References = Sequence[Sequence[Tokens]]  # tokens of the sentences of each item, at least one

LONGEST: Final = 4  # n of the longest n-grams of BLEU

_DROPPED: Final = frozenset(("''", "'", "``", "`", '"', ".", "?", "!", ",", ":", "-", "--", "...", ";"))
"""Signs that coco-caption leaves out; other signs are tokens."""
_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "{": "-lcb-", "}": "-rcb-", "[": "-lsb-", "]": "-rsb-"}
"""As coco-caption has them: in lower case they are none of the names that it leaves out."""
_QUOTES = str.maketrans("’‘“”", "''\"\"")
_TOKEN = re.compile(
    r"""(?:[^\W\d_]\.){2,}                                  # u.s.
    | (?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc)\.(?=\s|$)
    | \d+(?:[.,:]\d+)+(?![^\W_])                            # 1,000 or 9:30
    | n't\b | '(?:s|m|d|re|ve|ll|n')\b | 'n'
    | o'clock\b
    | [^\W_]+(?:[-_/.&][^\W_]+)*                            # t-shirt, 1/2, vidsum.org
    | --+ | \.\.\.+ | [!?]+ | \S""",
    re.VERBOSE,
)
_NOT = re.compile(r"(?<=[^\W\d_])n't\b")
_TWO_WORDS = re.compile(r"\b(can)(not)\b|\b(gon|wan)(na)\b|\b(got)(ta)\b|\b(gim|lem)(me)\b")


def tokenize(sentence: str) -> Tokens:
    """Return the words of a sentence by coco-caption's Penn Treebank tokenizer, without punctuation."""
    text = sentence.lower().translate(_QUOTES)
    text = _TWO_WORDS.sub(lambda match: " ".join(filter(None, match.groups())), _NOT.sub(" n't", text))
    return tuple(_BRACKETS.get(token, token) for token in _TOKEN.findall(text) if token not in _DROPPED)


class Measure(NamedTuple):
    """A measure as sums over items, which give the measure of any draw of items."""

    parts: TimeArray  # [N, S] of each item
    of_sums: Callable[[TimeArray], float]  # the measure of the parts' sums [S] over some items

    @property
    def value(self) -> float:
        """The measure of all items."""
        return self.of_sums(self.parts.sum(axis=0))


def mean_of(values: TimeArray) -> Measure:
    """Return the mean of values [N]."""
    return Measure(np.stack([values, np.ones(len(values))], axis=1), lambda sums: float(sums[0] / sums[1]))


def cider_d(captions: Sequence[Tokens], references: References) -> TimeArray:
    """Return [N] CIDEr-D of each caption (Vedantam et al. 2015), coco-caption's CIDEr.

    Document frequencies are counted in the references: one item alone has 0.
    """
    from pycocoevalcap.cider.cider_scorer import CiderScorer

    if not any(map(any, references)):  # no sentence has a word, which it does not expect
        return np.zeros(len(captions))
    scorer = CiderScorer()
    for caption, sentences in zip(captions, references, strict=True):
        scorer += (" ".join(caption), [" ".join(sentence) for sentence in sentences])
    return np.asarray(scorer.compute_score()[1], np.float64)


def bleu(captions: Sequence[Tokens], references: References) -> dict[str, Measure]:
    """BLEU-1 ... BLEU-4 of the corpus (Papineni et al. 2002), of the reference length that is closest."""
    parts = np.array([_matches(*pair) for pair in zip(captions, references, strict=True)], np.float64)
    return {f"BLEU-{n}": Measure(parts, partial(_bleu, n=n)) for n in range(1, LONGEST + 1)}


def _matches(caption: Tokens, references: Sequence[Tokens]) -> list[int]:
    """Return [2 + 2 LONGEST] lengths of the caption and its reference; right and all n-grams of each n."""
    from pycocoevalcap.bleu.bleu_scorer import cook_refs, cook_test

    cooked = cook_refs([" ".join(reference) for reference in references], n=LONGEST)
    counts = cook_test(" ".join(caption), cooked, "closest", LONGEST)
    return [counts["testlen"], counts["reflen"], *counts["correct"], *counts["guess"]]


def _bleu(sums: TimeArray, n: int) -> float:
    length, reference = sums[:2]
    right, guessed = sums[2 : 2 + n], sums[2 + LONGEST : 2 + LONGEST + n]
    if not (right > 0).all():
        return 0.0
    brevity = min(0.0, 1 - float(reference / length))
    return math.exp(brevity + float(np.log(right / guessed).mean()))


def rouge_l(captions: Sequence[Tokens], references: References) -> TimeArray:
    """Return [N] ROUGE-L (Lin 2004) with coco-caption's weight of recall, 1.2; 0 without words."""
    from pycocoevalcap.rouge.rouge import Rouge

    scorer, scores = Rouge(), []
    for caption, sentences in zip(captions, references, strict=True):
        texts = [" ".join(sentence) for sentence in sentences]
        scores.append(scorer.calc_score([" ".join(caption)], texts) if caption else 0.0)
    return np.array(scores, np.float64)
