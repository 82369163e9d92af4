"""Answers of a bounded size: a list is cut where a message is full, and says where it goes on."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import to_jsonable_python

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MAX_BYTES = 40_000  # of a message with an answer
_ENVELOPE_BYTES = 1_000  # of a message without its answer
_MAX_TEXT, _MAX_WARNINGS = 1_000, 10  # letters of a text, and warnings, in an answer
_DECIMALS = 3
Facts = TypeVar("Facts", bound="DataclassInstance")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Warnings for the user."""

    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AnswerPage(Answer):
    """A part of a list of `total` entries. If `next_offset` is not null, there are more: call again with it
    as `offset`.
    """

    total: int = 0
    next_offset: int | None = None


Paged = TypeVar("Paged", bound=AnswerPage)


def to_page(answer: Paged, name: str, entries: Sequence[Any], offset: int, first: int = 0) -> Paged:
    """Return an answer whose list `name` has the entries from `offset` on that fit into a message.

    `first` is the number of the first of `entries` in the whole list.
    """
    warnings = tuple(map(_shorten, answer.warnings[:_MAX_WARNINGS]))
    answer = replace(answer, warnings=warnings, total=first + len(entries), next_offset=offset)
    left = MAX_BYTES - _ENVELOPE_BYTES - _count_bytes(answer)
    page = list[Any]()
    for whole in entries[offset - first :]:
        entry = round_facts(whole) if is_dataclass(whole) and not isinstance(whole, type) else whole
        left -= _count_bytes(entry) + 4  # commas
        if left < 0 and page:
            break
        page.append(entry)
    end = offset + len(page)
    changed: dict[str, Any] = {name: page, "next_offset": end if end < first + len(entries) else None}
    return replace(answer, **changed)


def to_text(facts: Any) -> str:
    """Return data as compact JSON."""
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))


def _count_bytes(facts: Any) -> int:
    """Return the bytes of data in a message, which has it as JSON and as text."""
    text = to_text(to_jsonable_python(facts))
    return len(text.encode(errors="replace")) + len(to_text(text).encode(errors="replace"))


def round_facts(facts: Facts) -> Facts:
    """Return a dataclass with rounded times and probabilities and short texts, which models read faster."""
    changed: dict[str, Any] = {}
    for field in fields(facts):
        value = getattr(facts, field.name)
        if isinstance(value, float):
            changed[field.name] = round(value, _DECIMALS)
        elif isinstance(value, str) and field.name == "text":
            changed[field.name] = _shorten(value)
    return replace(facts, **changed)


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]} ..."
