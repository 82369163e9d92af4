"""The inputs of a batch: files, the videos in folders, and lists of either."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from vidsum.errors import UsageError
from vidsum.text_files import read_bytes, read_stdin
from vidsum.video.probe import is_video


def expand(paths: Iterable[str], *, recursive: bool = False, allow_playlists: bool = False) -> list[str]:
    """The inputs, each once, folders replaced by the videos in them; a folder without any stays.

    Args:
        paths: files and folders.
        recursive: go into the folders below, but not through links.
        allow_playlists: playlists of local files are videos too.
    """
    inputs: dict[str, None] = {}
    for path in paths:
        videos = list(videos_in(path, recursive, allow_playlists)) if is_folder(path) else []
        inputs |= dict.fromkeys(videos or [path])
    return list(inputs)


def videos_in(folder: str, recursive: bool, allow_playlists: bool) -> Iterator[str]:
    """The videos of a folder (see `is_video`) by name, without hidden files and folders."""
    for place, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith(".")) if recursive else []
        for name in sorted(name for name in names if not name.startswith(".")):
            path = Path(place) / name
            if is_video(path, allow_playlists=allow_playlists):
                yield str(path)


def read_list(file: str) -> list[str]:
    """The paths in a file (`-` is stdin): one per line, or separated by NUL as `find -print0` writes them.

    Raises:
        InputError: the file cannot be read.
        UsageError: it names nothing.
    """
    content = read_stdin() if file == "-" else read_bytes(file)
    separator = b"\0" if b"\0" in content else b"\n"
    lines = content.removeprefix(b"\xef\xbb\xbf").split(separator)
    paths = [os.fsdecode(line.removesuffix(b"\r")) for line in lines if line.strip()]
    if not paths:
        raise UsageError(f"{'stdin' if file == '-' else file}: lists no input", hint="one path per line")
    return paths


def is_folder(path: str) -> bool:
    """Whether a path leads to a folder; a name that no file can have does not."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False
