"""Align an edited transcript with the words that were spoken.

The editor deletes words and lines, and moves lines. docs/trim.md explains the rules.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.results.transcript import Word

_NOTES = re.compile(r"\[[^\]]*\]")  # sounds that are no speech, such as [applause]
_LETTERS = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
NO_BLANKS: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of scripts without blanks between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
_LATER, _EARLIER, _REORDERED = 1.0, 2.0, 10.0
"""Costs of going on elsewhere: later in the film; earlier, with a new line; earlier, within a line."""
_IN_ORDER = 2.0  # how much more the order of the film may cost
_DISTANCE = 1e-6  # cost of each word that is skipped within a line: the nearest of equal words is meant

Numbers = npt.NDArray[np.int64]
Costs = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ScriptToken:
    """A word of a script, or a part of one, in the form in which words are compared."""

    text: str
    line: int  # from 1


@dataclass(frozen=True)
class AlignedScript:
    """The spoken words of a script, and what was not said."""

    words: tuple[int, ...]  # numbers of the spoken words, in the order of the script
    unsaid: tuple[ScriptToken, ...] = ()
    broken: tuple[tuple[int, int], ...] = ()  # lines, and spoken words of which they have a part alone

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The words as runs [first, end) of words that follow each other."""
        edges = [place for place, (a, b) in enumerate(pairwise(self.words), 1) if b != a + 1]
        spans = pairwise([0, *edges, len(self.words)])
        return [(self.words[low], self.words[high - 1] + 1) for low, high in spans if low < high]


def tokens_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation; letters of scripts without blanks."""
    plain = unicodedata.normalize("NFKC", _NOTES.sub(" ", text)).casefold()
    tokens = list[str]()
    for match in _LETTERS.finditer(plain):
        word = re.sub("['\u2019]", "", match[0])
        tokens += filter(None, re.split(f"({NO_BLANKS.pattern})", word))
    return tokens


def align_script(lines: Sequence[str], words: Sequence[Word]) -> AlignedScript:
    """Find the words of a script among those that were spoken.

    Of all ways to read the script off the speech, it is one with the least cost, by dynamic programming:
    going on with the next word is free, to go on elsewhere costs. A line does not use the words of another
    line where the same words were said elsewhere too.
    """
    owners, spoken = _split(words)
    script = [ScriptToken(text, n) for n, line in enumerate(lines, 1) for text in tokens_of(line)]
    places = {text: np.flatnonzero(spoken == text) for text in {token.text for token in script}}
    unsaid = tuple(token for token in script if not len(places[token.text]))
    if unsaid or not script:
        return AlignedScript((), unsaid)
    in_order, cost = _cheapest_path(script, places, may_go_back=False)
    path, least = _cheapest_path(script, places)
    path = in_order if cost <= least + _IN_ORDER else _without_repeats(script, path, spoken)
    return _to_words(script, path, owners)


def _split(words: Sequence[Word]) -> tuple[Numbers, npt.NDArray[np.object_]]:
    """Return the number of the word of each token that was spoken, and the tokens."""
    pairs = [(number, text) for number, word in enumerate(words) for text in tokens_of(word.text)]
    owners = np.array([number for number, _ in pairs], np.int64)
    return owners, np.array([text for _, text in pairs], object)


def _cheapest_path(
    script: Sequence[ScriptToken], places: dict[str, Numbers], *, may_go_back: bool = True
) -> tuple[Numbers, float]:
    """Return [N] where each token of a script is spoken, with the least cost in all, and the cost.

    It is infinite where the script cannot be read off the speech without going back.
    """
    before, costs, choices = np.array([-1]), np.zeros(1), list[Numbers]()
    line = 0
    for token in script:
        here = places[token.text]
        back = np.inf if not may_go_back else _REORDERED if token.line == line else _EARLIER
        step, choice = _step(before, costs, here, back, is_new_line=token.line != line)
        before, costs, line = here, step, token.line
        choices.append(choice)
    path, at, cost = np.zeros(len(script), np.int64), int(costs.argmin()), float(costs.min())
    for number in range(len(script) - 1, -1, -1):
        path[number] = places[script[number].text][at]
        at = int(choices[number][at])
    return path, cost


def _step(
    before: Numbers, costs: Costs, here: Numbers, back: float, *, is_new_line: bool
) -> tuple[Costs, Numbers]:
    """Return the least cost of each place of a token, and which place of the token before it leads there.

    `back` is the cost of an earlier place. Places are in rising order. It takes time in proportion to their
    number, not to the number of pairs.
    """
    distance = 0.0 if is_new_line else _DISTANCE
    # later: the cheapest of the places before, of equal ones the last
    later = costs - distance * before
    best = _running_argmin(later)
    n_before = np.searchsorted(before, here)  # places ahead of each
    has_before = n_before > 0
    choice = best[np.maximum(n_before - 1, 0)]
    cost = np.where(has_before, later[choice] + distance * (here - 1) + _LATER, np.inf)
    # earlier, or the same
    best_after = len(costs) - 1 - _running_argmin(costs[::-1])[::-1]
    after = best_after[np.minimum(n_before, len(costs) - 1)]
    is_back = (n_before < len(costs)) & (costs[after] + back < cost)
    cost, choice = np.where(is_back, costs[after] + back, cost), np.where(is_back, after, choice)
    # the next word: free
    previous = np.maximum(n_before - 1, 0)
    follows = has_before & (before[previous] == here - 1) & (costs[previous] <= cost)
    return np.where(follows, costs[previous], cost), np.where(follows, previous, choice)


def _running_argmin(values: Costs) -> Numbers:
    """Return the place of the least of the values up to each place, of equal ones the last."""
    is_new = values <= np.minimum.accumulate(values)
    return np.maximum.accumulate(np.where(is_new, np.arange(len(values)), 0))


def _without_repeats(
    script: Sequence[ScriptToken], path: Numbers, spoken: npt.NDArray[np.object_]
) -> Numbers:
    """Return a path whose lines do not share words, where the same words were said again elsewhere."""
    path, edges = (
        path.copy(),
        [0, *[n for n in range(1, len(script)) if script[n].line != script[n - 1].line]],
    )
    lines = sorted(pairwise([*edges, len(script)]), key=lambda line: line[0] - line[1])  # the longest first
    is_used = np.zeros(len(spoken), np.bool_)
    for low, high in lines:
        if is_used[path[low:high]].any():
            free = {
                token.text: np.flatnonzero((spoken == token.text) & ~is_used) for token in script[low:high]
            }
            if all(map(len, free.values())):
                other, _ = _cheapest_path(script[low:high], free)
                is_near = (np.diff(other) != 1).sum() <= (np.diff(path[low:high]) != 1).sum()
                path[low:high] = other if is_near and len({*other.tolist()}) == high - low else path[low:high]
        is_used[path[low:high]] = True
    return path


def _to_words(script: Sequence[ScriptToken], path: Numbers, owners: Numbers) -> AlignedScript:
    """Return the words of spoken tokens; a word of which tokens are missing is broken.

    What is written between two of them and has no letter, such as a dash, stays with them.
    """
    numbers, broken = list[int](), list[tuple[int, int]]()
    after = dict(pairwise(dict.fromkeys(owners.tolist())))  # the next word with letters
    at = 0
    while at < len(path):
        owner = int(owners[path[at]])
        whole = np.flatnonzero(owners == owner)
        if list(path[at : at + len(whole)]) == whole.tolist():
            is_next = bool(numbers) and after.get(numbers[-1]) == owner
            numbers += range(numbers[-1] + 1 if is_next else owner, owner + 1)
            at += len(whole)
        else:
            broken.append((script[at].line, owner))
            at += 1
    return AlignedScript(tuple(numbers), broken=tuple(broken))
