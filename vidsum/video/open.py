"""Open video and sound files, and no other file or address that one of them may name."""

import os
import re
from contextlib import suppress
from pathlib import Path

import av
from av.codec.hwaccel import HWAccel

from vidsum.errors import InputError, nearest
from vidsum.types import TrackChoice, VideoInfo
from vidsum.video.playlist import HINT, is_playlist, is_text, looks_like_playlist, open_options
from vidsum.video.tracks import choose_track, list_tracks


def open_source(info: VideoInfo, hardware: str | None = None) -> av.container.InputContainer:
    """Open a video that has been probed, be it a playlist; see `open_video`."""
    return open_video(info.path, allow_playlists=is_playlist(info), hardware=hardware)


def open_video(
    path: str | os.PathLike[str], *, allow_playlists: bool = False, hardware: str | None = None
) -> av.container.InputContainer:
    """Open a video file; close it, or use it in a `with`.

    No other file is opened, unless `allow_playlists` takes a playlist of local files for a video. Raises
    InputError where it cannot be read, is not a video, or has no video stream.
    """
    container = open_media(path, allow_playlists=allow_playlists, hardware=hardware)
    try:
        video_stream(container, path)
    except InputError:
        container.close()
        raise
    for stream in container.streams.video:
        if stream.codec_context:
            stream.thread_type = "AUTO"  # too late once a packet has been decoded
    return container


def open_media(
    path: str | os.PathLike[str],
    what: str = "a video",
    *,
    allow_playlists: bool = False,
    hardware: str | None = None,
) -> av.container.InputContainer:
    """Return the same for any file that FFmpeg reads, whatever streams it has; messages call it `what`.

    `hardware` is a kind of FFmpeg's (`cuda`, `vaapi`); where it does not decode the file, PyAV raises errors
    of many kinds (see `vidsum.video.hardware`).
    """
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", os.fspath(path)):
        hint = (
            "vidsum.download(url) makes a copy" if os.fspath(path).startswith("http") else "download it first"
        )
        raise InputError(f"{path}: is a URL, and only files can be read", hint=hint)
    path = Path(path)
    check_readable(path)
    options = {"pattern_type": "none", **open_options(path, allow_playlists=allow_playlists)}
    try:
        # "file:" keeps a colon in a name from naming a protocol, pattern_type a % from naming a series
        accelerated = HWAccel(hardware, allow_software_fallback=False) if hardware else None
        return av.open(f"file:{path}", options=options, metadata_errors="replace", hwaccel=accelerated)
    except (av.FFmpegError, ValueError) as error:
        # "invalid argument" is what FFmpeg says where it knows a format, but may not use it
        is_unused = isinstance(error, av.error.ArgumentError) and is_text(path)
        if not allow_playlists and (is_unused or looks_like_playlist(path)):
            raise InputError(f"{path}: is a playlist of other files, not a video", hint=HINT) from error
        with path.open("rb") as file:
            is_mp4 = file.read(12)[4:8] == b"ftyp"
        cut_short = "is cut short or damaged: the index that an MP4 file needs (moov) is missing"
        fault = cut_short if is_mp4 else f"is not {what}, or is damaged at its start"
        raise InputError(f"{path}: {fault}") from error


def check_readable(path: Path) -> None:
    """Raise InputError where there is no readable file with something in it."""
    try:
        is_there = path.exists()
        faults = {
            "no such file": not is_there,
            "is a folder, not a video": path.is_dir(),
            # a video is opened twice, and a pipe can be read only once
            "is a pipe or device; only files can be read": not path.is_file(),
            "permission denied": not os.access(path, os.R_OK),
            "is empty": is_there and path.stat().st_size == 0,
        }
    except (OSError, ValueError) as error:  # a name that is too long, or holds a NUL
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"{path}: cannot be opened ({reason.lower()})") from error
    if fault := next((fault for fault, applies in faults.items() if applies), None):
        raise InputError(f"{path}: {fault}", hint=None if is_there else _suggest_name(path))


def _suggest_name(path: Path) -> str | None:
    """Return the file or folder of the nearest name beside one that is missing."""
    with suppress(OSError):
        for name in nearest(path.name, os.listdir(path.parent)):  # noqa: PTH208  # names alone
            return str(path.with_name(name))
    return None


def video_stream(
    container: av.container.InputContainer,
    source: VideoInfo | str | os.PathLike[str],
    choice: TrackChoice = None,
) -> av.VideoStream:
    """Return the video track that was read when a video was probed, or that `choose_track` chooses.

    Raises InputError where there is none, none such, or no decoder for it.
    """
    path, choice = (source.path, source.video_track) if isinstance(source, VideoInfo) else (source, choice)
    if container.format.name == "tty":  # FFmpeg would draw a text file as a video of its letters
        raise InputError(f"{path}: is text, not a video")
    if not list_tracks(container, "video"):
        raise InputError(f"{path}: has {'sound but ' if container.streams.audio else ''}no video")
    stream: av.VideoStream = choose_track(container, path, "video", choice)
    if not stream.codec_context:  # decoding it would crash
        raise InputError(f"{path}: FFmpeg has no decoder for its video")
    return stream
