"""Results as a page for a browser: the player, curves, key frames, moments, settings."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vidsum.errors import InputError, UsageError
from vidsum.outputs import as_utf8, atomic_write
from vidsum.pipelines.export import clips_of, form_of
from vidsum.pipelines.timelines import relative, video_behind
from vidsum.results.cuts import Cutting
from vidsum.results.descriptions import Descriptions
from vidsum.results.load import descriptions_beside
from vidsum.results.media import url_of
from vidsum.results.moments import Grounding, Highlights
from vidsum.results.page import Film, data_url, picture_times, render
from vidsum.results.shots import Shots
from vidsum.types import Picture, VideoInfo
from vidsum.video.frames import LongSide
from vidsum.video.read import read_frames_at

PathLike = str | os.PathLike[str]

_PICTURE_SIDE = 320
_JPEG_QUALITY = 72


def write_report(results: Cutting | Sequence[Cutting], path: PathLike) -> tuple[str, ...]:
    """Write one or more results as an HTML page, which names videos by relative paths; see docs/report.md.

    Returns:
        Warnings: of videos that are not there any more, whose pictures the page lacks.

    Raises:
        UsageError: one is none of summaries, shots, moments and highlights.
        OutputError: the file cannot be written.
    """
    several = results if isinstance(results, Sequence) else [results]
    others: list[object] = [one for one in several if not isinstance(one, Cutting)]
    if others:
        kinds = "Summary, Shots, Grounding or Highlights"
        raise UsageError(f"a report shows a {kinds}, not a {type(others[0]).__name__}")
    named = [(f"result {number}", one) for number, one in enumerate(several, 1)]
    text, warnings = report_text(named, Path(path))
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
    return warnings


def report_text(results: Sequence[tuple[str, Cutting]], target: Path) -> tuple[str, tuple[str, ...]]:
    """The text of a page, and warnings.

    Args:
        results: the path of each result file, and what it holds.
        target: the file that it is for; paths of videos start at its folder.
    """
    warnings: list[str] = []
    films = [_film(group, target, warnings) for group in _by_video(results)]
    title = films[0].name if len(films) == 1 else f"{len(films)} videos"
    return as_utf8(render(films, title)), tuple(warnings)


def _by_video(results: Sequence[tuple[str, Cutting]]) -> list[list[tuple[str, Cutting]]]:
    """The results of each video together; of features, each by itself."""
    groups: dict[tuple[str, int], list[tuple[str, Cutting]]] = {}
    for name, result in results:
        video = result.video
        key = (os.path.realpath(video.path), video.bytes) if video else (name, -1)
        groups.setdefault(key, []).append((name, result))
    return list(groups.values())


def _bare_film(results: Sequence[tuple[str, Cutting]]) -> Film:
    """What the results themselves say."""
    name, first = results[0]
    video = first.video
    if isinstance(first, Shots):
        duration_s = video.duration_s if video else float(first.edges_s[-1])
    else:
        duration_s = first.video_duration_s
    return Film(
        name=Path(video.path).name if video else Path(name).stem,
        source=None,
        video=video,
        duration_s=duration_s,
        results=tuple(results),
    )


def _film(results: Sequence[tuple[str, Cutting]], target: Path, warnings: list[str]) -> Film:
    """The same with the video, its pictures and clips; a warning where the video is not there."""
    film = replace(_bare_film(results), descriptions=_descriptions(results))
    if film.video is None:
        return film
    try:
        info = video_behind(film.video)
    except InputError as error:
        warnings.append(f"{error.message}: the page has no pictures of it")
        return film
    times = {time for _, result in results for group in picture_times(result) for time in group}
    return replace(
        film,
        source=url_of(relative(info.path, target)),
        pictures=_pictures(info, sorted(times)),
        clips={name: _clips(Path(name), result, target) for name, result in results},
    )


def _descriptions(results: Sequence[tuple[str, Cutting]]) -> Descriptions | None:
    """What `vidsum describe` wrote of the video, beside one of its results."""
    beside = (descriptions_beside(Path(name), result.video) for name, result in results if result.video)
    return next(filter(None, beside), None)


def _pictures(info: VideoInfo, times_s: list[float]) -> dict[float, str]:
    frames = read_frames_at(info, times_s, LongSide(_PICTURE_SIDE)) if times_s else []
    return {time: data_url(_jpeg(frame.image)) for time, frame in zip(times_s, frames, strict=True)}


def _jpeg(picture: Picture) -> bytes:
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(picture).save(content, "JPEG", quality=_JPEG_QUALITY)
    return content.getvalue()


def _clips(record: Path, result: Cutting, target: Path) -> list[str | None]:
    """URLs of the MP4 files of moments that `--clips` wrote beside a result; None for missing ones."""
    if not isinstance(result, Grounding | Highlights):
        return []
    clips = clips_of(result, record.parent, record.stem.removesuffix(f"_{result.kind}"))
    return [
        url_of(relative(path, target))
        if path.exists() and form_of(path, result.provenance) is not None
        else None
        for path, _ in clips
    ]
