"""Writing the segments of a result as one MP4."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from vidsum.errors import InputError, UsageError, require_type
from vidsum.features.settings import Extraction
from vidsum.io.provenance import encoding_tag_in, label_of
from vidsum.options import all_from_keywords
from vidsum.outputs.alone import PathLike, write_public
from vidsum.outputs.timelines import result_video
from vidsum.pipelines.keywords import ClipOptions
from vidsum.pipelines.queries import without_queries
from vidsum.results.reel import Reel
from vidsum.results.summary import Summary, Trim
from vidsum.times import format_time
from vidsum.types import Interval, Progress, VideoInfo
from vidsum.video.open import open_video
from vidsum.video.settings import Encoding, SoundLevel, Styling
from vidsum.video.style import ClipStyle


def write_video(
    summary: Summary | Trim | Reel,
    path: PathLike,
    *,
    copy: bool = False,
    overwrite: bool = False,
    encoding: Encoding = Encoding(),
    extraction: Extraction = Extraction(),
    progress: Progress | None = None,
    **options: Unpack[ClipOptions],
) -> tuple[str, ...]:
    """Write the segments of a summary, trim or reel as one MP4 and return warnings.

    A summary that leaves nothing out is copied by default, if the video is already what would be encoded (see
    `has_default_streams`).

    Args:
        summary: of a video, not of features alone; or a reel, whose looks are its own.
        path: the MP4 file.
        copy: do not re-encode; segments then begin and end at key frames, and grow.
        overwrite: replace a file that vidsum did not write too.
        encoding: its quality.
        extraction: device and cache for what changes pictures.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: fields of `vidsum.video.settings.Styling` and `SoundLevel`: `burn=True`, `loudness=-14`.

    Raises UsageError: the file is not named as an MP4, the summary is of features alone, the codec cannot be
    copied into MP4, or a copy is to be changed. InputError: the video is not there any more. OutputError: a
    file is in the way, or cannot be written.
    """
    require_type(summary, Summary, Trim, Reel)
    if Path(path).suffix.lower() not in (".mp4", ".m4v", ".mov"):
        raise UsageError("must end in .mp4, .m4v or .mov", subject=os.fspath(path))
    styling, sound = all_from_keywords(write_video, (Styling, SoundLevel), options)
    if sound != SoundLevel():
        encoding = replace(encoding, sound=sound)
    styling.require_encoded(copy=copy)
    encoding.require_encoded(copy=copy)

    if isinstance(summary, Reel):
        from vidsum.outputs.reel_film import encode_reel

        if copy or styling != Styling() or encoding != Encoding():
            raise UsageError("a reel has its looks and its loudness already: leave out the options")
        write_reel = partial(encode_reel, device=extraction.device, progress=progress)
        return write_public(summary, {"video": Path(path)}, {"video": write_reel}, overwrite=overwrite)

    def write(summary: Summary | Trim, path: Path) -> tuple[str, ...]:
        return encode_segments(summary, path, copy, encoding, styling, extraction, progress)

    return write_public(summary, {"video": Path(path)}, {"video": write}, overwrite=overwrite)


def encode_segments(
    summary: Summary | Trim,
    path: Path,
    copy: bool,
    encoding: Encoding,
    styling: Styling,
    extraction: Extraction,
    progress: Progress | None,
) -> tuple[str, ...]:
    """Write segments as one MP4, whatever is in the way, and return warnings. See `write_video`."""
    from vidsum.video.copy import copy_segments, has_default_streams
    from vidsum.video.write import write_segments

    video, segments = result_video(summary), summary.segments
    write_options: dict[str, Any] = {
        "comment": label_of(summary.provenance, encoding.tag(copy=copy, styling=styling)),
        "progress": progress,
    }
    is_whole = len(segments) == 1 and segments[0][0] <= 0 and segments[0][1] >= video.duration_s
    is_default = not copy and encoding == Encoding() and styling == Styling()
    if is_whole and is_default and has_default_streams(video):
        with suppress(InputError, UsageError):  # as its time stamps jump, for example
            return copy_segments(video, segments, path, **write_options).warnings
    if not copy:
        look, warnings = style_for(video, styling, extraction, progress)
        write_options |= {"style": look(segments), "may_move": isinstance(summary, Trim)}
        write_options |= {"loudness_lufs": encoding.sound.loudness}
        written = write_segments(video, segments, path, crf=encoding.crf, **write_options)
        return (*warnings, *written.warnings)
    written = copy_segments(video, segments, path, **write_options)
    if abs(written.duration_s - summary.duration_s) < 1 / video.fps:
        return written.warnings
    chosen, copied = format_time(summary.duration_s), format_time(written.duration_s)
    note = f"copied segments begin and end at key frames: {copied} instead of {chosen}"
    return (note, *written.warnings)


def style_for(
    video: VideoInfo, styling: Styling, extraction: Extraction, progress: Progress | None
) -> tuple[Callable[[Sequence[Interval]], ClipStyle], list[str]]:
    """Return a function that gives the style of each clip, and a list that it adds warnings to."""
    if styling == Styling():
        return lambda _: ClipStyle(), []
    from vidsum.pipelines.clip_style import ClipStyler

    looks = ClipStyler(video, styling, extraction, progress)
    return looks.of, looks.warnings


def read_encoding_tag(path: PathLike, provenance: Mapping[str, Any]) -> str | None:
    """Return the `Encoding.tag` in an MP4's label, if it was made of this provenance; else None."""
    try:
        with open_video(path) as container:
            labels = {name.lower(): text for name, text in container.metadata.items()}
    except InputError:
        return None
    return encoding_tag_in(labels.get("comment"), without_queries(provenance))
