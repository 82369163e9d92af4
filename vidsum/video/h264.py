"""An H.264 track of an MP4, whose bytes are the same in each run."""

from fractions import Fraction
from typing import Final

import av
from av.video.frame import PictureType

_X264: Final = {"preset": "veryfast", "profile": "high", "forced-idr": "1", "x264-params": "mbtree=0"}
"""Macroblock trees make files some 10 % smaller, but different in each run and on each kind of processor."""
_THREADS = 8  # x264's bytes depend on it, so it is not left to the machine's number of cores


class H264Track:
    """Track of yuv420p frames at whole ticks of a time base."""

    def __init__(
        self,
        container: av.container.OutputContainer,
        rate: Fraction,
        size: tuple[int, int],
        time_base: Fraction,
        crf: int,
    ) -> None:
        """Add a track for frames of a size (width, height), even, of quality `crf`."""
        self._container = container
        self._first_dts: int | None = None
        options = {**_X264, "crf": str(crf)}
        stream = container.add_stream("libx264", rate=rate, options=options)
        assert isinstance(stream, av.VideoStream)
        self._stream = stream
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        self.encoder = stream.codec_context
        self.encoder.time_base, self.encoder.thread_count = time_base, _THREADS

    def encode(self, frame: av.VideoFrame, tick: int, *, starts_segment: bool) -> None:
        """Encode a frame; the first of a segment becomes a key frame, so that players can jump to it."""
        frame.pts, frame.time_base = tick, self.encoder.time_base
        frame.pict_type = PictureType.I if starts_segment else PictureType.NONE
        self._container.mux(self._noted(self._stream.encode(frame)))

    def finish(self, end_tick: int) -> None:
        """Write what the encoder still holds; the last frame stays on screen until `end_tick`.

        MP4 takes the length of the track from the decode times and the duration of the packet stored last.
        """
        packets = self._noted(self._stream.encode(None))
        if packets:
            packets[-1].duration = max(1, end_tick + (self._first_dts or 0) - (packets[-1].dts or 0))
        self._container.mux(packets)

    def _noted(self, packets: "list[av.Packet[av.VideoStream]]") -> "list[av.Packet[av.VideoStream]]":
        """Return the encoder's packets, after noting the first decode time: writing changes them."""
        if packets and self._first_dts is None:
            self._first_dts = packets[0].dts or 0
        return packets
