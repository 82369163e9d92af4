"""Damage of a video: counted by every reader while it decodes, put in words once."""

import math
from dataclasses import dataclass

from vidsum.types import VideoInfo

_FRAMES_OFF = 2.5  # fewer frames than this missing in a row may be rounding of the times


class CannotReadError(Exception):
    """Reason why a reader cannot read a video that another one may."""


@dataclass
class DecodeLog:
    packets: int = 0  # packets that hold a frame to be shown; 0 where the reader does not say
    frames: int = 0  # frames decoded, damaged ones too
    damaged: int = 0  # frames that the decoder patched up because a part of their data was missing
    errors: int = 0  # packets that could not be read or decoded
    cancelled_s: float = 0.0  # of sound whose channels cancel out when mixed: one of them is used
    end_s: float = 0.0  # when the last frame so far goes off screen
    longest_gap_s: float = 0.0  # longest time from one frame to the next
    last_time_s: float = 0.0  # when the last frame so far goes on screen

    def add_frame(self, time_s: float, end_s: float) -> None:
        """Count a frame that is on screen over [time_s, end_s)."""
        self.frames += 1
        self.longest_gap_s = max(self.longest_gap_s, time_s - self.last_time_s)
        self.last_time_s = time_s
        self.end_s = max(self.end_s, end_s)


CANCELLED = "the channels of its sound cancel out when mixed: the loudest one is used"


def pictures_end_s(info: VideoInfo, log: DecodeLog) -> float:
    """Return the video's duration, or where its pictures end when the file stops before."""
    return log.end_s if _stops_early(info, log) else info.duration_s


def describe_damage(info: VideoInfo, log: DecodeLog) -> str | None:
    """Describe what could not be decoded, in frames, per cent and seconds; None if all is well."""
    n_frames = max(info.n_frames, log.packets, log.frames)
    n_missing = n_frames - log.frames
    # a count alone proves nothing: fields, hidden frames and trimmed starts have packets but no picture
    has_hole = not info.is_vfr and log.longest_gap_s > (_FRAMES_OFF + 1) / info.fps
    is_incomplete = n_missing > 0 and (log.errors > 0 or _stops_early(info, log) or has_hole)
    if is_incomplete:
        damaged = f", {log.damaged} of them damaged" if log.damaged else ""
        decoded = f"{log.frames} of {n_frames} frames decoded ({_percent(log.frames, n_frames)}){damaged}"
        return f"{decoded}; the rest, {n_missing / info.fps:.2f} s, is damaged or missing"
    if log.damaged:
        percent, seconds = _percent(log.damaged, n_frames), log.damaged / info.fps
        verb = "is" if log.damaged == 1 else "are"
        return f"{log.damaged} of {n_frames} frames ({percent}, {seconds:.2f} s) {verb} damaged"
    return None


def _stops_early(info: VideoInfo, log: DecodeLog) -> bool:
    return log.end_s < info.duration_s - _FRAMES_OFF / info.fps


def _percent(part: int, whole: int) -> str:
    """Format a share in per cent; 100 % only of the whole, 0 % only of nothing."""
    percent = 100 * part / whole
    if 1 <= percent <= 99 or part in (0, whole):
        return f"{percent:.0f} %"
    return f"{max(math.floor(percent * 10) / 10, 0.1):.1f} %"
