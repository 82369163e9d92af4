"""A reel while somebody corrects it: the picture and source of each segment, decisions, what is saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from vidsum.editing.film_view import PICTURE_QUALITY, PICTURE_SIDE
from vidsum.editing.result_session import ResultSession
from vidsum.editing.session import EditSession
from vidsum.errors import InputError, MissingError, UsageError
from vidsum.features.settings import Extraction
from vidsum.outputs.reel_film import source_video
from vidsum.outputs.timelines import require_unchanged
from vidsum.results.decisions import Decision, check_decisions
from vidsum.results.edits import apply_decisions, placed_segments
from vidsum.results.load import load
from vidsum.results.reel import Reel, ReelSegment
from vidsum.types import Progress
from vidsum.video.photographs import photograph_jpeg
from vidsum.video.read import read_jpegs
from vidsum.video.segments import on_frames


class ReelSession(ResultSession[Reel]):
    """A reel that is corrected. Raises InputError: it was made up, or its decisions are of another reel."""

    def __init__(self, record: Path, saved: Reel, extraction: Extraction = Extraction()) -> None:
        super().__init__(record, saved, extraction)
        self.pictures = SegmentPictures(self._made)

    def decide(self, document: object, revision: str | None = None) -> dict[str, Any]:
        """See the base; a part of a video begins with a frame."""
        (decision,) = check_decisions([document])["decisions"]
        if decision["action"] == "set_ends" and decision["segment"] < len(self._made.segments):
            video = source_video(self._made, self._made.segments[decision["segment"]])
            if video and decision["end_s"] > decision["start_s"]:
                start_s, end_s = on_frames(video, decision["start_s"], decision["end_s"])
                decision = {**decision, "start_s": start_s, "end_s": end_s}
        return self._add(decision, revision)

    def _describe_made(self) -> dict[str, Any]:
        return {"segments": [self._describe_segment(segment) for segment in self._made.segments]}

    def _describe_segment(self, segment: ReelSegment) -> dict[str, Any]:
        source = self._made.sources[segment.source]
        return {
            "name": Path(source.path).name,
            "kind": source.kind,
            "length_s": source.length_s,
            "reason": segment.reason,
            "fault": _fault_of(self._made, segment),
        }

    def _describe_parts(self, decisions: Sequence[Decision]) -> dict[str, Any]:
        placed = placed_segments(self._made, decisions)
        edited = apply_decisions(self._made, decisions)
        titles = iter([segment.title for segment in edited.segments])
        parts = [{**vars(part), "title": next(titles) if part.is_in else ""} for part in placed]
        return {"parts": parts, "used_s": edited.duration_s}


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


class SegmentPictures:
    """A picture of each segment of a reel as it was made, decoded when it is asked for, and kept."""

    def __init__(self, made: Reel) -> None:
        self._made, self._pictures, self._lock = made, dict[int, bytes](), Lock()

    def picture(self, number: int) -> bytes:
        """Return the JPEG of a segment. Raises MissingError, or the errors of `source_video`."""
        if number >= len(self._made.segments):
            raise MissingError("no such picture")
        with self._lock:
            if number not in self._pictures:
                self._pictures[number] = _picture_of(self._made, self._made.segments[number])
            return self._pictures[number]


def _picture_of(reel: Reel, segment: ReelSegment) -> bytes:
    video = source_video(reel, segment)
    if video is None:
        return photograph_jpeg(reel.sources[segment.source].path, PICTURE_SIDE, PICTURE_QUALITY)
    middle_s = (segment.start_s + segment.end_s) / 2
    return read_jpegs(video, [middle_s], PICTURE_SIDE, PICTURE_QUALITY)[0]


def _fault_of(reel: Reel, segment: ReelSegment) -> str:
    """Return why the source of a segment cannot be used; empty where it can be."""
    try:
        require_unchanged(reel.sources[segment.source])
    except InputError as error:
        return error.words
    return ""
