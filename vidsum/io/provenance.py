"""Provenance of results: whether an output is up to date follows from it."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from vidsum.errors import InputError
from vidsum.times import format_time

_CHUNK = 1 << 20

_READ = ("video", "features", "files")
"""Parts of a provenance that tell what was read, not how."""
_SETTINGS = ("summary", "shots", "grounding", "highlights", "descriptions", "parameters")
"""Parts that hold options, those of the command itself first."""
_NO_OPTIONS = ("vidsum", "extractions", "candidates")
"""Parts and names that no option of every command sets, or that follow from others."""
_HOW_READ = ("fast", "strict", "reader")
"""Names in such parts that are options of every command that decodes."""
_OPTIONS = {"evidence": "--in"}
"""Options of other names than what they set."""
_SPEECH_OPTIONS = ("language", "translate")
_NO_SPEECH: Mapping[tuple[str, ...], str] = {
    ("grounding", "evidence"): "--in seen",
    ("summary", "speech"): "--snap none",
}
"""Values that are not recorded where speech has no effect, and the option with that meaning."""


def hash_file(path: Path) -> str:
    """Return SHA-256 of a file's content as hexadecimal digits; the file is never whole in memory."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def identify_file(path: Path) -> dict[str, Any]:
    """Return size and SHA-256 of a source file. Raises InputError where it cannot be read."""
    try:
        status = path.stat()
        return {"bytes": status.st_size, "sha256": _hash_unchanged(path, status.st_size, status.st_mtime_ns)}
    except OSError as error:
        raise InputError(f"{path.name}: cannot be read ({(error.strerror or str(error)).lower()})") from error


def label_of(provenance: Mapping[str, Any], form: str = "") -> str:
    """Return the label of a file that holds no provenance block; `form` is `Encoding.form` of an MP4."""
    return " ".join(filter(None, ["vidsum", form, digest_of(provenance)]))


def form_in(label: str | None, provenance: Mapping[str, Any]) -> str | None:
    """Return the form in a label of a file that was made from `provenance`; None in any other."""
    if label is None or not is_label(label) or not label.endswith(digest_of(provenance)):
        return None
    return " ".join(label.split(" ")[1:-1])


def is_label(text: str) -> bool:
    """Return whether a text is the label of a file that vidsum wrote."""
    return re.fullmatch(r"vidsum (\S+ )?[0-9a-f]{32}", text) is not None


def digest_of(provenance: Mapping[str, Any]) -> str:
    """Return a short name of a provenance block: 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(provenance, sort_keys=True).encode()).hexdigest()[:32]


@lru_cache(maxsize=1024)
def _hash_unchanged(path: Path, size: int, mtime_ns: int) -> str:
    """`hash_file`, read again in the same run only if the file changed."""
    return hash_file(path)


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """How the result of `before` was made, where that differs from `now`: the first difference, in words."""
    if any(_without_tracks(before.get(part)) != _without_tracks(now.get(part)) for part in _READ):
        return "from another input, or one that has changed since"
    old, new = dict(flat(before)), dict(flat(now))
    differing = [path for path in {**new, **old} if old.get(path) != new.get(path)]
    path = min(differing, key=_weight, default=())
    silent = _NO_SPEECH.get(path[:2])
    if silent and all(value is None for other, value in old.items() if other[:2] == path[:2]):
        return f"with {silent}, the default without a transcript"
    seen, sees = (len(record.get("extractions", ())) for record in (before, now))
    if path[:1] == ("extractions",) and "grounding" in now and seen != sees:
        return "with --thorough" if seen > sees else "without --thorough"
    return _in_words(path, old.get(path)) if path else "from other inputs or options"


def _without_tracks(part: Any) -> Any:
    """Return a part without the tracks that options choose."""
    if not isinstance(part, Mapping):
        return part
    return {name: value for name, value in part.items() if not name.endswith("_track")}


def _weight(path: tuple[str, ...]) -> int:
    """Options come first, those of the command before those of reading; then weights, then the rest."""
    if path[-1].endswith("sha256"):
        return 1 if "queries" in path else len(_SETTINGS) + 2
    if set(path) & set(_NO_OPTIONS):
        return len(_SETTINGS) + 3
    return next((place for place, part in enumerate(_SETTINGS, 1) if part in path), len(_SETTINGS) + 1)


def flat(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(path, value) of all that is not itself a mapping, or a list of them."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from flat(inner, (*path, name))
    elif isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
        for number, entry in enumerate(value):
            yield from flat(entry, (*path, str(number)))
    else:
        yield path, value


def _in_words(path: tuple[str, ...], value: object) -> str:
    name = path[-1]
    if "queries" in path:
        return "with other queries"
    if name == "vidsum":
        return f"by vidsum {value}"
    if name == "sentences_sha256":
        return "with other --sentences"
    if name.endswith("sha256"):
        return "with other weights"
    if set(path) & set(_NO_OPTIONS) and name not in _HOW_READ:
        return "with other networks"
    if "speech" in path[:-1] and name not in _SPEECH_OPTIONS:
        on_other_device = f"by Whisper in {value}, on another --device"
        return on_other_device if name == "precision" else "with other rules for speech"
    option = _OPTIONS.get(name, f"--{name.removesuffix('_s').replace('_', '-')}")
    if value is None or value is False or value == []:
        return f"without {option}"
    if value is True:
        return f"with {option}"
    if isinstance(value, list):
        return f"with {option} " + ", ".join(_one_value(entry) for entry in value)
    return f"with {option} {value}"


def _one_value(value: object) -> str:
    """Return an entry of a list; a segment of time as it is typed."""
    if isinstance(value, list) and len(value) == 2 and all(isinstance(end, int | float) for end in value):
        return "-".join(format_time(end) for end in value)
    return str(value)
