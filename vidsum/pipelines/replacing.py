"""Decide which existing files the Python functions may replace: those that vidsum wrote."""

import os
from pathlib import Path
from typing import Any

from vidsum.errors import InputError, OutputError, UsageError
from vidsum.io.provenance import is_label, label_in
from vidsum.results.feature_files import is_feature_file, read_features
from vidsum.results.load import read_record
from vidsum.video.open import open_video

PathLike = str | os.PathLike[str]


def require_replaceable(path: PathLike, *, overwrite: bool, text: str | None = None) -> None:
    """See that a file is not there, or may be replaced. Raises OutputError: vidsum did not write it.

    `text` is the new content of a file that bears no sign of vidsum: only the same text is replaced.
    """
    target = Path(path)
    if overwrite or not target.is_file():
        return
    if text is None and not _is_ours(target):
        fault = f"{target}: already exists, and vidsum did not write it"
        raise OutputError(fault, hint="overwrite=True replaces it")
    if text is not None and target.read_bytes() != text.encode():
        raise OutputError(f"{target}: already exists, and differs", hint="overwrite=True replaces it")


def read_label(path: PathLike) -> str | None:
    """Return the label of an MP4, PNG or SVG, which may be any text; None without one."""
    if Path(path).suffix in (".png", ".svg"):
        return label_in(Path(path))
    try:
        with open_video(path) as container:
            return {name.lower(): text for name, text in container.metadata.items()}.get("comment")
    except InputError:
        return None


def read_result_record(path: Path) -> dict[str, Any]:
    """Read the record in a result file, with its provenance.

    Raises InputError, which does not name the file: it is missing, not vidsum's, or was changed since.
    """
    if not is_feature_file(path.name):
        return read_record(path)
    try:
        document = read_features(path).to_dict(with_arrays=False)
    except (InputError, UsageError):
        document = {}
    if not document.get("provenance"):
        raise InputError("is not known to be made by vidsum")
    return document


def _is_ours(path: Path) -> bool:
    if path.suffix.lower() == ".json" or is_feature_file(path.name):
        try:
            return bool(read_result_record(path))
        except InputError:
            return False
    return is_label(read_label(path) or "")
