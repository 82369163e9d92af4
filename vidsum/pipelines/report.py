"""Results as a page for a browser: the player, curves, key frames, moments, settings."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vidsum.errors import InputError, UsageError
from vidsum.outputs import as_utf8, atomic_write
from vidsum.pipelines.export import clip_paths, form_of
from vidsum.pipelines.timelines import Result, relative, video_behind
from vidsum.results.media import url_of
from vidsum.results.page import Film, data_url, picture_times, render
from vidsum.types import Picture, VideoInfo
from vidsum.video.frames import LongSide
from vidsum.video.stills import read_frames_at

PathLike = str | os.PathLike[str]
Document = Mapping[str, Any]

_PICTURE_SIDE = 320
_JPEG_QUALITY = 72


def write_report(results: Result | Sequence[Result], path: PathLike) -> tuple[str, ...]:
    """Write one or more results as an HTML page, which names videos by relative paths; see docs/report.md.

    Returns:
        Warnings: of videos that are not there any more, whose pictures the page lacks.

    Raises:
        UsageError: one is none of summaries, shots, moments and highlights.
        OutputError: the file cannot be written.
    """
    several = results if isinstance(results, Sequence) else [results]
    others: list[object] = [one for one in several if not isinstance(one, Result)]
    if others:
        kinds = "Summary, Shots, Grounding or Highlights"
        raise UsageError(f"a report shows a {kinds}, not a {type(others[0]).__name__}")
    named = [(f"result {number}", one.to_dict()) for number, one in enumerate(several, 1)]
    text, warnings = report_text(named, Path(path))
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
    return warnings


def report_text(results: Sequence[tuple[str, Document]], target: Path) -> tuple[str, tuple[str, ...]]:
    """The text of a page, and warnings.

    Args:
        results: the path of each result file, and its document.
        target: the file that it is for; paths of videos start at its folder.
    """
    warnings: list[str] = []
    films = [_film(group, target, warnings) for group in _by_video(results)]
    title = films[0].name if len(films) == 1 else f"{len(films)} videos"
    return as_utf8(render(films, title)), tuple(warnings)


def _by_video(results: Sequence[tuple[str, Document]]) -> list[list[tuple[str, Document]]]:
    """The results of each video together; of features, each by itself."""
    groups: dict[tuple[str, int], list[tuple[str, Document]]] = {}
    for name, document in results:
        video = document["video"]
        key = (os.path.realpath(video["path"]), video["bytes"]) if video else (name, -1)
        groups.setdefault(key, []).append((name, document))
    return list(groups.values())


def _bare_film(results: Sequence[tuple[str, Document]]) -> Film:
    """What the results themselves say."""
    name, first = results[0]
    video = first["video"]
    ends = [shot["end_s"] for shot in first.get("shots", ())]
    return Film(
        name=Path(video["path"]).name if video else Path(name).stem,
        source=None,
        video=video,
        duration_s=first.get("duration_s") or (video and video["duration_s"]) or max(ends, default=0) or 1.0,
        documents=tuple(results),
    )


def _film(results: Sequence[tuple[str, Document]], target: Path, warnings: list[str]) -> Film:
    """The same with the video, its pictures and clips; a warning where the video is not there."""
    film = _bare_film(results)
    if film.video is None:
        return film
    try:
        info = video_behind(results[0][1])
    except InputError as error:
        warnings.append(f"{error.message}: the page has no pictures of it")
        return film
    times = {time for _, document in results for group in picture_times(document) for time in group}
    return replace(
        film,
        source=url_of(relative(info.path, target)),
        pictures=_pictures(info, sorted(times)),
        clips={name: _clips(Path(name), document, target) for name, document in results},
    )


def _pictures(info: VideoInfo, times_s: list[float]) -> dict[float, str]:
    frames = read_frames_at(info.path, times_s, LongSide(_PICTURE_SIDE), info=info) if times_s else []
    return {time: data_url(_jpeg(frame.image)) for time, frame in zip(times_s, frames, strict=True)}


def _jpeg(picture: Picture) -> bytes:
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(picture).save(content, "JPEG", quality=_JPEG_QUALITY)
    return content.getvalue()


def _clips(record: Path, document: Document, target: Path) -> list[str | None]:
    """URLs of the MP4 files of moments that `--clips` wrote beside a result; None for missing ones."""
    if "queries" not in document and "moments" not in document:
        return []
    kind = document["schema"].removeprefix("vidsum.").partition("/")[0]
    paths = clip_paths(record.parent, record.stem.removesuffix(f"_{kind}"), document)
    return [
        url_of(relative(path, target))
        if path.exists() and form_of(path, document["provenance"]) is not None
        else None
        for path in paths
    ]
