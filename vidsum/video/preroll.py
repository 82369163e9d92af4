"""Pre-roll: the last seconds of a source, copied from a key frame on, so that clips begin before alerts."""

import math
from collections import deque
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import av

from vidsum.io.atomic import atomic_write
from vidsum.video.copy import add_copied_stream
from vidsum.video.write import open_mp4, translate_ffmpeg_errors

_JUMP_S = 1.0  # time stamps that move by more against the source's time begin anew, as after an interruption
_MAX_BYTES = 256 * 2**20  # memory limit of the packets; beyond it the pre-roll is shorter


class PreRoll:
    """The last packets of a source on their way to the decoder, from which clips are written."""

    def __init__(self, name: str, length_s: float, comment: str) -> None:
        """Keep `length_s` seconds of the source `name`; `comment` is the label of the MP4s."""
        self._name, self._length_s, self._comment = name, length_s, comment
        self._packets: deque[Any] = deque()
        self._bytes = 0
        self._streams: list[Any] = []
        self._clips: list[LiveClip] = []
        self._now_s = self._origin_s = 0.0  # the time of the last frame; the time of the time stamp 0
        self._is_new = True  # whether no frame of the connection has been shown

    def on_connect(self, streams: list[Any]) -> None:
        """Begin again: packets of two connections do not go into one clip."""
        self.close()
        self._packets.clear()
        self._bytes, self._streams, self._is_new = 0, streams, True

    def on_packet(self, packet: Any) -> None:
        """Keep a packet, and give it to the clips that are being written."""
        for clip in list(self._clips):
            if self._now_s >= clip.until_s:
                self._clips.remove(clip)
                clip.close()
            else:
                clip.add(packet)
        self._packets.append(packet)
        self._bytes += packet.size
        while self._is_long():
            self._bytes -= self._packets.popleft().size

    def on_frame(self, time_s: float, stamp_s: float) -> None:
        """Take the time in the source of the frame with a time stamp."""
        origin_s = time_s - stamp_s
        if not self._is_new and abs(origin_s - self._origin_s) > _JUMP_S:  # what is kept has other stamps
            self.on_connect(self._streams)
        self._now_s, self._origin_s, self._is_new = time_s, origin_s, False

    def start(self, path: Path, from_s: float) -> "LiveClip":
        """Begin a clip at the last key frame at or before a time. Raises UsageError, OutputError."""
        keys = [number for number, packet in enumerate(self._packets) if self._is_key(packet)]
        early = [number for number in keys if self._time_s(self._packets[number]) <= from_s]
        clip = LiveClip(path, self._name, self._streams, self._comment)
        for packet in islice(self._packets, (early[-1:] or keys[:1] or [0])[0], None):
            clip.add(packet)
        self._clips.append(clip)
        return clip

    def is_free(self, path: Path) -> bool:
        """Return whether no file has a path, and no clip that is being written will have it."""
        return not path.exists() and all(clip.path != path for clip in self._clips)

    def close(self) -> None:
        while self._clips:
            self._clips.pop().close()

    def _is_key(self, packet: Any) -> bool:
        return bool(packet.is_keyframe) and packet.stream is self._streams[0]

    def _time_s(self, packet: Any) -> float:
        """Return when a packet is shown; long ago if it does not say."""
        stamp = packet.dts if packet.pts is None else packet.pts
        return -math.inf if stamp is None else float(stamp * packet.time_base) + self._origin_s

    def _is_long(self) -> bool:
        """Return whether the first packet can go: a later key frame is early enough, or memory is short."""
        later = next((packet for packet in islice(self._packets, 1, None) if self._is_key(packet)), None)
        is_early = later is not None and self._time_s(later) <= self._now_s - self._length_s
        return is_early or self._bytes > _MAX_BYTES


class LiveClip:
    """An MP4 that is being written; it has its name once it is closed."""

    def __init__(self, path: Path, name: str, streams: list[Any], comment: str) -> None:
        self.path, self.until_s = path, math.inf  # `until_s`: when it ends, in the source's time
        self._stack = ExitStack()
        with ExitStack() as undo:
            undo.enter_context(self._stack)
            part = self._stack.enter_context(atomic_write(path))
            self._stack.enter_context(translate_ffmpeg_errors("has packets that MP4 does not support", name))
            self._output = self._stack.enter_context(open_mp4(part, comment))
            self._copied = {stream.index: add_copied_stream(name, stream, self._output) for stream in streams}
            undo.pop_all()
        self._origin_s: float | None = None
        self._last = {stream.index: -math.inf for stream in streams}

    def add(self, packet: Any) -> None:
        """Copy a packet; those before the first key frame, and those without times, are left out."""
        stamp = packet.dts if packet.dts is not None else packet.pts
        if stamp is None or packet.time_base is None:
            return
        if self._origin_s is None:
            if packet.stream.type != "video" or not packet.is_keyframe:
                return
            self._origin_s = float(stamp * packet.time_base)
        shift = round(self._origin_s / packet.time_base)
        index = packet.stream.index
        if stamp <= self._last[index] or stamp < shift:
            return
        self._last[index] = stamp
        copy = av.Packet(bytes(packet))
        copy.dts, copy.pts = stamp - shift, (stamp if packet.pts is None else packet.pts) - shift
        copy.duration, copy.time_base = packet.duration, packet.time_base
        copy.is_keyframe, copy.stream = packet.is_keyframe, self._copied[index]
        self._output.mux(copy)

    def close(self) -> None:
        self._stack.close()
