"""Worth of sentences in a summary: the subject of the speech and its conclusion, not greetings.

Words that come again, place and cue words are the oldest marks of what a text is about (Edmundson 1969).
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from vidsum.results.sentences import SpokenSentence

_ASIDE: Final = 0.25  # worth of a sentence that shares no word with another
_SHARED: Final = 2  # words that a sentence about the subject shares with others
_LETTERS: Final = 4  # of a word that counts, at least
_STEM: Final = 5  # first letters by which words are compared: plurals and tenses count as one
_CONCLUSION: Final = 1 / 6  # of the speech, at its end
_LAST: Final = 0.25  # worth of a sentence in it, in addition
_LEAST: Final = 6  # sentences: fewer have no conclusion
_CEREMONY: Final = re.compile(
    r"\b(thank you|thanks|welcome|good (morning|afternoon|evening)|my name is|hello|goodbye|see you|"
    r"subscribe|brought to you by|(our|today['’]s) sponsor|promo code|(my|our) guests? (today|is|are)|joined "
    r"by|conversation with|talking (with|to) \w+ today|today,? we['’]re talking|(show|episode) notes|your "
    r"questions|(next|last) question|question (over there|from the))\b",
    re.IGNORECASE,
)
"""English words of greetings, introductions and farewells."""


def worth_of(sentences: Sequence[SpokenSentence]) -> list[float]:
    """Return the worth of each sentence of some speech, in [0, 1.25]: of one on its subject 1, in the
    conclusion a little more, of a greeting or farewell 0.
    """
    if not sentences:
        return []
    stems = [_stems(sentence.text) for sentence in sentences]
    counts = Counter(stem for words in stems for stem in words)
    begin_s, end_s = sentences[0].start_s, sentences[-1].end_s
    late_s = end_s - _CONCLUSION * (end_s - begin_s) if len(sentences) >= _LEAST else end_s
    worth = list[float]()
    for sentence, words in zip(sentences, stems, strict=True):
        shared = min(sum(counts[stem] > 1 for stem in words) / _SHARED, 1.0)
        value = max(shared, _ASIDE) + _LAST * (sentence.start_s >= late_s)
        worth.append(0.0 if _CEREMONY.search(sentence.text) else value)
    return worth


def _stems(text: str) -> set[str]:
    """Return the beginnings of the words of a text that may name its subject."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    words = re.findall(r"\w+", text.lower())
    return {word[:_STEM] for word in words if len(word) >= _LETTERS and word not in ENGLISH_STOP_WORDS}
