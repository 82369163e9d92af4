"""The common part of all sessions: decisions in their file, undo and redo, what is saved."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Generic

from vidsum.errors import ForeignFileError, MissingError, StaleError, UsageError, VidsumError
from vidsum.features.settings import Extraction
from vidsum.outputs.edited_files import SavedFiles, files_of, lost_files, save_edited
from vidsum.outputs.output_records import lock
from vidsum.results.decisions import Decision, EditFacts, decisions_path, read_decisions, write_decisions
from vidsum.results.edits import Edited, apply_decisions, decisions_of, original_of, subject_sha256
from vidsum.results.load import load
from vidsum.types import Interval, Progress

FileState = tuple[int, int]
"""Bytes of a file, and the time of its last change in nanoseconds."""


class ResultSession(Generic[Edited]):
    """A result that is corrected. The file of its decisions is the only state, so that nothing is lost.

    Args:
        record: the JSON of the result.
        saved: the result in it, of a kind that decisions can change.
        extraction: device and cache.
    """

    def __init__(self, record: Path, saved: Edited, extraction: Extraction) -> None:
        self.record, self._saved, self._made = record, saved, self._as_made(saved)
        self._extraction, self._path, self._lock = extraction, decisions_path(record), Lock()
        self._sha256 = subject_sha256(self._made)
        self._files, self._record_state = self._find_files(), state_of(record)
        self._facts()

    def describe(self) -> dict[str, Any]:
        """Return what the page shows of the result as it was made, and the state."""
        about = self._describe_made()
        with self._lock:
            self._reread()
            state = self._describe_state(self._facts())
        files = [path.name for path in self._files.values()]
        return {"kind": self._made.kind, "record": self.record.name, "files": files, **about, **state}

    def decide(self, document: object, revision: str | None = None) -> dict[str, Any]:
        """Add a decision of the page, and return the state.

        `revision` is of the state that the page shows. Raises InputError: it is no decision. StaleError: a
        page has changed that state since.
        """
        raise NotImplementedError

    def undo(self, revision: str | None = None) -> dict[str, Any]:
        """Undo the last decision, if there is one; return the state. See `decide`."""
        return self._change(lambda done, undone: (done[:-1], [*undone, *done[-1:]]), revision)

    def redo(self, revision: str | None = None) -> dict[str, Any]:
        """Make the decision again that was undone last, if there is one; return the state. See `decide`."""
        return self._change(lambda done, undone: ([*done, *undone[-1:]], undone[:-1]), revision)

    def require(self, revision: str | None) -> EditFacts:
        """Return the decisions of a state; of the state as it is, if it is None. Raises StaleError."""
        with self._lock:
            return self._require(revision)

    def save(self, progress: Progress | None = None, *, overwrite: bool = False) -> tuple[SavedFiles, str]:
        """Write the result and its files; return them, and a command that does the same.

        Raises the errors of `save_edited`.
        """
        with self._lock:
            self._reread()
            decisions = self._facts()["decisions"]
        files, lost = self._find_files(), lost_files(self._saved, self.record)
        files, warnings = (lost | files, ()) if overwrite else (files, self._warn_of(lost, files))
        edited = apply_decisions(self._made, decisions)
        saved = save_edited(
            edited,
            self._saved,
            files,
            self._extraction,
            progress,
            overwrite=overwrite,
            made=self._made_clips(),
        )
        saved = replace(saved, warnings=(*warnings, *saved.warnings))
        self._saved, self._files, self._record_state = edited, files, state_of(self.record)
        if progress:
            progress("finding the command", 0, 0)
        return saved, self._command(edited, decisions, files)

    def _describe_made(self) -> dict[str, Any]:
        raise NotImplementedError

    def _describe_parts(self, decisions: Sequence[Decision]) -> dict[str, Any]:
        """Return what the page shows of the result after decisions."""
        raise NotImplementedError

    def _made_clips(self) -> Mapping[Interval, Path]:
        """Return clips that were made for the page, by their spans."""
        return {}

    def _as_made(self, saved: Edited) -> Edited:
        return original_of(saved)

    def _find_files(self) -> dict[str, Path]:
        """Return the files that `save` writes, by kind."""
        return files_of(self._saved, self.record)

    @staticmethod
    def _warn_of(lost: Mapping[str, Path], files: Mapping[str, Path]) -> tuple[str, ...]:
        reason = "was deleted or edited, and is not written again"
        return tuple(f"{path} {reason}" for kind, path in lost.items() if kind not in files)

    def _facts(self) -> EditFacts:
        """Return the decisions so far: those in the file, or those that the result holds."""
        if self._path.exists():
            return read_decisions(self._path, self._sha256)
        return {"decisions": decisions_of(self._saved), "undone": []}

    def _require(self, revision: str | None) -> EditFacts:
        self._reread()
        facts = self._facts()
        if revision not in (None, revision_of(facts)):
            raise StaleError("was changed by another page", subject=self.record)
        return facts

    def _reread(self) -> None:
        """Take over what another page saved. Raises UsageError: the result is another one by now."""
        state = state_of(self.record)
        if state == self._record_state:
            return
        try:
            saved = load(self.record)
        except VidsumError:  # it was edited: `save_edited` says so
            return
        if not isinstance(saved, type(self._made)) or self._as_made(saved).to_dict() != self._made.to_dict():
            raise UsageError("was made again", hint="start vidsum edit again", subject=self.record)
        self._saved, self._record_state = saved, state

    def _add(self, decision: Decision, revision: str | None) -> dict[str, Any]:
        return self._change(lambda done, undone: ([*done, decision], []), revision)

    def _change(
        self,
        change: Callable[[list[Decision], list[Decision]], tuple[Sequence[Decision], Sequence[Decision]]],
        revision: str | None,
    ) -> dict[str, Any]:
        with self._lock, lock(self._path):  # of other pages of this result, too
            facts = self._require(revision)
            decisions, undone = change([*facts["decisions"]], [*facts["undone"]])
            changed: EditFacts = {"decisions": decisions, "undone": undone}
            state = self._describe_state(changed)
            write_decisions(self._path, changed, self._sha256)
        return state

    def _describe_state(self, facts: EditFacts) -> dict[str, Any]:
        return {
            **self._describe_parts(facts["decisions"]),
            "revision": revision_of(facts),
            "undo": len(facts["decisions"]),
            "redo": len(facts["undone"]),
            "is_saved": facts["decisions"] == decisions_of(self._saved),
        }

    def _command(self, edited: Edited, decisions: Sequence[Decision], files: Mapping[str, Path]) -> str:
        """Return a command that makes the saved result again."""
        return f"vidsum edit {shlex.quote(str(self.record))} --apply"


def open_unchanged(path: Path, state: FileState | None) -> tuple[BinaryIO, int]:
    """Return an open file and its time. Raises MissingError, ForeignFileError: it is not in this state."""
    try:
        if not path.is_file():  # neither a folder nor a pipe, which would wait
            raise MissingError("has vanished", subject=path)
        file = path.open("rb")
    except OSError as error:
        raise MissingError("cannot be read", subject=path) from error
    status = os.fstat(file.fileno())
    if (status.st_size, status.st_mtime_ns) != state:
        file.close()
        raise ForeignFileError("has changed; start vidsum edit again", subject=path)
    return file, status.st_mtime_ns


def revision_of(facts: EditFacts) -> str:
    """Return a name of a state: its digest, as another program may have written it."""
    return hashlib.sha256(json.dumps([facts["decisions"], facts["undone"]]).encode()).hexdigest()[:16]


def state_of(path: Path) -> FileState | None:
    """Return size and time of a file; None without one."""
    with suppress(OSError):
        status = path.stat()
        return status.st_size, status.st_mtime_ns
    return None
