"""Write files that no JSON document lists: each has a record of its own."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from vidsum.io.atomic import check_target, write_text
from vidsum.io.paths import FileKey
from vidsum.outputs.artifacts import Artifacts, Writer
from vidsum.outputs.output_records import lock, record_of
from vidsum.results.result import reads_of_results

PathLike = str | os.PathLike[str]
Made = TypeVar("Made")


def write_alone(
    artifacts: Artifacts, write: Callable[[Path], Made], *, overwrite: bool, reads: Mapping[FileKey, str] = {}
) -> tuple[Made, bool]:
    """Write a file, the only one of its record; return what the writer does, and whether it has changed.

    Raises OutputError: the file is foreign, or cannot be written. UsageError: it is read.
    """
    made = list[Made]()

    def write_and_keep(_: Any, path: Path) -> tuple[str, ...]:
        made.append(write(path))
        return ()

    ((kind, path),) = artifacts.files.items()
    check_target(path)
    if not overwrite:
        with lock(artifacts.record):
            artifacts.require_ours([path])
    changed, _, _ = artifacts.write(None, {kind: write_and_keep}, overwrite=overwrite, reads=reads)
    return made[0], path in changed


def own_record(path: Path) -> Artifacts:
    """Return a file with a record of its own."""
    return Artifacts(record_of(path), {"output": path})


def save_text(text: str, target: Path, *, overwrite: bool, reads: Mapping[FileKey, str] = {}) -> str:
    """Write a file, unless the same one is there already, and return a line about it.

    Errors are those of `write_alone`.
    """
    if target.is_file() and target.read_bytes() == text.encode():
        return f"{target} (unchanged)"
    write_alone(own_record(target), lambda path: write_text(path, text), overwrite=overwrite, reads=reads)
    return str(target)


def write_public(
    result: Any,
    files: Mapping[str, Path],
    writers: Mapping[str, Writer],
    *,
    overwrite: bool,
    reads: Mapping[FileKey, str] = {},
) -> tuple[str, ...]:
    """Write the files of a function of the package, with the record of the first, and return warnings.

    Raises OutputError: a file is foreign, or cannot be written. UsageError: a file is among those that are
    read, or is the video of the result.
    """
    first = next(iter(files.values()))
    check_target(first)
    artifacts = Artifacts(record_of(first), files)
    if not overwrite:
        with lock(artifacts.record):
            artifacts.require_ours(files.values())
    _, _, notices = artifacts.write(
        result, writers, overwrite=overwrite, reads={**reads_of_results(result), **reads}
    )
    return tuple(warning for _, warning in notices if isinstance(warning, str))
