"""Find filler words and false starts in the words of a transcript."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vidsum.results.sentences import is_stop
from vidsum.results.transcript import Word

FILLERS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "de": "äh ähm ähh öh öhm hm hmm",
        "en": "um umm uhm uh uhh er erm hm hmm mm mhm",
        "es": "eh ehh em hum mmm",
        "fr": "euh euhm heu hum hmm",
        "it": "eh ehm uhm mmm",
        "nl": "eh ehm uh uhm euh hm",
        "pt": "hum hã ãh eh hmm",
    }.items()
}  # words that stand for hesitation alone, by language; words of other languages are not known
_REPEATED: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "de": "ich du er sie es wir ihr der die das ein eine in an auf mit und oder aber dass wenn war zu",
        "en": "i you he she it we they the a an in on at of to for with and or but so if is was are my",
    }.items()
}  # words that nobody says twice in a row on purpose, by language
_JOINERS = frozenset(
    ["after", "and", "by", "for", "on", "or", "to", "upon", "für", "nach", "oder", "um", "und", "zu"]
)  # words that join a word to itself: again and again and again
_MAX_REPEAT = 4  # words of a phrase that is said again
_MAX_RESTART_S = 1.5  # between a false start and the new start
_Reason = Literal["filler", "false start"]


@dataclass(frozen=True)
class Hesitation:
    """Consecutive words of a transcript that can go, from `first` up to `end`, their last and one."""

    first: int
    end: int
    reason: _Reason


def prompt_for(language: str) -> str | None:
    """Return words that make Whisper write hesitations, which it leaves out otherwise; None: not known."""
    fillers = [word for word in sorted(FILLERS.get(language, ())) if len(word) < 4]
    return f"{', '.join(fillers).capitalize()}..." if fillers else None


def find_hesitations(words: Sequence[Word], language: str, more: Sequence[str] = ()) -> list[Hesitation]:
    """Find filler words, words and phrases of `more`, and false starts, in order.

    A false start is a word that breaks off and is said again ("th- the"), a pronoun, article or the like said
    twice, or a phrase of two to four words said twice. "Very, very" stays, and so does what ends a sentence.
    """
    texts = [_plain(word.text) for word in words]
    reasons: list[_Reason | None] = [
        "filler" if text in FILLERS.get(language, ()) else None for text in texts
    ]
    for phrase in more:
        parts = [_plain(part) for part in phrase.split()]
        for at in range(len(texts) - len(parts) + 1):
            if parts and texts[at : at + len(parts)] == parts:
                reasons[at : at + len(parts)] = ["filler"] * len(parts)
    spoken = [number for number, reason in enumerate(reasons) if reason is None and texts[number]]
    at = 0
    while at < len(spoken):
        if count := _restart(words, texts, spoken[at:], language):
            first, end = spoken[at], spoken[at + count - 1] + 1
            reasons[first:end] = ["false start"] * (end - first)
            del spoken[at : at + count]
            at = max(at - _MAX_REPEAT, 0)  # what is left may be a false start, too
        else:
            at += 1
    return _runs(reasons)


def _restart(words: Sequence[Word], texts: Sequence[str], spoken: Sequence[int], language: str) -> int:
    """Return how many of the first words are said again at once; 0 for none."""
    for count in range(min(_MAX_REPEAT, len(spoken) // 2), 0, -1):
        old, new = spoken[:count], spoken[count : 2 * count]
        said = [texts[number] for number in old]
        if words[new[0]].start_s - words[old[-1]].end_s > _MAX_RESTART_S or _ends(words, old):
            continue
        if count == 1 and _breaks_off(words[old[0]].text, texts[new[0]]):
            return 1
        # "from door to door to sell" is said on purpose, "to the, to the" is not
        others = [text for text in said if text not in _JOINERS]
        is_chain = count == 2 and len(others) == 1 and others[0] not in _REPEATED.get(language, ())
        is_phrase = count > 1 and len({*said}) > 1 and not is_chain
        is_repeated = is_phrase or (count == 1 and said[0] in _REPEATED.get(language, ()))
        if said == [texts[number] for number in new] and is_repeated:
            return count
    return 0


def _ends(words: Sequence[Word], numbers: Sequence[int]) -> bool:
    """Return whether a sentence ends in these words; "..." does not end one."""
    texts = [words[number].text for number in numbers]
    return any(is_stop(text) and not text.endswith(("..", "…")) for text in texts)


def _breaks_off(text: str, after: str) -> bool:
    stem = text.rstrip("-–—").lower()
    return stem != text.lower() and bool(stem) and after.startswith(stem)


def _plain(text: str) -> str:
    """Return a word in lower case, without the punctuation around it."""
    return re.sub(r"^[\W_]+|[\W_]+$", "", text.lower())


def _runs(reasons: Sequence[_Reason | None]) -> list[Hesitation]:
    runs = list[Hesitation]()
    for number, reason in enumerate(reasons):
        if reason and runs and runs[-1].end == number:
            both: _Reason = "filler" if runs[-1].reason == reason == "filler" else "false start"
            runs[-1] = Hesitation(runs[-1].first, number + 1, both)
        elif reason:
            runs.append(Hesitation(number, number + 1, reason))
    return runs
