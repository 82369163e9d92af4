"""Tell a file with a video from other answers of a web server: pages, lists of pieces, endless streams.

The first bytes count more than the content type and the name: servers call a list of HLS `text/plain` too.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from vidsum.errors import InputError
from vidsum.io.network import parse_content_length
from vidsum.io.urls import Url

Kind = Literal["page", "hls", "dash", "files", "endless"]

_HEAD_BYTES = 2048  # in which a list shows what it is
_MARK = b"\xef\xbb\xbf"  # the byte order mark, which some servers put before a text
_TYPES: dict[str, tuple[Kind, str]] = {
    "mpegurl": ("hls", "an HLS list of pieces"),
    "dash+xml": ("dash", "a DASH list of pieces"),
    "scpls": ("files", "a list of other files"),
    "text/html": ("page", "a web page"),
    "application/xhtml": ("page", "a web page"),
    "multipart/x-mixed-replace": ("endless", "a live stream, which has no end"),  # one JPEG after the other
}
"""Kinds and their names, by a part of the content type."""


@dataclass(eq=False)
class NoFileError(Exception):
    """An address leads to something else than a file with a video."""

    kind: Kind
    name: str  # "a web page"

    @property
    def is_for_yt_dlp(self) -> bool:
        return self.kind in ("page", "hls", "dash")


def require_file(headers: Mapping[str, str], head: bytes) -> None:
    """Raise NoFileError unless a response, by its headers and first bytes, may be a file with a video."""
    start = head[:_HEAD_BYTES].removeprefix(_MARK).lstrip()
    if start.startswith(b"#EXTM3U"):
        raise NoFileError(*_TYPES["mpegurl" if b"#EXT-X-" in start else "scpls"])
    if start.startswith(b"<") and b"<MPD" in start:  # behind a declaration and comments
        raise NoFileError(*_TYPES["dash+xml"])
    if start.lower().startswith(b"[playlist]"):
        raise NoFileError(*_TYPES["scpls"])
    content_type = headers.get("Content-Type", "").lower()
    if other := next((other for part, other in _TYPES.items() if part in content_type), None):
        raise NoFileError(*other)
    is_icecast = any(name.lower().startswith("icy-") for name in headers)
    if is_icecast and not parse_content_length(headers):
        raise NoFileError(*_TYPES["multipart/x-mixed-replace"])


def no_file_error(url: Url, other: NoFileError) -> InputError:
    """Return the error for an address that leads to no file, with what reads it."""
    address = shlex.quote(url) if str(url) == url.raw else "URL"  # which may hold a password
    watch = f"vidsum watch {address} --query TEXT, which reads it as it comes"
    hints: dict[Kind, str] = {
        "page": "pip install yt-dlp, which vidsum then uses, or give the address of the video file",
        "hls": f"ffmpeg -i {address} -c copy film.mkv, then give that file; or {watch}",
        "dash": f"ffmpeg -i {address} -c copy film.mkv, then give that file",
        "files": "give the address of one of them",
        "endless": f"ffmpeg -i {address} -t 600 -c copy film.mkv, then give that file; or {watch}",
    }
    is_file = ", not a video file" if other.kind != "endless" else ""
    return InputError(f"is {other.name}{is_file}", hint=hints[other.kind], subject=url)
