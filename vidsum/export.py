"""Writing a summary to files: JSON, MP4, storyboard, plot."""

import os
from collections.abc import Mapping
from typing import Any

from vidsum.documents import summary_document, write_document
from vidsum.errors import InputError, UsageError
from vidsum.provenance import digest_of
from vidsum.times import format_time
from vidsum.types import Progress, Summary
from vidsum.video.pyav_reader import open_video
from vidsum.video.stills import read_frames_at

PathLike = str | os.PathLike[str]


def write_json(summary: Summary, path: PathLike) -> None:
    """Write a summary as JSON: see docs/schemas/summary.schema.json.

    Raises:
        OutputError: the file cannot be written.
    """
    write_document(summary_document(summary), path)


def write_video(
    summary: Summary, path: PathLike, *, copy: bool = False, progress: Progress | None = None
) -> tuple[str, ...]:
    """Write a summary's segments as one MP4 and return warnings.

    Args:
        summary: of a video, not of features alone.
        path: the MP4 file.
        copy: do not re-encode; segments then begin and end at key frames, and grow.
        progress: called while it runs.

    Raises:
        UsageError: the summary is of features made elsewhere, or the codec cannot be copied into MP4.
        InputError: the video is not there any more.
        OutputError: the file cannot be written.
    """
    from vidsum.video.copy import copy_segments
    from vidsum.video.write import write_segments

    video, comment = _video_behind(summary), _comment(summary.provenance, copy)
    if not copy:
        return write_segments(video, summary.segments, path, comment=comment, progress=progress).warnings
    copied = copy_segments(video, summary.segments, path, comment=comment, progress=progress)
    chosen, written = format_time(summary.duration_s), format_time(copied.duration_s)
    note = f"copied segments begin and end where the video can be cut, at key frames: {written} for {chosen}"
    return (note, *copied.warnings)


def is_made_from(path: PathLike, provenance: Mapping[str, Any], *, copy: bool) -> bool:
    """Whether an MP4 says of itself that `write_video` made it of a summary with this provenance."""
    try:
        with open_video(path) as container:
            return bool(container.metadata.get("comment") == _comment(provenance, copy))
    except InputError:
        return False


def write_storyboard(summary: Summary, path: PathLike, folder: PathLike) -> None:
    """Draw a summary's key frames, one a segment, on one PNG, and write each as JPEG into a folder.

    Raises:
        UsageError: the summary is of features made elsewhere.
        InputError: the video is not there any more.
        OutputError: a file cannot be written.
    """
    from vidsum.summary.pictures import key_frame_times, save_key_frames, save_picture
    from vidsum.summary.storyboard import storyboard

    times = key_frame_times(summary)
    images = [frame.image for frame in read_frames_at(_video_behind(summary), times)]
    save_key_frames(images, times, folder)
    save_picture(storyboard(summary, images), path)


def write_plot(summary: Summary, path: PathLike) -> None:
    """Plot a summary's importance curve with its shots and segments, as PNG or SVG by the suffix.

    Raises:
        OutputError: the file cannot be written.
    """
    from vidsum.summary.plot import importance_plot

    importance_plot(summary, path)


def _comment(provenance: Mapping[str, Any], copy: bool) -> str:
    return f"vidsum {'copy ' if copy else ''}{digest_of(provenance)}"


def _video_behind(summary: Summary) -> str:
    if summary.video is None:
        raise UsageError("the summary was made from features: there is no video to take pictures from")
    return summary.video.path
