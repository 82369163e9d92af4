"""Read video while it arrives: growing files, folders of segments, streams, pipes and cameras.

A source is a series of connections. Times count from the first picture of the first, over all of them.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import unquote, urlsplit, urlunsplit

import av

from vidsum.errors import InputError
from vidsum.io.urls import Url, is_loopback, is_offline, is_url
from vidsum.types import Picture, TrackChoice
from vidsum.video.damage import DecodeLog
from vidsum.video.decode import DecodedFrame, decode_packet, usual_step_s
from vidsum.video.frames import PictureMaker, Sampling, n_samples, pixel_size, samples_before
from vidsum.video.open import open_options, open_video, video_stream
from vidsum.video.preroll import PreRoll
from vidsum.video.probe import display_size, is_video
from vidsum.video.tracks import choose_track, describe_choice, track_number

SourceKind = Literal["file", "growing file", "folder", "stream", "pipe", "camera"]

LOOK_S = 0.2  # time between two looks at a file or folder
IDLE_S = 10.0  # time without anything new after which a growing file or folder has ended
_BACK_OFF_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)  # seconds before each attempt to connect again
_TIMEOUT_S = (10.0, 10.0)  # to connect to a stream, and to get anything of it
_JUMP_S = 5.0  # a longer step of the time stamps within a connection, or one back, is a fault of the stream
_OFFLINE = {
    "protocol_whitelist": "http,https,tls,tcp,udp,unix",
    "max_redirects": "0",
    "http_proxy": "",  # not that of the environment
}  # options by which FFmpeg opens a single URL
_AS_IT_COMES = (
    "MPEG-TS, Matroska and fragmented MP4 can be read as they come; any other MP4 cannot, as its index may "
    "be at the end: ffmpeg -i INPUT -c copy -f mpegts - | vidsum watch -"
)
_CAMERAS = {"linux": ("v4l2", "/dev/video{}"), "darwin": ("avfoundation", "{}"), "win32": ("vfwcap", "{}")}
"""FFmpeg's format and the name of a camera by its number."""


@dataclass(frozen=True)
class LiveSource:
    name: str
    kind: SourceKind
    idle_s: float | None  # seconds without anything new after which the source ends; None: never
    video_track: TrackChoice = None
    audio_track: TrackChoice = None

    @property
    def is_live(self) -> bool:
        """Whether pictures arrive at the rate at which they are shown."""
        return self.kind in ("stream", "camera")

    @property
    def works_offline(self) -> bool:
        """Whether it needs nothing but this machine, whatever it answers."""
        return not isinstance(self.name, Url) or _loopback_url(self.name.raw) is not None


@dataclass(frozen=True, eq=False)
class LiveFrame:
    time_s: float  # k / fps; after an interruption, on from where pictures come again
    image: Picture
    arrived_s: float  # by `time.monotonic`, when the last picture needed for it had arrived


def parse_source(name: str, *, follow: bool = False, idle_s: float | None = None) -> LiveSource:
    """Return the source of a name: a URL, `-` for stdin, `camera:1`, a folder, or a file, else InputError."""
    if is_url(name):
        return LiveSource(Url(name), "stream", idle_s)
    if re.fullmatch(r"camera(:\d+)?", name):
        return LiveSource(name, "camera", idle_s)
    if name == "-":
        return LiveSource(name, "pipe", idle_s)
    path = Path(unquote(urlsplit(name).path) if name.lower().startswith("file://") else name)
    name = str(path)
    if not path.exists():
        raise InputError(f"{name}: no such file", hint="a file, a folder, a URL, camera, or - for stdin")
    if path.is_dir():
        return LiveSource(name, "folder", IDLE_S if idle_s is None else idle_s)
    if follow:
        return LiveSource(name, "growing file", IDLE_S if idle_s is None else idle_s)
    return LiveSource(name, "file", None)


def read_live(
    source: LiveSource, sampling: Sampling, warn: Callable[[str], None], tap: PreRoll | None = None
) -> Iterator[LiveFrame]:
    """Yield the frames on screen at k / fps of a source, as soon as the next frame has come.

    `warn` gets a message for each connection that breaks off and each segment that cannot be read; `tap` gets
    all packets. Raises InputError where nothing can be read.
    """
    assert sampling.fps is not None
    began_s, offset_s, next_k = time.monotonic(), 0.0, 0
    for container in _connect_all(source, warn):
        if source.is_live and next_k:  # the time that was lost has passed
            offset_s = max(offset_s, time.monotonic() - began_s)
            next_k = max(next_k, samples_before(sampling.fps, offset_s))
        with closing(container):
            pictures = video_stream(container, source.name, source.video_track)
            if not next_k and (number := track_number(container, pictures)):
                warn(describe_choice(container, source.name, "video", number))
            frames = _decode(source, container, pictures, offset_s, warn, tap)
            held, maker = next(frames, None), None
            if held is None:
                warn(f"{source.name}: no picture can be decoded")
                continue
            for frame in chain(frames, [None]):
                end_s = _end_s(held, pictures) if frame is None else frame.time_s
                due = (n_samples if frame is None else samples_before)(sampling.fps, end_s)
                if due > next_k:
                    if maker is None:
                        size = display_size(held, float(pictures.sample_aspect_ratio or 1))
                        maker = PictureMaker(*pixel_size(sampling.size, *size))
                    image = maker.from_frame(held.frame, held.turn_deg)
                    for k in range(next_k, due):
                        yield LiveFrame(k / sampling.fps, image, time.monotonic())
                    next_k = due
                offset_s, held = end_s, frame or held
    if not next_k:
        hint = _AS_IT_COMES if source.kind in ("pipe", "growing file") else None
        raise InputError(f"{source.name}: none of its video can be decoded", hint=hint)


def _end_s(frame: DecodedFrame, pictures: av.VideoStream) -> float:
    """Return when a last frame goes off screen; MPEG-TS does not say."""
    return frame.end_s if frame.end_s > frame.time_s else frame.time_s + usual_step_s(pictures)


def _decode(
    source: LiveSource,
    container: Any,
    pictures: av.VideoStream,
    offset_s: float,
    warn: Callable[[str], None],
    tap: PreRoll | None,
) -> Iterator[DecodedFrame]:
    """Yield the frames of a connection, at times from `offset_s` on."""
    log = DecodeLog()
    sound = choose_track(container, source.name, "audio", source.audio_track)
    streams = [pictures, *([sound] if sound else [])]
    if tap:
        tap.on_connect(streams)
    first_s: float | None = None
    last_s, step_s = -1.0, usual_step_s(pictures)
    for packet in _read_packets(source.name, container, streams, warn):
        if tap and packet.size:
            tap.on_packet(packet)
        if packet.stream is not pictures:
            continue
        for frame in decode_packet(packet, log):
            time_s = last_s + step_s if frame.time is None else frame.time - (first_s or 0.0)
            if first_s is None:
                first_s, time_s = frame.time or 0.0, 0.0
            elif source.kind != "file" and not last_s < time_s < last_s + _JUMP_S:
                first_s += time_s - last_s - step_s
                time_s = last_s + step_s
            if time_s > last_s:
                last_s = time_s
                if tap:
                    tap.on_frame(offset_s + time_s, first_s + time_s)
                yield DecodedFrame(offset_s + time_s, frame)


def _read_packets(
    name: str, container: Any, streams: list[Any], warn: Callable[[str], None]
) -> Iterator[Any]:
    """Yield all packets, until the end or a fault, which goes to `warn`."""
    try:
        yield from container.demux(*streams)
    except (av.FFmpegError, IndexError) as error:
        warn(f"{name}: interrupted ({_reason(name, error)})")


def _connect_all(source: LiveSource, warn: Callable[[str], None]) -> Iterator[Any]:
    if source.kind == "file":
        yield open_video(source.name)
    elif source.kind == "folder":
        yield from _open_segments(Path(source.name), source.idle_s or IDLE_S, warn)
    elif source.kind == "growing file":
        with closing(GrowingFile(Path(source.name), source.idle_s or IDLE_S)) as file:
            yield _open_bytes(source, file)
    elif source.kind == "pipe":
        yield _open_bytes(source, sys.stdin.buffer)
    else:
        yield from _reconnect(source, warn)


def _open_bytes(source: LiveSource, file: "GrowingFile | IO[bytes]") -> Any:
    options = open_options(Path(source.name))  # it may name no other file or address
    try:
        return av.open(file, options=options, metadata_errors="replace")
    except (av.FFmpegError, ValueError) as error:
        fault = "is not a video that can be read as it comes"
        raise InputError(f"{source.name}: {fault}", hint=_AS_IT_COMES) from error


class GrowingFile:
    """A file that is still written: a read at its end waits for more."""

    def __init__(self, path: Path, idle_s: float) -> None:
        self._file, self._idle_s = path.open("rb"), idle_s

    def read(self, size: int) -> bytes:
        """Return the next bytes; none after `idle_s` without any."""
        quiet_s = 0.0
        while not (data := self._file.read(size)) and quiet_s < self._idle_s:
            time.sleep(LOOK_S)
            quiet_s += LOOK_S
        return data

    def close(self) -> None:
        self._file.close()


def _open_segments(folder: Path, idle_s: float, warn: Callable[[str], None]) -> Iterator[Any]:
    """Yield the videos of a folder by name, each once unchanged since the last look.

    The newest must be unchanged for half of `idle_s`, and not empty, as recorders write in blocks.
    """
    done, sizes = set[Path](), dict[Path, tuple[int, float]]()
    quiet_since_s = time.monotonic()
    while time.monotonic() - quiet_since_s < idle_s:
        paths = sorted(path for path in folder.iterdir() if path.is_file() and path not in done)
        for number, path in enumerate(paths):
            size, now_s = path.stat().st_size, time.monotonic()
            if sizes.get(path, (-1, 0.0))[0] != size:
                sizes[path], quiet_since_s = (size, now_s), now_s
            is_last = number == len(paths) - 1
            if is_last and (not size or now_s - sizes[path][1] < idle_s / 2):
                break
            done.add(path)
            quiet_since_s = now_s
            if is_video(path):
                try:
                    yield open_video(path)
                except InputError as error:
                    warn(error.message)
                quiet_since_s = time.monotonic()
        time.sleep(LOOK_S)


def _reconnect(source: LiveSource, warn: Callable[[str], None]) -> Iterator[Any]:
    """Yield connections to a stream or camera, one after the other. Raises InputError: the first fails."""
    failures, quiet_since_s = 0, time.monotonic()
    for number in count():
        try:
            container = _connect(source)
        except (av.FFmpegError, ValueError) as error:
            if not number:
                hint = "check the address; vidsum watch --help lists the kinds of sources"
                # the error that caused it names the whole URL
                fault = f"{source.name}: cannot connect ({_reason(source.name, error)})"
                raise InputError(fault, hint=hint) from None
        else:
            began_s = time.monotonic()
            yield container
            failures = 0 if time.monotonic() - began_s > _TIMEOUT_S[1] else failures
            quiet_since_s = time.monotonic()
        wait_s = _BACK_OFF_S[min(failures, len(_BACK_OFF_S) - 1)]
        if source.idle_s is not None and time.monotonic() - quiet_since_s + wait_s > source.idle_s:
            return
        warn(f"{source.name}: connecting again in {wait_s:g} s")
        time.sleep(wait_s)
        failures += 1


def _connect(source: LiveSource) -> Any:
    if isinstance(source.name, Url):
        raw = source.name.raw
        options = {"rtsp_transport": "tcp"} if raw.lower().startswith("rtsp") else {}
        if is_offline():
            raw = _loopback_url(raw) or ""
            options = open_options(Path()) | _OFFLINE
        return av.open(raw, options=options, timeout=_TIMEOUT_S, metadata_errors="replace")
    form, name = _CAMERAS.get(sys.platform, _CAMERAS["linux"])
    return av.open(name.format(source.name.partition(":")[2] or "0"), format=form)


def _loopback_url(url: str) -> str | None:
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


def _reason(name: str, error: Exception) -> str:
    reason = (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
    return name.hide(reason) if isinstance(name, Url) else reason
