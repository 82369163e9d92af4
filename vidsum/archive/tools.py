"""Tools over the videos of some folders, for language models: the functions that `vidsum mcp` serves.

A model sees the name, docstring, parameters and answer of each public method of `Tools`, except `progress`.
"""

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import Field

from vidsum.archive.archive import Archive, Match
from vidsum.archive.index import IndexedVideo
from vidsum.archive.settings import Indexing, SearchOptions
from vidsum.errors import InputError, Problem, UsageError
from vidsum.features.settings import Extraction
from vidsum.io import paths
from vidsum.io.outputs import make_folder
from vidsum.io.provenance import label_of
from vidsum.pipelines.moments import ground
from vidsum.pipelines.replacing import require_replaceable
from vidsum.pipelines.sources import expand, has_pictures, probe_video
from vidsum.pipelines.speech import transcribe
from vidsum.pipelines.summary import summarize
from vidsum.results.moments import Moment, Verdict
from vidsum.types import Progress
from vidsum.video.write import WrittenVideo, write_segments

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_MAX_VIDEOS, _DECIMALS = 500, 3
Facts = TypeVar("Facts", bound="DataclassInstance")

Video = Annotated[str, Field(description="Path of a video, as `videos` lists it.")]
Seconds = Annotated[float, Field(ge=0, description="Seconds from the first picture of the video.")]
Query = Annotated[str, Field(description="Short description in plain words, such as `a dog in snow`.")]
Count = Annotated[int, Field(ge=1, le=100, description="Maximum number of moments.")]
Evidence = Annotated[
    Literal["auto", "picture", "speech", "text", "sound", "described"],
    Field(description="Search pictures, speech, text on the screen, sounds or descriptions; auto: all."),
]


@dataclass(frozen=True)
class Answer:
    """Warnings for the user."""

    warnings: tuple[str, ...]


@dataclass(frozen=True)
class SearchAnswer(Answer):
    """Moments in all videos, best first; `present` is the probability that they match."""

    moments: list[Match]


@dataclass(frozen=True)
class GroundAnswer(Answer):
    """Moments in a video, best first; `present` is the probability that the video shows it at all."""

    present: float | None
    verdict: Verdict | None
    moments: list[Moment]


@dataclass(frozen=True)
class TimeSpan:
    """A part [start_s, end_s) of a video, and what is said there."""

    start_s: Seconds
    end_s: Seconds
    text: str = ""


@dataclass(frozen=True)
class PartsAnswer(Answer):
    """Parts of a video of `duration_s` seconds, in order."""

    duration_s: float
    parts: list[TimeSpan]
    language: str | None = None


class Folders:
    """Folders whose files may be read. Raises InputError: one is no folder."""

    def __init__(self, names: Sequence[str]) -> None:
        if missing := next((name for name in names if not Path(name).is_dir()), None):
            raise InputError(f"{missing}: no such folder")
        self.named = [Path(os.path.abspath(name)) for name in names]  # noqa: PTH100  # keeps links
        self.roots = [Path(os.path.realpath(name)) for name in names]

    def contains(self, path: str | Path) -> bool:
        """Return whether a path leads into a folder, links followed."""
        return any(Path(os.path.realpath(path)).is_relative_to(root) for root in self.roots)

    def find(self, name: str) -> str:
        """Return where a path leads, links followed. Raises InputError: outside the folders."""
        inside = [path for root in self.roots if self.contains(path := resolve(root, name))]
        if not inside:
            hint = f"a path in {', '.join(map(str, self.named))}"
            raise InputError(f"{name}: is outside the folders of this server", hint=hint)
        return str(next((path for path in inside if path.exists()), inside[0]))

    def videos(self, names: Sequence[str] = ()) -> list[str]:
        """Return the videos that are named, or in and below named folders: by default, in all folders."""
        places = [self.find(name) for name in names] or [*map(str, self.roots)]
        return [path for path in expand(places, recursive=True) if self.contains(path)]


def resolve(folder: Path, name: str) -> Path:
    """Return where a name in a folder leads, links followed. Raises InputError: it holds a NUL."""
    try:
        return Path(os.path.realpath(folder / name))
    except ValueError as error:
        raise InputError(f"{name!r}: is no path") from error


class Tools:
    """Tools over folders and an archive; clips go into the folder `output`. They raise VidsumErrors."""

    def __init__(self, folders: Folders, archive: str | None = None, output: Path | None = None) -> None:
        self._folders, self._archive = folders, archive
        self._output = None if output is None else Path(os.path.realpath(output))

    def videos(self, contains: str = "") -> list[str]:
        """List the videos that the other tools can read, 500 at most, or those whose path contains a text."""
        paths = self._folders.videos()
        return [path for path in paths if contains.lower() in path.lower()][:_MAX_VIDEOS]

    def search(self, query: Query, top_k: Count = 10, evidence: Evidence = "auto") -> SearchAnswer:
        """Find moments in all indexed videos at once. Verbs and counts are often not found."""
        roots = dict.fromkeys([*self._folders.named, *self._folders.roots])
        globs = tuple(f"{glob.escape(os.path.join(root, ''))}*" for root in roots)  # noqa: PTH118
        options = SearchOptions(top_k=top_k, evidence=evidence, path=globs)
        is_inside = self._folders.contains
        with Archive(self._archive, create=False) as archive:
            matches = [match for match in archive.find(query, options) if is_inside(match.video)]
            warnings = archive.query_warnings(query, options, matches)
            if not matches and not any(map(is_inside, archive.videos())):
                warnings += (f"{archive.name}: has no video of these folders",)
        moments = [replace(_rounded(match), also=tuple(filter(is_inside, match.also))) for match in matches]
        return SearchAnswer(warnings, moments)

    def ground(
        self, video: Video, query: Query, top_k: Count = 5, progress: Progress | None = None
    ) -> GroundAnswer:
        """Find the moments of one video that match a query, with edges at cuts. The first call for a video
        may take minutes. Speech is searched if there is a transcript.
        """
        result = ground(self._find_video(video), query, top_k, progress=progress)
        (answer,) = result.queries
        moments = [*map(_rounded, answer.moments)]
        return _rounded(GroundAnswer(result.warnings, answer.present, answer.verdict, moments))

    def summarize(
        self,
        video: Video,
        budget: Annotated[str, Field(description="Length of the summary: `15%`, `45s` or `1:30`.")] = "15%",
        about: Annotated[str, Field(description="Prefer what matches this text.")] = "",
        progress: Progress | None = None,
    ) -> PartsAnswer:
        """Choose the parts of a video that are worth keeping; `clip` can save them. May take minutes."""
        texts = (about,) if about else ()
        result = summarize(self._find_video(video), budget, about=texts, progress=progress)
        parts = [_rounded(TimeSpan(*segment)) for segment in result.segments]
        warnings = (*result.warnings, *filter(None, [result.budget_note]))
        return _rounded(PartsAnswer(warnings, result.video_duration_s, parts))

    def transcript(
        self,
        video: Video,
        start_s: Seconds = 0.0,
        end_s: Annotated[Seconds | None, Field(description="None: to the end.")] = None,
        progress: Progress | None = None,
    ) -> PartsAnswer:
        """Return what is said in a video, or in a part of it. The first call may take minutes."""
        result = transcribe(self._folders.find(video), progress=progress)
        last_s = result.duration_s if end_s is None else end_s
        spoken = [part for part in result.segments if part.end_s > start_s and part.start_s < last_s]
        parts = [_rounded(TimeSpan(part.start_s, part.end_s, part.displayed)) for part in spoken]
        return _rounded(PartsAnswer(result.warnings, result.duration_s, parts, result.language))

    def index(
        self,
        names: Annotated[Sequence[str], Field(description="Videos or folders; none: all folders.")] = (),
        transcribe: Annotated[bool, Field(description="Also transcribe speech, which takes longer.")] = False,
        progress: Progress | None = None,
    ) -> list[IndexedVideo | Problem]:
        """Add videos to the archive of `search`; unchanged ones are skipped. May take hours."""
        answers = list[IndexedVideo | Problem]()
        with Archive(self._archive) as archive:
            for path in self._folders.videos(names):
                report = progress and partial(_report_file, progress, Path(path).name)
                try:
                    video = archive.add_video(path, Extraction(), Indexing(transcribe=transcribe), report)
                    answers.append(_rounded(video))
                except InputError as error:
                    answers.append(Problem.of(error))
        return answers

    def clip(
        self,
        video: Video,
        parts: Annotated[Sequence[TimeSpan], Field(min_length=1, description="In order, without overlap.")],
        name: Annotated[str, Field(description="Name of the file to write, such as `goal.mp4`.")],
        progress: Progress | None = None,
    ) -> WrittenVideo:
        """Write parts of a video, joined, as an MP4 in the folder of this server for clips."""
        if self._output is None:
            raise UsageError("this server writes no files", hint="vidsum mcp FOLDER --write FOLDER")
        source, target = self._find_video(video), resolve(self._output, name)
        if target.parent != self._output or target.suffix != ".mp4":
            raise UsageError(f"{name}: must be a file name that ends in .mp4", hint="goal.mp4")
        paths.begin([("", source)])
        paths.require_not_read(target)
        require_replaceable(target, overwrite=False)
        make_folder(self._output)
        spans = [(part.start_s, part.end_s) for part in parts]
        label = label_of({"clip": [source, *spans]})
        info = probe_video(source, Extraction())
        return _rounded(write_segments(info, spans, target, comment=label, progress=progress))

    def _find_video(self, name: str) -> str:
        path = self._folders.find(name)
        if not has_pictures(path):
            raise InputError(f"{name}: holds features, not a video")
        return path


def _report_file(progress: Progress, name: str, step: str, done: float, total: float) -> None:
    progress(f"{name}: {step}", done, total)


def _rounded(facts: Facts) -> Facts:
    """Return a dataclass with rounded times and probabilities, which models read faster."""
    floats = {name: value for name, value in vars(facts).items() if isinstance(value, float)}
    rounded: Any = {name: round(value, _DECIMALS) for name, value in floats.items()}
    return replace(facts, **rounded)
