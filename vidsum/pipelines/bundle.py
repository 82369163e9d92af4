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

from vidsum.errors import OutputError
from vidsum.names import wanted
from vidsum.outputs import atomic_write, check_target, make_folder
from vidsum.pipelines.report import Shown, films_of, plays, report_text
from vidsum.results.media import url_of
from vidsum.results.page import render
from vidsum.types import VideoInfo
from vidsum.video.write import write_segments

PathLike = str | os.PathLike[str]

_PAGE = "index.html"
_MARK = '<meta name="generator" content="vidsum">'
_ENDINGS = {"captions": ".vtt", "subtitles": ".descriptions.vtt"}


def write_report(
    results: Shown | Sequence[Shown], path: PathLike, *, title: str = "", embed: bool = False
) -> tuple[str, ...]:
    """Write one or more results as a page, which names videos by relative paths; see docs/report.md.

    Args:
        results: of one or several videos; transcripts and descriptions stand beside the player.
        path: of the page, ending in `.html`; else see `write_bundle`.
        title: of the page; the name of the video, or the number of videos, if not given.
        embed: put small videos into the page.

    Returns:
        Warnings: of videos that are not there any more, whose pictures the page lacks.

    Raises:
        UsageError: there is none, or one is of another class; or the videos are too long to embed.
        OutputError: the file cannot be written.
    """
    several = results if isinstance(results, Sequence) else [results]
    for one in several or (None,):
        wanted(one, Shown)
    named = [(f"result {number}", one) for number, one in enumerate(several, 1)]
    if Path(path).suffix.lower() != ".html":
        return write_bundle(named, Path(path), title)
    text, warnings = report_text(named, Path(path), title, embed=embed)
    with atomic_write(path) as part:
        part.write_text(text, encoding="utf-8")
    return warnings


def write_bundle(
    results: Sequence[tuple[str, Shown]], target: Path, title: str = "", *, overwrite: bool = True
) -> tuple[str, ...]:
    """Write a page with its videos, clips and subtitles, as a ZIP where the name ends so, else as a folder.

    A video that browsers may not play becomes an MP4 that they do.

    Args:
        results: the path of each result file, and what it holds.
        target: the ZIP or folder.
        title: see `vidsum.write_report`.
        overwrite: replace a bundle that is there.

    Returns warnings. Raises OutputError: it is there, is a folder of other files, or cannot be written.
    """
    _check(target, overwrite=overwrite)
    try:
        with TemporaryDirectory(prefix=".vidsum-", dir=target if target.is_dir() else target.parent) as place:
            return _write(results, target, title, place)
    except OSError as error:
        raise OutputError(f"{target}: cannot be written ({error.strerror or error})") from error


def _write(results: Sequence[tuple[str, Shown]], target: Path, title: str, place: str) -> tuple[str, ...]:
    """The same, with a folder to work in."""
    files: dict[str, Path] = {}

    def add(file: VideoInfo | Path) -> str:
        path = Path(file.path) if isinstance(file, VideoInfo) else file
        name = re.sub(r"[^\w.() -]", "_", path.name)
        if isinstance(file, VideoInfo) and not plays(file):
            path, name = Path(place, f"{len(files)}.mp4"), f"{PurePath(name).stem}.mp4"
            write_segments(file, [(0, file.duration_s)], path)
        while files.setdefault(f"media/{name}", path) != path:
            name = f"_{name}"
        return url_of(f"media/{name}")

    films, warnings = films_of(results, add)
    texts = {
        f"{PurePath(unquote(film.source)).with_suffix(_ENDINGS[panel.kind])}": panel.vtt
        for film in films
        if film.source
        for panel in film.panels
    }
    for name, text in {**texts, _PAGE: render(films, title)}.items():  # the page last
        files[name] = Path(place, f"{len(files)}.text")
        files[name].write_text(text, "utf-8")
    if _is_zip(target):
        with atomic_write(target) as part, zipfile.ZipFile(part, "w", strict_timestamps=False) as archive:
            for name, path in files.items():
                archive.write(path, name)
    elif target.exists():
        _fill(target, files)
    else:
        _fill(Path(place, "bundle"), files)
        Path(place, "bundle").rename(target)
    return tuple(warnings)


def _check(target: Path, *, overwrite: bool) -> None:
    if _is_zip(target) or not target.is_dir():
        check_target(target)
    page = target / _PAGE
    is_own = page.is_file() and _MARK in page.read_text("utf-8", "replace")[:1000]
    if target.is_dir() and any(target.iterdir()) and not is_own:
        raise OutputError(f"{target}: is a folder of other files", hint="name a new folder")
    if not _is_zip(target) and target.is_file():
        raise OutputError(f"{target}: is a file, and neither a ZIP nor a folder", hint=f"{target}.zip")
    if not overwrite and (is_own or target.is_file()):
        raise OutputError(f"{target}: already exists", hint="--overwrite")


def _is_zip(target: Path) -> bool:
    return target.suffix.lower() == ".zip"


def _fill(folder: Path, files: Mapping[str, Path]) -> None:
    for name, path in files.items():
        make_folder((folder / name).parent)
        if not (folder / name).exists() or not path.samefile(folder / name):
            with atomic_write(folder / name) as part:
                shutil.copyfile(path, part)
