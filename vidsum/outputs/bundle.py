"""The page of results as a file, or with all that it shows as a ZIP that opens from any place."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from urllib.parse import unquote

from vidsum.errors import message_of, require_type
from vidsum.io.atomic import atomic_write, write_text
from vidsum.outputs.alone import PathLike, write_public
from vidsum.outputs.names import require_suffix
from vidsum.outputs.pages import PageResult, is_playable, report_text, report_videos
from vidsum.results.media import url_of
from vidsum.results.page import render
from vidsum.results.result import reads_of_results
from vidsum.types import VideoInfo
from vidsum.video.write import write_segments

_PAGE = "index.html"
_ENDINGS = {"captions": ".vtt", "subtitles": ".descriptions.vtt"}

File = Path | VideoInfo | str  # a copy, a video as an MP4 that browsers play, or a text


def write_report(
    results: PageResult | Sequence[PageResult], path: PathLike, *, title: str = "", overwrite: bool = False
) -> tuple[str, ...]:
    """Write one or more results as a page, which names videos by relative paths; see docs/report.md.

    Args:
        results: of one or several videos; transcripts and descriptions appear next to the player.
        path: of the page, ending in `.html`; or of a `.zip`, see `write_bundle`.
        title: of the page; the name of the video, or the number of videos, if not given.
        overwrite: replace a file that vidsum did not write too.

    Returns warnings of missing videos. Raises UsageError: there is no result, one is of another class, or the
    path ends otherwise. OutputError: the file cannot be written.
    """
    several = results if isinstance(results, Sequence) else [results]
    for result in several or (None,):
        require_type(result, PageResult)
    named = [(f"result {number}", result) for number, result in enumerate(several, 1)]
    target = Path(path)
    require_suffix(target, (".html", ".zip"), "path", any_case=True)

    def write(named: Sequence[tuple[str, PageResult]], part: Path) -> tuple[str, ...]:
        if target.suffix.lower() == ".zip":
            return write_bundle(named, part, title)
        text, warnings = report_text(named, target, title)
        write_text(part, text)
        return tuple(message_of(*warning) for warning in warnings)

    reads = reads_of_results(*several)
    return write_public(named, {"report": target}, {"report": write}, overwrite=overwrite, reads=reads)


def write_bundle(results: Sequence[tuple[str, PageResult]], target: Path, title: str = "") -> tuple[str, ...]:
    """Write a page with its videos, clips and subtitles as a ZIP, and return warnings.

    A video that browsers may not play becomes an MP4. `results` are (path of the result file, content).
    Raises OutputError: it cannot be written.
    """
    files, warnings = _files_of(results, title)
    with (
        atomic_write(target) as part,
        zipfile.ZipFile(part, "w") as archive,
        TemporaryDirectory(prefix=".vidsum-", dir=target.parent) as place,
    ):
        for name, file in files.items():
            entry = zipfile.ZipInfo(name)  # without the time, so that the same files make the same ZIP
            if isinstance(file, str):
                archive.writestr(entry, file)
                continue
            path = file if isinstance(file, Path) else Path(place, "film.mp4")
            if isinstance(file, VideoInfo):
                write_segments(file, [(0, file.duration_s)], path)
            with path.open("rb") as content, archive.open(entry, "w", force_zip64=True) as stored:
                shutil.copyfileobj(content, stored)
    return warnings


def _files_of(
    results: Sequence[tuple[str, PageResult]], title: str
) -> tuple[dict[str, File], tuple[str, ...]]:
    files: dict[str, File] = {}
    stems: dict[str, Path] = {}

    def add(file: VideoInfo | Path) -> str:
        path = Path(file.path) if isinstance(file, VideoInfo) else file
        name = PurePath(re.sub(r"[^\w.() -]", "_", path.name))
        while stems.setdefault(name.stem.casefold(), path) != path:  # some systems ignore case
            name = name.with_name(f"_{name}")
        is_copy = not isinstance(file, VideoInfo) or is_playable(file)
        place = f"media/{name if is_copy else name.with_suffix('.mp4')}"
        files[place] = path if is_copy else file
        return url_of(place)

    films, warnings = report_videos(results, add, is_playable)
    for film in films:
        for panel in film.panels:
            if film.source:
                name = PurePath(unquote(film.source)).with_suffix(_ENDINGS[panel["kind"]])
                files[name.as_posix()] = panel["vtt"]
    files[_PAGE] = render(films, title)
    return files, tuple(message_of(*warning) for warning in warnings)
