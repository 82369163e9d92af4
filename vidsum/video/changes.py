"""Measures of each picture, of 0 to 255 levels: how it differs from others, contrast, sharpness, slides."""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import av
import numpy as np
from av.video.reformatter import Interpolation, VideoReformatter

from vidsum.errors import InputError
from vidsum.types import FloatArray, Picture, TimeArray
from vidsum.video.frames import TOLERANCE_S
from vidsum.video.slide_pictures import HEIGHT, TICK_S, WIDTH, SlideMeter

NAME = "picture_changes_5"
AGO_S = 0.5
_TICK_S = 0.1  # minimum time between the pictures that are searched for dissolves
_WINDOWS = (6, 8, 10, 12, 16, 20, 24)  # lengths of windows, in ticks: dissolves of 0.5 to 2 s
_MARGIN = 4  # ticks before and after a window, in which the picture changes less
# of dissolves; chosen on films of every second clip (docs/benchmarks.md)
_MIN_BLEND, _MAX_OFF_LINE, _MAX_OUTSIDE, _MIN_CONTRAST, _MAX_SIMILARITY = 25.0, 0.52, 0.65, 16.0, 0.8
_WIDTH, _HEIGHT = 32, 18  # size of a tiny picture, as stored: it is not turned upright
_OTHER = 12.0  # change after which the sharpness is measured anew, not only at every tick of slides


@dataclass(frozen=True, eq=False)
class Changes:
    """Differences of the pictures of a video from earlier ones."""

    array: FloatArray
    """[N, 11] change of each picture, 1 where it is known to follow the one before, else 0, how much it
    differs from the first of the last `AGO_S` seconds; how surely a dissolve was seen before it, 0 where none
    was, and how many seconds before it was half done; mean and deviation of its levels; its `sharpness`;
    and of slides, what `SlideMeter.add` returns."""
    timestamps: TimeArray  # [N] seconds


@dataclass(frozen=True, eq=False)
class _Tick:
    """A blurred picture that is searched for dissolves."""

    time_s: float
    levels: FloatArray
    centred: FloatArray  # the levels less their mean
    deviation: float


class ChangeMeter:
    """Meter of the change between the decoded pictures of a video, which come in order."""

    def __init__(self) -> None:
        self._scaler, self._sharp_scaler = VideoReformatter(), VideoReformatter()  # each keeps its sizes
        self._last = deque[tuple[float, Picture]]()  # the pictures of the last `AGO_S` seconds, at least one
        self._times: list[float] = []
        self._rows: list[tuple[float, ...]] = []
        self._sharpness, self._sharp_s = 0.0, -TICK_S
        self._slides, self._slide, self._slide_s = SlideMeter(), (0.0, 0.0, 0.0), -TICK_S
        self._ticks = deque[_Tick](maxlen=_WINDOWS[-1] + 2 * _MARGIN + 1)

    def add(self, time_s: float, frame: av.VideoFrame, *, is_next: bool = True) -> float:
        """Add a picture, and return its change; not `is_next` if pictures before it were not decoded."""
        small = self._scaler.reformat(
            frame, _WIDTH, _HEIGHT, "rgb24", interpolation=Interpolation.FAST_BILINEAR, threads=1
        )
        picture: Picture = small.to_ndarray().astype(np.uint8, copy=False)
        self._last.append((time_s, picture))
        change = _difference(picture, self._last[max(len(self._last) - 2, 0)][1])
        while time_s - self._last[0][0] > AGO_S + TOLERANCE_S and len(self._last) > 1:
            self._last.popleft()
        self._times.append(time_s)
        blend = self._tick(time_s, picture)
        slide = (self._slide[0], 0.0, 0.0)
        if time_s - self._sharp_s > TICK_S - TOLERANCE_S or not is_next or change > _OTHER:
            small = self._sharp_scaler.reformat(frame, WIDTH, HEIGHT, "gray", threads=1)
            grey: Picture = small.to_ndarray().astype(np.uint8, copy=False)
            self._sharpness, self._sharp_s = sharpness(grey), time_s
            if time_s - self._slide_s > TICK_S - TOLERANCE_S:
                self._slide, self._slide_s = self._slides.add(time_s, grey), time_s
                slide = self._slide
        lights = *_mean_and_deviation(picture), self._sharpness
        self._rows.append((change, is_next, _difference(picture, self._last[0][1]), *blend, *lights, *slide))
        return change

    def _tick(self, time_s: float, picture: Picture) -> tuple[float, float]:
        if self._ticks and time_s - self._ticks[-1].time_s < _TICK_S - TOLERANCE_S:
            return 0.0, 0.0
        # blurred: what moves a little stays where it is
        blocks = picture.reshape(_HEIGHT // 3, 3, _WIDTH // 4, 4, 3)
        levels = blocks.mean(axis=(1, 3), dtype=np.float32)
        self._ticks.append(_Tick(time_s, levels, levels - levels.mean(), float(levels.std())))
        ticks, sizes = list(self._ticks), [length + 2 * _MARGIN + 1 for length in _WINDOWS]
        return max((_blend(ticks[-size:]) for size in sizes if size <= len(ticks)), default=(0.0, 0.0))

    def reset(self) -> None:
        self._last.clear()
        self._ticks.clear()
        self._slides.reset()

    def result(self, path: str) -> Changes:
        """Return the changes of all pictures. Raises InputError where the video at `path` had none."""
        if not self._times:
            raise InputError("no frame could be decoded", subject=path)
        return Changes(np.array(self._rows, np.float32), np.array(self._times))


def _difference(picture: Picture, other: Picture) -> float:
    # in bytes: half the time that signed numbers take
    levels = np.maximum(picture, other) - np.minimum(picture, other)
    return float(levels.sum(dtype=np.uint32)) / picture.size


def _mean_and_deviation(picture: Picture) -> tuple[float, float]:
    # by whole numbers: a quarter of the time that ndarray.std takes
    levels = picture.astype(np.int64).ravel()
    total, n = int(levels.sum()), levels.size
    return total / n, math.sqrt(n * int(levels @ levels) - total**2) / n


def sharpness(grey: Picture) -> float:
    """Return the Laplacian that a twentieth of the pixels [H, W] reach, over the deviation of their levels.

    Sharp edges anywhere in the picture reach .7; where all is out of focus or moves fast, it is below .5.
    """
    levels = grey.astype(np.int16)
    middle = levels[1:-1, 1:-1]
    around = levels[:-2, 1:-1] + levels[2:, 1:-1] + levels[1:-1, :-2] + levels[1:-1, 2:]
    edges = np.abs(4 * middle - around).ravel()
    place = 0.95 * (edges.size - 1)
    number = int(place)
    # np.quantile takes ten times as long as to count the few values that there are
    at_most = np.bincount(edges).cumsum()
    below, above = map(float, np.searchsorted(at_most, [number, number + 1], side="right"))
    return (below + (place - number) * (above - below)) / (_mean_and_deviation(grey)[1] + 1)


def _blend(ticks: Sequence[_Tick]) -> tuple[float, float]:
    """Return how surely the middle ticks are a dissolve, and the seconds from its half to the last tick.

    In a dissolve each picture lies on the line between the first and the last, in all pixels alike; before
    and after, there is less change. A fade to or from black is none.
    """
    start, end = ticks[_MARGIN], ticks[-1 - _MARGIN]
    length, length_s = len(ticks) - 2 * _MARGIN - 1, end.time_s - start.time_s
    if length_s > 1.6 * _TICK_S * length or min(start.deviation, end.deviation) < _MIN_CONTRAST:
        return 0.0, 0.0
    similarity = float(np.vdot(start.centred, end.centred)) / start.levels.size
    if similarity > _MAX_SIMILARITY * start.deviation * end.deviation:
        return 0.0, 0.0
    way = end.levels - start.levels
    whole = _mean(way)
    if whole < _MIN_BLEND:
        return 0.0, 0.0
    outside = max(_mean(ticks[0].levels - start.levels), _mean(ticks[-1].levels - end.levels))
    if outside > _MAX_OUTSIDE * whole:
        return 0.0, 0.0
    off_line = []
    for quarter in (1, 2, 3):
        tick = ticks[_MARGIN + round(quarter * length / 4)]
        share = (tick.time_s - start.time_s) / length_s
        off_line.append(_mean(tick.levels - start.levels - share * way) / whole)
    straight = 1 - (off_line[1] + (off_line[0] + off_line[2]) / 2) / _MAX_OFF_LINE
    return max(straight, 0.0), ticks[-1].time_s - (start.time_s + end.time_s) / 2


def _mean(difference: FloatArray) -> float:
    return float(np.abs(difference).sum()) / difference.size  # ndarray.mean takes three times as long
