"""Queries: read from options and files, checked, with warnings."""

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from vidsum.errors import InputError, UsageError
from vidsum.results.moments import QueryMoments
from vidsum.results.transcript import SpokenQuery
from vidsum.text_files import read_bytes, read_stdin

_ENGLISH = frozenset(
    re.findall(r"\w+", "a an the is are of in on at to and with his her who while for from by up")
)
_OTHER = frozenset(
    re.findall(
        r"\w+",
        "der das ein eine einen und mit auf ist im el los las una del con que en un le les des est avec dans "
        "sur il lo che di della uma um com em het een de op",
    )
)
"""Short words of German, Spanish, French, Italian, Portuguese and Dutch that English does not have."""
_SHOWN = 40
_MOST_NAMED = 3


@dataclass(frozen=True)
class Queries:
    """Queries that have been checked."""

    texts: tuple[str, ...]
    """At least one; each has a letter or digit and no control characters."""
    warnings: tuple[str, ...] = ()
    spoken: Mapping[int, SpokenQuery] = field(default_factory=dict)
    """Those that were spoken, by their number from 0."""

    def told_apart(self, answers: Sequence[QueryMoments]) -> tuple[QueryMoments, ...]:
        """The answers to all of them, the spoken ones with what was heard."""
        return tuple(
            replace(answer, spoken=asdict(self.spoken[number]) if number in self.spoken else None)
            for number, answer in enumerate(answers)
        )


def queries_of(queries: str | Sequence[str]) -> Queries:
    """One query or several. Raises UsageError where one is not a text, or holds none."""
    texts: Any = [queries] if isinstance(queries, str) else queries
    if not isinstance(texts, Iterable) or isinstance(texts, bytes):
        raise UsageError(f"queries must be a text or several, not {queries!r}")
    texts = list(texts)
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise UsageError(f"queries must be texts, not {wrong[0]!r}")
    return read_queries(texts)


def read_queries(
    texts: Sequence[str], file: str | os.PathLike[str] | None = None, spoken: Sequence[SpokenQuery] = ()
) -> Queries:
    """The given queries, those spoken, then those of a UTF-8 file.

    The file (`-` is stdin) has one per line; blank lines are skipped. Raises UsageError: no query is given,
    or one holds no text. InputError: the file cannot be read, or holds no text.
    """
    given = [(f"query {number}", text) for number, text in enumerate(texts, 1)]
    given += [(one.file, one.text) for one in spoken]
    if file is not None:
        given += _lines_of(file)
    if not given:
        raise UsageError("no query given", hint='--query "a person opens a door", or --queries FILE')
    cleaned = [_clean(place, text) for place, text in given]
    pairs = zip(given, cleaned, strict=True)
    spoiled = [query for (_, text), query in pairs if any(map(_is_control, text.strip().replace("\t", "")))]
    foreign = [query for query in cleaned if not _seems_english(query)]
    faults = {
        "control characters were replaced by spaces": spoiled,
        "probably not English, the only language that the models understand well": foreign,
    }
    warnings = tuple(f"{named(queries)}: {fault}" for fault, queries in faults.items() if queries)
    return Queries(tuple(cleaned), warnings, dict(enumerate(spoken, len(texts))))


def in_short(query: str, most: int = _SHOWN) -> str:
    """A query for messages and plots, cut where it is long."""
    return query if len(query) <= most else f"{query[: most - 1]}…"


def named(queries: Sequence[str]) -> str:
    """Queries for a message: the first few in quotes, and how many more there are."""
    shown = ", ".join(repr(in_short(query)) for query in queries[:_MOST_NAMED])
    more = len(queries) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _lines_of(file: str | os.PathLike[str]) -> list[tuple[str, str]]:
    name = "stdin" if os.fspath(file) == "-" else os.fspath(file)
    try:
        content = read_stdin() if name == "stdin" else read_bytes(file)
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        fault = f"{name}: is not UTF-8 text (byte {error.start})"
        raise InputError(fault, hint="one query per line, as UTF-8") from error
    queries = [(f"{name}: line {number}", line) for number, line in enumerate(lines, 1) if line.strip()]
    if not queries:
        raise InputError(f"{name}: holds no query", hint="one query per line")
    if queries[0][1].lstrip().startswith(("{", "[")):
        hint = f"jq -r .query {name} | vidsum ground VIDEO --queries -"
        raise InputError(f"{name}: looks like JSON; queries are plain text, one per line", hint=hint)
    return queries


def _clean(place: str, text: str) -> str:
    """The text with single spaces for white space and control characters; UsageError where none is left."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise UsageError(f"{place}: is not UTF-8")
    words = " ".join("".join(" " if _is_control(letter) else letter for letter in text).split())
    if not any(letter.isalnum() for letter in words):
        hint = '--query "a person opens a door"'
        raise UsageError(f"{place}: holds no text ({in_short(words)!r})", hint=hint)
    return unicodedata.normalize("NFC", words)


def _is_control(letter: str) -> bool:
    return unicodedata.category(letter) == "Cc"


def _seems_english(query: str) -> bool:
    """Whether most letters are Latin, and no short words belong to another language only."""
    letters = [letter for letter in query if letter.isalpha()]
    latin = sum("LATIN" in unicodedata.name(letter, "") for letter in letters)
    words = set(re.findall(r"\w+", query.lower()))
    return 2 * latin >= len(letters) and (bool(words & _ENGLISH) or not words & _OTHER)
