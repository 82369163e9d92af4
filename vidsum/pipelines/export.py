"""Writing summaries, moments and highlights to files: JSON, MP4, storyboard, plot."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Unpack

from vidsum.errors import InputError, UsageError, require_type
from vidsum.features.settings import Extraction
from vidsum.io.outputs import as_utf8
from vidsum.io.provenance import encoding_tag_in, label_of
from vidsum.options import from_keywords
from vidsum.pipelines.keywords import ClipOptions
from vidsum.pipelines.queries import without_queries
from vidsum.pipelines.replacing import PathLike, read_label, require_replaceable
from vidsum.pipelines.timelines import result_video
from vidsum.results.clock import to_player_time
from vidsum.results.cut_list import cuts_of
from vidsum.results.descriptions import Descriptions
from vidsum.results.load import load_text_for
from vidsum.results.moments import Grounding, Highlights
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary, Trim
from vidsum.times import format_time
from vidsum.types import Interval, Progress, VideoInfo
from vidsum.video.frames import LongSide
from vidsum.video.probe import start_offset_s
from vidsum.video.read import read_frames_at
from vidsum.video.settings import Encoding, Shorts
from vidsum.video.style import ClipStyle


def write_video(
    summary: Summary | Trim,
    path: PathLike,
    *,
    copy: bool = False,
    overwrite: bool = False,
    encoding: Encoding = Encoding(),
    extraction: Extraction = Extraction(),
    progress: Progress | None = None,
    **options: Unpack[ClipOptions],
) -> tuple[str, ...]:
    """Write the segments of a summary or trim as one MP4 and return warnings.

    A summary that leaves nothing out is copied by default, if the video is already what would be encoded (see
    `has_default_streams`).

    Args:
        summary: of a video, not of features alone.
        path: the MP4 file.
        copy: do not re-encode; segments then begin and end at key frames, and grow.
        overwrite: replace a file that vidsum did not write too.
        encoding: its quality.
        extraction: device and cache for what changes pictures.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: fields of `vidsum.video.settings.Shorts`, such as `vertical=True`.

    Raises UsageError: the file is not named as an MP4, the summary is of features alone, the codec cannot be
    copied into MP4, or a copy is to be changed. InputError: the video is not there any more. OutputError: a
    file is in the way, or cannot be written.
    """
    require_type(summary, Summary, Trim)
    from vidsum.video.copy import copy_segments, has_default_streams
    from vidsum.video.write import write_segments

    if Path(path).suffix.lower() not in (".mp4", ".m4v", ".mov"):
        raise UsageError(f"{os.fspath(path)}: must end in .mp4, .m4v or .mov")
    require_replaceable(path, overwrite=overwrite)
    shorts = from_keywords(write_video, Shorts, options)
    shorts.require_encoded(copy=copy)
    video, segments = result_video(summary), summary.segments
    write_options: dict[str, Any] = {
        "comment": label_of(summary.provenance, encoding.tag(copy=copy, shorts=shorts)),
        "progress": progress,
    }
    is_whole = len(segments) == 1 and segments[0][0] <= 0 and segments[0][1] >= video.duration_s
    is_default = not copy and encoding == Encoding() and shorts == Shorts()
    if is_whole and is_default and has_default_streams(video):
        with suppress(InputError, UsageError):  # as its time stamps jump, for example
            return copy_segments(video, segments, path, **write_options).warnings
    if not copy:
        look, warnings = style_for(video, shorts, extraction, progress)
        written = write_segments(
            video, segments, path, crf=encoding.crf, **write_options, style=look(segments)
        )
        return (*warnings, *written.warnings)
    written = copy_segments(video, segments, path, **write_options)
    if abs(written.duration_s - summary.duration_s) < 1 / video.fps:
        return written.warnings
    chosen, copied = format_time(summary.duration_s), format_time(written.duration_s)
    note = f"copied segments begin and end at key frames: {copied} instead of {chosen}"
    return (note, *written.warnings)


def style_for(
    video: VideoInfo, shorts: Shorts, extraction: Extraction, progress: Progress | None
) -> tuple[Callable[[Sequence[Interval]], ClipStyle], list[str]]:
    """Return a function that gives the style of each clip, and a list that it adds warnings to."""
    if shorts == Shorts():
        return lambda _: ClipStyle(), []
    from vidsum.pipelines.shorts import ClipStyler

    looks = ClipStyler(video, shorts, extraction, progress)
    return looks.of, looks.warnings


def read_encoding_tag(path: PathLike, provenance: Mapping[str, Any]) -> str | None:
    """Return the `Encoding.tag` in a file's label, if it was made of this provenance; else None."""
    return encoding_tag_in(read_label(path), without_queries(provenance))


def write_storyboard(summary: Summary, path: PathLike, folder: PathLike, *, overwrite: bool = False) -> None:
    """Draw a summary's key frames, one a segment, on one PNG, and write each as JPEG into a folder.

    Descriptions of the video next to the PNG (`vidsum describe`) appear under the pictures.

    Raises UsageError: the summary is of features made elsewhere. InputError: the video is not there any more.
    OutputError: a file is in the way (`overwrite` replaces it), or cannot be written.
    """
    require_type(summary, Summary)
    require_replaceable(path, overwrite=overwrite)
    from vidsum.summary.storyboard import key_frame_times, save_key_frames, save_picture, storyboard

    times = key_frame_times(summary)
    video = result_video(summary)
    images = [frame.image for frame in read_frames_at(video, times)]
    save_key_frames(images, times, folder)
    descriptions = load_text_for(Path(path), summary.video, Descriptions) if summary.video else None
    captions = [descriptions.at(time_s) for time_s in times] if descriptions else ()
    save_picture(storyboard(to_player_time(summary), images, captions), path, label_of(summary.provenance))


_MAX_PICTURES = 120
_SHEET_SIDE = 320  # pixels of a picture on a contact sheet


def write_sheet(result: Grounding | Highlights | Shots, path: PathLike) -> None:
    """Write a contact sheet of moments or shots as PNG: a picture from the middle of each, the first 120.

    Raises UsageError: the result is of features. InputError: the video is not there any more. OutputError:
    the file cannot be written.
    """
    from vidsum.summary.storyboard import contact_sheet, save_picture

    video, cuts = result_video(result), cuts_of(result)
    pictured, length = cuts[:_MAX_PICTURES], format_time(video.duration_s)
    times = [(cut.start_s + cut.end_s) / 2 for cut in pictured]
    size = LongSide(min(_SHEET_SIDE, max(video.display_width, video.display_height)))
    images = [frame.image for frame in read_frames_at(video, times, size)]
    facts = (
        f"{result.kind}: {f'{len(pictured)} of ' if cuts[len(pictured) :] else ''}{len(cuts)}, of {length}"
    )
    header, captions = (as_utf8(Path(video.path).name), facts), [cut.label for cut in pictured]
    begin_s, played = start_offset_s(video), cuts_of(to_player_time(result))[: len(pictured)]
    end_s = begin_s + video.duration_s
    sheet = contact_sheet(header, played, images, captions, [(begin_s, end_s)], end_s)
    save_picture(sheet, path, label_of(result.provenance))


def write_plot(
    result: Summary | Grounding | Highlights, path: PathLike, *, overwrite: bool = False
) -> tuple[str, ...]:
    """Plot a result as PNG or SVG by the suffix, and return warnings.

    Raises OutputError: a file is in the way (`overwrite` replaces it), or cannot be written.
    """
    require_type(result, Summary, Grounding, Highlights)
    require_replaceable(path, overwrite=overwrite)
    result = to_player_time(result)
    if isinstance(result, Grounding | Highlights):
        from vidsum.grounding.plot import moments_plot

        return moments_plot(result, path)
    from vidsum.summary.storyboard import importance_plot

    importance_plot(result, path)
    return ()
