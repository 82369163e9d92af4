"""Whether outputs that exist already are up to date, ours to replace, or somebody else's."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vidsum.commands.result import Result
from vidsum.errors import InputError, OutputError

_HINT = "--overwrite, or -o FILE"
_INPUTS = ("video", "features", "files", "queries")
"""Parts of a provenance that tell what was read, not how."""


def recorded(
    outputs: Sequence[Path], record: Path, provenance: Mapping[str, Any], overwrite: bool
) -> dict[str, Any] | None:
    """What `record`, the output that tells its inputs, tells: if all outputs exist and it was made from
    `provenance`. None if they have to be made.

    Raises:
        OutputError: an output exists that was made from something else, was changed since, or is not ours.
    """
    existing = [path for path in outputs if path.exists()]
    if overwrite or not existing:
        return None
    from vidsum.pipeline import recorded_document
    from vidsum.provenance import digest_of

    mark = _read_mark(record)
    if mark == digest_of(provenance):
        return None
    try:
        document = recorded_document(record)
    except InputError as error:
        raise OutputError(f"{existing[0]}: exists already, and {error.message}", hint=_HINT) from error
    if document["provenance"] == provenance:
        return document if len(existing) == len(outputs) and mark is None else None
    how = _difference(document["provenance"], provenance)
    raise OutputError(f"{existing[0]}: exists already, made {how}", hint=_HINT)


def up_to_date(
    command: str, source: str, document: Mapping[str, Any], outputs: Sequence[Path], facts: Mapping[str, Any]
) -> Result:
    """The result of a run that found its outputs made already: what they tell, with their warnings."""
    return Result(
        command,
        source,
        {"up_to_date": True, **facts, **document},
        lines=(f"{', '.join(map(str, outputs))}: up to date",),
        messages=tuple(document["warnings"]),
    )


@contextmanager
def unfinished(outputs: Sequence[Path], record: Path, provenance: Mapping[str, Any]) -> Iterator[None]:
    """While several outputs are written, keep a mark beside `record`: they are being made from `provenance`.

    After a run that was killed between two of them, the mark tells the next run that they are ours.
    """
    from vidsum.provenance import digest_of

    mark = _mark(record)
    with suppress(OSError):  # a folder that cannot be written to is told of by the first output
        mark.write_text(digest_of(provenance), encoding="ascii")
    try:
        yield
    except BaseException:
        if not any(path.exists() for path in outputs):
            _remove(mark)
        raise
    _remove(mark)


def _remove(mark: Path) -> None:
    with suppress(OSError):  # it was not there, or its name was too long for one
        mark.unlink()


def _mark(record: Path) -> Path:
    return record.with_name(f".{record.name}.unfinished")


def _read_mark(record: Path) -> str | None:
    try:
        return _mark(record).read_text(encoding="ascii")
    except (OSError, ValueError):
        return None


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """How an output was made that is not the one asked for: the first thing that differs, in words."""
    if any(before.get(part) != now.get(part) for part in _INPUTS if part in before or part in now):
        return "from another input, or one that has changed since"
    old, new = dict(_flat(before)), dict(_flat(now))
    for name in [*new, *old]:
        if old.get(name) != new.get(name):
            return _in_words(name, old.get(name))
    return "from other inputs or options"


def _flat(provenance: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(name, value) of all that is not itself a mapping."""
    for name, value in provenance.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
            for one in value:
                yield from _flat(one)
        else:
            yield name, value


def _in_words(name: str, value: object) -> str:
    if name == "vidsum":
        return f"by vidsum {value}"
    if name.endswith("sha256"):
        return "with other weights"
    option = f"--{name.removesuffix('_s').replace('_', '-')}"
    if value is None or value is False or value == []:
        return f"without {option}"
    if value is True:
        return f"with {option}"
    if isinstance(value, list):
        return f"with {option} " + ", ".join(_one_value(one) for one in value)
    return f"with {option} {value}"


def _one_value(value: object) -> str:
    """An entry of a list; a stretch of time as it is typed."""
    from vidsum.times import format_time

    if isinstance(value, list) and len(value) == 2 and all(isinstance(end, int | float) for end in value):
        return "-".join(format_time(end) for end in value)
    return str(value)
