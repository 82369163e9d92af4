"""The files of a result: which ones vidsum may replace or delete, and how they are written.

All are written under hidden names first. Then, under the lock of the record, the record is read again, the
result merged with the one in it, and the files are renamed. The record has the hashes of the new files by
then; a second record, which is deleted at the end, has the hashes of the files that are replaced or deleted.
So after a kill each file is the old or the new one, and listed as such.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vidsum.errors import InputError, Mention, OutputError, UsageError, VidsumError
from vidsum.io.atomic import check_name, check_target, is_special, make_folder
from vidsum.io.output_lists import Hashes, outputs_of
from vidsum.io.paths import FileKey, require_not_read
from vidsum.io.text import read_json
from vidsum.outputs.output_records import (
    hash_of,
    is_inside,
    is_result,
    listed_beside,
    lock,
    name_in,
    read_document,
    record_of,
    write_record,
)
from vidsum.outputs.staging import differs, hidden, move, write_hidden, written

Notice = tuple[str, str | VidsumError]
"""The kind of a file, and a warning about it or why it could not be made."""
Writer = Callable[[Any, Path], Iterable[str]]
"""Writes a result to a file, or into a folder that it makes; gives warnings."""
Document = dict[str, Any]
_REMEDY = (Mention("overwrite", True), " replaces it")


def _replace(earlier: Document | None) -> tuple[Document, Callable[[str], bool]]:
    return {}, lambda name: False


@dataclass(frozen=True)
class Artifacts:
    """The files of one result, and the record that lists them."""

    record: Path  # the JSON document of the result, or `NAME.vidsum.json` of a file that has none
    files: Mapping[str, Path] = field(default_factory=dict)  # by kind, the document and folders included

    def read(self) -> tuple[Document | None, Hashes]:
        """Return the earlier document of the record, if nobody edited it, and the files that it lists."""
        document, hashes, _ = self._look()
        return document, hashes

    def _listed(self) -> Hashes:
        """Return the files that the record lists, also where somebody edited the document."""
        document, hashes = self.read()
        if document is None and is_result(self.record) and self.record.is_file():
            with suppress(InputError):
                edited = read_json(self.record)
                outputs = outputs_of(edited) if isinstance(edited, dict) else {}
                hashes |= {name: sha256 for name, sha256 in outputs.items() if is_inside(name)}
        return hashes

    def _look(self) -> tuple[Document | None, Hashes, OutputError | None]:
        """Return the earlier document, the files that it lists, and why a file is no record of vidsum."""
        document, hashes, fault = None, Hashes(), None
        for record in (self.record, record_of(self.record)):
            try:
                facts, listed = read_document(record)
            except InputError as error:
                is_link = record.is_symlink() and not is_result(record)  # which is not written through
                if is_link or (record.exists() and not is_special(record)):
                    reason = ("already exists, and ", *error.parts)
                    fault = fault or OutputError(reason, _REMEDY, subject=record)
                continue
            document = facts if record == self.record else document
            for name, sha256 in listed.items():
                hashes.setdefault(name, set()).update(sha256)
        return document, hashes, fault

    def owns(self, path: Path) -> bool:
        """Return whether a record lists a file as it is: this one, its own, or another one in the folder."""
        return bool(self.owned([path]))

    def owned(self, paths: Iterable[Path]) -> set[Path]:
        """Return the files that vidsum owns, see `owns`, of some that may not exist."""
        _, hashes = self.read()
        return {path for path in paths if path.is_file() and self._is_listed(path, hashes)}

    def holds(self, path: Path, hashes: Hashes) -> bool:
        """Return whether a file, or each listed file of a folder, is as the record lists it."""
        name = name_in(path, self.record)
        if not path.is_dir():
            return name in hashes and path.is_file() and hash_of(path) in hashes[name]
        inside = [self.record.parent / inner for inner in hashes if inner.startswith(f"{name}/")]
        return bool(inside) and all(self.holds(inner, hashes) for inner in inside)

    def require_ours(self, paths: Iterable[Path]) -> None:
        """Raise an OutputError where one of some files, or the record, exists and is not vidsum's own."""
        _, hashes, fault = self._look()
        if fault:
            raise fault
        for path in paths:
            check_name(path)
            if path.is_file() and path != self.record and not self._is_listed(path, hashes):
                reason = "already exists, and was not written by vidsum, or edited since"
                raise OutputError(reason, _REMEDY, subject=path)

    def write(
        self,
        result: Any,
        writers: Mapping[str, Writer],
        *,
        overwrite: bool = False,
        compose: Callable[[Document | None], tuple[Document, Callable[[str], bool]]] = _replace,
        is_fresh: Callable[[str, Document | None, Hashes], bool] = lambda *_: False,
        optional: Collection[str] = (),
        reads: Mapping[FileKey, str] = {},
    ) -> tuple[set[Path], list[str], list[Notice]]:
        """Write a result.

        Args:
            result: what the writers get.
            writers: by kind; files of other kinds are left as they are.
            overwrite: replace foreign files too.
            compose: returns the new document for the earlier one of the record, and whether an earlier file
                belongs to the new result too, by its name in the record.
            is_fresh: whether the files of a kind need not be written.
            optional: kinds without which the others are written, unless the disk is at fault.
            reads: files that nothing is written over.

        Returns the files that changed, the names of the deleted ones, and what the writers have to say.
        Raises OutputError: a file is foreign, or cannot be written. UsageError: it is read.
        """
        for kind in writers:
            check_name(self.files[kind])
        with ExitStack() as stack:
            shadows = {kind: stack.enter_context(hidden(self.files[kind])) for kind in writers}
            notices = list[Notice]()
            earlier = self.read()
            left = {kind for kind in writers if is_fresh(kind, *earlier)}
            for kind in writers:
                if kind not in left:
                    notices += self._stage(kind, writers[kind], result, shadows[kind], kind in optional)
            make_folder(self.record.parent)
            stack.enter_context(lock(self.record))
            earlier = self.read()[0], self._listed() if overwrite else self.read()[1]
            for kind in left:
                if not is_fresh(kind, *earlier):  # another process has replaced them
                    notices += self._stage(kind, writers[kind], result, shadows[kind], kind in optional)
            produced = dict[Path, Path]()
            for kind, shadow in shadows.items():
                produced |= written(shadow, self.files[kind])
            if not overwrite:
                self.require_ours(produced)
            has_record = is_result(self.record) or not all(map(is_special, produced))
            for path in (*produced, *([self.record] if has_record else [])):
                require_not_read(path, reads)
                make_folder(path.parent)
                check_target(path)
            document, belongs = compose(earlier[0])
            changed, deleted = self._publish(document, belongs, produced, *earlier, always=overwrite)
        return changed, deleted, notices

    def is_interrupted(self) -> bool:
        """Return whether a run was killed while it replaced the files."""
        with suppress(InputError):
            return bool(read_document(record_of(self.record)))
        return False

    def _stage(
        self, kind: str, write: Writer, result: Any, shadow: Path, is_optional: bool
    ) -> Iterator[Notice]:
        try:
            for warning in write_hidden(lambda path: write(result, path), shadow, self.files[kind]):
                yield kind, warning
        except (InputError, OutputError, UsageError) as fault:
            if not is_optional or fault.ends_batch:
                raise
            yield kind, fault

    def _publish(
        self,
        document: Document,
        belongs: Callable[[str], bool],
        produced: Mapping[Path, Path],
        earlier: Document | None,
        hashes: Hashes,
        *,
        always: bool,
    ) -> tuple[set[Path], list[str]]:
        """Write the record and rename the files; return the changed files, and the names of deleted ones."""
        changed = {path for path, shadow in produced.items() if is_special(path) or differs(path, shadow)}
        current = self._current(hashes)
        listed = {name_in(path, self.record): path for path in produced if not is_special(path)}
        stays = {name for name in current if belongs(name) or not is_inside(name)}
        outputs = {name: current[name] for name in stays}
        outputs |= {name: hash_of(produced[path]) for name, path in listed.items()}
        deleted = self._outdated(current, outputs)
        replaced = {name: sha256 for name, sha256 in current.items() if outputs.get(name) != sha256}
        second = record_of(self.record)
        is_left_over = self.is_interrupted()
        if not (always or changed or deleted or is_left_over or document != earlier):
            return set(), []
        if replaced:
            write_record(second, {}, replaced)
        has_record = is_result(self.record) or bool(outputs)
        if has_record:
            write_record(self.record, document, outputs)
        for path in changed:
            move(produced[path], path)
        for name in deleted:
            (self.record.parent / name).unlink(missing_ok=True)
        if not has_record and earlier is not None:  # nothing is left that it would list
            self.record.unlink()
        if replaced or is_left_over:
            second.unlink(missing_ok=True)
        self._tidy(listed.values(), deleted)
        return changed | ({self.record} if document != earlier else set()), deleted

    def _current(self, hashes: Hashes) -> dict[str, str]:
        """Return the listed files of the folder that are there and unchanged, with their hashes."""
        paths = {name: self.record.parent / name for name in hashes}
        return {name: hash_of(path) for name, path in paths.items() if self.holds(path, hashes)}

    def _outdated(self, current: Mapping[str, str], outputs: Mapping[str, str]) -> list[str]:
        """Return the unchanged files that no record will list any more.

        As anyone may have made a record, files outside its folder stay, and stay listed.
        """
        names = [name for name in current if name not in outputs]
        others = listed_beside(self.record) if names else {}
        return [name for name in names if current[name] not in others.get(name, ())]

    def _tidy(self, listed: Iterable[Path], deleted: Iterable[str]) -> None:
        """Remove records of files that this one lists, and folders in which nothing is left."""
        for path in listed:
            second = record_of(path)
            with suppress(InputError):
                if second != self.record and set(read_document(second)[1]) == {path.name}:
                    second.unlink()
        for folder in {(self.record.parent / name).parent for name in deleted} - {self.record.parent}:
            with suppress(OSError):  # it has other files
                folder.rmdir()

    def _is_listed(self, path: Path, hashes: Hashes) -> bool:
        if self.holds(path, hashes):
            return True
        with suppress(InputError):
            if hash_of(path) in read_document(record_of(path))[1].get(path.name, ()):
                return True
        return hash_of(path) in listed_beside(self.record).get(name_in(path, self.record), ())
