"""Connect to streams and cameras, again where one breaks off, and no longer once one has ended.

Servers close a connection at the end of a file as they do where a camera fails. A source has an end if its
length is known: the bytes of a file, or the seconds of a list of pieces (HLS). It is read once.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import av

from vidsum.errors import InputError
from vidsum.io.urls import Url, is_loopback, is_offline
from vidsum.video.open import open_options

_BACK_OFF_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)  # seconds before each attempt to connect again
_CONNECT_S = 10.0  # to connect to a stream
_READ_S = 10.0  # to get anything of it
_PIECE_S = 30.0  # to get anything of a list, which grows by whole pieces
_LIST = "hls"  # the format of a list of pieces; PyAV's FFmpeg does not read DASH
_WITHOUT_SIZE = (_LIST, "rtsp")  # a list has the bytes of its text only
_LIST_START_S = 60.0  # time before the last picture at which a list that goes on may begin
_TOLERANCE_S = 1.0  # between the stated length and the last picture
_OFFLINE = {
    "protocol_whitelist": "http,https,tls,tcp,udp,unix",
    "max_redirects": "0",
    "http_proxy": "",  # not the environment's proxy
}  # options by which FFmpeg opens a single URL
_CAMERAS = {"linux": ("v4l2", "/dev/video{}"), "darwin": ("avfoundation", "{}"), "win32": ("vfwcap", "{}")}
"""FFmpeg's format and the name of a camera by its number."""


@dataclass(eq=False)
class Place:
    """How far a source has been read."""

    n_pictures: int = 0
    stamp_s: float | None = None  # the time stamp of the last picture
    ready_s: float = field(default_factory=time.monotonic)  # since when there has been nothing new

    def add(self, stamp_s: float | None) -> None:
        """Take the time stamp of a new picture."""
        self.n_pictures += 1
        self.stamp_s = self.stamp_s if stamp_s is None else stamp_s


@dataclass(eq=False)
class Connection:
    """An open source, and what of it was read before."""

    container: Any
    is_list: bool = False  # of pieces
    has_end: bool = False  # whether it is a recording: its length is known
    is_live: bool = False  # whether pictures pass that nobody reads
    end_s: float | None = None  # its stated end, as a time stamp
    read_to_s: float | None = None  # pictures with time stamps up to here were read on an earlier connection
    fault: str = ""  # why it broke off

    @classmethod
    def to_stream(cls, container: Any, read_to_s: float | None) -> "Connection":
        """Go on with a stream behind a time stamp, if the connection gives again what was read before."""
        start_s, length_s = (
            (value or 0) / av.time_base for value in (container.start_time, container.duration)
        )
        connection = cls(container, is_list=container.format.name == _LIST)
        if length_s:
            connection.end_s = start_s + length_s
        connection.has_end = length_s > 0 if container.format.name in _WITHOUT_SIZE else container.size > 0
        if connection.has_end and read_to_s is not None:
            with suppress(av.FFmpegError):  # then it is read from its start
                container.seek(round(read_to_s * av.time_base))
            connection.read_to_s = read_to_s
        elif connection.is_list and read_to_s is not None and 0 <= read_to_s - start_s <= _LIST_START_S:
            connection.read_to_s = read_to_s
        connection.is_live = not connection.has_end and connection.read_to_s is None
        return connection

    @property
    def is_file(self) -> bool:
        """Whether its time stamps come from one file, in which none jumps."""
        return self.has_end and not self.is_list

    def is_whole(self, stamp_s: float | None) -> bool:
        """Return whether the time stamp of the last picture that was read is the last of all.

        A fragmented MP4 states the length of its first fragment, and goes on behind it.
        """
        if self.has_end:
            return not self.fault
        return stamp_s is not None and self.end_s is not None and abs(self.end_s - stamp_s) <= _TOLERANCE_S


def connect_until_ended(
    name: str, idle_s: float | None, place: Place, warn: Callable[[str], None]
) -> Iterator[Connection]:
    """Yield connections to a stream or camera, one after the other, until it has ended.

    Raises InputError: the first fails, or nothing of a recording can be read.
    """
    failures, is_list, place.ready_s = 0, False, time.monotonic()
    for number in count():
        n_before, began_s, is_growing = place.n_pictures, time.monotonic(), False
        try:
            connection = Connection.to_stream(_connect(name, idle_s, is_list=is_list), place.stamp_s)
        except (av.FFmpegError, ValueError) as error:
            if not number:
                hint = "check the address; vidsum watch --help lists the kinds of sources"
                # the error that caused it names the whole URL
                raise InputError(
                    f"cannot connect ({reason_of(name, error)})", hint=hint, subject=name
                ) from None
        else:
            yield connection
            is_further, is_list = place.n_pictures > n_before, connection.is_list
            if connection.is_whole(place.stamp_s) or (connection.has_end and not is_further):
                return
            is_growing = is_list and is_further and not connection.fault
            failures = 0 if time.monotonic() - began_s > _READ_S else failures
        # a list that has ended since says so when it is opened again
        wait_s = 0.0 if is_growing else _BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)]
        if idle_s is not None and time.monotonic() - place.ready_s + wait_s > idle_s:
            return
        if not is_growing:
            warn(f"connecting again in {wait_s:g} s")
            time.sleep(wait_s)
            failures += 1


def _connect(name: str, idle_s: float | None, *, is_list: bool) -> Any:
    if not isinstance(name, Url):
        form, device = _CAMERAS.get(sys.platform, _CAMERAS["linux"])
        return av.open(device.format(name.partition(":")[2] or "0"), format=form)
    raw = name.raw
    options = {"rtsp_transport": "tcp"} if raw.lower().startswith("rtsp") else {}
    if is_offline():
        raw = loopback_url(raw) or ""
        options = open_options(Path()) | _OFFLINE
    most_s = _PIECE_S if is_list else _READ_S
    timeouts_s = _CONNECT_S, most_s if idle_s is None else min(most_s, idle_s)
    try:
        return av.open(raw, options=options, timeout=timeouts_s, metadata_errors="replace")
    except av.InvalidDataError:
        if is_offline() or not raw.lower().startswith("http"):
            raise
        # FFmpeg knows a list by its name and type, and not by its text alone
        return av.open(raw, format=_LIST, timeout=timeouts_s, metadata_errors="replace")


def loopback_url(url: str) -> str | None:
    """Return a URL of this machine by number; None for one that may lead further, as by RTSP."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    is_socket = parts.hostname is None and parts.scheme in ("unix", "udp")
    is_local = parts.scheme in ("http", "https", "tcp", "udp") and is_loopback(parts.hostname or "")
    if not (is_socket or is_local):
        return None
    name, at, host = parts.netloc.rpartition("@")
    host = re.sub("(?i)localhost", "127.0.0.1", host)
    query = parts.query if parts.scheme.startswith("http") else ""  # options of others name hosts
    return urlunsplit((parts.scheme, f"{name}{at}{host}", parts.path, query, ""))


def reason_of(name: str, error: Exception) -> str:
    """Return what FFmpeg says of a fault, without what a URL hides."""
    reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
    return name.hide(reason) if isinstance(name, Url) else reason
