"""Read video while it arrives: growing files, folders of segments, streams, pipes and cameras.

A source is a series of connections. Times count from the first picture of the first, over all of them.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import unquote, urlsplit

import av

from vidsum.errors import InputError
from vidsum.io.urls import Url, is_url
from vidsum.types import Picture, TrackChoice
from vidsum.video.damage import DecodeLog
from vidsum.video.decode import DecodedFrame, decode_packet, usual_step_s
from vidsum.video.frames import PictureMaker, Sampling, n_samples, pixel_size, samples_before
from vidsum.video.open import open_options, open_video, video_stream
from vidsum.video.preroll import PreRoll
from vidsum.video.probe import display_size, is_video
from vidsum.video.streams import Connection, Place, connect_until_ended, loopback_url, reason_of
from vidsum.video.tracks import choose_track, describe_choice, track_number

SourceKind = Literal["file", "growing file", "folder", "stream", "pipe", "camera"]

LOOK_S = 0.2  # time between two looks at a file or folder
IDLE_S = 10.0  # time without anything new after which a growing file or folder has ended
_JUMP_S = 5.0  # a longer step of the time stamps within a connection, or one back, is a fault of the stream
_AS_IT_COMES = (
    "MPEG-TS, Matroska and fragmented MP4 can be read as they come; any other MP4 cannot, as its index may "
    "be at the end: ffmpeg -i INPUT -c copy -f mpegts - | vidsum watch -"
)
_NO_RANGES = (
    "download it, then vidsum watch FILE: from a server without ranges, an MP4 whose index is at its end "
    "cannot be read (ffmpeg -movflags +faststart moves the index)"
)


@dataclass(frozen=True)
class LiveSource:
    name: str
    kind: SourceKind
    idle_s: float | None  # seconds without anything new after which the source ends; None: never
    video_track: TrackChoice = None
    audio_track: TrackChoice = None

    @property
    def works_offline(self) -> bool:
        """Whether it needs nothing but this machine, whatever it answers."""
        return not isinstance(self.name, Url) or loopback_url(self.name.raw) is not None


@dataclass(frozen=True, eq=False)
class LiveFrame:
    time_s: float  # k / fps; after an interruption, on from where pictures come again
    image: Picture
    arrived_s: float  # by `time.monotonic`, when the last picture needed for it had arrived
    sampling: int = 0  # number of the sampling that it is of


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
        raise InputError("no such file", hint="a file, a folder, a URL, camera, or - for stdin", subject=name)
    if path.is_dir():
        return LiveSource(name, "folder", IDLE_S if idle_s is None else idle_s)
    if follow:
        return LiveSource(name, "growing file", IDLE_S if idle_s is None else idle_s)
    return LiveSource(name, "file", None)


def read_live(
    source: LiveSource,
    samplings: Sequence[Sampling],
    warn: Callable[[str], None],
    tap: PreRoll | None = None,
) -> Iterator[LiveFrame]:
    """Yield the frames on screen at k / fps of a source by each sampling, as soon as the next frame has come.

    `warn` gets a message for each connection that breaks off and each segment that cannot be read; `tap` gets
    all packets. Raises InputError where nothing can be read.
    """
    began_s, offset_s, place = time.monotonic(), 0.0, Place()
    samplers = [_Sampler(number, sampling) for number, sampling in enumerate(samplings)]
    for connection in _connect_all(source, place, warn):
        if samplers[0].next_k and connection.is_live:  # the time that was lost has passed
            offset_s = max(offset_s, time.monotonic() - began_s)
            for sampler in samplers:
                sampler.skip(offset_s)
        with closing(connection.container) as container:
            pictures = video_stream(container, source.name, source.video_track)
            if not samplers[0].next_k and (number := track_number(container, pictures)):
                warn(describe_choice(container, "video", number))
            frames = _decode(source, connection, pictures, offset_s, place, warn, tap)
            held = next(frames, None)
            if held is None:
                continue
            size = display_size(held, float(pictures.sample_aspect_ratio or 1))
            for sampler in samplers:
                sampler.maker = PictureMaker(*pixel_size(sampler.sampling.size, *size))
            for frame in chain(frames, [None]):
                end_s = _end_s(held, pictures) if frame is None else frame.time_s
                taken = (sampler.take(held, end_s, is_last=frame is None) for sampler in samplers)
                yield from sorted(chain.from_iterable(taken), key=lambda sample: sample.time_s)
                offset_s, held = end_s, frame or held
    if not samplers[0].next_k:
        hints = {"pipe": _AS_IT_COMES, "growing file": _AS_IT_COMES, "stream": _NO_RANGES}
        raise InputError("none of its video can be decoded", hint=hints.get(source.kind), subject=source.name)


@dataclass(eq=False)
class _Sampler:
    """Samples of a source at one rate, and how far they have come."""

    number: int
    sampling: Sampling
    next_k: int = 0
    maker: PictureMaker | None = None  # for the pictures of a connection

    @property
    def fps(self) -> float:
        assert self.sampling.fps is not None
        return self.sampling.fps

    def skip(self, time_s: float) -> None:
        """Leave out what is before a time."""
        self.next_k = max(self.next_k, samples_before(self.fps, time_s))

    def take(self, frame: DecodedFrame, end_s: float, *, is_last: bool) -> list[LiveFrame]:
        """Return the samples of a frame that goes off screen at `end_s`."""
        due = (n_samples if is_last else samples_before)(self.fps, end_s)
        if due <= self.next_k:
            return []
        assert self.maker is not None
        image, first, arrived_s = (
            self.maker.from_frame(frame.frame, frame.turn_deg),
            self.next_k,
            time.monotonic(),
        )
        self.next_k = due
        return [LiveFrame(k / self.fps, image, arrived_s, self.number) for k in range(first, due)]


def _end_s(frame: DecodedFrame, pictures: av.VideoStream) -> float:
    """Return when a last frame goes off screen; MPEG-TS does not say."""
    return frame.end_s if frame.end_s > frame.time_s else frame.time_s + usual_step_s(pictures)


def _decode(
    source: LiveSource,
    connection: Connection,
    pictures: av.VideoStream,
    offset_s: float,
    place: Place,
    warn: Callable[[str], None],
    tap: PreRoll | None,
) -> Iterator[DecodedFrame]:
    """Yield the frames of a connection that were not read before, at times from `offset_s` on."""
    log = DecodeLog()
    sound = choose_track(connection.container, source.name, "audio", source.audio_track)
    streams = [pictures, *([sound] if sound else [])]
    if tap:
        tap.on_connect(streams)
    is_file = source.kind == "file" or connection.is_file
    clock = _Clock(connection.read_to_s, usual_step_s(pictures), is_file)
    for packet in _read_packets(source.name, connection, streams, warn):
        if tap and packet.size:
            tap.on_packet(packet)
        if packet.stream is not pictures:
            continue
        for frame in decode_packet(packet, log):
            time_s = clock.time_of(frame.time)
            if time_s is not None:
                if tap:
                    tap.on_frame(offset_s + time_s, clock.first_s + time_s)
                place.add(frame.time)
                yield DecodedFrame(offset_s + time_s, frame)
        if packet.size and clock.has_begun:
            place.ready_s = time.monotonic()
    if not clock.has_begun and connection.read_to_s is None:
        warn("no picture can be decoded")


@dataclass(eq=False)
class _Clock:
    """Times of the pictures of a connection, from its first new one on."""

    read_to_s: float | None  # time stamp of the last picture that was read on an earlier connection
    step_s: float
    is_file: bool  # whether its time stamps are right, however far apart
    first_s: float = 0.0  # time stamp of the first new picture
    _last_s: float | None = None

    @property
    def has_begun(self) -> bool:
        return self._last_s is not None

    def time_of(self, stamp_s: float | None) -> float | None:
        """Return the time of the picture with a time stamp; None if it is not later than those before."""
        if self._last_s is None:
            self.first_s = stamp_s or 0.0
            if self.read_to_s is not None:
                if self.first_s <= self.read_to_s:
                    return None
                self.first_s = min(self.first_s, self.read_to_s + self.step_s)
            self._last_s = (stamp_s or 0.0) - self.first_s
            return self._last_s
        time_s = self._last_s + self.step_s if stamp_s is None else stamp_s - self.first_s
        if not self.is_file and not self._last_s < time_s < self._last_s + _JUMP_S:
            self.first_s += time_s - self._last_s - self.step_s
            time_s = self._last_s + self.step_s
        if time_s <= self._last_s:
            return None
        self._last_s = time_s
        return time_s


def _read_packets(
    name: str, connection: Connection, streams: list[Any], warn: Callable[[str], None]
) -> Iterator[Any]:
    """Yield all packets, until the end or a fault, which goes to `warn`."""
    try:
        yield from connection.container.demux(*streams)
    except (av.FFmpegError, IndexError) as error:
        connection.fault = reason_of(name, error)
        warn(f"interrupted ({connection.fault})")


def _connect_all(source: LiveSource, place: Place, warn: Callable[[str], None]) -> Iterator[Connection]:
    if source.kind == "file":
        yield Connection(open_video(source.name))
    elif source.kind == "folder":
        yield from map(Connection, _open_segments(Path(source.name), source.idle_s or IDLE_S, warn))
    elif source.kind == "growing file":
        with closing(GrowingFile(Path(source.name), source.idle_s or IDLE_S)) as file:
            yield Connection(_open_bytes(source, file))
    elif source.kind == "pipe":
        yield Connection(_open_bytes(source, sys.stdin.buffer))
    else:
        yield from connect_until_ended(source.name, source.idle_s, place, warn)


def _open_bytes(source: LiveSource, file: "GrowingFile | IO[bytes]") -> Any:
    options = open_options(Path(source.name))  # it may name no other file or address
    try:
        return av.open(file, options=options, metadata_errors="replace")
    except (av.FFmpegError, ValueError) as error:
        fault = "is not a video that can be read as it comes"
        raise InputError(fault, hint=_AS_IT_COMES, subject=source.name) from error


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
