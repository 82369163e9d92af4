"""A result while somebody corrects it: what the page shows, the decisions in their file, what is saved."""

from __future__ import annotations

import bisect
import hashlib
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from vidsum.editing.film_view import (
    PictureCache,
    choose_pieces,
    curves_of,
    snap_places,
    split_units,
    spoken_spans,
    usual_length,
)
from vidsum.errors import ForeignFileError, MissingError, StaleError, UsageError, VidsumError
from vidsum.features.settings import Extraction
from vidsum.outputs.edited_files import SavedFiles, files_of, flags_for_files, lost_files, save_edited
from vidsum.outputs.names import summary_files
from vidsum.outputs.output_records import lock
from vidsum.outputs.timelines import absolute_path, reopen_video
from vidsum.pipelines.replan import find_places, flags_of, plan_again
from vidsum.results.clock import shift_times
from vidsum.results.cut_list import Cutting
from vidsum.results.decisions import (
    Decision,
    EditFacts,
    check_decisions,
    decisions_path,
    read_decisions,
    write_decisions,
)
from vidsum.results.edited_parts import EditedParts
from vidsum.results.edits import Editable, apply_decisions, decisions_of, edit_groups, editable, original_of
from vidsum.results.load import load, load_text_for
from vidsum.results.moments import Grounding, Highlights
from vidsum.results.result import round_number
from vidsum.results.summary import Summary, Trim
from vidsum.results.transcript import Transcript
from vidsum.types import Progress, VideoInfo
from vidsum.video.probe import start_offset_s

_SAME_S = 1e-3
_TIMES = ("start_s", "end_s", "to_start_s", "to_end_s")


class EditSession:
    """A result that is corrected. The file of its decisions is the only state, so that nothing is lost.

    Args:
        record: the JSON of the result.
        video: its video, if it has moved.
        extraction: device and cache.
        progress: called as progress(what, done, total) while the film is prepared.
        with_video: save an MP4 too, though there is none yet.

    Raises InputError: the result or its video cannot be read. UsageError: it cannot be edited.
    """

    def __init__(
        self,
        record: Path,
        video: Path | None = None,
        extraction: Extraction = Extraction(),
        progress: Progress | None = None,
        *,
        with_video: bool = False,
    ) -> None:
        result = load(record)
        if not isinstance(result, Cutting):
            raise UsageError(
                "cannot be edited",
                hint="give the JSON of summarize, highlights, trim, ground or chapters",
                subject=record,
            )
        self._saved = editable(result)
        if self._saved.video is None:
            raise UsageError("cannot be edited: it was computed from features only", subject=record)
        self.record = record
        self.video = reopen_video(self._saved.video, video or _video_near(record, self._saved.video))
        self._made = replace(original_of(self._saved), video=self.video)
        self._extraction, self._with_video = extraction, with_video
        self._path, self._lock = decisions_path(record), Lock()
        self._sha256 = self._made.provenance.get("video", {}).get("sha256")
        self._offset_s = start_offset_s(self.video)
        self._files, self._record_state = self._find_files(), _state_of(record)
        status = Path(self.video.path).stat()
        self._video_state = status.st_size, status.st_mtime_ns
        self._facts()
        edges_s, cached = find_places(self._made, self.video, extraction, progress)
        transcript = load_text_for(record, self.video, Transcript) or cached
        self._sentences = transcript.trusted.sentences() if transcript else []
        self._words = spoken_spans(transcript)
        self._units = split_units(edges_s, self._sentences)
        self.pictures = PictureCache(self.video, self._units)
        self._cuts = sorted({round_number(edge_s) for edge_s in edges_s})
        self._places = snap_places(self._made, self._cuts, self._sentences, self._words)
        spoken = {edge_s for start_s, end_s, _ in self._words for edge_s in (start_s, end_s)}
        self._exact_s = sorted({*self._places, *spoken})

    def describe(self) -> dict[str, Any]:
        """Return what the page shows of the film, and the state, in times of players."""
        curves, times_s = curves_of(self._made)
        pieces = choose_pieces(self._units, curves[0], times_s, self._sentences, usual_length(self._made))
        said = [(part.start_s, part.end_s, part.text) for part in self._sentences]
        with self._lock:
            self._reread()
            state = self._describe_state(self._facts())
        queries = self._made.queries if isinstance(self._made, Grounding) else ()
        return {
            "name": Path(self.video.path).name,
            "kind": self._made.kind,
            "record": self.record.name,
            "duration_s": self._made.video_duration_s + self._offset_s,
            "fps": self.video.fps,
            "places": self._later(self._places),
            "units": self._later(self._units),
            "pieces": self._later(pieces),
            "sentences": self._later(said),
            "words": self._later(self._words),
            "queries": [query.query for query in queries],
            "times_s": self._later(times_s.tolist()),
            "curves": [curve.tolist() for curve in curves],
            "files": [path.name for path in self._files.values()],
            **state,
        }

    def decide(self, document: object, revision: str | None = None) -> dict[str, Any]:
        """Add a decision of the page, whose times are of players, and return the state.

        `revision` is of the state that the page shows. Raises InputError: it is no decision. StaleError: a
        page has changed that state since.
        """
        (decision,) = check_decisions([document])["decisions"]
        exact: Any = {**decision}
        for name in _TIMES:
            if name in exact:
                exact[name] = self._exact(exact[name] - self._offset_s)
        return self._add(exact, revision)

    def plan(self, limit: float, revision: str | None = None) -> dict[str, Any]:
        """Plan again with a budget in seconds, or a number of highlights; return the state. See `decide`."""
        facts = self.require(revision)
        planned = plan_again(self._made, facts["decisions"], limit, self.video, self._extraction)
        return self._add(planned, _revision_of(facts))

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
        saved = save_edited(edited, self._saved, files, self._extraction, progress, overwrite=overwrite)
        saved = replace(saved, warnings=(*warnings, *saved.warnings))
        self._saved, self._files, self._record_state = edited, files, _state_of(self.record)
        if progress:
            progress("finding the command", 0, 0)
        return saved, self._command(edited, decisions, files)

    def open_video(self) -> tuple[BinaryIO, int]:
        """Return the open video and its time. Raises MissingError, ForeignFileError: it is another one."""
        path = Path(self.video.path)
        try:
            if not path.is_file():  # neither a folder nor a pipe, which would wait
                raise MissingError("has vanished", subject=path)
            file = path.open("rb")
        except OSError as error:
            raise MissingError("cannot be read", subject=path) from error
        status = os.fstat(file.fileno())
        if (status.st_size, status.st_mtime_ns) != self._video_state:
            file.close()
            raise ForeignFileError("has changed; start vidsum edit again", subject=path)
        return file, status.st_mtime_ns

    def _find_files(self) -> dict[str, Path]:
        """Return the files that `save` writes, by kind."""
        files = files_of(self._saved, self.record)
        if self._with_video and isinstance(self._saved, Summary):
            files.setdefault("video", summary_files(self.record)["video"])
        return files

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
        if revision not in (None, _revision_of(facts)):
            raise StaleError("was changed by another page", subject=self.record)
        return facts

    def _reread(self) -> None:
        """Take over what another page saved. Raises UsageError: the result is another one by now."""
        state = _state_of(self.record)
        if state == self._record_state:
            return
        try:
            saved = load(self.record)
        except VidsumError:  # it was edited: `save_edited` says so
            return
        made = replace(original_of(editable(saved)), video=self.video) if isinstance(saved, Cutting) else None
        if made is None or made.to_dict() != self._made.to_dict():
            raise UsageError("was made again", hint="start vidsum edit again", subject=self.record)
        assert isinstance(saved, Editable)
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
        groups = edit_groups(self._made, facts["decisions"])
        removed: Sequence[Any] = ()
        if isinstance(self._made, Trim):
            removed = shift_times(apply_decisions(self._made, facts["decisions"]).removed, self._offset_s)
        return {
            "groups": [self._describe_group(group) for group in groups],
            "removed": [vars(part) for part in removed],
            "budget_s": groups[0].limit_s if isinstance(self._made, Summary) else None,
            "count": groups[0].count if isinstance(self._made, Highlights) else None,
            "revision": _revision_of(facts),
            "undo": len(facts["decisions"]),
            "redo": len(facts["undone"]),
            "is_saved": facts["decisions"] == decisions_of(self._saved),
        }

    def _describe_group(self, group: EditedParts) -> dict[str, Any]:
        parts = [
            {
                "start_s": part.start_s + self._offset_s,
                "end_s": part.end_s + self._offset_s,
                "by_hand": part.by_hand,
                "title": part.title,
            }
            for part in group.parts
        ]
        return {
            "parts": parts,
            "left": self._later(group.left),
            "used_s": group.length_s,
            "by_hand_s": sum(end_s - start_s for start_s, end_s in group.by_hand),
        }

    def _later(self, times: Any) -> Any:
        return shift_times(list(times), self._offset_s)

    def _exact(self, time_s: float) -> float:
        """Return the place that a time means, or the time of a frame."""
        number = bisect.bisect_left(self._exact_s, time_s)
        around = self._exact_s[max(0, number - 1) : number + 1]
        place = min(around, key=lambda place: abs(place - time_s))
        if abs(place - time_s) < _SAME_S:
            return place
        frame_s = round(time_s * self.video.fps) / self.video.fps
        return round_number(min(max(frame_s, 0.0), self._made.video_duration_s))

    def _command(self, edited: Editable, decisions: Sequence[Decision], files: Mapping[str, Path]) -> str:
        """Return a command that makes the saved result again: by flags if they can say it."""
        again = f"vidsum edit {shlex.quote(str(self.record))} --apply"
        if not isinstance(edited, Summary) or not isinstance(self._made, Summary):
            return again
        if not self._extraction.cache:  # flags are tried by a plan, which would read the whole film again
            return again
        outputs = flags_for_files(edited, files)
        if outputs is None:
            return again
        try:
            flags = flags_of(self._made, decisions, self.video, self._extraction)
        except VidsumError:
            flags = None
        if flags is None:
            return again
        return shlex.join(["vidsum", "summarize", self.video.path, *flags, *outputs])


def _revision_of(facts: EditFacts) -> str:
    """Return a name of a state: its digest, as another program may have written it."""
    return hashlib.sha256(json.dumps([facts["decisions"], facts["undone"]]).encode()).hexdigest()[:16]


def _state_of(path: Path) -> tuple[int, int] | None:
    """Return size and time of a file; None without one."""
    with suppress(OSError):
        status = path.stat()
        return status.st_size, status.st_mtime_ns
    return None


def _video_near(record: Path, video: VideoInfo) -> str | None:
    """Return where a relative path of a video leads from the folder of the record, if only there."""
    near = record.parent / video.path
    return absolute_path(near) if near.is_file() and not Path(video.path).exists() else None
