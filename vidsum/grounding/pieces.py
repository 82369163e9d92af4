"""A vocabulary of pieces of words, and the likeliest pieces of a text (Kudo 2018, "Subword Regularization").

The unigram model as the package tokenizers computes it, token by token. That keeps an object a piece, and of
250,000 pieces 330 MB; here they stay as they lie in the file, and only those that a text may hold are read.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

_BLANK = "\u2581"  # stands for the blank before a word
_UNKNOWN_COST = 10.0  # by which an unknown letter is less likely than the least likely piece

_Known = Mapping[bytes, tuple[int, float]]  # pieces: number and logarithm of probability


@dataclass(frozen=True, eq=False)
class Pieces:
    """V pieces in UTF-8, one after the other, with logarithms of their probabilities."""

    text: bytes
    ends: npt.NDArray[np.uint32]  # [V + 1] where each begins, and the last one ends
    scores: npt.NDArray[np.float32]  # [V]
    unknown: int  # number of the piece for letters of none

    def __iter__(self) -> Iterator[tuple[str, float]]:
        ends = self.ends.tolist()
        for (start, end), score in zip(pairwise(ends), self.scores.tolist(), strict=True):
            yield self.text[start:end].decode(), score

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the likeliest pieces of each text; unknown letters that follow are one."""
        marked = (text.replace(" ", _BLANK) for text in texts)
        marked = (text if text[:1] in ("", _BLANK) else _BLANK + text for text in marked)
        words = [re.findall(f"{_BLANK}[^{_BLANK}]*", text) for text in marked]
        known = self._find({word for row in words for word in row})
        least = float(self.scores.min()) - _UNKNOWN_COST
        return [[piece for word in row for piece in self._split(word, known, least)] for row in words]

    def _find(self, words: set[str]) -> _Known:
        """Return the pieces that are parts of words."""
        longest = int(np.diff(self.ends.astype(np.int64)).max(initial=0))
        parts = {
            word[start:end].encode()
            for word in words
            for start in range(len(word))
            for end in range(start + 1, min(len(word), start + longest) + 1)
        }
        ends = self.ends.tolist()
        pieces = (self.text[start:end] for start, end in pairwise(ends))
        return {
            piece: (number, float(self.scores[number]))
            for number, piece in enumerate(pieces)
            if piece in parts
        }

    def _split(self, word: str, known: _Known, unknown_score: float) -> list[int]:
        """Return the likeliest pieces of a word, by the algorithm of Viterbi."""
        longest = max(map(len, known), default=0)
        scores, before = [0.0] + [-np.inf] * len(word), [(0, -1)] * (len(word) + 1)
        for start in range(len(word)):
            parts = (word[start:end] for end in range(start + 1, min(len(word), start + longest) + 1))
            matches = {start + len(part): known[key] for part in parts if (key := part.encode()) in known}
            matches.setdefault(start + 1, (self.unknown, unknown_score))
            for end, (number, score) in matches.items():
                if scores[start] + score > scores[end]:
                    scores[end], before[end] = scores[start] + score, (start, number)
        pieces, end = list[int](), len(word)
        while end:
            end, number = before[end]
            if not (pieces and pieces[-1] == number == self.unknown):
                pieces.append(number)
        return pieces[::-1]
