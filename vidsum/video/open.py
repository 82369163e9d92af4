"""Open video and sound files, and no other file or address that a playlist among them may name."""

import errno
import os
import re
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from shlex import quote

import av

from vidsum.errors import InputError
from vidsum.io.file_names import missing_file, unreadable_file
from vidsum.io.series import suggest_film
from vidsum.types import TrackChoice, VideoInfo
from vidsum.video.tracks import choose_track, list_tracks

_PLAYLIST_STARTS = (b"ffconcat version 1.0", b"#EXTM3U")
_OPENERS = frozenset(
    {"avisynth", "concat", "dash", "hls", "imf", "lavfi", "mlv", "rtp", "rtsp", "sap", "sdp"}
    | {"vapoursynth", "vobsub", "webm_dash_manifest"}
)  # demuxers that open other files or addresses than the named one
_ANALYZE_US = "600000000"
"""Microseconds in which FFmpeg looks for the first packet of each track: after 5 s of other tracks, it would
say that one starts at 0."""
_HEAD_BYTES = 1024


def open_video(path: str | os.PathLike[str]) -> av.container.InputContainer:
    """Open a video file. Raises InputError: it cannot be read, is a playlist, or has no video stream."""
    container = open_media(path)
    try:
        video_stream(container, path)
    except InputError:
        container.close()
        raise
    for stream in container.streams.video:
        if stream.codec_context:
            stream.thread_type = "AUTO"  # too late once a packet has been decoded
    return container


def open_media(path: str | os.PathLike[str], what: str = "a video") -> av.container.InputContainer:
    """Open any file that FFmpeg reads; messages call it `what`."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", os.fspath(path)):
        is_http = os.fspath(path).startswith("http")
        hint = "vidsum.download(url) makes a copy" if is_http else "download it first"
        raise InputError("is a URL, and only files can be read", hint=hint, subject=path)
    path = Path(path)
    check_readable(path)
    options = {"pattern_type": "none", **open_options(path)}
    try:
        # "file:" keeps a colon in a name from naming a protocol, pattern_type a % from naming a series
        return av.open(f"file:{path}", options=options, metadata_errors="replace")
    except (av.FFmpegError, ValueError) as error:
        # "invalid argument" is what FFmpeg says where it knows a format, but may not use it
        is_refused = isinstance(error, av.error.ArgumentError) and is_text(path)
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if is_refused or head.startswith(_PLAYLIST_STARTS):
            target = path.with_suffix(".mkv" if path.suffix == ".mp4" else ".mp4")
            hint = f"ffmpeg -i {quote(str(path))} -c copy {quote(str(target))}"
            raise InputError("is a playlist of other files, not a video", hint=hint, subject=path) from error
        is_mp4 = head[4:8] == b"ftyp"
        cut_short = "is cut short or damaged: the index that an MP4 file needs (moov) is missing"
        fault = cut_short if is_mp4 else f"is not {what}, or is damaged at its start"
        raise InputError(fault, subject=path) from error


def check_readable(path: Path) -> None:
    """Raise InputError where there is no readable file with something in it."""
    try:
        is_there, is_link = path.exists(), path.is_symlink()
        faults = {
            _why_missing(path) if is_link else "": not is_there,
            "is a folder, not a video": path.is_dir(),
            # a video is opened twice, and a pipe can be read only once
            "is a pipe or device; only files can be read": not path.is_file(),
            "is empty": is_there and path.stat().st_size == 0,
        }
    except (OSError, ValueError) as error:  # a name that is too long, or holds a NUL
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"cannot be opened ({reason.lower()})", subject=path) from error
    if not (is_there or is_link):
        command = suggest_film(path)
        raise InputError("no such file", hint=command, subject=path) if command else missing_file(path)
    if is_there and not os.access(path, os.R_OK):
        raise unreadable_file(path)
    if fault := next((fault for fault, applies in faults.items() if applies), None):
        raise InputError(fault, hint=suggest_film(path) if is_there else None, subject=path)


def _why_missing(link: Path) -> str:
    try:
        link.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "is a link in a loop of links"
    return f"is a link to {link.readlink()}, which does not exist"


def video_stream(
    container: av.container.InputContainer,
    source: VideoInfo | str | os.PathLike[str],
    choice: TrackChoice = None,
) -> av.VideoStream:
    """Return the video track of a probed video, or the chosen one. Raises InputError: none can be decoded."""
    path, choice = (source.path, source.video_track) if isinstance(source, VideoInfo) else (source, choice)
    if container.format.name == "tty":  # FFmpeg would draw a text file as a video of its letters
        raise InputError("is text, not a video", subject=path)
    if not list_tracks(container, "video"):
        if container.streams.audio:
            raise InputError(
                "has sound but no video", hint=f"vidsum transcribe {quote(str(path))}", subject=path
            )
        raise InputError("has no video", subject=path)
    stream: av.VideoStream = choose_track(container, path, "video", choice)
    if not stream.codec_context:  # decoding it would crash
        raise InputError("FFmpeg has no decoder for its video", subject=path)
    return stream


def open_options(path: Path) -> dict[str, str]:
    """Return the options by which FFmpeg opens a file, and no other file or address."""
    options = {"protocol_whitelist": "file", "format_whitelist": _harmless_formats()}
    with suppress(OSError):
        if _hides_starts(path, path.stat().st_mtime_ns):
            options["analyzeduration"] = _ANALYZE_US
    return options


@lru_cache(maxsize=64)
def _hides_starts(path: Path, mtime_ns: int) -> bool:
    """Return whether a file is MPEG-TS or Matroska, whose headers do not say when each track begins."""
    with path.open("rb") as file:
        head = file.read(197)
    is_ts = b"G" == head[:1] == head[188:189] or b"G" == head[4:5] == head[196:197]
    return is_ts or head[:4] == b"\x1aE\xdf\xa3"


@lru_cache(maxsize=1)
def _harmless_formats() -> str:
    names = set[str]()
    for name in av.formats_available:
        with suppress(ValueError):  # can only be written
            names.add(av.format.ContainerFormat(name, "r").name)
    return ",".join(sorted(name for name in names if not _OPENERS & set(name.split(","))))


def is_text(path: Path) -> bool:
    """Return whether a file begins as text: such a file that FFmpeg may not open is a list or a script."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return b"\0" not in head and b"\xff" not in head and head.decode("utf-8", "ignore").strip() != ""
