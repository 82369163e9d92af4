"""Measures of captions against people's: CIDEr, BLEU, ROUGE-L as coco-caption has them."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from vidsum.types import TimeArray

Tokens = tuple[str, ...]
References = Sequence[Sequence[Tokens]]  # tokens of the sentences of each item, at least one

LONGEST: Final = 4  # n of the longest n-grams of CIDEr and BLEU
SIGMA: Final = 6.0  # deviation in CIDEr-D's penalty for another length
BETA: Final = 1.2  # weight of recall in ROUGE-L

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

    Document frequencies are those of the references: one item alone has 0.
    """
    df = Counter(gram for sentences in references for gram in set().union(*map(ngrams, sentences)))
    log_n = math.log(max(1, len(references)))
    idf = {gram: log_n - math.log(count) for gram, count in df.items()}
    scores = [
        sum(
            _ngram_cosine(_weight_ngrams(caption, idf, log_n), _weight_ngrams(sentence, idf, log_n))
            for sentence in sentences
        )
        / len(sentences)
        for caption, sentences in zip(captions, references, strict=True)
    ]
    return 10 * np.array(scores, np.float64)


class _Weighted(NamedTuple):
    """A sentence as CIDEr sees it."""

    weights: dict[Tokens, float]  # tf-idf of its n-grams
    norms: list[float]  # norm of the n-grams of each n
    n_bigrams: int


def _weight_ngrams(tokens: Tokens, idf: Mapping[Tokens, float], unseen: float) -> _Weighted:
    weights = {gram: count * idf.get(gram, unseen) for gram, count in ngrams(tokens).items()}
    norms = [0.0] * LONGEST
    for gram, weight in weights.items():
        norms[len(gram) - 1] += weight**2
    return _Weighted(weights, [math.sqrt(norm) for norm in norms], max(0, len(tokens) - 1))


def _ngram_cosine(caption: _Weighted, reference: _Weighted) -> float:
    """Return the mean cosine of the n-grams of each n: repeated ones clipped, other lengths penalised."""
    products = [0.0] * LONGEST
    for gram in caption.weights.keys() & reference.weights.keys():
        value, weight = caption.weights[gram], reference.weights[gram]
        products[len(gram) - 1] += min(value, weight) * weight
    norms = [value * other for value, other in zip(caption.norms, reference.norms, strict=True)]
    cosine = sum(product / norm for product, norm in zip(products, norms, strict=True) if norm) / LONGEST
    # coco-caption takes the lengths in bigrams
    gap = caption.n_bigrams - reference.n_bigrams
    return cosine * math.exp(-(gap**2) / (2 * SIGMA**2))


def ngrams(tokens: Tokens) -> Counter[Tokens]:
    """How often each n-gram occurs, n = 1 ... 4."""
    return Counter(
        tokens[start : start + n] for n in range(1, LONGEST + 1) for start in range(len(tokens) - n + 1)
    )


def bleu(captions: Sequence[Tokens], references: References) -> dict[str, Measure]:
    """BLEU-1 ... BLEU-4 of the corpus (Papineni et al. 2002), of the reference length that is closest."""
    parts = np.array([_matches(*pair) for pair in zip(captions, references, strict=True)], np.float64)
    return {f"BLEU-{n}": Measure(parts, partial(_bleu, n=n)) for n in range(1, LONGEST + 1)}


def _matches(caption: Tokens, references: Sequence[Tokens]) -> list[int]:
    """Return [2 + 2 LONGEST] lengths of the caption and its reference; right and all n-grams of each n."""
    most: Counter[Tokens] = Counter()
    for reference in references:
        most |= ngrams(reference)
    right = [0] * LONGEST
    for gram, count in (ngrams(caption) & most).items():
        right[len(gram) - 1] += count
    closest = min((abs(len(reference) - len(caption)), len(reference)) for reference in references)[1]
    return [len(caption), closest, *right, *(max(0, len(caption) - n) for n in range(LONGEST))]


def _bleu(sums: TimeArray, n: int) -> float:
    length, reference = sums[:2]
    right, guessed = sums[2 : 2 + n], sums[2 + LONGEST : 2 + LONGEST + n]
    if not (right > 0).all():
        return 0.0
    brevity = min(0.0, 1 - float(reference / length))
    return math.exp(brevity + float(np.log(right / guessed).mean()))


def rouge_l(captions: Sequence[Tokens], references: References) -> TimeArray:
    """Return [N] ROUGE-L (Lin 2004), recall weighted by `BETA`; its parts are the best of a reference."""
    return np.array([_rouge_l(*pair) for pair in zip(captions, references, strict=True)], np.float64)


def _rouge_l(caption: Tokens, references: Sequence[Tokens]) -> float:
    common = [_common_length(caption, reference) for reference in references]
    if not any(common):
        return 0.0
    precision = max(common) / len(caption)
    recall = max(
        shared / len(reference) for shared, reference in zip(common, references, strict=True) if reference
    )
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


def _common_length(first: Tokens, second: Tokens) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(second) + 1)
    for token in first:
        above = 0  # of the row before, one column to the left
        for column, other in enumerate(second, start=1):
            longest = above + 1 if token == other else max(row[column], row[column - 1])
            above, row[column] = row[column], longest
    return row[-1]
