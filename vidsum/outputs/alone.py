"""Write one file with its record: files that no JSON document lists, documents and features from Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from vidsum.errors import UsageError, require_type
from vidsum.io.atomic import check_name, check_target, write_text
from vidsum.io.paths import FileKey, require_not_read
from vidsum.outputs.artifacts import Artifacts, Writer
from vidsum.outputs.output_records import ENDING, is_result, lock, record_of
from vidsum.results.feature_files import FrameArray, require_feature_name, write_feature_file
from vidsum.results.features import Features
from vidsum.results.result import Result, reads_of_results

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
    require_replaceable(artifacts, overwrite=overwrite)
    changed, _, _ = artifacts.write(None, {kind: write_and_keep}, overwrite=overwrite, reads=reads)
    return made[0], path in changed


def own_record(path: Path) -> Artifacts:
    """Return a file with a record of its own."""
    return Artifacts(record_of(path), {"output": path})


def require_replaceable(artifacts: Artifacts, *, overwrite: bool) -> None:
    """Raise an OutputError, before any work, where a file is foreign and `overwrite` is off."""
    if not overwrite:
        with lock(artifacts.record):
            artifacts.require_ours(artifacts.files.values())


def save_text(text: str, target: Path, *, overwrite: bool, reads: Mapping[FileKey, str] = {}) -> str:
    """Write a file, unless the same one is there already, and return a line about it.

    Raises the errors of `write_alone`.
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
    require_replaceable(artifacts, overwrite=overwrite)
    _, _, notices = artifacts.write(
        result, writers, overwrite=overwrite, reads={**reads_of_results(result), **reads}
    )
    return tuple(warning for _, warning in notices if isinstance(warning, str))


def write_json(result: Result, path: PathLike, *, overwrite: bool = False) -> None:
    """Write a result as JSON.

    Files that the earlier document of this name lists stay, and stay listed.

    Raises OutputError: it cannot be written, or a file is in the way that vidsum did not write or that was
    edited (`overwrite` replaces it). UsageError: the name does not end in .json, or the path is the path of
    the result's video.
    """
    require_type(result, Result)
    target = Path(path)
    check_name(target)
    reads = reads_of_results(result)
    require_not_read(target, reads)
    if not is_result(target):
        hint = "vidsum.write_video writes videos, vidsum.write_features features"
        raise UsageError(f"must end in .json, and not in {ENDING}", hint=hint, subject=target)
    check_target(target)
    Artifacts(target).write(
        result,
        {},
        overwrite=overwrite,
        compose=lambda _: (result.to_dict(), lambda name: True),
        reads=reads,
    )


def write_features(
    features: Features, path: PathLike, *, change_points: FrameArray | None = None, overwrite: bool = False
) -> None:
    """Write one video's features to `.npz`, or to `.h5` under the name of its file's stem.

    `change_points`, [S, 2] first and last frame of each shot, go into an h5 file only. Raises UsageError:
    another suffix. OutputError: it cannot be written, or a file is in the way that vidsum did not write or
    that was edited (`overwrite` replaces it).
    """
    require_type(features, Features)
    require_feature_name(path)

    def write(features: Features, part: Path) -> tuple[str, ...]:
        write_feature_file(features, part, Path(path).stem, change_points=change_points)
        return ()

    write_public(features, {"features": Path(path)}, {"features": write}, overwrite=overwrite)
