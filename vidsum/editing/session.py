"""A result of a video while somebody corrects it: what the page shows, and times between page and result."""

from __future__ import annotations

import bisect
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
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
from vidsum.editing.result_session import ResultSession, open_unchanged, revision_of, state_of
from vidsum.editing.short_clips import ShortClips, complete_short, sentence_edges, sentence_pieces
from vidsum.errors import MissingError, UsageError, VidsumError
from vidsum.features.settings import Extraction
from vidsum.outputs.edited_files import flags_for_files
from vidsum.outputs.names import summary_files
from vidsum.outputs.timelines import absolute_path, reopen_video
from vidsum.pipelines.replan import find_places, flags_of, plan_again, with_same_words
from vidsum.results.clock import shift_times
from vidsum.results.decisions import Decision, check_decisions
from vidsum.results.edited_parts import EditedParts, subtract_spans
from vidsum.results.edits import Editable, apply_decisions, edit_groups, editable, original_of
from vidsum.results.load import load, load_text_for
from vidsum.results.moments import Grounding, Highlights
from vidsum.results.result import round_number
from vidsum.results.sentences import SpokenSentence
from vidsum.results.shorts import Shorts
from vidsum.results.summary import Summary, Trim
from vidsum.results.transcript import Transcript
from vidsum.types import Interval, Progress, VideoInfo
from vidsum.video.probe import start_offset_s

_SAME_S = 1e-3
_TIMES = ("start_s", "end_s", "to_start_s", "to_end_s")


class EditSession(ResultSession[Editable]):
    """A result of one video that is corrected.

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
        saved = editable(load(record))
        assert isinstance(saved, Editable)
        if saved.video is None:
            raise UsageError("cannot be edited: it was computed from features only", subject=record)
        self.video = reopen_video(saved.video, video or _video_near(record, saved.video))
        self._with_video = with_video
        if isinstance(saved, Shorts) and saved.evidence == "speech":
            extraction = with_same_words(saved, self.video, record.parent, extraction)
        super().__init__(record, saved, extraction)
        self._clips = ShortClips(record, extraction)
        self._offset_s, self._video_state = start_offset_s(self.video), state_of(Path(self.video.path))
        edges_s, cached = find_places(self._made, self.video, extraction, progress)
        transcript = _with_words(load_text_for(record, self.video, Transcript), cached)
        self._sentences = self._sentences_of(transcript)
        is_silent = isinstance(self._made, Shorts) and not self._sentences
        self._words = [] if is_silent else spoken_spans(transcript)
        self._units = split_units(edges_s, self._sentences)
        self.pictures = PictureCache(self.video, self._units)
        self._cuts = sorted({round_number(edge_s) for edge_s in edges_s})
        self._places = snap_places(self._made, self._cuts, self._sentences, self._words)
        spoken = {edge_s for start_s, end_s, _ in self._words for edge_s in (start_s, end_s)}
        self._exact_s = sorted({*self._places, *spoken})

    def _sentences_of(self, transcript: Transcript | None) -> list[SpokenSentence]:
        """Return what is said, of shorts in whole sentences, and only if they are of speech."""
        if transcript is None:
            return []
        if isinstance(self._made, Shorts):
            return transcript.trusted.sentences(inf, 0.0) if self._made.evidence == "speech" else []
        return transcript.trusted.sentences()

    def _describe_made(self) -> dict[str, Any]:
        """Return what the page shows of the film, in times of players."""
        curves, times_s = curves_of(self._made)
        if isinstance(self._made, Shorts):
            edges_s = sentence_edges(self._sentences, self._cuts, self._made.video_duration_s)
            pieces = sentence_pieces(self._units, self._sentences, edges_s)
        else:
            usual_s = usual_length(self._made)
            pieces = choose_pieces(self._units, curves[0], times_s, self._sentences, usual_s)
        said = [(part.start_s, part.end_s, part.text) for part in self._sentences]
        queries = self._made.queries if isinstance(self._made, Grounding) else ()
        return {
            "name": Path(self.video.path).name,
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
        }

    def decide(self, document: object, revision: str | None = None) -> dict[str, Any]:
        """See the base; times of the page are those of players."""
        (decision,) = check_decisions([document])["decisions"]
        exact: Any = {**decision}
        for name in _TIMES:
            if name in exact:
                exact[name] = self._exact(exact[name] - self._offset_s)
        if isinstance(self._made, Shorts):
            parts = edit_groups(self._made, self.require(revision)["decisions"])[0].parts
            exact = complete_short(exact, parts, self._sentences)
        return self._add(exact, revision)

    def plan(self, limit: float, revision: str | None = None) -> dict[str, Any]:
        """Plan again with a budget in seconds, or a number of highlights; return the state. See `decide`."""
        facts = self.require(revision)
        planned = plan_again(self._made, facts["decisions"], limit, self.video, self._extraction)
        return self._add(planned, revision_of(facts))

    def open_video(self) -> tuple[BinaryIO, int]:
        """Return the open video and its time. Raises MissingError, ForeignFileError: it is another one."""
        return open_unchanged(Path(self.video.path), self._video_state)

    def open_clip(self, start_s: float, end_s: float) -> tuple[BinaryIO, int]:
        """Return the open clip of a short, as it will be saved, and its time.

        Raises MissingError: there is no such short. Other errors as of `save_clips`.
        """
        parts = edit_groups(self._made, self.require(None)["decisions"])[0].parts
        start_s, end_s = start_s - self._offset_s, end_s - self._offset_s
        near = (part for part in parts if abs(part.start_s - start_s) + abs(part.end_s - end_s) < _SAME_S)
        part = next(near, None)
        if part is None or not isinstance(self._saved, Shorts):
            raise MissingError("no such short")
        path = self._clips.clip(self._saved, part.interval)
        return open_unchanged(path, state_of(path))

    def _made_clips(self) -> Mapping[Interval, Path]:
        return self._clips.made(self._saved) if isinstance(self._saved, Shorts) else {}

    def _as_made(self, saved: Editable) -> Editable:
        return replace(original_of(saved), video=self.video)

    def _find_files(self) -> dict[str, Path]:
        """Return the files that `save` writes, by kind."""
        files = super()._find_files()
        if self._with_video and isinstance(self._saved, Summary):
            files.setdefault("video", summary_files(self.record)["video"])
        return files

    def _describe_parts(self, decisions: Sequence[Decision]) -> dict[str, Any]:
        groups = edit_groups(self._made, decisions)
        removed, ranks = list[Any](), dict[Interval, int]()
        if isinstance(self._made, Trim):
            removed = self._later(apply_decisions(self._made, decisions).removed)
        if isinstance(self._made, Shorts):
            edited = apply_decisions(self._made, decisions).shorts
            ranks = {short.interval: rank for rank, short in enumerate(edited, 1)}
            free = (
                short
                for short in self._made.shorts
                if subtract_spans([short.interval], [*ranks]) == [short.interval]
            )
            removed = self._later(free)
        return {
            "groups": [self._describe_group(group) for group in groups],
            "removed": [vars(part) for part in removed],
            "ranks": [ranks.get(part.interval) for part in groups[0].parts],  # of shorts
            "budget_s": groups[0].limit_s if isinstance(self._made, Summary) else None,
            "count": groups[0].count if isinstance(self._made, Highlights) else None,
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
        again = super()._command(edited, decisions, files)
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


def _with_words(saved: Transcript | None, cached: Transcript | None) -> Transcript | None:
    """Return a saved transcript, or the one of the cache, where both say the same and only this has words."""
    if saved is None or cached is None or any(part.words for part in saved.segments):
        return saved or cached
    is_same = [part.text for part in saved.segments] == [part.text for part in cached.segments]
    return cached if is_same else saved


def _video_near(record: Path, video: VideoInfo) -> str | None:
    """Return where a relative path of a video leads from the folder of the record, if only there."""
    near = record.parent / video.path
    return absolute_path(near) if near.is_file() and not Path(video.path).exists() else None
