"""What pictures of a video share: their title, colour and axis of time."""

from pathlib import Path

from vidsum.outputs import as_utf8
from vidsum.types import VideoInfo

ACCENT = (37, 99, 235)
"""RGB of what is selected."""
_ROUND_STEPS_S = (0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)


def title(video: VideoInfo | None, otherwise: str) -> str:
    """The video's file name, or another word where there is no video."""
    return otherwise if video is None else as_utf8(Path(video.path).name)


def round_times(duration_s: float, most: int) -> list[float]:
    """0 and the multiples of a round time up to the end, at most `most` + 1 of them."""
    step = next((step for step in _ROUND_STEPS_S if duration_s / step <= most), duration_s / most)
    return [number * step for number in range(int(duration_s / step) + 1)]


def clock(seconds: float) -> str:
    """`1:05`, `2:01:05`, or `0:01.5` where whole seconds are too coarse."""
    minutes, rest = divmod(round(seconds, 1), 60)
    hours, minutes = divmod(int(minutes), 60)
    tail = f"{rest:02.0f}" if rest == int(rest) else f"{rest:04.1f}"
    return f"{hours}:{minutes:02d}:{tail}" if hours else f"{minutes}:{tail}"
