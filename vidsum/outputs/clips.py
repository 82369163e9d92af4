"""Clips of moments, highlights, shots and shorts: an MP4 of each, named after its contents."""

from __future__ import annotations

import os
import re
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from vidsum.errors import UsageError, message_of, require_type
from vidsum.features.settings import Extraction
from vidsum.io.atomic import atomic_write, make_folder, shortened, slug, stems_of
from vidsum.io.paths import reads_of
from vidsum.io.provenance import label_of
from vidsum.options import from_keywords
from vidsum.outputs.alone import PathLike, own_record, write_alone
from vidsum.outputs.artifacts import Artifacts, Writer
from vidsum.outputs.timelines import result_video
from vidsum.pipelines.keywords import MomentClipOptions
from vidsum.pipelines.queries import without_queries
from vidsum.results.edits import KEY
from vidsum.results.moments import Grounding, Highlights
from vidsum.results.shorts import Shorts
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary
from vidsum.shots.cuts import changes_to_features, find_cuts
from vidsum.types import Interval, Progress, VideoInfo, clip_interval
from vidsum.video.read import read_frames_at
from vidsum.video.segments import measure_changes
from vidsum.video.settings import Clips

ClipSource = Grounding | Highlights | Shots | Shorts | Summary
"""Results with intervals that can be saved as clips."""


def write_clips(
    result: ClipSource,
    folder: PathLike,
    stem: str | None = None,
    *,
    overwrite: bool = False,
    extraction: Extraction = Extraction(),
    progress: Progress | None = None,
    **options: Unpack[MomentClipOptions],
) -> tuple[Path, ...]:
    """Write each moment, shot or segment as an MP4, and return the paths, in the order of the result.

    Names are `{query}_{stem}_{time}.mp4`, for example `a-dog_film_0m21s.mp4`, of highlights
    `highlight_{stem}_{time}.mp4`, of a summary `segment_{stem}_{time}.mp4`, of shots
    `{stem}-Scene-{number}.mp4`, as PySceneDetect has them, and `{stem}_short_{number}.mp4`, with their speech
    as `.srt`. Warnings are Python warnings.

    Args:
        result: of a video.
        folder: made if it is not there.
        stem: the video in the names; its own name if not given.
        overwrite: replace files that vidsum did not write too.
        extraction: device and cache for what changes pictures and sound.
        progress: called as progress(what, done, total) while it runs; a total of 0 is unknown.
        **options: fields of `vidsum.video.settings.Clips`, such as `pad_s=1` or `vertical=True`.

    Raises UsageError: the moments are of features made elsewhere, or a length is negative or not a number,
    or the stem has a slash. InputError: the video is not there any more. OutputError: a file is in the way,
    or cannot be written.
    """
    require_type(result, ClipSource)
    settings, video = from_keywords(write_clips, Clips, options), result_video(result)
    if stem is not None and Path(stem).name != stem:
        raise UsageError(f"stem must be a name without folders, not {stem!r}")
    spans = clip_paths(result, folder, stem or stems_of(video.path)[0])
    for path, _ in () if overwrite else spans:
        for file in files_of_clip(result, path):
            own_record(file).require_ours([file])
    make_folder(Path(folder))
    write, messages = clip_writer(result, settings, extraction, progress)
    subtitles = partial(_write_subtitles, result, extraction, progress)
    reads = reads_of([video.path])
    for path, span in spans:
        write_alone(own_record(path), partial(write, span), overwrite=overwrite, reads=reads)
        for text in _subtitle_paths(result, path):
            write_alone(own_record(text), partial(subtitles, span), overwrite=overwrite, reads=reads)
    for message in dict.fromkeys(messages):
        warnings.warn(message_of(video.path, message), stacklevel=2)
    return tuple(path for path, _ in spans)


def save_clips(
    result: ClipSource,
    folder: Path,
    stem: str,
    settings: Clips,
    extraction: Extraction = Extraction(),
    progress: Progress | None = None,
    made: Mapping[Interval, Path] = {},
) -> tuple[str, ...]:
    """Write clips whatever is in the way, and return warnings. See `write_clips`.

    Those of the spans in `made` are copied from there, with their subtitles.
    """
    paths = clip_paths(result, folder, stem)
    messages = list[str]()
    if missing := {span for _, span in paths if span not in made or not made[span].is_file()}:
        write, messages = clip_writer(result, settings, extraction, progress)
    for path, span in paths:
        make_folder(folder)
        if span not in missing:
            for file in files_of_clip(result, path):
                with atomic_write(file) as part:
                    shutil.copyfile(made[span].with_suffix(file.suffix), part)
            continue
        write(span, path)
        for text in _subtitle_paths(result, path):
            _write_subtitles(result, extraction, progress, span, text)
    return tuple(dict.fromkeys(messages))


def clip_provenance(result: ClipSource) -> Mapping[str, Any]:
    """Return what a clip is made of, as its label names it: not what decisions made of other clips."""
    return {name: facts for name, facts in without_queries(result.provenance).items() if name != KEY}


def clip_writer(
    result: ClipSource, settings: Clips, extraction: Extraction, progress: Progress | None
) -> tuple[Callable[[Interval, Path], None], list[str]]:
    """Return a function that writes the clip of a span, and a list that it adds warnings to."""
    from vidsum.outputs.mp4 import style_for
    from vidsum.video.write import write_segments

    video, comment = result_video(result), label_of(clip_provenance(result), settings.tag)
    styling = settings.styling
    if isinstance(result, Shorts) and result.evidence == "picture":
        styling = replace(styling, burn=False)  # nothing is said
    look, messages = style_for(video, styling, extraction, progress)
    # nobody asks for a second set: shorts have captions by default
    is_spoken = isinstance(result, Shorts) and styling.burn
    bare = style_for(video, replace(styling, burn=False), extraction, progress)[0] if is_spoken else look

    def write(span: Interval, path: Path) -> None:
        pad_s, whole = settings.pad_s, clip_interval(span, video.duration_s)
        segment = [_pad(span, pad_s, video) if pad_s else whole]
        has_captions = is_spoken and _is_captioned(video, segment[0])
        if has_captions:
            messages.append("has captions in its pictures: no others are drawn there")
        written = write_segments(
            video,
            segment,
            path,
            comment=comment,
            style=(bare if has_captions else look)(segment),
            loudness_lufs=settings.sound.loudness,
            progress=progress,
        )
        messages.extend(written.warnings)

    return write, messages


def _is_captioned(video: VideoInfo, span: Interval) -> bool:
    from vidsum.pipelines.clip_style import is_captioned

    return is_captioned(video, span)


def files_of_clip(result: ClipSource, clip: Path) -> list[Path]:
    """Return the files of a clip: itself, and its subtitles where it has some."""
    return [clip, *_subtitle_paths(result, clip)]


def _subtitle_paths(result: ClipSource, clip: Path) -> list[Path]:
    """Return the file of the subtitles of a clip; none where it has none."""
    is_spoken = isinstance(result, Shorts) and result.evidence == "speech"
    return [clip.with_suffix(".srt")] if is_spoken else []


def _write_subtitles(
    result: ClipSource, extraction: Extraction, progress: Progress | None, span: Interval, path: Path
) -> None:
    from vidsum.pipelines.speech_evidence import export_subtitles

    export_subtitles(result.video, [span], path, extraction, progress, as_captions=True)


_CONTEXT_S = 0.6  # of pictures on either side by which a cut is known


def _pad(span: Interval, pad_s: float, video: VideoInfo) -> Interval:
    """Return a span that begins and ends up to `pad_s` seconds further out, but not beyond a cut."""
    first_s, last_s = clip_interval((span[0] - pad_s, span[1] + pad_s), video.duration_s)
    around = [(first_s - _CONTEXT_S, span[0] + _CONTEXT_S), (span[1] - _CONTEXT_S, last_s + _CONTEXT_S)]
    cuts = find_cuts(changes_to_features(measure_changes(video, around), video))
    near_s = 0.5 / video.fps  # a cut this near to an edge of the span is at the edge
    before = cuts[(cuts > first_s) & (cuts <= span[0] + near_s)].clip(max=span[0])
    after = cuts[(cuts >= span[1] - near_s) & (cuts < last_s)].clip(min=span[1])
    return max([first_s, *before.tolist()]), min([last_s, *after.tolist()])


_NAME_BYTES = 230  # longest part of a name for query and video: file systems take 255 bytes


def clip_paths(result: ClipSource, folder: PathLike, stem: str) -> list[tuple[Path, Interval]]:
    """Return the path of the MP4 of each moment, shot or segment, and its [start_s, end_s)."""
    if isinstance(result, Shots):
        digits = max(3, len(str(len(result))))
        scenes = enumerate(result.intervals, 1)
        return [(Path(folder) / f"{stem}-Scene-{number:0{digits}}.mp4", span) for number, span in scenes]
    if isinstance(result, Shorts):
        place = shortened(stem, _NAME_BYTES)
        ranked = enumerate(result.shorts, 1)
        return [(Path(folder) / f"{place}_short_{rank}.mp4", short.interval) for rank, short in ranked]
    if isinstance(result, Summary):
        spans = [("segment", segment) for segment in result.segments]
    elif isinstance(result, Highlights):
        spans = [("highlight", moment.interval) for moment in result.moments]
    else:
        pairs = ((query, moment) for query in result.queries for moment in query.moments)
        spans = [(slug(query.query), moment.interval) for query, moment in pairs]
    counts, paths = Counter[str](), []
    for words, span in spans:
        minutes, seconds = divmod(int(span[0]), 60)
        clock = f"{minutes // 60}h{minutes % 60:02}m" if minutes >= 60 else f"{minutes}m"
        place = shortened(stem, _NAME_BYTES - len(words.encode()))
        name = f"{words}_{place}_{clock}{seconds:02}s"
        counts[name] += 1
        number = f"-{counts[name]}" if counts[name] > 1 else ""
        paths.append((Path(folder) / f"{name}{number}.mp4", span))
    return paths


def moment_writers(
    stem: str,
    settings: Clips = Clips(),
    extraction: Extraction = Extraction(),
    progress: Progress | None = None,
    made: Mapping[Interval, Path] = {},
) -> dict[str, Writer]:
    """Return the writers of the clips, plots and sheets of moments, highlights or shots; see `save_clips`."""
    from vidsum.outputs.picture_files import draw_plot, draw_sheet

    def write(result: ClipSource, folder: Path) -> tuple[str, ...]:
        return save_clips(result, folder, stem, settings, extraction, progress, made)

    return {"clips": write, "plot": draw_plot, "sheet": draw_sheet}


def clips_of(artifacts: Artifacts | None, stem: str, result: ClipSource) -> list[Path]:
    """Return the clips of a result, and their subtitles, wherever they go."""
    folder = artifacts.files.get("clips", Path()) if artifacts else Path()
    paths = [path for path, _ in clip_paths(result, folder, stem)]
    return [file for path in paths for file in files_of_clip(result, path)]


_CLIP = re.compile(r"[^_]+_(.*)_(?:\d+h)?\d+m\d\ds(?:-\d+)?|(.*)-Scene-\d{3,}|(.*)_short_\d+", re.DOTALL)


def video_stem(name: str) -> str | None:
    """Return the video in the name of a clip that `clip_paths` gives; None in any other."""
    match = _CLIP.fullmatch(name)
    return (match[1] or match[2] or match[3]) if match else None


_PICTURES_PER_BATCH = 24  # pictures that are in memory together, in full size


def write_images(shots: Shots, folder: str | os.PathLike[str], n_images: int, stem: str) -> None:
    """Write `n_images` of each shot as `{stem}-Scene-001-01.jpg` into a folder, made if needed.

    One is from the middle. Of more, the first and the last are a frame from the edges, and each of the others
    from the middle of its part.

    Raises UsageError: the shots are of features. InputError: the video is not there any more. OutputError: a
    file cannot be written.
    """
    from vidsum.summary.storyboard import save_picture

    video, place = result_video(shots), Path(folder)
    make_folder(place)
    digits = max(3, len(str(len(shots)))), max(2, len(str(n_images)))
    wanted = [
        (f"{stem}-Scene-{number:0{digits[0]}}-{image:0{digits[1]}}.jpg", time_s)
        for number, span in enumerate(shots.intervals, 1)
        for image, time_s in enumerate(_times(span, n_images, 1 / video.fps), 1)
    ]
    for first in range(0, len(wanted), _PICTURES_PER_BATCH):
        part = wanted[first : first + _PICTURES_PER_BATCH]
        frames = read_frames_at(video, [time_s for _, time_s in part])
        for (name, _), frame in zip(part, frames, strict=True):
            save_picture(frame.image, place / name)


def _times(span: Interval, n_images: int, frame_s: float) -> list[float]:
    start_s, end_s = span
    edges = np.linspace(start_s, end_s, n_images + 1)
    times = (edges[:-1] + edges[1:]) / 2
    if n_images > 1:
        times[0], times[-1] = start_s + frame_s, end_s - frame_s
    latest = max(start_s, end_s - frame_s)
    return [float(min(max(time_s, start_s), latest)) for time_s in times]
