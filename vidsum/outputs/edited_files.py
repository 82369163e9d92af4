"""The files of a result that was corrected by hand: those that it has are written again, as before."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from vidsum.errors import InputError, UsageError, VidsumError
from vidsum.features.settings import Extraction
from vidsum.io.paths import Reads, reads_of
from vidsum.outputs.artifacts import Artifacts, Writer
from vidsum.outputs.clips import clip_paths, clip_provenance, files_of_clip, moment_writers, video_stem
from vidsum.outputs.exports import export_targets, export_writers
from vidsum.outputs.mp4 import encode_segments, read_encoding_tag
from vidsum.outputs.names import moment_files, summary_files
from vidsum.outputs.output_records import name_in
from vidsum.outputs.picture_files import draw_plot, storyboard_writers
from vidsum.outputs.reel_film import encode_reel
from vidsum.outputs.timelines import copy_suffix, timeline_text, write_chaptered
from vidsum.pipelines.speech_evidence import export_subtitles
from vidsum.results.edits import EditableResult
from vidsum.results.formats import FORMATS, TimelineFormat
from vidsum.results.moments import Grounding, Highlights
from vidsum.results.reel import Reel
from vidsum.results.settings import MediaPaths
from vidsum.results.shorts import Shorts
from vidsum.results.shots import Chapters
from vidsum.results.summary import Summary, Trim
from vidsum.types import Interval, Progress
from vidsum.video.settings import Clips, Encoding, Styling


@dataclass(frozen=True)
class SavedFiles:
    """Files that were written, and what people should know about them."""

    files: tuple[Path, ...]
    warnings: tuple[str, ...]


def files_of(result: EditableResult, record: Path) -> dict[str, Path]:
    """Return the record, and the files that it lists and that nobody changed, by kind."""
    artifacts = Artifacts(record)
    _, hashes = artifacts.read()
    known = _possible_files(result, record)
    files = {kind: path for kind, path in known.items() if artifacts.holds(path, hashes)} | {"json": record}
    if clips := _clips_of(record):
        files["clips"] = clips[0].parent
    if "subtitles" in files and "srt" in files:  # one file, which either may have made
        text = files["srt"].read_bytes()
        del files["subtitles" if _render(result, "srt", record, "absolute") == text else "srt"]
    return files


def lost_files(result: EditableResult, record: Path) -> dict[str, Path]:
    """Return the files that the record lists, and that were deleted or edited since, by kind."""
    artifacts = Artifacts(record)
    _, hashes = artifacts.read()
    listed = {
        kind: path
        for kind, path in _possible_files(result, record).items()
        if name_in(path, record) in hashes and not artifacts.holds(path, hashes)
    }
    if "subtitles" in listed:  # the same file
        listed.pop("srt", None)
    return listed


def save_edited(
    edited: EditableResult,
    before: EditableResult,
    files: Mapping[str, Path],
    extraction: Extraction = Extraction(),
    progress: Progress | None = None,
    *,
    overwrite: bool = False,
    made: Mapping[Interval, Path] = {},
) -> SavedFiles:
    """Write a corrected result as the command that made it would have: its document and its other files.

    Args:
        edited: the result.
        before: the result in the record, which tells with which choices the files were made.
        files: by kind, `json` included; see `files_of`. Other files of the record that are vidsum's go.
        extraction: device and cache.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        overwrite: replace files that vidsum did not write too.
        made: clips of some spans, which are copied, as those are that the result has already.

    Raises OutputError: a file is foreign, or cannot be written. UsageError: nothing is left.
    InputError: the video, or a source of a reel, is not there any more.
    """
    is_empty = isinstance(edited, Summary | Trim | Reel) and not edited.segments
    if is_empty or (isinstance(edited, Shorts) and not edited.shorts):
        raise UsageError("nothing is left of it", hint="take a part back")
    record = files["json"]
    artifacts = Artifacts(record, files)
    exports = [kind for kind in files if kind in FORMATS or kind == "html"]
    if isinstance(before, Highlights | Grounding | Shorts):
        clips = SavedClips.of(before, record)
        writers = moment_writers(clips.stem, clips.settings, extraction, progress, {**made, **clips.paths})
    else:
        writers = {**_writers(before, files, extraction, progress)}
    for kind in exports:
        paths = _media_paths(before, kind, files[kind])
        place = _clip_place(before, files) if kind == "html" else None
        writers |= export_writers(artifacts, [kind], paths, place)
    reads: Reads = reads_of(edited.files)
    changed, _, notices = artifacts.write(
        edited,
        {kind: write for kind, write in writers.items() if kind in files},
        overwrite=overwrite,
        compose=lambda _: (edited.to_dict(), lambda name: False),
        optional=exports,
        reads=reads,
    )
    warnings = [notice.message if isinstance(notice, VidsumError) else notice for _, notice in notices]
    written = sorted({record, *changed})
    return SavedFiles(tuple(written), tuple(dict.fromkeys([*edited.warnings, *warnings])))


def flags_for_files(edited: Summary, files: Mapping[str, Path]) -> list[str] | None:
    """Return the flags of `vidsum summarize` for the files of a summary; None if they need other settings."""
    if "video" not in files or read_encoding_tag(files["video"], edited.provenance) != "":
        return None
    if any(_media_paths(edited, kind, path) == "relative" for kind, path in files.items()):
        return None
    flags = {
        "html": "--report",
        "storyboard": "--storyboard",
        "plot": "--plot",
        "subtitles": "--save-subtitles",
    }
    words = [flags[kind] for kind in files if kind in flags]
    words += [word for kind in files if kind in FORMATS for word in ("--export", kind)]
    return [*words, "-o", str(files["video"])]


def _possible_files(result: EditableResult, record: Path) -> dict[str, Path]:
    source = result.video.path if result.video else record.name
    exports = export_targets([*FORMATS], record, source, page=True)  # type: ignore[list-item]
    files = {}
    if isinstance(result, Summary):
        files = summary_files(record)
    elif isinstance(result, Trim | Reel):
        files = {"video": record.with_suffix(".mp4")}
    elif isinstance(result, Chapters):
        files = {"copy": record.with_suffix(copy_suffix(source))}
    else:
        files = moment_files(record, result.kind)
    if "plot" in files and (drawing := files["plot"].with_suffix(".svg")).exists():
        files["plot"] = drawing
    return {**files, **exports}


def _clip_place(before: EditableResult, files: Mapping[str, Path]) -> tuple[Path, str] | None:
    return (files["clips"], _clip_stem(before, files["json"])) if "clips" in files else None


def _clip_stem(before: EditableResult, record: Path) -> str:
    """Return the video in the names of the clips of a record."""
    stems = (video_stem(path.stem) for path in _clips_of(record))
    return next(filter(None, stems), record.stem.removesuffix(f"_{before.kind}"))


def _clips_of(record: Path) -> list[Path]:
    """Return the clips of a record that are there as it lists them: anyone may have written the record."""
    artifacts = Artifacts(record)
    _, hashes = artifacts.read()
    paths = [record.parent / name for name in sorted(hashes) if name.endswith(".mp4")]
    return [path for path in paths if video_stem(path.stem) and artifacts.holds(path, hashes)]


@dataclass(frozen=True)
class SavedClips:
    """The clips that a result has: the video in their names, how they were made, and paths by their spans."""

    stem: str
    settings: Clips
    paths: Mapping[Interval, Path] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Highlights | Grounding | Shorts, record: Path) -> SavedClips:
        """Return the clips of a record, without those that somebody changed, or whose subtitles changed.

        None of a run that was killed: its clips may be those of other spans.
        """
        stem, clips = _clip_stem(result, record), _clips_of(record)
        tags = {path: read_encoding_tag(path, clip_provenance(result)) for path in clips}
        tag = next((tag for tag in tags.values() if tag is not None), None)
        if tag is None:
            return cls(stem, Clips())
        artifacts = Artifacts(record)
        _, hashes = artifacts.read()
        spans = [] if artifacts.is_interrupted() else clip_paths(result, clips[0].parent, stem)
        paths = {
            span: path
            for path, span in spans
            if tags.get(path) == tag
            and all(artifacts.holds(file, hashes) for file in files_of_clip(result, path))
        }
        return cls(stem, Clips.from_tag(tag), paths)


def _writers(
    before: EditableResult, files: Mapping[str, Path], extraction: Extraction, progress: Progress | None
) -> dict[str, Writer]:
    """Return the writers of files that are no clips nor exports, with the choices they were made with."""
    provenance = before.provenance
    if isinstance(before, Chapters):
        return {"copy": _write_copy}
    if isinstance(before, Reel):
        return {"video": lambda reel, path: encode_reel(reel, path, extraction.device, progress)}
    tag = (read_encoding_tag(files["video"], provenance) or "") if "video" in files else ""
    encoding, styling = Encoding.from_tag(tag), Styling.from_tag(tag)

    def write_video(summary: Summary | Trim, path: Path) -> tuple[str, ...]:
        return encode_segments(summary, path, tag.startswith("copy"), encoding, styling, extraction, progress)

    def write_subtitles(summary: Summary, path: Path) -> tuple[str, ...]:
        return tuple(export_subtitles(summary.video, summary.segments, path, extraction, progress))

    pictures = {**storyboard_writers(), "plot": draw_plot}
    return {"subtitles": write_subtitles, "video": write_video, **pictures}


def _write_copy(chapters: Chapters, path: Path) -> tuple[str, ...]:
    write_chaptered(chapters, path)
    return ()


def _media_paths(before: EditableResult, kind: str, path: Path) -> MediaPaths:
    """Return whether a timeline names the video by a relative path, as its file tells."""
    is_timeline = isinstance(FORMATS.get(kind), TimelineFormat)
    if is_timeline and path.is_file() and _render(before, kind, path, "relative") == path.read_bytes():
        return "relative"
    return "absolute"


def _render(result: EditableResult, kind: str, path: Path, media: MediaPaths) -> bytes | None:
    with suppress(InputError, UsageError):
        return timeline_text(result, kind, path, media)[0].encode()
    return None
