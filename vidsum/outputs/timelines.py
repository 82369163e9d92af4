"""Results as files for editors: timelines and lists."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Final

from vidsum.errors import EmptyResultError, InputError, Mention, UsageError, require_type
from vidsum.features.settings import Extraction
from vidsum.io.atomic import write_text
from vidsum.io.provenance import label_of
from vidsum.outputs.alone import PathLike, write_public
from vidsum.outputs.artifacts import Writer
from vidsum.pipelines.sources import probe_video
from vidsum.results.clock import to_player_time
from vidsum.results.cut_list import Cut, Cutting, cuts_of, length_of, name_cuts
from vidsum.results.descriptions import Descriptions
from vidsum.results.formats import FORMATS, ListFormat, TimelineFormat, format_timeline
from vidsum.results.lists import chapters_of
from vidsum.results.load import load_text_for
from vidsum.results.media import Clip, Media, check_path, one_line, read_media, timeline_rate
from vidsum.results.reel import Music, Reel, ReelSource
from vidsum.results.result import Result, round_number
from vidsum.results.settings import MediaPaths
from vidsum.results.shots import Chapters
from vidsum.results.transcript import Transcript
from vidsum.results.xml_formats import Size
from vidsum.types import VideoInfo
from vidsum.video.probe import start_offset_s

_JOINT: Final = [name for name, writer in FORMATS.items() if isinstance(writer, TimelineFormat)]
"""Formats of which one file may name several videos."""


def write_timeline(
    result: Cutting | Reel, path: PathLike, *, media: MediaPaths = "absolute", overwrite: bool = False
) -> tuple[str, ...]:
    """Write what a result cuts from its video for an editor, or as a list, by the suffix; see docs/export.md.

    Args:
        result: of a video; lists can be written of features too.
        path: ends as a format does, see docs/export.md.
        media: how the file names the video.
        overwrite: replace a file that vidsum did not write too.

    Returns warnings. Raises UsageError: the suffix is none of these, or see `timeline_text`. InputError: the
    video is not there any more. OutputError: the file cannot be written.
    """
    require_type(result, Cutting, Reel)
    target = Path(path)
    write = timeline_writer(format_of(path), target, media)
    return write_public(result, {"export": target}, {"export": write}, overwrite=overwrite)


def timeline_writer(format: str, target: Path, media: MediaPaths = "absolute") -> Writer:
    """Return the writer of a timeline or list that becomes the file `target`."""

    def write(result: Cutting | Reel, path: Path) -> tuple[str, ...]:
        text, warnings = timeline_text(result, format, target, media)
        write_text(path, text)
        return warnings

    return write


def format_of(path: PathLike, offered: Sequence[str] = tuple(FORMATS)) -> str:
    """Return the format of a file name. Raises UsageError: there is none; the hint lists `offered`."""
    name = Path(path).name.lower()
    suffix = Path(name).suffix
    fitting = [format for format in FORMATS if name.endswith(FORMATS[format].ending)]
    fitting += [format for format in FORMATS if suffix and FORMATS[format].ending.endswith(suffix)]
    if not fitting:
        known = ", ".join(FORMATS[format].ending for format in offered)
        raise UsageError(f"no format ends in '{suffix}'", hint=f"one of {known}", subject=os.fspath(path))
    return max(
        fitting, key=lambda format: name.endswith(FORMATS[format].ending) * len(FORMATS[format].ending)
    )


def timeline_text(
    result: Cutting | Reel,
    format: str,
    target: Path,
    paths: MediaPaths = "absolute",
    video: PathLike | None = None,
    record: Path | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Return the text of a timeline or list for a file at `target`, and warnings.

    `video`: its path, if not the path in the result. `record`: the file of the result, if not next to
    `target`; clips are named by texts next to it. Raises UsageError: the result is of features and the format
    names frames. InputError: the video is missing or another one, or the format cannot express it.
    """
    if isinstance(result, Reel):
        return _reel_text(result, format, target, paths)
    played, writer = to_player_time(result, video), FORMATS[format]
    cuts = _named_cuts(result, played, record or target)
    if isinstance(writer, ListFormat):
        try:
            return writer.write(cuts, length_of(played), start_offset_s(result.video, video)), ()
        except InputError as error:
            fault = (f"makes no {writer.ending}: ", *error.parts)
            raise InputError(fault, error.hint_text, subject=record or target) from error
    if not cuts:
        raise EmptyResultError("not written: the result has no moments", subject=target)
    require_expressible(format, has_video=result.video is not None)
    assert result.video is not None
    info = reopen_video(result.video, video)
    media = read_media(info)
    place = media_path(info.path, target, paths)
    text = _editor_text(format, [(cut, media, place) for cut in cuts], target)
    if not media.is_conformed:
        return text, ()
    rate = "a variable frame rate" if info.is_vfr else f"{info.fps:g} frames per second"
    return text, (f"has {rate}: the timeline runs at {media.fps:g}",)


def _named_cuts(result: Cutting, played: Cutting, record: Path) -> list[Cut]:
    """Return the cuts of a result in players' times, named by the texts in the folder of its file."""
    if result.video is None or isinstance(result, Chapters):
        return cuts_of(played)
    speech = load_text_for(record, result.video, Transcript)
    names = name_cuts(cuts_of(result), speech, load_text_for(record, result.video, Descriptions))
    return [replace(cut, label=name.label) for cut, name in zip(cuts_of(played), names, strict=True)]


def write_chaptered(result: Cutting, path: PathLike) -> None:
    """Copy the video of a result, not encoded again, with a chapter for each of its cuts.

    Raises UsageError: see `copy_with_chapters`, or the result is of features. InputError: the video is
    missing or another one, or a codec does not fit. OutputError: it cannot be written.
    """
    from vidsum.video.chapter_marks import copy_with_chapters

    video, played = result_video(result), to_player_time(result)
    chapters = chapters_of(cuts_of(played), length_of(played), start_offset_s(video))
    copy_with_chapters(video, path, chapters, label_of({"made": result.provenance, "chapters": chapters}))


def copy_suffix(video: PathLike) -> str:
    """Return how a copy with chapters ends: as the video, or as .mkv where that holds no chapters."""
    from vidsum.video.chapter_marks import CONTAINERS

    suffix = Path(video).suffix.lower()
    return suffix if suffix in CONTAINERS else ".mkv"


def joint_format(path: PathLike) -> str:
    """Return the format of a timeline of several videos. Raises UsageError: no such format."""
    format = format_of(path, _JOINT)
    require_joint(format, path)
    return format


def require_joint(format: str, subject: PathLike) -> None:
    """Raise UsageError where a format cannot name several videos."""
    if format not in _JOINT:
        known = ", ".join(FORMATS[name].ending for name in _JOINT)
        raise UsageError("is not for several videos", hint=f"one of {known}", subject=os.fspath(subject))


def joint_timeline_text(
    cuts: Sequence[tuple[str, Cut]], format: str, target: Path
) -> tuple[str, tuple[str, ...]]:
    """Return the text of a timeline with cuts of several videos one after the other, and warnings.

    It has the rate of the first video; others are conformed to it. `cuts` come with the absolute path of
    their video, in players' times. Raises InputError: no cuts, a video cannot be read, or the format cannot
    express it.
    """
    if not cuts:
        raise InputError("cannot be written: no moments were found", subject=target)
    medias = {path: read_media(probe_video(path, Extraction())) for path in dict(cuts)}
    first = medias[cuts[0][0]]
    return _joint_text([(cut, path) for path, cut in cuts], medias, first, format, target)


def _reel_text(reel: Reel, format: str, target: Path, paths: MediaPaths) -> tuple[str, tuple[str, ...]]:
    """Return the timeline of a reel at its rate, and warnings. Raises the errors of `timeline_text`."""
    require_joint(format, target)
    rate, cuts = timeline_rate(reel.canvas.fps)[0], list[tuple[Cut, str]]()
    used = dict.fromkeys(segment.source for segment in reel.segments)
    medias = {number: _source_media(reel, number, rate) for number in used}
    for number, segment in enumerate(reel.segments, 1):
        media, label = medias[segment.source], segment.title or f"segment {number}"
        times = round_number(segment.start_s + media.offset_s), round_number(segment.end_s + media.offset_s)
        place = media_path(reel.sources[segment.source].path, target, paths)
        cuts.append((Cut(*times, label, video=place, is_kept=True), place))
    places = {place: medias[segment.source] for segment, (_, place) in zip(reel.segments, cuts, strict=True)}
    main = next((media for media in places.values() if media.rate == rate), None)
    main = main or next(iter(places.values())).at(rate)
    return _joint_text(cuts, places, main, format, target, (reel.canvas.width, reel.canvas.height))


def _source_media(reel: Reel, number: int, rate: Fraction) -> Media:
    """Return a source as a timeline sees it; a photograph as a film as long as it is on screen."""
    from vidsum.video.photographs import probe_photograph  # loads Pillow

    source = reel.sources[number]
    require_unchanged(source)
    if source.kind == "video":
        return read_media(probe_video(source.path, Extraction()))
    photograph = probe_photograph(source.path)
    longest_s = max(segment.end_s for segment in reel.segments if segment.source == number)
    return Media(
        path=Path(source.path),
        rate=rate,
        is_conformed=False,
        fps=float(rate),
        n_frames=ceil(longest_s * rate),
        width=photograph.width + photograph.width % 2,
        height=photograph.height + photograph.height % 2,
        n_channels=0,
        sample_rate=0,
        time_code=None,
    )


def require_unchanged(source: ReelSource | Music) -> None:
    """Raise InputError where a file of a reel is not there any more, or is another one."""
    try:
        n_bytes = Path(source.path).stat().st_size
    except OSError as error:
        raise InputError("is not there any more", subject=source.path) from error
    if n_bytes != source.bytes:
        raise InputError("not the file that the reel was made from", subject=source.path)


def _joint_text(
    cuts: Sequence[tuple[Cut, str]],
    medias: dict[str, Media],
    first: Media,
    format: str,
    target: Path,
    size: Size = None,
) -> tuple[str, tuple[str, ...]]:
    """Return the text of a timeline of cuts with their places, at the rate of the `first` media."""
    for path, media in medias.items():
        if (media.rate, media.is_drop_frame) != (first.rate, first.is_drop_frame):
            medias[path] = media.at(first.rate)
    text = _editor_text(format, [(cut, medias[path], path) for cut, path in cuts], target, size)
    conformed = [path for path, media in medias.items() if media.is_conformed]
    if not conformed:
        return text, ()
    others = f" and {len(conformed) - 1} more" if conformed[1:] else ""
    fault = f"the timeline has {first.fps:g} frames per second, so pictures are repeated or left out"
    return text, (f"{conformed[0]}{others}: {fault}",)


def require_expressible(format: str, *, has_video: bool) -> None:
    """Raise UsageError where a format names frames, and the result has no video."""
    if not has_video and isinstance(FORMATS[format], TimelineFormat):
        lists = [name for name, writer in FORMATS.items() if isinstance(writer, ListFormat)]
        fault = f"cannot write .{format}: the result was computed from features only"
        raise UsageError(fault, hint=f"one of {', '.join(lists)}")


def require_nameable(format: str, video: PathLike, target: Path, paths: MediaPaths) -> None:
    """Raise InputError where a format cannot name a video."""
    writer = FORMATS[format]
    if isinstance(writer, TimelineFormat) and writer.has_plain_paths:
        check_path(format, media_path(video, target, paths))


def media_path(video: PathLike, target: Path, paths: MediaPaths) -> str:
    """Return the path of a video as a timeline at `target` says it."""
    return absolute_path(video) if paths == "absolute" else relative_path(video, target)


def _editor_text(
    format: str, clips: Sequence[tuple[Cut, Media, str]], target: Path, size: Size = None
) -> str:
    name = one_line(target.name.removesuffix(FORMATS[format].ending))
    try:
        return format_timeline(format, [Clip(*clip) for clip in clips], name, size)
    except ValueError as error:
        raise InputError(f"cannot be written as .{format} ({error})", subject=clips[0][1].path) from error


def absolute_path(path: PathLike) -> str:
    """Return an absolute path; a link stays the link that it is."""
    return str(Path(path).parent.resolve() / Path(path).name)


def relative_path(path: PathLike, target: Path) -> str:
    """Return a path from the folder of the file that names it."""
    return os.path.relpath(absolute_path(path), target.parent.resolve())


def result_video(result: Result) -> VideoInfo:
    """Return the video of a result as it is now. Raises UsageError: of features; or see `reopen_video`."""
    if result.video is None:
        fault = "cannot write a video: the result was computed from features only"
        raise UsageError(fault, hint="give the video")
    return reopen_video(result.video)


def reopen_video(known: VideoInfo, video: PathLike | None = None) -> VideoInfo:
    """Return the video of a result as it is now, at `video` if it has moved. Raises InputError: it is not."""
    path = known.path if video is None else os.fspath(video)
    try:
        tracks = known.video_track, known.audio_track
        info = probe_video(path, Extraction(video_track=tracks[0], audio_track=tracks[1]))
    except InputError as error:
        hint = (Mention("video", "FILE"), ", if it has moved")
        raise InputError(error.text, hint, subject=error.subject) from error
    if info.bytes != known.bytes:
        raise InputError(
            "not the video that the result was made from", hint=Mention("video", "FILE"), subject=path
        )
    return info
