"""Results as a page for a browser: the player, curves, key frames, moments, settings."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path

from vidsum.errors import InputError, UsageError
from vidsum.outputs import as_utf8, atomic_write
from vidsum.pipelines.export import clips_of, form_of
from vidsum.pipelines.timelines import relative, video_behind
from vidsum.results.cuts import Cutting
from vidsum.results.descriptions import Descriptions
from vidsum.results.load import Text, Texts, text_beside
from vidsum.results.media import url_of
from vidsum.results.moments import Grounding, Highlights
from vidsum.results.page import Film, data_url, picture_times, render
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary
from vidsum.results.transcript import Transcript
from vidsum.types import Picture, VideoInfo
from vidsum.video.frames import LongSide
from vidsum.video.read import read_frames_at

PathLike = str | os.PathLike[str]

_PICTURE_SIDE, _VIEW_SIDE = 320, 160
_MOST_VIEWS = 120
"""Pictures of shots: about a megabyte."""
_JPEG_QUALITY = 72


Shown = Cutting | Texts
"""What a page shows: results, and the texts of their videos."""


def write_report(results: Shown | Sequence[Shown], path: PathLike, *, title: str = "") -> tuple[str, ...]:
    """Write one or more results as an HTML page, which names videos by relative paths; see docs/report.md.

    Args:
        results: of one or several videos; transcripts and descriptions stand beside the player.
        path: of the page.
        title: of the page; the name of the video, or the number of videos, if not given.

    Returns:
        Warnings: of videos that are not there any more, whose pictures the page lacks.

    Raises:
        UsageError: one is none of summaries, shots, moments, highlights, transcripts and descriptions.
        OutputError: the file cannot be written.
    """
    several = results if isinstance(results, Sequence) else [results]
    others: list[object] = [one for one in several if not isinstance(one, Shown)]
    if others:
        kinds = "Summary, Shots, Grounding, Highlights, Transcript or Descriptions"
        raise UsageError(f"a report shows a {kinds}, not a {type(others[0]).__name__}")
    named = [(f"result {number}", one) for number, one in enumerate(several, 1)]
    text, warnings = report_text(named, Path(path), title)
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
    return warnings


def report_text(
    results: Sequence[tuple[str, Shown]], target: Path, title: str = ""
) -> tuple[str, tuple[str, ...]]:
    """The text of a page, and warnings.

    Args:
        results: the path of each result file, and what it holds.
        target: the file that it is for; paths of videos start at its folder.
        title: see `write_report`.
    """
    warnings: list[str] = []
    films = [_film(group, target, warnings) for group in _by_video(results)]
    title = title or (films[0].name if len(films) == 1 else f"{len(films)} videos")
    return as_utf8(render(films, title)), tuple(warnings)


def _by_video(results: Sequence[tuple[str, Shown]]) -> list[list[tuple[str, Shown]]]:
    """The results of each video together; of features, each by itself."""
    groups: dict[tuple[str, int], list[tuple[str, Shown]]] = {}
    for name, result in results:
        video = result.video
        key = (os.path.realpath(video.path), video.bytes) if video else (name, -1)
        groups.setdefault(key, []).append((name, result))
    return list(groups.values())


def _bare_film(group: Sequence[tuple[str, Shown]]) -> Film:
    """What the results themselves say."""
    name, first = group[0]
    video = first.video
    return Film(
        name=Path(video.path).name if video else Path(name).stem,
        source=None,
        video=video,
        duration_s=max(_duration_s(result) for _, result in group),
        results=tuple((name, result) for name, result in group if isinstance(result, Cutting)),
        descriptions=_text(group, Descriptions),
        said=_text(group, Transcript),
    )


def _duration_s(result: Shown) -> float:
    if isinstance(result, Shots):
        return result.video.duration_s if result.video else float(result.edges_s[-1])
    return result.duration_s if isinstance(result, Transcript) else result.video_duration_s


def _text(group: Sequence[tuple[str, Shown]], kind: type[Text]) -> Text | None:
    """The transcript or the descriptions of a video: one of the results, or beside one of them."""
    given = (result for _, result in group if isinstance(result, kind))
    beside = (text_beside(Path(name), result.video, kind) for name, result in group if result.video)
    return next(filter(None, chain(given, beside)), None)


def _film(group: Sequence[tuple[str, Shown]], target: Path, warnings: list[str]) -> Film:
    """The same with the video, its pictures and clips; a warning where the video is not there."""
    film = _bare_film(group)
    if film.video is None:
        return film
    try:
        info = video_behind(film.video)
    except InputError as error:
        warnings.append(f"{error.message}: the page has no pictures of it")
        return film
    times = {time for _, result in film.results for times in picture_times(result) for time in times}
    starts, has_shots = _starts(film)
    return replace(
        film,
        source=url_of(relative(info.path, target)),
        pictures=_pictures(info, sorted(times), _PICTURE_SIDE),
        clips={name: _clips(Path(name), result, target) for name, result in film.results},
        views=_views(info, starts),
        has_shots=has_shots,
    )


def _starts(film: Film) -> tuple[list[float], bool]:
    """When each shot begins, and True; evenly spaced times and False where no result has shots."""
    for _, result in film.results:
        if isinstance(result, Shots):
            return [start_s for start_s, _ in result.intervals], True
        if isinstance(result, Summary):
            return [shot.start_s for shot in result.shots], True
    count = min(_MOST_VIEWS, max(1, round(film.duration_s)))
    return [film.duration_s * number / count for number in range(count)], False


def _views(info: VideoInfo, starts_s: list[float]) -> tuple[tuple[float, str], ...]:
    """A picture of each shot, from its middle, with its start; of very many shots, of some."""
    spans = list(pairwise([*starts_s, info.duration_s]))[:: -(-len(starts_s) // _MOST_VIEWS)]
    pictures = _pictures(info, [(start + end) / 2 for start, end in spans], _VIEW_SIDE)
    return tuple(zip((start for start, _ in spans), pictures.values(), strict=True))


def _pictures(info: VideoInfo, times_s: list[float], side: int) -> dict[float, str]:
    frames = read_frames_at(info, times_s, LongSide(side)) if times_s else []
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
