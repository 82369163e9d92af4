"""Results as a page for a browser: the player, curves, key frames, moments, settings."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from vidsum.errors import InputError
from vidsum.io.atomic import write_text
from vidsum.outputs.artifacts import Artifacts, Writer
from vidsum.outputs.clips import clip_paths
from vidsum.outputs.names import stem_of
from vidsum.outputs.timelines import relative_path, reopen_video
from vidsum.results.clock import shift_times
from vidsum.results.cut_list import Cutting
from vidsum.results.descriptions import Descriptions
from vidsum.results.load import Text, Texts, load_text_for
from vidsum.results.media import url_of
from vidsum.results.moments import Grounding, Highlights
from vidsum.results.page import PageVideo, data_url, picture_times, render
from vidsum.results.reading import ShotTexts, find_screens, make_passages
from vidsum.results.screen_text import ScreenText
from vidsum.results.shorts import Shorts
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary
from vidsum.results.transcript import Transcript
from vidsum.types import Interval, Picture, VideoInfo
from vidsum.video.frames import LongSide
from vidsum.video.open import open_video, video_stream
from vidsum.video.probe import start_offset_s
from vidsum.video.read import read_frames_at

_PICTURE_SIDE, _VIEW_SIDE = 320, 160
_MAX_VIEWS = 120  # pictures of shots: about a megabyte
_MAX_FRAMES = 600  # pictures of a document: about ten megabytes
_MAX_IN_ROW = 8  # pictures of shots in a row without text
_JPEG_QUALITY = 72

PageResult = Cutting | Texts  # results on a page, and the transcripts and descriptions of their videos
MediaLink = Callable[[VideoInfo | Path], str]  # URL of a video or clip from the page
VideoWarning = tuple[str, str]  # the path of a video, and a warning about it


def page_writer(record: Path, target: Path, clips: tuple[Path, str] | None) -> Writer:
    """Return the writer of the page of the result in a record, which becomes the file `target`.

    `clips` are the folder and the stem of those that are about to be written.
    """

    def write(result: Cutting, path: Path) -> tuple[str, ...]:
        new = set[Path]()
        if clips and isinstance(result, Grounding | Highlights | Shorts):
            new = {clip for clip, _ in clip_paths(result, *clips)}
        text, warnings = report_text([(str(record), result)], target, clips=new)
        write_text(path, text)
        return tuple(warning for _, warning in warnings)

    return write


def report_text(
    results: Sequence[tuple[str, PageResult]], target: Path, title: str = "", *, clips: Collection[Path] = ()
) -> tuple[str, tuple[VideoWarning, ...]]:
    """Return the text of a page at `target`, where paths of videos start, and warnings.

    It links to the clips that are next to the results and vidsum's own, or about to be written.
    """
    films, warnings = report_videos(results, partial(_link, target), lambda _: True, clips)
    unplayable = (film.video for film in films if film.video and film.source and not is_playable(film.video))
    warnings += [
        (info.path, f"browsers may not play {info.codec} in this file; a bundle converts it")
        for info in unplayable
    ]
    return render(films, title), tuple(warnings)


def report_videos(
    results: Sequence[tuple[str, PageResult]],
    place: MediaLink,
    is_copied: Callable[[VideoInfo], bool],
    clips: Collection[Path] = (),
) -> tuple[list[PageVideo], list[VideoWarning]]:
    """Return the videos of results, in order, and warnings of those that are missing.

    Times are in the clock of the file that the page plays: a file that `is_copied` as it is has its own
    clock, while a file that is encoded for the page begins with the first picture.
    """
    warnings = list[VideoWarning]()
    groups = _by_video(results)
    return [_report_video(group, place, is_copied, clips, warnings) for group in groups], warnings


def is_playable(info: VideoInfo) -> bool:
    """Return whether browsers play a file: WebM, or an MP4 of codecs that all have, with 8 bits."""
    if Path(info.path).suffix.lower() == ".webm":
        return info.codec in ("vp8", "vp9", "av1")
    has_sound = (info.audio_codec or "aac").removesuffix("float") in ("aac", "mp3", "opus", "flac")
    if "mp4" not in info.container or info.codec not in ("h264", "vp9", "av1") or not has_sound:
        return False
    with open_video(info.path) as container:
        return video_stream(container, info).codec_context.pix_fmt in ("yuv420p", "yuvj420p")


def _link(target: Path, file: VideoInfo | Path) -> str:
    return url_of(relative_path(file.path if isinstance(file, VideoInfo) else file, target))


def _by_video(results: Sequence[tuple[str, PageResult]]) -> list[list[tuple[str, PageResult]]]:
    """Return the results of each video together; of features, each by itself."""
    groups: dict[tuple[str, int], list[tuple[str, PageResult]]] = {}
    for name, result in results:
        video = result.video
        key = (os.path.realpath(video.path), video.bytes) if video else (name, -1)
        groups.setdefault(key, []).append((name, result))
    return list(groups.values())


def _report_video(
    group: Sequence[tuple[str, PageResult]],
    place: MediaLink,
    is_copied: Callable[[VideoInfo], bool],
    new_clips: Collection[Path],
    warnings: list[VideoWarning],
) -> PageVideo:
    """Collect the results of one video, its pictures and clips; add a warning if the video is missing."""
    name, first = group[0]
    video = first.video
    film = PageVideo(
        name=Path(video.path).name if video else Path(name).stem,
        source=None,
        video=video,
        duration_s=max(_duration_s(result) for _, result in group),
        results=tuple((name, result) for name, result in group if isinstance(result, Cutting)),
        descriptions=_find_text(group, Descriptions),
        said=_find_text(group, Transcript),
        written=_find_text(group, ScreenText),
    )
    info = _reopen(video, warnings) if video else None
    is_shifted = info is None or is_copied(info)
    offset_s = start_offset_s(info or video) if is_shifted else 0.0
    cut = film.results if info else ()
    clips = {name: _clips(Path(name), result, place, new_clips) for name, result in cut}
    # a player with sound ahead of the pictures counts from the sound
    texts = ("results", "descriptions", "said", "written")
    later: dict[str, Any] = {name: shift_times(getattr(film, name), offset_s) for name in texts}
    film = replace(film, duration_s=film.duration_s + offset_s, clips=clips, **later)
    film = replace(film, passages=_passages(film, offset_s))
    return _with_pictures(film, info, place(info), offset_s) if info else film


def _reopen(video: VideoInfo, warnings: list[VideoWarning]) -> VideoInfo | None:
    """Return a video as it is now; None where it is missing, or another one, which adds a warning."""
    try:
        return reopen_video(video)
    except InputError as error:
        warnings.append((error.subject, f"{error.words}: the page has no pictures of it"))
        return None


def _with_pictures(film: PageVideo, info: VideoInfo, source: str, offset_s: float) -> PageVideo:
    """Return a video of the page that plays from the URL `source`, with pictures for its parts and shots."""
    times = {time for result in film.carded for times in picture_times(result) for time in times}
    starts, has_shots = _shot_starts(film, offset_s)
    shots = list(pairwise([*starts, offset_s + info.duration_s]))
    rows = (passage.shots for passage in film.passages)
    beside_text = [span for spans in rows for span in spans[:: 1 + len(spans) // _MAX_IN_ROW]]
    return replace(
        film,
        source=source,
        pictures=_pictures(info, sorted(times), _PICTURE_SIDE, offset_s),
        frames=_middles(info, beside_text, _MAX_FRAMES, _PICTURE_SIDE, offset_s),
        views=tuple(_middles(info, shots, _MAX_VIEWS, _VIEW_SIDE, offset_s).items()),
        has_shots=has_shots,
    )


def _duration_s(result: PageResult) -> float:
    if isinstance(result, Shots):
        return result.video.duration_s if result.video else float(result.edges_s[-1])
    return result.duration_s if isinstance(result, Transcript | ScreenText) else result.video_duration_s


def _find_text(group: Sequence[tuple[str, PageResult]], kind: type[Text]) -> Text | None:
    texts = (result for _, result in group if isinstance(result, kind))
    nearby = (load_text_for(Path(name), result.video, kind) for name, result in group if result.video)
    return next(filter(None, chain(texts, nearby)), None)


def _shot_starts(film: PageVideo, begin_s: float) -> tuple[list[float], bool]:
    """Return when each shot begins, and True; times of other pictures and False where no result has shots."""
    for _, result in film.results:
        if isinstance(result, Shots):
            return [start_s for start_s, _ in result.intervals], True
        if isinstance(result, Summary):
            return [shot.start_s for shot in result.shots], False  # parts of shots, too
    length_s = film.duration_s - begin_s
    count = min(_MAX_VIEWS, max(1, round(length_s)))
    return [begin_s + length_s * number / count for number in range(count)], False


def _passages(film: PageVideo, begin_s: float) -> tuple[ShotTexts, ...]:
    """Return the passages of a video's text, by its shots where these are known."""
    said = [(part.start_s, part.end_s, part.displayed) for part in film.said.segments] if film.said else []
    results = [(name, result) for name, result in film.results if isinstance(result, Shots | Summary)]
    results.sort(key=lambda named: not isinstance(named[1], Shots))  # these are finer, and have no cards
    written = [(line.start_s, line.end_s, line.text) for line in film.written.lines] if film.written else []
    starts = [begin_s, *(start for start in find_screens(written) if start > begin_s)]
    if results:
        starts = _shot_starts(replace(film, results=tuple(results)), begin_s)[0]
    return tuple(make_passages(starts, film.duration_s, said, written))


def _middles(
    info: VideoInfo, spans: Sequence[Interval], most: int, side: int, offset_s: float
) -> dict[float, str]:
    """Return pictures of spans, from their middles, by their starts; of more than `most`, of some."""
    spans = spans[:: 1 + len(spans) // (most + 1)]
    middles = {start: (start + end) / 2 for start, end in spans}
    pictures = _pictures(info, sorted({*middles.values()}), side, offset_s)
    return {start: pictures[middle] for start, middle in middles.items()}


def _pictures(info: VideoInfo, times_s: list[float], side: int, offset_s: float) -> dict[float, str]:
    own_s = [time_s - offset_s for time_s in times_s]
    frames = read_frames_at(info, own_s, LongSide(side)) if times_s else []
    return {time: data_url(_jpeg(frame.image)) for time, frame in zip(times_s, frames, strict=True)}


def _jpeg(picture: Picture) -> bytes:
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(picture).save(content, "JPEG", quality=_JPEG_QUALITY)
    return content.getvalue()


def _clips(record: Path, result: Cutting, place: MediaLink, new_clips: Collection[Path]) -> list[str | None]:
    """Return the URLs of the clips of a result next to it, or about to be; None for missing ones."""
    if not isinstance(result, Grounding | Highlights | Shorts):
        return []
    stems = record.stem.removesuffix(f"_{result.kind}"), stem_of(result.video.path if result.video else "")
    pairs = [*zip(*(clip_paths(result, record.parent, stem) for stem in stems), strict=True)]
    owned = Artifacts(record).owned(path for pair in pairs for path, _ in pair)
    ours = [[path for path, _ in pair if path in owned or path in new_clips] for pair in pairs]
    return [place(paths[0]) if paths else None for paths in ours]
