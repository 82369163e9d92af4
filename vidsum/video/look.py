"""How a clip looks and sounds beside its video: its shape, captions drawn into it, its loudness."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import av
from av.video.reformatter import VideoReformatter

from vidsum.times import Cue
from vidsum.video.captions import Painter
from vidsum.video.reframe import Framing


@dataclass(frozen=True, eq=False)
class ClipLook:
    """What is changed of the pictures and the sound; by default nothing."""

    framing: Framing | None = None
    captions: Sequence[Cue] = ()
    """Drawn into the pictures, in times of the clip."""
    loudness_lufs: float | None = None
    """Integrated loudness (EBU R 128) that the sound is brought to."""
    _scaler: VideoReformatter = field(default_factory=VideoReformatter)
    _painters: list[Painter] = field(default_factory=list)

    @property
    def is_other(self) -> bool:
        """Whether pictures are changed."""
        return self.framing is not None or bool(self.captions)

    @property
    def size(self) -> tuple[int, int] | None:
        """(width, height) of the clip, if it has a shape of its own."""
        return (self.framing.shape.width, self.framing.shape.height) if self.framing else None

    def shown(self, frame: av.VideoFrame, time_s: float, clip_s: float, full: bool) -> av.VideoFrame:
        """Return the picture of the clip at `clip_s` for an upright yuv420p frame.

        In the video it is on screen at `time_s`; `full` tells whether its values run from 0 to 255.
        """
        if self.framing:
            frame = self.framing.shown(frame, time_s, self._scaler, full)
        if self.captions:
            if not self._painters:
                self._painters.append(Painter(self.captions, (frame.width, frame.height)))
            self._painters[0].paint(frame, clip_s, full)
        return frame
