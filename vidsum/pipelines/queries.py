"""Queries: read from options and files, checked, with warnings."""

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from vidsum.errors import InputError, UsageError
from vidsum.io.text import decode, read_bytes, read_stdin
from vidsum.results.moments import Grounding, QueryMoments, quote_queries, shorten
from vidsum.results.transcript import SpokenQuery

_ENGLISH = frozenset(
    re.findall(r"\w+", "a an the is are of in on at to and with his her who while for from by up")
)
_OTHER = frozenset(re.findall(r"\w+", "ein eine einen und auf ist avec dans que een"))
_PERHAPS_OTHER = frozenset(
    re.findall(
        r"\w+",
        "der das mit im el los las una del con en por un le les des est sur il lo che di della uma um com em "
        "het de op",
    )
)
"""Short words of German, Spanish, French, Italian, Portuguese and Dutch that English does not have; the
second in names alone: Los Angeles, Rio de Janeiro."""
_NEGATION = re.compile(r"\b(not|no|without|never|nobody)\b|n['\u2019]t\b|(?<!\S)-[^\W\d]{2,}", re.IGNORECASE)


@dataclass(frozen=True)
class Queries:
    """Queries that have been checked."""

    texts: tuple[str, ...]  # at least one; each has a letter or digit and no control characters
    warnings: tuple[str, ...] = ()
    spoken: Mapping[int, SpokenQuery] = field(default_factory=dict)
    """Recordings of spoken queries, by the number of the query from 0."""
    refused: tuple[UsageError, ...] = ()  # faults of queries that are left out

    def select(self, grounding: Grounding) -> Grounding | None:
        """Return the answers to these queries among others; None if one is missing."""
        answers = {answer.query: answer for answer in grounding.queries}
        if not all(text in answers for text in self.texts):
            return None
        return replace(grounding, queries=tuple(answers[text] for text in self.texts))

    def attach_spoken(self, answers: Sequence[QueryMoments]) -> tuple[QueryMoments, ...]:
        """Return the answers to all queries, with the recordings of spoken ones."""
        return tuple(
            replace(answer, spoken=asdict(self.spoken[number]) if number in self.spoken else None)
            for number, answer in enumerate(answers)
        )


def parse_queries(queries: str | Sequence[str]) -> Queries:
    """Check one query or several. Raises UsageError where one is not a text, or holds none."""
    texts: Any = [queries] if isinstance(queries, str) else queries
    if not isinstance(texts, Iterable) or isinstance(texts, bytes):
        raise UsageError(f"queries must be a text or several, not {queries!r}")
    texts = list(texts)
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise UsageError(f"queries must be texts, not {wrong[0]!r}")
    return read_queries(texts)


def read_queries(
    texts: Sequence[str],
    file: str | os.PathLike[str] | None = None,
    spoken: Sequence[SpokenQuery] = (),
    *,
    skip: bool = False,
) -> Queries:
    """Return the given queries, those spoken, then those of a file in UTF-8 or UTF-16 (`-` is stdin).

    The file has one per line; blank lines and those that start with # are skipped. With `skip`, queries
    without text are left out where there are others. Raises UsageError: no query is given, or one holds no
    text. InputError: the file cannot be read, or holds no text.
    """
    entries: list[tuple[str, str, SpokenQuery | None]]
    entries = [(f"query {number}", text, None) for number, text in enumerate(texts, 1)]
    entries += [(recording.file, recording.text, recording) for recording in spoken]
    if file is not None:
        entries += [(*line, None) for line in _read_lines(file)]
    if not entries:
        raise UsageError("no query given", hint='--query "a person opens a door", or --queries FILE')
    read = [(_clean(place, text), text, recording) for place, text, recording in entries]
    refused = [query for query, *_ in read if isinstance(query, UsageError)]
    pairs = [(query, text, recording) for query, text, recording in read if isinstance(query, str)]
    if refused and not (skip and pairs):
        raise refused[0]
    cleaned = [query for query, *_ in pairs]
    spoiled = [query for query, text, _ in pairs if any(map(_is_control, text.strip().replace("\t", "")))]
    foreign = [query for query in cleaned if not _seems_english(query)]
    faults = {
        "control characters were replaced by spaces": spoiled,
        "probably not English, the only language that the models understand well: no match probability": (
            foreign
        ),
    }
    warnings = tuple(f"{quote_queries(queries)}: {fault}" for fault, queries in faults.items() if queries)
    recordings = {number: recording for number, (*_, recording) in enumerate(pairs) if recording}
    return Queries(tuple(cleaned), warnings, recordings, tuple(refused))


def _read_lines(file: str | os.PathLike[str]) -> list[tuple[str, str]]:
    name = "stdin" if os.fspath(file) == "-" else os.fspath(file)
    content = read_stdin() if name == "stdin" else read_bytes(file)
    try:
        text = decode(content)
    except UnicodeDecodeError as error:
        fault = f"{name}: is not UTF-8 text (byte {error.start})"
        raise InputError(fault, hint="one query per line, as UTF-8") from error
    lines = text.split("\n")
    queries = [
        (f"{name}: line {number}", line)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.startswith("#")
    ]
    if not queries:
        raise InputError(f"{name}: holds no query", hint="one query per line")
    if queries[0][1].lstrip().startswith(("{", "[")):
        hint = f"jq -r .query {name} | vidsum ground VIDEO --queries -"
        raise InputError(f"{name}: looks like JSON; queries are plain text, one per line", hint=hint)
    return queries


def _clean(place: str, text: str) -> str | UsageError:
    """Return the text with single spaces for white space and control characters, or what is wrong with it."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return UsageError(f"{place}: is not UTF-8")
    words = " ".join("".join(" " if _is_control(letter) else letter for letter in text).split())
    if not any(letter.isalnum() for letter in words):
        hint = '--query "a person opens a door"'
        return UsageError(f"{place}: holds no text ({shorten(words)!r})", hint=hint)
    return unicodedata.normalize("NFC", words)


def _is_control(letter: str) -> bool:
    return unicodedata.category(letter) == "Cc"


def _seems_english(query: str) -> bool:
    """Return whether most letters are Latin, and few short words are of other languages."""
    letters = [letter for letter in query if letter.isalpha()]
    latin = sum("LATIN" in unicodedata.name(letter, "") for letter in letters)
    words = _short_words(query)
    other, perhaps, english = (len(words & known) for known in (_OTHER, _PERHAPS_OTHER, _ENGLISH))
    is_other = other + perhaps > max(english, 0 if other else 1)
    return 2 * latin >= len(letters) and not is_other


def _short_words(query: str) -> set[str]:
    """Return the words, except abbreviations such as UN and MIT."""
    return {word.lower() for word in re.findall(r"\w+", query) if not (word.isupper() and len(word) > 1)}


def unreadable_queries(queries: Sequence[str], split: Callable[[str], list[str]]) -> list[str]:
    """Return the queries that a model of English cannot read; `split` gives the tokens of one, with marks."""
    return [query for query in queries if not _is_readable(query, split(query)[1:-1])]


def _is_readable(query: str, tokens: Sequence[str]) -> bool:
    """Return whether a model of English can read a text, by its tokens of WordPiece without marks.

    It cannot where all words are of pieces shorter than two letters (`asdkjh`), or where one may be of
    another language and another is not in the vocabulary (`un perro`).
    """
    if not _seems_english(query):
        return False
    words = [word.split() for word in re.sub(r" ##", "\0", " ".join(tokens)).split(" ")]
    pieces = [word[0].split("\0") for word in words if word and word[0][0].isalpha()]
    n_letters = sum(map(len, ("".join(word) for word in pieces)))
    is_noise = n_letters > 3 and all(word[1:] for word in pieces) and n_letters < 2 * sum(map(len, pieces))
    unknown = {"".join(word) for word in pieces if word[1:]} & set(re.findall(r"[^\W\d_]{4,}", query))
    short = _short_words(query)
    return not is_noise and not (unknown and short & _PERHAPS_OTHER and not short & _ENGLISH)


def query_warnings(queries: Sequence[str], unread: Iterable[str] = ()) -> tuple[str, ...]:
    """Return warnings of queries that say what must not be seen, and of English ones that are not read."""
    notes = {
        "no word is known: no match probability": [query for query in unread if _seems_english(query)],
        "negation is not understood; use --not TEXT": [text for text in queries if _NEGATION.search(text)],
    }
    return tuple(f"{quote_queries(texts)}: {note}" for note, texts in notes.items() if texts)
