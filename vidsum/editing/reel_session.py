"""A reel while somebody corrects it: its segments and sources, decisions, what is saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vidsum.editing.reel_media import ReelMedia
from vidsum.editing.result_session import ResultSession
from vidsum.editing.session import EditSession
from vidsum.errors import InputError, UsageError
from vidsum.features.settings import Extraction
from vidsum.outputs.timelines import require_unchanged
from vidsum.results.decisions import Decision, SegmentDecision, check_decisions
from vidsum.results.edits import apply_decisions, placed_segments
from vidsum.results.load import load
from vidsum.results.reel import Reel, ReelSource
from vidsum.types import Progress
from vidsum.video.segments import on_frames


class ReelSession(ResultSession[Reel]):
    """A reel that is corrected. Raises InputError: it was made up, or its decisions are of another reel."""

    def __init__(self, record: Path, saved: Reel, extraction: Extraction = Extraction()) -> None:
        super().__init__(record, saved, extraction)
        self.media = ReelMedia(self._made.sources, extraction.device)

    def decide(self, document: object, revision: str | None = None) -> dict[str, Any]:
        """See the base; a part of a video begins with a frame."""
        (decision,) = check_decisions([document])["decisions"]
        exact: Any = {**decision}
        if decision["action"] == "set_ends" or decision["action"] == "add":
            number = self._source_of(decision)
            video = self.media.video(number) if number is not None else None
            if video and decision["end_s"] > decision["start_s"]:
                exact["start_s"], exact["end_s"] = on_frames(video, decision["start_s"], decision["end_s"])
        return self._add(exact, revision)

    def encoded_part(self, number: int, start_s: float, end_s: float) -> bytes:
        """Return a part of a source as an MP4 that browsers play; see `ReelMedia`."""
        return self.media.encoded_part(self._made, number, start_s, end_s)

    def _source_of(self, decision: SegmentDecision) -> int | None:
        """Return the source that a decision is about; None: there is no such segment."""
        if decision["action"] == "add":
            return int(decision["source"])
        placed = placed_segments(self._made, self.require(None)["decisions"])
        return next((part.source for part in placed if part.number == decision["segment"]), None)

    def _describe_made(self) -> dict[str, Any]:
        return {"sources": [_describe_source(source) for source in self._made.sources]}

    def _describe_parts(self, decisions: Sequence[Decision]) -> dict[str, Any]:
        placed = placed_segments(self._made, decisions)
        edited = apply_decisions(self._made, decisions)
        titles = iter([segment.title for segment in edited.segments])
        notes = [segment.note for segment in self._made.segments]
        parts = [
            {
                **vars(part),
                "title": next(titles) if part.is_in else "",
                "note": notes[part.number] if part.number < len(notes) else "added by hand",
            }
            for part in placed
        ]
        return {"parts": parts, "used_s": edited.duration_s}


def _describe_source(source: ReelSource) -> dict[str, Any]:
    start_s, end_s = source.best
    if source.kind == "video":
        end_s = min(end_s, source.length_s)
    return {
        "name": Path(source.path).name,
        "kind": source.kind,
        "length_s": source.length_s,
        "best": [start_s, end_s],
        "fault": _fault_of(source),
    }


def _fault_of(source: ReelSource) -> str:
    """Return why a source cannot be used; empty where it can be."""
    try:
        require_unchanged(source)
    except InputError as error:
        return error.words
    return ""


def open_session(
    record: Path,
    video: Path | None = None,
    extraction: Extraction = Extraction(),
    progress: Progress | None = None,
) -> EditSession | ReelSession:
    """Return the session of a result, by its kind; see there."""
    saved = load(record)
    if not isinstance(saved, Reel):
        return EditSession(record, video, extraction, progress)
    if video is not None:
        raise UsageError("is for results of one video", option="video")
    return ReelSession(record, saved, extraction)
