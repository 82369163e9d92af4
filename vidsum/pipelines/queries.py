"""Queries: read from options and files, checked, with warnings."""

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from vidsum.errors import InputError, Mention, Text, UsageError, fill
from vidsum.grounding import vse_map
from vidsum.grounding.languages import is_other
from vidsum.grounding.spaces import describe_space
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.io.text import decode, read_bytes, read_stdin
from vidsum.results.moments import Grounding, QueryMoments, quote_queries, shorten
from vidsum.results.settings import WORDS
from vidsum.results.transcript import SpokenQuery

_NEGATION = re.compile(r"\b(not|no|without|never|nobody)\b|n['\u2019]t\b|(?<!\S)-[^\W\d]{2,}", re.IGNORECASE)
_EXAMPLE = Mention("query", "a person opens a door")
_MAX_DIGITS = 3  # longer numbers are written, not seen


@dataclass(frozen=True)
class Queries:
    """Queries that have been checked."""

    texts: tuple[str, ...]  # at least one; each has a letter or digit and no control characters
    spoken: Mapping[int, SpokenQuery] = field(default_factory=dict)
    """Recordings of spoken queries, by the number of the query from 0."""
    refused: tuple[UsageError, ...] = ()  # faults of queries that are left out

    def select(self, grounding: Grounding) -> Grounding | None:
        """Return the answers to these queries among others; None if one is missing."""
        answers = {answer.query: answer for answer in grounding.queries}
        if not all(text in answers for text in self.texts):
            return None
        queries = tuple(answers[text] for text in self.texts)
        return replace(grounding, queries=queries)

    def with_earlier(self, earlier: Grounding) -> "Queries":
        """Return these queries and the queries of an earlier result, sorted as in `merge_groundings`."""
        recordings = {text: self.spoken.get(number) for number, text in enumerate(self.texts)}
        for answer in earlier.queries:
            recordings.setdefault(answer.query, SpokenQuery(**answer.spoken) if answer.spoken else None)
        texts = tuple(sorted(recordings))
        spoken = {number: said for number, text in enumerate(texts) if (said := recordings[text])}
        return replace(self, texts=texts, spoken=spoken)

    def attach_spoken(self, answers: Sequence[QueryMoments]) -> tuple[QueryMoments, ...]:
        """Return the answers to all queries, with the recordings of spoken ones."""
        return tuple(
            replace(answer, spoken=asdict(self.spoken[number]) if number in self.spoken else None)
            for number, answer in enumerate(answers)
        )


def parse_queries(queries: str | Sequence[str], hint: Text | None = None) -> Queries:
    """Check one query or several. Raises UsageError, with this hint: one is not a text, or holds none."""
    texts: Any = [queries] if isinstance(queries, str) else queries
    if not isinstance(texts, Iterable) or isinstance(texts, bytes):
        raise UsageError(f"queries must be a text or several, not {queries!r}")
    texts = list(texts)
    if wrong := [text for text in texts if not isinstance(text, str)]:
        raise UsageError(f"queries must be texts, not {wrong[0]!r}")
    return read_queries(texts, hint=hint)


def read_queries(
    texts: Sequence[str],
    file: str | os.PathLike[str] | None = None,
    spoken: Sequence[SpokenQuery] = (),
    *,
    skip: bool = False,
    hint: Text | None = None,
) -> Queries:
    """Return the given queries, spoken queries, then queries of a file in UTF-8 or UTF-16 (`-` is stdin).

    The file has one per line; blank lines and lines that start with # are skipped. With `skip`, queries
    without text are left out where there are others. Raises UsageError: no query is given, or one holds no
    text; its hint is `hint`, or options of a command. InputError: the file cannot be read, or holds no text.
    """
    entries: list[tuple[str, str, SpokenQuery | None]]
    entries = [(f"query {number}", text, None) for number, text in enumerate(texts, 1)]
    entries += [(recording.file, recording.text, recording) for recording in spoken]
    if file is not None:
        entries += [(*line, None) for line in _read_lines(file)]
    if not entries:
        raise UsageError(
            "no query given",
            hint=hint or fill("{}, or {}", _EXAMPLE, Mention("queries", "FILE")),
        )
    read = [(_clean(place, text, hint or _EXAMPLE), recording) for place, text, recording in entries]
    refused = [query for query, _ in read if isinstance(query, UsageError)]
    pairs = [(query, recording) for query, recording in read if isinstance(query, str)]
    if refused and not (skip and pairs):
        raise refused[0]
    recordings = {number: recording for number, (_, recording) in enumerate(pairs) if recording}
    return Queries(tuple(query for query, _ in pairs), recordings, tuple(refused))


def _read_lines(file: str | os.PathLike[str]) -> list[tuple[str, str]]:
    name = "stdin" if os.fspath(file) == "-" else os.fspath(file)
    content = read_stdin() if name == "stdin" else read_bytes(file)
    try:
        text = decode(content)
    except UnicodeDecodeError as error:
        fault = f"is not UTF-8 text (byte {error.start})"
        raise InputError(fault, hint="one query per line, as UTF-8", subject=name) from error
    lines = text.split("\n")
    queries = [
        (f"{name}: line {number}", line)
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.startswith("#")
    ]
    if not queries:
        raise InputError("holds no query", hint="one query per line", subject=name)
    if queries[0][1].lstrip().startswith(("{", "[")):
        hint = f"jq -r .query {name} | vidsum ground VIDEO --queries -"
        raise InputError("looks like JSON; queries are plain text, one per line", hint=hint, subject=name)
    return queries


def _clean(place: str, text: str, hint: Text) -> str | UsageError:
    """Return the text with single spaces for white space and control characters, or what is wrong with it."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return UsageError("is not UTF-8", subject=place)
    is_control = (unicodedata.category(letter) == "Cc" for letter in text)
    words = "".join(" " if control else letter for letter, control in zip(text, is_control, strict=True))
    words = " ".join(words.split())
    if not any(letter.isalnum() for letter in words):
        return UsageError(f"holds no text ({shorten(words)!r})", hint=hint, subject=place)
    return unicodedata.normalize("NFC", words)


def unreadable_queries(
    queries: Sequence[str], split: Callable[[str], list[str]], language: str = "auto"
) -> list[str]:
    """Return the queries that MiniLM cannot read; `split` gives the tokens of one, with marks."""
    return [
        query
        for query in queries
        if is_other(query, language)
        or (query.isdigit() and len(query) > _MAX_DIGITS)
        or _is_noise(split(query)[1:-1])
    ]


def _is_noise(tokens: Sequence[str]) -> bool:
    """Return whether all words are of pieces shorter than two letters (`asdkjh`), by their WordPieces."""
    words = [word.split() for word in re.sub(r" ##", "\0", " ".join(tokens)).split(" ")]
    pieces = [word[0].split("\0") for word in words if word and word[0][0].isalpha()]
    n_letters = sum(map(len, ("".join(word) for word in pieces)))
    return n_letters > 3 and all(word[1:] for word in pieces) and n_letters < 2 * sum(map(len, pieces))


def find_unread(texts: Sequence[str], space: str, language: str = "auto") -> list[str]:
    """Return the texts that the text encoder of a space does not understand."""
    described = describe_space(space)
    if described.is_mapped:
        return unreadable_queries(texts, load_text_encoder(described.text_encoder).split, language)
    return [] if described.is_multilingual else [text for text in texts if is_other(text, language)]


def query_warnings(
    queries: Sequence[str],
    unread: Iterable[str] = (),
    language: str = "auto",
    space: str = vse_map.NAME,
    *,
    is_probable: bool = False,
) -> tuple[str, ...]:
    """Return notes on queries that are not read, or are of other languages.

    The first says that the space was never measured, where that is so. `is_probable`: they have match
    probabilities.
    """
    described = describe_space(space)
    language = "en" if described.is_multilingual else language
    lacking = "" if is_probable else ": pictures have no match probability"
    others = [text for text in queries if is_other(text, language)]
    unknown = [text for text in unread if not is_other(text, language)]
    no_word = "no word is known: pictures have no match probability; text on the screen may have one"
    foreign = (
        f"not English, read by multilingual E5{lacking}"
        if described.is_mapped
        else "not English, the only language of this space; the space vse reads others"
    )
    return (
        *described.notes,
        *((f"{quote_queries(unknown)}: {no_word}",) if unknown else ()),
        *((f"{quote_queries(others)}: {foreign}",) if others else ()),
    )


def mark_negated(answers: Iterable[QueryMoments], language: str, space: str) -> tuple[QueryMoments, ...]:
    """Return answers, marked where a query says what must not be seen and neither speech nor text answers."""
    return tuple(
        replace(answer, negated=is_negated(answer.query, language, space))
        if all(moment.evidence not in WORDS for moment in answer.moments)
        else answer
        for answer in answers
    )


def is_negated(query: str, language: str = "auto", space: str = vse_map.NAME) -> bool:
    """Return whether a query is in English and says what must not be seen."""
    language = "en" if describe_space(space).is_multilingual else language
    return not is_other(query, language) and _NEGATION.search(query) is not None


def without_queries(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a provenance without queries, which others may be added to: what clips are made from."""
    facts = {name: fact for name, fact in provenance.get("grounding", {}).items() if name != "queries"}
    return {**provenance, "grounding": facts} if facts else dict(provenance)


def merge_groundings(before: Grounding, now: Grounding) -> Grounding:
    """Return the moments of two results that differ in their queries alone, sorted by query."""
    answers = {answer.query: answer for answer in (*before.queries, *now.queries)}
    queries = tuple(answers[text] for text in sorted(answers))
    spoken = [answer.spoken["sha256"] for answer in queries if answer.spoken]
    facts = query_facts([answer.query for answer in queries], spoken)
    provenance = {**now.provenance, "grounding": {**now.provenance["grounding"], "queries": facts}}
    warnings = tuple(dict.fromkeys([*before.warnings, *now.warnings]))
    return replace(now, queries=queries, provenance=provenance, warnings=warnings)


def find_outdated(
    document: Mapping[str, Any] | None, provenance: Mapping[str, Any], *, with_saliency: bool
) -> Grounding | None:
    """Return an earlier result if its queries must be answered again, before others are added to it."""
    if document is None or "queries" not in document:
        return None
    is_alike = without_queries(document["provenance"]) == without_queries(provenance)
    has_all = "timestamps_s" in document or not with_saliency
    return None if is_alike and has_all else Grounding.from_dict(document)


def other_queries(document: Mapping[str, Any], now: Grounding) -> Grounding:
    """Return the answers of an earlier result to queries that a new result does not have."""
    texts = {answer.query for answer in now.queries}
    queries = [answer for answer in document.get("queries", ()) if answer["query"] not in texts]
    return Grounding.from_dict({**document, "queries": queries}) if queries else replace(now, queries=())


def query_facts(texts: Sequence[str], spoken: Sequence[str]) -> dict[str, Any]:
    """Return queries as a provenance names them, with the hashes of spoken ones."""
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    return {"count": len(texts), "sha256": digest, **({"spoken": list(spoken)} if spoken else {})}
