"""Skip the decoding of pictures that no sample shows and no other picture needs.

The samples stay the same, bit by bit, except in a damaged video, where after the first hole all is decoded,
and where H.264 does not declare how far its pictures are out of order. `fast` decodes key frames alone: a
sample shows the last one before it, which may be seconds old; dense samples still get all pictures.
"""

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import av

from vidsum.video.damage import DecodeLog
from vidsum.video.frames import Sampling, in_seconds, samples_before

if TYPE_CHECKING:
    from av.stream import Stream

_CODECS = ("h264", "hevc", "mpeg2video", "mpeg4")  # whose decoders follow `skip_frame` packet by packet
_REORDERED_PACKETS = 20  # to look ahead and back: H.264 and HEVC reorder 16 at most
_MAX_KEY_FRAME_FPS = 5.0  # most samples a second for which key frames are enough
_MIN_FRAME_FRACTION = 0.75  # fraction of a usual frame; a shorter one may be one field of an interlaced frame


def allow_key_frames(samplings: Iterable[Sampling]) -> bool:
    """Return whether key frames are enough for all of them: `fast` is of no effect else."""
    return all(sampling.fps is not None and sampling.fps <= _MAX_KEY_FRAME_FPS for sampling in samplings)


class FrameSkipper:
    """Switch that lets a decoder skip the pictures that no sample shows, and counts them."""

    def __init__(
        self,
        stream: av.VideoStream,
        samplings: Sequence[Sampling],
        start_s: float,
        log: DecodeLog,
        *,
        fast: bool = False,
    ) -> None:
        self._decoder = stream.codec_context
        hosts = [sampling for sampling in samplings if not sampling.is_guest]
        self._rates = [sampling.fps for sampling in hosts or samplings]
        self._log = log
        self._is_fast = fast and allow_key_frames(samplings)
        self._start_s, self._time_base, rate = start_s, stream.time_base, stream.average_rate
        is_timed = None not in self._rates and bool(self._time_base and rate)
        self._is_used = is_timed and (self._is_fast or self._decoder.name in _CODECS)
        if self._is_fast and self._is_used:
            self._decoder.skip_frame = "NONKEY"
        self._usual_s = 1 / float(rate) if rate else 0.0
        self._times: list[float] = []  # times of the pictures of the packets around the current one, in order
        self._left_out: list[tuple[float, float]] = []  # when those go on and off screen, in order

    def mark(self, packets: "Iterable[av.Packet[Stream]]") -> "Iterator[av.Packet[Stream]]":
        """Yield the packets, setting before each whether the decoder skips its picture."""
        if not self._is_used:
            yield from packets
            return
        waiting: deque[tuple[Any, float | None]] = deque()
        for packet in packets:
            waiting.append((packet, time_s := self._time_s(packet)))
            if time_s is not None:
                insort(self._times, time_s)
            if len(waiting) > _REORDERED_PACKETS:
                yield self._mark_packet(*waiting.popleft())
        while waiting:
            yield self._mark_packet(*waiting.popleft())

    def count(self, until_s: float) -> int:
        """Count and log the pictures left out before one that is shown at `until_s`."""
        n_before = bisect_right(self._left_out, (until_s, 0.0))
        for time_s, end_s in self._left_out[:n_before]:
            self._log.add_frame(time_s, end_s)
        del self._left_out[:n_before]
        if self._left_out and self._left_out[0][0] == until_s:  # it was decoded: others are predicted from it
            del self._left_out[0]
        return n_before

    def _mark_packet(self, packet: Any, time_s: float | None) -> Any:
        span = self._span(time_s)
        if self._is_fast and time_s is not None:
            insort(self._left_out, span or (time_s, time_s + self._usual_s))
        elif span and self._is_unseen(*span):
            insort(self._left_out, span)
            self._decoder.skip_frame = "NONREF"
        elif time_s is not None or not packet.size:  # else it may be the second field of the one before
            self._decoder.skip_frame = "DEFAULT"
        del self._times[: -4 * _REORDERED_PACKETS]
        return packet

    def _span(self, time_s: float | None) -> tuple[float, float] | None:
        """Return when a picture goes on and off screen; None where unknown, as at start and end."""
        after = bisect_right(self._times, time_s) if time_s is not None else 0
        if time_s is None or after < 2 or after == len(self._times):
            return None
        end_s = self._times[after]
        shortest_s = min(time_s - self._times[after - 2], end_s - time_s)
        is_field = shortest_s < _MIN_FRAME_FRACTION * self._usual_s and not self._is_fast
        return None if is_field else (time_s, end_s)

    def _is_unseen(self, start_s: float, end_s: float) -> bool:
        """Return whether no sample shows what is on screen then, in a video without damage so far."""
        is_shown = any(
            samples_before(fps or 0, start_s) < samples_before(fps or 0, end_s) for fps in self._rates
        )
        return not is_shown and not self._log.damaged and not self._log.errors

    def _time_s(self, packet: Any) -> float | None:
        """Return when its picture goes on screen, counted from the first one."""
        if packet.pts is None or self._time_base is None or packet.is_discard or not packet.size:
            return None
        return in_seconds(packet.pts, self._time_base) - self._start_s
