"""Files that vidsum wrote: known by their SHA-256, from the record of a result or of a folder.

The JSON record of a result lists the files written with it under `outputs`; files without such a record are
listed in `.vidsum.json` in their folder. A file is ours if its content has the SHA-256 in its record.
"""

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidsum.errors import InputError, Mention, OutputError
from vidsum.io.locks import lock_file
from vidsum.io.outputs import check_name, write_text
from vidsum.io.text import read_json
from vidsum.pipelines.tasks import Files

FOLDER_RECORD = ".vidsum.json"
_SCHEMA = "vidsum.outputs/1"
_KINDS = re.compile("_(summary|descriptions|transcript|moments|highlights|shots|screen_text|chapters)$")


@dataclass(frozen=True)
class Earlier:
    """The outputs that an earlier run left at the paths of a result."""

    record: Path
    document: dict[str, Any] | None  # the record, if nobody edited it
    fault: str  # why the record is not trusted
    outputs: Mapping[str, str]
    """The SHA-256 of each file of the record, by its path relative to the record's folder."""

    @classmethod
    def read(cls, files: Files) -> "Earlier":
        """Read the record of a result and that of its folder."""
        from vidsum.pipelines.replacing import read_result_record

        record, document, fault = files.record, None, "was not written by vidsum, or edited since"
        for path in files.all:
            check_name(path)
        try:
            document = read_result_record(record)
        except InputError as error:
            fault = error.message
        outputs = document.pop("outputs", {}) if document else {}
        if record.suffix != ".json":
            folder, names = read_folder(record.parent), [name_in(path, record) for path in files.all]
            outputs = {name: folder[name][-1] for name in names if name in folder}
        return cls(record, document, fault, outputs)

    @property
    def keys(self) -> Collection[str]:
        """The keys of the record; none without one."""
        return self.document or ()

    def is_current(self, path: Path) -> bool:
        """Return whether a file, or each recorded file of a folder, is as the record lists it."""
        name = name_in(path, self.record)
        if not path.is_dir():
            return name in self.outputs and path.is_file() and hash_of(path) == self.outputs[name]
        inside = [Path(self.record.parent, inner) for inner in self.outputs if inner.startswith(f"{name}/")]
        return bool(inside) and all(map(self.is_current, inside))

    def current(self) -> dict[str, str]:
        """Return the recorded files that are there and unchanged, with their hashes."""
        folder = self.record.parent
        return {name: sha for name, sha in self.outputs.items() if self.is_current(Path(folder, name))}

    def removable(self, files: Files) -> list[str]:
        """Return the unchanged files named after the record, or after the video and in no other record.

        A copy of a record owns none. A file that a run did not come to replace before it was killed is listed
        in the folder's record. As anyone may have made a record, no file outside its folder is returned.
        """
        folder = self.record.parent
        of_record, of_video = (
            re.compile(rf"(^|[_/]){re.escape(stem)}[_.]").search
            for stem in (_KINDS.sub("", self.record.stem), files.clip_stem or self.record.stem)
        )
        paths = {name: Path(folder, name) for name in self.outputs if _is_inside(name)}
        names = [n for n in paths if self.is_current(paths[n]) or is_ours(paths[n], folder)]
        return [n for n in names if of_record(n) or (of_video(n) and not self._is_shared(paths[n]))]

    def exports(self, files: Files) -> list[Path]:
        """Return the unchanged exports and pages next to an earlier record that a run does not write again.

        They have its name, but may be of another result, so they are not removed.
        """
        from vidsum.results.formats import FORMATS

        if self.document is None:
            return []
        endings = dict.fromkeys([*(export.ending for export in FORMATS.values()), ".html"])
        paths = [self.record.with_suffix(ending) for ending in endings]
        return [path for path in paths if path not in (*files.all, *files.derived.values()) and is_ours(path)]

    def _is_shared(self, path: Path) -> bool:
        """Return whether another JSON record in the folder lists a file as it is."""
        others = [other for other in self.record.parent.glob("*.json") if other != self.record]
        sha256, name = hash_of(path) if path.is_file() else "", name_in(path, self.record)
        return bool(sha256) and any(_read_outputs(other).get(name) == sha256 for other in others)

    def require_ours(self, paths: Iterable[Path]) -> None:
        """Raise an OutputError unless vidsum wrote the files that exist, and nobody changed them since."""
        for path in paths:
            check_name(path)
            if not path.is_file():
                continue
            if path == self.record and path.suffix == ".json":
                if self.document is None:
                    fault = f"{path}: already exists, and {self.fault}"
                    raise OutputError(fault, hint=(Mention("overwrite", True), ", or -o FILE"))
                continue
            # several results may have the same clip
            folder = self.record.parent
            is_known = self.is_current(path) or is_ours(path, folder)
            if not is_known and not (path.suffix == ".mp4" and self._is_shared(path)):
                require_ours(path, folder)


def has_foreign(files: Files) -> bool:
    """Return whether one of the files exists that may not be replaced: not by vidsum, or edited since."""
    try:
        if files.named:
            Earlier.read(files).require_ours(files.all)
    except OutputError:
        return True
    return False


def is_ours(path: Path, folder: Path | None = None) -> bool:
    """Return whether the record of a file's folder, or of another folder, lists a file as it is."""
    folder = folder or path.parent
    sha256 = ""
    while path.is_file() and sha256 != (sha256 := hash_of(path)):  # another process may replace it meanwhile
        if sha256 in read_folder(folder).get(name_in(path, folder / FOLDER_RECORD), ()):
            return True
    return False


def require_ours(path: Path, folder: Path | None = None) -> None:
    """Raise an OutputError where a file exists that is not ours; see `is_ours`."""
    if path.is_file() and not is_ours(path, folder):
        fault = f"{path}: already exists, and was not written by vidsum, or edited since"
        raise OutputError(fault, hint=(Mention("overwrite", True), ", or -o FILE"))


def name_in(path: Path, record: Path) -> str:
    return Path(os.path.relpath(path, record.parent)).as_posix()


def _is_inside(name: str) -> bool:
    return not Path(name).anchor and ".." not in Path(name).parts


def remove_empty_folders(record: Path, names: Iterable[str]) -> None:
    """Remove the folders of removed files that are named after the record, where nothing is left in them."""
    stem = _KINDS.sub("", record.stem)
    for folder in {Path(record.parent, name).parent for name in names} - {record.parent}:
        if folder.name.startswith(f"{stem}_"):
            with suppress(OSError):  # it has other files
                folder.rmdir()


def hash_of(path: Path) -> str:
    from vidsum.io.provenance import identify_file

    sha256: str = identify_file(path)["sha256"]
    return sha256


# --- the record of a folder ---


def read_folder(folder: Path) -> dict[str, list[str]]:
    """Return the SHA-256 of files in a folder that no JSON record lists; two while a file is replaced."""
    outputs = _read_outputs(folder / FOLDER_RECORD, _SCHEMA)
    is_valid = all(isinstance(listed, list) and all(map(_is_text, listed)) for listed in outputs.values())
    return outputs if is_valid else {}


def _read_outputs(path: Path, schema: str | None = None) -> dict[str, Any]:
    """Return `outputs` of a JSON file, which anyone may have written; empty where it has none."""
    with suppress(InputError):
        document = read_json(path) if path.is_file() else None  # reading a pipe would wait
        if isinstance(document, dict) and schema in (None, document.get("schema")):
            outputs = document.get("outputs")
            return outputs if isinstance(outputs, dict) else {}
    return {}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def add_to_folder(folder: Path, hashes: Mapping[str, str], *, only: bool = False) -> None:
    """Record files of a folder, in addition to their earlier content unless `only` this is left."""
    if hashes:
        with lock(folder):
            known = read_folder(folder)
            for name, sha256 in hashes.items():
                known[name] = list(dict.fromkeys([*([] if only else known.get(name, [])), sha256]))
            _write_folder(folder, known)


def forget_in_folder(folder: Path, names: Iterable[str]) -> None:
    if set(names) & set(read_folder(folder)):
        with lock(folder):
            known = read_folder(folder).items()
            _write_folder(folder, {name: hashes for name, hashes in known if name not in names})


def _write_folder(folder: Path, known: Mapping[str, list[str]]) -> None:
    log = folder / FOLDER_RECORD
    if log.is_symlink() or (log.exists() and not read_folder(folder)):
        return  # somebody else's
    with suppress(OutputError, OSError):  # outputs in a folder that cannot be written to are devices
        if not known:
            log.unlink(missing_ok=True)
            return
        document = {"schema": _SCHEMA, "outputs": dict(sorted(known.items()))}
        write_text(log, json.dumps(document, indent=1) + "\n")


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Exclude other processes that change the record at a path."""
    from vidsum.io.cache import home  # with NumPy, which usage errors can do without

    name = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
    with suppress(OSError):
        (home() / "locks").mkdir(parents=True, exist_ok=True)
    if not os.access(home() / "locks", os.W_OK):
        yield
        return
    with lock_file(home() / "locks" / f"{name}.lock"):
        yield
