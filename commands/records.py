"""Whether outputs that exist already are up to date, ours to replace, or somebody else's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vidsum.commands.result import Result
from vidsum.errors import InputError, OutputError
from vidsum.outputs import check_name

_HINT = "--overwrite, or -o FILE"
_READ = ("video", "features", "files")
"""Parts of a provenance that tell what was read, not how."""
_SETTINGS = ("summary", "shots", "grounding", "highlights", "parameters")
"""Parts that hold options, those of the command itself first."""
_NO_OPTIONS = ("vidsum", "extractions", "candidates")
"""Parts and names that no option of every command sets, or that follow from others."""


def recorded(
    outputs: Sequence[Path],
    record: Path,
    provenance: Mapping[str, Any],
    overwrite: bool,
    *,
    copy: bool = False,
) -> dict[str, Any] | None:
    """What `record`, the output that tells its inputs, tells: if all outputs exist and it was made from
    `provenance`. None if they have to be made.

    Args:
        outputs: the files of one result; MP4, PNG and SVG say themselves what they were made from.
        record: one of them.
        provenance: what they would be made from.
        overwrite: they are made whatever they are.
        copy: an MP4 among them would be copied, not encoded.

    Raises:
        OutputError: an output exists that was made from something else, was changed since, or is not ours.
    """
    existing = [path for path in outputs if path.exists()]
    if overwrite or not existing or is_taken_up(record, provenance):
        return None
    from vidsum.pipelines.summary import recorded_document

    try:
        document = recorded_document(record)
    except InputError as error:
        place = record if record.exists() else existing[0]
        raise OutputError(f"{place}: exists already, and {error.message}", hint=_HINT) from error
    if document["provenance"] != provenance:
        how = _difference(document["provenance"], provenance)
        raise OutputError(f"{existing[0]}: exists already, made {how}", hint=_HINT)
    require_made_from(existing, provenance, copy=copy)
    is_whole = len(existing) == len(outputs) and _read_mark(record) is None
    return document if is_whole else None


def require_made_from(paths: Iterable[Path], provenance: Mapping[str, Any], *, copy: bool = False) -> None:
    """See to it that the MP4, PNG and SVG files among some say that they were made from `provenance`.

    Raises:
        OutputError: one that exists was not, or a name is too long for a file.
    """
    from vidsum.pipelines.export import is_made_from

    for path in paths:
        check_name(path)
        if path.suffix not in (".mp4", ".png", ".svg") or not path.exists():
            continue
        if not is_made_from(path, provenance, copy=copy):
            how = "and differs from what would be written"
            if path.suffix == ".mp4" and is_made_from(path, provenance, copy=not copy):
                how = f"made {'without' if copy else 'with'} --copy"
            raise OutputError(f"{path}: exists already, {how}", hint=_HINT)


def is_taken_up(record: Path, provenance: Mapping[str, Any]) -> bool:
    """Whether a run that was stopped had begun to write the same."""
    from vidsum.provenance import digest_of

    return _read_mark(record) == digest_of(provenance)


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

    After a run that was stopped between two of them, the mark tells the next run that they are ours.
    """
    from vidsum.provenance import digest_of

    mark, before = _mark(record), _states(outputs)
    with suppress(OSError):  # a folder that cannot be written to is told of by the first output
        mark.write_text(digest_of(provenance), encoding="ascii")
    try:
        yield
    except BaseException:
        if _states(outputs) == before:  # nothing has been written
            _remove(mark)
        raise
    _remove(mark)


def _states(paths: Sequence[Path]) -> list[tuple[int, int] | None]:
    """What changes when a file or folder is written; None where there is none."""
    found = [path.stat() if path.exists() else None for path in paths]
    return [(one.st_ino, one.st_mtime_ns) if one else None for one in found]


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
    if any(before.get(part) != now.get(part) for part in _READ):
        return "from another input, or one that has changed since"
    old, new = dict(_flat(before)), dict(_flat(now))
    differing = [path for path in {**new, **old} if old.get(path) != new.get(path)]
    path = min(differing, key=_weight, default=())
    return _in_words(path, old.get(path)) if path else "from other inputs or options"


def _weight(path: tuple[str, ...]) -> int:
    """Options come first, those of the command before those of reading; then weights, then the rest."""
    if path[-1].endswith("sha256"):
        return 1 if "queries" in path else len(_SETTINGS) + 2
    if set(path) & set(_NO_OPTIONS):
        return len(_SETTINGS) + 3
    return next((place for place, part in enumerate(_SETTINGS, 1) if part in path), len(_SETTINGS) + 1)


def _flat(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(path, value) of all that is not itself a mapping, or a list of them."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flat(inner, (*path, name))
    elif isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        for number, one in enumerate(value):
            yield from _flat(one, (*path, str(number)))
    else:
        yield path, value


def _in_words(path: tuple[str, ...], value: object) -> str:
    name = path[-1]
    if "queries" in path:
        return "with other queries"
    if name == "vidsum":
        return f"by vidsum {value}"
    if name.endswith("sha256"):
        return "with other weights"
    if set(path) & set(_NO_OPTIONS):
        return "with other networks"
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
