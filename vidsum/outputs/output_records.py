"""Records of the files that vidsum wrote: `outputs`, their SHA-256 by their path relative to the record.

The record of a result is its JSON document. A file without one has a record of its own, `NAME.vidsum.json`.
While the files of a JSON document are replaced, `NAME.json.vidsum.json` lists the earlier ones.
"""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from vidsum.errors import InputError
from vidsum.io.atomic import shortened
from vidsum.io.locks import transient_lock
from vidsum.io.output_lists import Hashes, outputs_in, outputs_of, read_sealed
from vidsum.io.provenance import identify_file, seal

ENDING = ".vidsum.json"  # of the record of a file that no JSON document lists
_SCHEMA = "vidsum.outputs/1"


def record_of(path: Path) -> Path:
    """Return the record of a file that no JSON document lists."""
    return path.with_name(f"{path.name}{ENDING}")


def is_result(record: Path) -> bool:
    """Return whether a record is the JSON document of a result."""
    return record.suffix == ".json" and not record.name.endswith(ENDING)


def read_document(record: Path) -> tuple[dict[str, Any], Hashes]:
    """Return a record without `outputs`, sealed again if it is of a result, and its outputs.

    Raises InputError, which does not name the record: it is missing, not vidsum's, or was changed since.
    """
    if not record.is_file():  # to read a pipe would wait
        raise InputError("is not a file")
    if is_result(record):
        from vidsum.results.load import read_record

        document = read_record(record)
    else:
        document = read_sealed(record)
        if document.get("schema") != _SCHEMA or not outputs_of(document):
            raise InputError("was not written by vidsum, or edited since")
    left_out = ("outputs",) if is_result(record) else ("outputs", "schema", "digest")
    facts = {name: part for name, part in document.items() if name not in left_out}
    return seal(facts) if is_result(record) else facts, outputs_of(document)


def write_record(record: Path, document: Mapping[str, Any], outputs: Mapping[str, str]) -> None:
    """Write a record. Raises OutputError: it cannot be written."""
    from vidsum.results.result import write_document  # with NumPy, which usage errors can do without

    listed = {"outputs": dict(sorted(outputs.items()))} if outputs else {}
    schema = {} if is_result(record) else {"schema": _SCHEMA}
    write_document(seal({**schema, **document, **listed}), record)


def listed_beside(record: Path) -> Hashes:
    """Return the outputs of the other records in the folder of a record, by their paths relative to it."""
    others = record.parent.glob("[!.]*.json")  # hidden ones may be what a killed run left
    return outputs_in(path for path in others if path not in (record, record_of(record)))


def name_in(path: Path, record: Path) -> str:
    """Return a file's name in a record."""
    return Path(os.path.relpath(path, record.parent)).as_posix()


def is_inside(name: str) -> bool:
    """Return whether a file of a record is in the record's folder, or below it."""
    return not Path(name).anchor and ".." not in Path(name).parts


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file. Raises InputError: it cannot be read."""
    sha256: str = identify_file(path)["sha256"]
    return sha256


def lock(record: Path) -> AbstractContextManager[None]:
    """Exclude other processes that read or write the files of a record; see `transient_lock`."""
    place = Path(os.path.realpath(record))  # other links to the folder, and to the record, lead to one lock
    return transient_lock(place.with_name(f".{shortened(place.name)}.vidsum.lock"))
