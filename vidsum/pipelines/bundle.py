"""The page of results as a file, or with all that it shows as a folder or ZIP that opens from any place."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from urllib.parse import unquote

from vidsum.errors import OutputError, require_type
from vidsum.io.outputs import atomic_write, check_target, make_folder, write_text
from vidsum.pipelines.replacing import require_replaceable
from vidsum.pipelines.report import PageResult, is_playable, report_text, report_videos
from vidsum.results.media import url_of
from vidsum.results.page import render
from vidsum.types import VideoInfo
from vidsum.video.write import write_segments

PathLike = str | os.PathLike[str]

_PAGE = "index.html"
_MARK = '<meta name="generator" content="vidsum">'
_ENDINGS = {"captions": ".vtt", "subtitles": ".descriptions.vtt"}

File = Path | VideoInfo | str  # a copy, a video as an MP4 that browsers play, or a text


def write_report(
    results: PageResult | Sequence[PageResult],
    path: PathLike,
    *,
    title: str = "",
    embed: bool = False,
    overwrite: bool = False,
) -> tuple[str, ...]:
    """Write one or more results as a page, which names videos by relative paths; see docs/report.md.

    Args:
        results: of one or several videos; transcripts and descriptions appear next to the player.
        path: of the page, ending in `.html`; else see `write_bundle`.
        title: of the page; the name of the video, or the number of videos, if not given.
        embed: put small videos into the page.
        overwrite: replace a page with another content.

    Returns warnings of missing videos. Raises UsageError: there is no result, one is of another class, or the
    videos are too long to embed. OutputError: the file cannot be written.
    """
    several = results if isinstance(results, Sequence) else [results]
    for result in several or (None,):
        require_type(result, PageResult)
    named = [(f"result {number}", result) for number, result in enumerate(several, 1)]
    if Path(path).suffix.lower() != ".html":
        return write_bundle(named, Path(path), title)[1]
    text, warnings = report_text(named, Path(path), title, embed=embed)
    require_replaceable(path, overwrite=overwrite, text=text)
    write_text(path, text)
    return warnings


def write_bundle(
    results: Sequence[tuple[str, PageResult]], target: Path, title: str = "", *, overwrite: bool = True
) -> tuple[bool, tuple[str, ...]]:
    """Write a page with its videos, clips and subtitles, as a ZIP where the name ends so, else as a folder.

    A video that browsers may not play becomes an MP4. `results` are (path of the result file, content).
    Returns whether it was written, as it was not there yet or `overwrite`, and warnings. Raises OutputError:
    another is there, it is a folder of other files, or it cannot be written.
    """
    is_there = _check(target)
    files, warnings = _files_of(results, title)
    if is_there and not overwrite:
        if not _is_bundle_of(files, target):
            raise OutputError(f"{target}: already exists, and differs", hint="--overwrite")
        return False, warnings
    try:
        with TemporaryDirectory(prefix=".vidsum-", dir=target if target.is_dir() else target.parent) as place:
            _write(files, target, Path(place))
    except OSError as error:
        raise OutputError(f"{target}: cannot be written ({error.strerror or error})") from error
    return True, warnings


def _check(target: Path) -> bool:
    """Return whether a bundle, or another ZIP, is there. Raises OutputError: another folder or file is."""
    if _is_zip(target) or not target.is_dir():
        check_target(target)
    page = target / _PAGE
    is_own = page.is_file() and _MARK in page.read_text("utf-8", "replace")[:1000]
    if target.is_dir() and any(target.iterdir()) and not is_own:
        raise OutputError(f"{target}: is a folder of other files", hint="name a new folder")
    if not _is_zip(target) and target.is_file():
        raise OutputError(f"{target}: is a file, and neither a ZIP nor a folder", hint=f"{target}.zip")
    return is_own or target.is_file()


def _is_zip(target: Path) -> bool:
    return target.suffix.lower() == ".zip"


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
                name = PurePath(unquote(film.source)).with_suffix(_ENDINGS[panel.kind])
                files[name.as_posix()] = panel.vtt
    files[_PAGE] = render(films, title)
    return files, tuple(warnings)


def _is_bundle_of(files: Mapping[str, File], target: Path) -> bool:
    """Return whether a bundle has this page and all other files; copies are compared by size."""
    try:
        if _is_zip(target):
            with zipfile.ZipFile(target) as archive:
                sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
                page = archive.read(_PAGE)
        else:
            sizes = {name: (target / name).stat().st_size for name in files}
            page = (target / _PAGE).read_bytes()
    except (OSError, KeyError, zipfile.BadZipFile):
        return False
    copies = {name: file.stat().st_size for name, file in files.items() if isinstance(file, Path)}
    has_all = files.keys() <= sizes.keys() and copies.items() <= sizes.items()
    return has_all and page.decode("utf-8", "replace") == files[_PAGE]


def _write(files: Mapping[str, File], target: Path, place: Path) -> None:
    if _is_zip(target):
        with atomic_write(target) as part, zipfile.ZipFile(part, "w", strict_timestamps=False) as archive:
            for name, file in files.items():
                if isinstance(file, str):
                    archive.writestr(zipfile.ZipInfo(name), file)
                else:
                    archive.write(file if isinstance(file, Path) else _put(file, place / "film.mp4"), name)
    elif target.exists():
        _fill(target, files)
    else:
        _fill(place / "bundle", files)
        (place / "bundle").rename(target)


def _fill(folder: Path, files: Mapping[str, File]) -> None:
    """Write all files. Raises OutputError: one would replace a video that is to be shown."""
    media = {
        name: os.path.realpath(file if isinstance(file, Path) else file.path)
        for name, file in files.items()
        if not isinstance(file, str)
    }
    places = {name: os.path.realpath(folder / name) for name in files}
    for name, place in places.items():
        if place in media.values() and (place != media.get(name) or isinstance(files[name], VideoInfo)):
            raise OutputError(f"{folder / name}: is one of the videos to show", hint="name a new folder")
    for name, file in files.items():
        if places[name] != media.get(name):
            make_folder((folder / name).parent)
            _put(file, folder / name)


def _put(file: File, target: Path) -> Path:
    if isinstance(file, VideoInfo):
        write_segments(file, [(0, file.duration_s)], target)
        return target
    with atomic_write(target) as part:
        if isinstance(file, Path):
            shutil.copyfile(file, part)
        else:
            part.write_text(file, "utf-8")
    return target
