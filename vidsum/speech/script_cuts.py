"""Cut a film at words: at the quietest points between them."""

from collections.abc import Sequence
from dataclasses import dataclass

from vidsum.results.transcript import Word
from vidsum.speech.silence import Levels
from vidsum.types import Interval

_NEAR_S, _FAR_S = 0.15, 1.0  # how far from the time of a word its quietest edge may lie; in silence
_INTO_S = 0.05  # how far an edge may lie inside a word that goes
_LEAST_S = 0.05  # a shorter dip of the level is no silence


@dataclass(frozen=True, eq=False)
class MeasuredSound:
    """The levels of a film, and the level below which it is silent."""

    levels: Levels
    threshold_db: float

    def start_of(self, word: Word, said_s: float, margin_s: float) -> float:
        """Return when a part begins that begins with a word, if the word before it ends at `said_s`.

        Whisper's times err by a tenth of a second: it is the quietest point before the word, and where that
        is silent, the end of the silence, less a margin.
        """
        free_s = min(said_s, word.start_s) - _INTO_S
        low_s, high_s = self._silence(max(free_s, word.start_s - _FAR_S), word.start_s)
        if low_s < high_s:
            is_before = high_s <= (word.start_s + word.end_s) / 2  # else the word itself is as quiet
            return max(high_s - margin_s, low_s) if is_before else word.start_s
        return self.levels.quietest(max(free_s, word.start_s - _NEAR_S), word.start_s)

    def end_of(self, word: Word, following_s: float, margin_s: float) -> float:
        """Return when a part ends that ends with a word, if the next word begins at `following_s`."""
        free_s = max(following_s, word.end_s) + _INTO_S
        low_s, high_s = self._silence(word.end_s, min(free_s, word.end_s + _FAR_S))
        if low_s < high_s:
            is_after = low_s >= (word.start_s + word.end_s) / 2
            return min(low_s + margin_s, high_s) if is_after else word.end_s
        return self.levels.quietest(word.end_s, min(free_s, word.end_s + _NEAR_S))

    def _silence(self, low_s: float, high_s: float) -> Interval:
        """Return the silence at the quietest point in [low_s, high_s); empty if it is not silent."""
        point_s = self.levels.quietest(low_s, high_s)
        first_s, last_s = self.levels.silence_around((point_s, point_s), self.threshold_db)
        return (first_s, last_s) if last_s - first_s >= _LEAST_S else (point_s, point_s)


def cut_runs(
    runs: Sequence[tuple[int, int]],
    words: Sequence[Word],
    sound: MeasuredSound,
    margins_s: tuple[float, float],
    duration_s: float,
) -> list[Interval]:
    """Return where the runs [first, end) of words are in the film, in the order of the runs.

    Of the silence at a cut, `margins_s` stay before and after words. The film's start and end stay where its
    first words are the first, and its last words the last.
    """
    before_s, after_s = margins_s
    parts = list[Interval]()
    for number, (first, end) in enumerate(runs):
        said_s = words[first - 1].end_s if first else 0.0
        following_s = words[end].start_s if end < len(words) else duration_s
        low_s = sound.start_of(words[first], said_s, before_s)
        high_s = sound.end_of(words[end - 1], following_s, after_s)
        is_end = end == len(words) and number == len(runs) - 1
        low_s = 0.0 if number == first == 0 else max(low_s, 0.0)
        parts.append((low_s, duration_s if is_end else min(high_s, duration_s)))
    return parts
