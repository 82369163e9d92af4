"""Playlists: text files that make FFmpeg open other files. They are refused unless the user allows them.

Even then only ffconcat lists and HLS playlists (.m3u8) of local files are read, never over a network. What
FFmpeg may open is settled before it opens anything.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import av

from vidsum.errors import InputError
from vidsum.types import VideoInfo

HINT = "--allow-playlists reads ffconcat lists and .m3u8 playlists of local files"

_DEMUXERS = {b"ffconcat version 1.0": "concat", b"#EXTM3U": "hls"}
"""FFmpeg's demuxer by what a playlist begins with."""
PLAYLISTS = frozenset(_DEMUXERS.values())
_OPENERS = frozenset(
    {"avisynth", "concat", "dash", "hls", "imf", "lavfi", "mlv", "rtp", "rtsp", "sap", "sdp"}
    | {"vapoursynth", "vobsub", "webm_dash_manifest"}
)
"""Demuxers that open files or addresses other than the one they are given."""
_MAX_DEPTH, _MAX_FILES = 4, 10_000
_START_WITHIN_US = "600000000"
"""Microseconds in which FFmpeg looks for the first packet of each track of some files: after 5 s of other
tracks, it would say that one starts at 0."""
_MAX_BYTES = 4 * 2**20
"""Nobody writes a longer playlist."""
_HEAD_BYTES = 1024

_URI = re.compile(r'URI="([^"]*)"')
_PROTOCOL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONCAT_TIMES = ("duration", "inpoint", "outpoint")


def is_playlist(info: VideoInfo) -> bool:
    """Return whether a video that `probe` was allowed to read is a playlist of others."""
    return info.container in PLAYLISTS


def looks_like_playlist(path: Path) -> bool:
    """Return whether a file begins as a playlist that could be allowed."""
    return _demuxer_of(path) is not None


def is_text(path: Path) -> bool:
    """Return whether a file begins as text: if FFmpeg knows it but may not open it, it is a list or a
    script.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return b"\0" not in head and b"\xff" not in head and head.decode("utf-8", "ignore").strip() != ""


def open_options(path: Path, *, allow_playlists: bool) -> dict[str, str]:
    """Options by which FFmpeg opens this file alone, or an allowed playlist and its `files_of`."""
    options = {"protocol_whitelist": "file", "format_whitelist": _formats_but(_OPENERS)}
    if _may_begin_late(path):
        options["analyzeduration"] = _START_WITHIN_US
    if allow_playlists and looks_like_playlist(path):
        files_of(path)
        options |= {"format_whitelist": _formats_but(_OPENERS - PLAYLISTS), "safe": "0"}
    return options


def _may_begin_late(path: Path) -> bool:
    """Return whether a file is Matroska or MPEG-TS, whose headers do not say when each track begins."""
    with suppress(OSError), path.open("rb") as file:
        head = file.read(197)
        is_ts = b"G" == head[:1] == head[188:189] or b"G" == head[4:5] == head[196:197]
        return is_ts or head[:4] == b"\x1aE\xdf\xa3"
    return False


def files_of(path: Path) -> tuple[Path, ...]:
    """Return a playlist, all files that it names, and those that playlists among these name; each once.

    Raises InputError where one of them is missing or not a local file, or a playlist has an unsupported line.
    """
    files: dict[Path, None] = {}
    _collect(path, path, files, _MAX_DEPTH)
    return tuple(files)


def _collect(path: Path, top: Path, files: dict[Path, None], depth: int) -> None:
    if path in files:
        return
    files[path] = None
    demuxer = _demuxer_of(path)
    if demuxer is None:
        return
    if depth == 0 or len(files) > _MAX_FILES:
        raise InputError(f"{top}: names playlists within playlists, or files, without end")
    if path.stat().st_size > _MAX_BYTES:
        raise InputError(f"{path}: is longer than a playlist can be")
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = [line.strip() for line in re.split(r"[\r\n]+", text)]  # no other signs end a line for FFmpeg
    for name in _named_by_concat(path, lines) if demuxer == "concat" else _named_by_hls(path, lines):
        _collect(_local_file(path, name), top, files, depth - 1)


def _demuxer_of(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return None
    return next((name for start, name in _DEMUXERS.items() if head.startswith(start)), None)


def _named_by_concat(path: Path, lines: list[str]) -> Iterator[str]:
    for line in lines[1:]:
        directive, _, value = line.partition(" ")
        if directive == "file":
            value = value.strip()
            is_quoted = value[:1] == value[-1:] == "'" and len(value) > 1
            if is_quoted:
                value = value[1:-1]
            if not value or set(value) & {"'", "\\"} or (not is_quoted and len(value.split()) > 1):
                raise InputError(f"{path}: cannot be read at {line!r}", hint="write file 'NAME'")
            yield value
        elif line and not line.startswith("#") and directive not in _CONCAT_TIMES:
            raise InputError(f"{path}: has {directive!r}, which is not supported in a playlist")


def _named_by_hls(path: Path, lines: list[str]) -> Iterator[str]:
    is_media = any(line.startswith("#EXTINF") for line in lines)
    if is_media and "#EXT-X-ENDLIST" not in lines:
        raise InputError(f"{path}: is a live playlist, with no end")
    for line in lines:
        if line.startswith(("#EXT-X-KEY", "#EXT-X-SESSION-KEY")) and "METHOD=NONE" not in line:
            raise InputError(f"{path}: is encrypted, which is not supported in a playlist")
        if line.startswith("#EXT"):
            if line.count("URI=") != len(_URI.findall(line)):
                raise InputError(f"{path}: has an address that is not in quotes, at {line!r}")
            yield from _URI.findall(line)
        elif line and not line.startswith("#"):
            yield line


def _local_file(playlist: Path, name: str) -> Path:
    file = playlist.parent / name
    try:
        is_local = not _PROTOCOL.match(name) and not name.startswith("//") and not set(name) & {"?", "#"}
        if is_local and file.is_file():
            return file
    except (OSError, ValueError):  # a name that no file can have
        pass
    raise InputError(f"{playlist}: names {name!r}, which is not a local file")


@lru_cache
def _formats_but(refused: frozenset[str]) -> str:
    names = set[str]()
    for name in av.formats_available:
        try:
            demuxer = av.format.ContainerFormat(name, "r").name
        except ValueError:  # can only be written
            continue
        if not refused & set(demuxer.split(",")):
            names.add(demuxer)
    return ",".join(sorted(names))
