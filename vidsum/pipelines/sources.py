"""Inputs of pipelines: the path of a video, a `Video` that keeps results in memory, features."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vidsum.errors import InputError, UsageError, VidsumError
from vidsum.features.settings import Extraction
from vidsum.io.file_names import existing_path
from vidsum.io.text import decode, read_bytes, read_stdin
from vidsum.io.urls import Url, is_url, local_path
from vidsum.results.feature_files import is_feature_file
from vidsum.results.features import Features
from vidsum.types import Picture, TimeArray, VideoInfo
from vidsum.video.frames import LongSide
from vidsum.video.hdr import describe_hdr
from vidsum.video.open import open_video, video_stream
from vidsum.video.probe import has_video_name, is_video, probe
from vidsum.video.read import read_frames_at
from vidsum.video.timing import read_jumps
from vidsum.video.tracks import choose_track, describe_tracks

VideoPath = str | os.PathLike[str]
Given = TypeVar("Given")
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Video:
    """A video file whose features stay in memory, for many queries or summaries, until it changes."""

    path: VideoPath
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    """Results in memory, by the digest of their provenance."""

    def __fspath__(self) -> str:
        """Return its path, for all that reads a file."""
        return source_path(self)


Source = VideoPath | Video | Features  # a video, a feature file (`x.npz`, `x.h5`, `x.h5#video`), or features


def describe_file(video: VideoInfo) -> tuple[str, ...]:
    """Return notes on a video's time stamps, if they jump, and on high dynamic range."""
    with open_video(video.path) as container:
        hdr = describe_hdr(video.path, video_stream(container, video))
    return (*read_jumps(video).describe(), *([hdr] if hdr else []))


def list_tracks(video: VideoInfo) -> list[dict[str, Any]]:
    """List the tracks of a video with sound and pictures, those that are used marked; see docs/info.md."""
    with open_video(video.path) as container:
        sound = choose_track(container, video.path, "audio", video.audio_track)
        return describe_tracks(container, [video_stream(container, video), sound])


def source_path(source: VideoPath | Video) -> str:
    """Return the path of a video or feature file. Raises UsageError: this is no path."""
    path: object = source.path if isinstance(source, Video) else source
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"expected the path of a video, not {type(path).__name__}", hint=_source_hint(path))
    return existing_path(local_path(os.fspath(path)))


def _source_hint(value: object) -> str:
    if isinstance(value, Features | VideoInfo):
        return "features.video.path" if isinstance(value, Features) else "its attribute `path`"
    if isinstance(value, list | tuple):
        return "for several videos: vidsum.iter_results(vidsum.summarize, paths)"
    return "for an array of features: vidsum.Features.from_array(array, fps=...)"


def memo_of(source: Source) -> dict[str, Any] | None:
    """Return where a source keeps what was made of it, if it does."""
    return source.memo if isinstance(source, Video) else None


def has_pictures(source: VideoPath | Video) -> bool:
    """Return whether a source is a video by its name, not a feature file."""
    return not is_feature_file(source_path(source))


def probe_video(source: VideoPath, extraction: Extraction) -> VideoInfo:
    """Probe a video, again only if the file changed. Raises InputError: see `vidsum.probe`."""
    options = (("video_track", extraction.video_track), ("audio_track", extraction.audio_track))
    try:
        status = Path(source).stat()
    except (OSError, ValueError):  # probing names the fault
        return probe(source, **dict(options))
    return _probe_unchanged(os.fspath(source), options, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=64)
def _probe_unchanged(path: str, options: tuple[tuple[str, Any], ...], size: int, mtime_ns: int) -> VideoInfo:
    return probe(path, **dict(options))


def copy_of(name: str) -> tuple[str, Url | None]:
    """Return where the copy of a URL is, or will be, and the URL; other names as they are."""
    if not is_url(name := local_path(name)):
        with suppress(InputError):  # opening it names the fault
            name = existing_path(name)
        return name, None
    from vidsum.pipelines.download import copy_path, is_web

    url = Url(name)
    if not is_web(name):  # opening it names the fault
        return url, None
    return str(copy_path(url)), url


def expand(
    paths: Iterable[str], *, recursive: bool = False, takes: Callable[[Path], bool] = is_video
) -> list[str]:
    """Return the inputs, each once, folders replaced by their videos (below too with `recursive`), or by
    other files that the command `takes`.
    """
    inputs: dict[str, None] = {}
    for path in paths:
        files = list(files_in(path, recursive, takes)) if is_folder(path) else []
        inputs |= dict.fromkeys(files or [path])
    return list(inputs)


def is_media(path: Path) -> bool:
    """Return whether a file of a folder is taken for a video or a photograph."""
    from vidsum.video.photographs import is_photograph  # loads Pillow

    return is_photograph(path) or is_video(path)


def files_in(folder: str, recursive: bool, takes: Callable[[Path], bool]) -> Iterator[str]:
    """Yield the files of a folder that a command takes, by name, without hidden files and folders.

    Folders that may not be read come last, as inputs: to open one names the fault.
    """
    unreadable = list[str]()
    for place, below, names in os.walk(folder, onerror=lambda error: unreadable.append(error.filename)):
        below[:] = sorted(name for name in below if not name.startswith(".")) if recursive else []
        for name in sorted(name for name in names if not name.startswith(".")):
            path = Path(place) / name
            if takes(path):
                yield str(path)
    yield from unreadable


def count_subfolders(folder: str, *, photographs: bool = False) -> int:
    """Return how many subfolders of a folder hold a file with the name of a video, or of `photographs`.

    Folders below them are not read: there may be very many. Hidden ones, and links to folders, do not count.
    """
    from vidsum.video.photographs import is_photograph

    def takes(path: Path) -> bool:
        return has_video_name(path) or (photographs and is_photograph(path))

    _, below, _ = next(os.walk(folder), ("", [], []))
    places = [Path(folder) / name for name in below if not name.startswith(".")]
    plain = (str(place) for place in places if not place.is_symlink())
    return sum(any(not is_folder(path) for path in files_in(place, False, takes)) for place in plain)


def count_photographs(folders: Iterable[str], *, recursive: bool) -> int:
    """Return the number of photographs in folders; each counts once."""
    from vidsum.video.photographs import is_photograph

    files = {path for folder in folders for path in files_in(folder, recursive, is_photograph)}
    return sum(is_photograph(Path(path)) for path in files)  # a folder that may not be read is no photograph


def read_list(file: str) -> list[str]:
    """Return the paths in a file (`-` is stdin): one per line, or separated by NUL as by `find -print0`.

    Blank lines and lines that begin with # are skipped. Raises InputError: the file cannot be read, or
    is not text. UsageError: it names nothing.
    """
    name = "stdin" if file == "-" else file
    content = read_stdin() if file == "-" else read_bytes(file)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            content = decode(content).encode()
        except UnicodeDecodeError as error:
            raise InputError("is damaged UTF-16 text", hint="write it as UTF-8", subject=name) from error
    if b"\0\0" in content:  # no list has names without letters; media files have such bytes at their start
        raise InputError("is not a list of files (not text)", subject=name)
    separator = b"\0" if b"\0" in content else b"\n"
    lines = [line.removesuffix(b"\r") for line in content.removeprefix(codecs.BOM_UTF8).split(separator)]
    lines = [line for line in lines if line.strip() and (separator == b"\0" or not line.startswith(b"#"))]
    paths = [os.fsdecode(line) for line in lines]
    if not paths:
        raise UsageError("names no input", hint="one path per line", subject=name)
    return paths


def is_folder(path: str) -> bool:
    """Return whether a path leads to a folder; a name that no file can have does not."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def read_frames(
    source: VideoPath | Video, times_s: Sequence[float] | TimeArray, *, max_side: int | None = None
) -> list[Picture]:
    """Return the frames of a video that are on screen at some times.

    Args:
        source: a video.
        times_s: seconds from the first picture, in any order. Before the start it is the first frame, after
            the end the last.
        max_side: maximum length of the longer side in pixels; the size that the video is shown at if not
            given.

    Returns one [H, W, 3] array of RGB for each time: upright, with square pixels. Raises InputError: the
    video cannot be read. UsageError: the source is features, a time is not a finite number, or `max_side` is
    not positive.
    """
    if not has_pictures(source):
        raise UsageError("features have no frames", hint="give the video", subject=source_path(source))
    try:
        times = np.asarray(times_s, np.float64)
    except (TypeError, ValueError):
        times = np.array(np.nan)
    if times.ndim != 1 or not np.isfinite(times).all():
        raise UsageError(f"times_s must be a list of finite numbers, not {times_s!r}")
    if max_side is not None and max_side < 1:
        raise UsageError(f"max_side must be at least 1, not {max_side!r}")
    info = probe_video(source_path(source), Extraction())
    longest = max(info.display_width, info.display_height)
    size = None if max_side is None else LongSide(min(max_side, longest))
    frames = read_frames_at(info, times.tolist(), size)
    return [frame.image for frame in frames]


def iter_results(
    step: Callable[[Given], Made], sources: Iterable[Given]
) -> Iterator[tuple[Given, Made | VidsumError]]:
    """Yield each source and the result of a step, such as `vidsum.summarize`, as soon as it is made.

    A VidsumError takes the place of its result, and the others follow; an error that all would meet, such as
    missing weights, is raised. Raises UsageError: the step cannot be called, or `sources` is a single path
    and not a list.
    """
    if not callable(step):
        raise UsageError("the step cannot be called", hint="vidsum.iter_results(step, sources)")
    if isinstance(sources, str | os.PathLike) or not isinstance(sources, Iterable):
        fault = f"expected a list of videos, not {type(sources).__name__}"
        raise UsageError(fault, hint="for a single video: vidsum.iter_results(step, [source])")
    for source in sources:
        made: Made | VidsumError
        try:
            made = step(source)
        except VidsumError as error:
            if error.ends_batch:
                raise
            made = error
        yield source, made
