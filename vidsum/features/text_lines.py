"""Choose the frames on which to read text, and follow the lines from frame to frame.

Reading takes from .2 s a frame to some seconds, so that few frames are read: one per shot, and frames in
which new strokes have appeared and stand still, or have scrolled into the picture. Strokes are
pixels that are brighter or darker than what is around them. They also tell when a line appears and disappears
between two readings. docs/algorithms/screen_text.md has the rules and how many frames they read.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Final, Literal

import numpy as np

from vidsum.features.text_strokes import RULES, Mask, StrokePicture, find_new_cells, has_row
from vidsum.results.screen_text import ScreenLine, ScreenText, UnreadPlace
from vidsum.types import FloatArray, Picture, Progress, VideoInfo
from vidsum.video.frames import Frame, LongSide, Sampling

ReadLines = Callable[[Picture], list[ScreenLine]]
Direction = Literal["none", "vertical", "sideways"]

RATE: Final = 2.0  # frames a second to choose from
LONG_SIDE: Final = 1280  # pixels: letters of 10 pixels in full HD can still be read


def sampling_for(video: VideoInfo) -> Sampling:
    side = min(LONG_SIDE, max(video.display_width, video.display_height))
    return Sampling(RATE if video.is_vfr or video.n_frames < 2 else min(RATE, video.fps), LongSide(side))


def read_screen_text(
    frames: Iterable[Frame], read: ReadLines, video: VideoInfo, progress: Progress | None = None
) -> ScreenText:
    """Return the text in frames of `sampling_for`.

    `read` returns the lines of a picture, with an empty text where a line can be seen but not read.
    """
    choice, lines, n_read, last_s = FrameChoice(), LineTracker(), 0, 0.0
    for frame in frames:
        sample = StrokePicture.of(frame)
        if progress:
            progress("reading the screen", frame.time_s, video.duration_s)
        lines.follow(sample)
        if choice.is_due(sample):
            seen = read(frame.image)
            lines.add(sample, _without_cut(seen, choice.direction()))
            choice.mark_read(sample, seen)
            n_read += 1
        last_s = frame.time_s
    end_s = last_s + 1 / RATE
    end_s = min(end_s, video.duration_s) if last_s < video.duration_s else end_s
    all_lines = lines.finish(end_s)
    unread = (line for line in all_lines if not line.text and line.end_s - line.start_s >= _MIN_UNREAD_S)
    places = tuple(UnreadPlace(line.start_s, line.end_s, line.box) for line in unread)
    return ScreenText(tuple(line for line in all_lines if line.text), video.duration_s, n_read, places)


def _without_cut(lines: Sequence[ScreenLine], direction: Direction) -> list[ScreenLine]:
    """Leave out what the sides of the picture cut while text scrolls: lines up and down, words sideways."""
    if direction == "none":
        return list(lines)
    low, high = RULES.edge, 1 - RULES.edge
    if direction == "vertical":
        return [line for line in lines if line.box[1] > low and line.box[3] < high]
    whole = list[ScreenLine]()
    for line in lines:
        words = [word for word in line.words if word.box[0] > low and word.box[2] < high]
        if len(words) == len(line.words):
            whole.append(line)
        elif words and " " in line.text:
            text = " ".join(word.text for word in words)
            boxes = [word.box for word in words]
            box = (min(part[0] for part in boxes), line.box[1], max(part[2] for part in boxes), line.box[3])
            whole.append(replace(line, text=text, box=box, words=tuple(words)))
    return whole


@dataclass(eq=False)
class FrameChoice:
    """Choice of the frames to read, one after another."""

    last: StrokePicture | None = None
    reading: StrokePicture | None = None  # the last one that was read
    known: Mask | None = None  # strokes that have been there since then
    owed: bool = True  # whether a new shot has not been read yet
    saved_s: float = RULES.saved_s  # processor time that readings may take
    wait_s: float = RULES.moving_s
    change: float = 0.0  # of the last frame from the one before
    moving_s: float = 0.0  # how long new strokes have been moving
    travel: FloatArray = field(default_factory=lambda: np.zeros(2, np.float32))  # since the last reading
    has_moved: bool = False  # whether the last reading was of a picture that moved, as in a fade

    def is_due(self, sample: StrokePicture) -> bool:
        last, reading = self.last, self.reading
        self.last = sample
        if last is None or reading is None or self.known is None:
            return True
        step_s, change = sample.time_s - last.time_s, sample.change(last)
        self.change = change
        self.saved_s = min(RULES.saved_s, self.saved_s + RULES.share * step_s)
        self.known &= sample.near | last.near
        self.owed |= change >= RULES.cut
        since_s = sample.time_s - reading.time_s
        if self.owed:
            return self.saved_s > 0 and since_s >= RULES.shot_gap_s and change < RULES.cut
        still, new = find_new_cells(sample, last, self.known)
        self.moving_s = self.moving_s + step_s if has_row(new, RULES.min_row) else 0.0
        self.travel = self.travel + sample.shift(last) if self.moving_s else np.zeros(2, np.float32)
        if self.saved_s <= 0:
            return False
        if change < RULES.still:
            least = RULES.still if self.has_moved else RULES.other
            if sample.change(reading) >= least or has_row(still, 1):
                return True
        elif has_row(still, RULES.min_row):
            return True
        if np.abs(self.travel).max() >= RULES.scrolled:
            return True
        return self.moving_s >= RULES.min_moving_s and since_s >= self.wait_s

    def direction(self) -> Direction:
        """Return in which direction text has scrolled since the last reading."""
        x, y = np.abs(self.travel).tolist()
        if max(x, y) < RULES.edge:
            return "none"
        return "vertical" if y > x else "sideways"

    def mark_read(self, sample: StrokePicture, lines: Sequence[ScreenLine]) -> None:
        """Note that the frame of the last call was read, and which lines it has."""
        cost_s = RULES.reading_s + RULES.line_s * len(lines) if lines else RULES.empty_s
        self.saved_s -= cost_s if not self.owed else min(cost_s, RULES.reading_s + RULES.line_s * len(lines))
        if any(line.text for line in lines):
            self.wait_s = RULES.moving_s
        elif self.moving_s:
            self.wait_s = min(2 * self.wait_s, RULES.max_wait_s)
        self.reading, self.known, self.owed = sample, sample.strokes.copy(), False
        self.has_moved, self.moving_s = self.change >= RULES.still, 0.0
        self.travel = np.zeros(2, np.float32)


@dataclass(eq=False)
class TrackedLine:
    """A line with the picture in which it was read."""

    line: ScreenLine
    picture: StrokePicture
    seen_s: float  # the last time at which it was there
    missed: int = 0  # frames since then

    def is_in(self, sample: StrokePicture) -> bool:
        """Return whether the box of the line shows the same letters in a frame."""
        return self.likeness(self.picture, sample) >= RULES.min_correlation

    def likeness(self, picture: StrokePicture, sample: StrokePicture) -> float:
        """Return the correlation of what two pictures show in the box of the line; 0 where one is empty.

        What all letters of a row have in common is left out: any other line would have it too.
        """
        (before, size), (now, other) = self._letters(picture), self._letters(sample)
        return float((before * now).sum() / (size * other)) if size * other > 0 else 0.0

    def _letters(self, picture: StrokePicture) -> tuple[FloatArray, float]:
        height, width = picture.grey.shape
        left, top, right, bottom = self.line.box
        rows = slice(int(top * height), max(round(bottom * height), int(top * height) + 1))
        columns = slice(int(left * width), max(round(right * width), int(left * width) + 1))
        levels = picture.grey[rows, columns].astype(np.float32)
        if levels.std() < RULES.min_deviation:
            return np.zeros_like(levels), 0.0
        levels -= levels.mean(axis=1, keepdims=True)
        return levels, float(np.sqrt((levels**2).sum()))


_MAX_MISSED = 2  # frames without a line, after which it has gone
_MIN_UNREAD_S = 1.0  # that a line must stand which is not read: texture changes sooner
_N_RECENT = 8  # frames that may be older than a reading and show the same line


@dataclass(eq=False)
class LineTracker:
    """Lines followed from reading to reading."""

    active: list[TrackedLine] = field(default_factory=list)
    lost: list[TrackedLine] = field(default_factory=list)
    done: list[ScreenLine] = field(default_factory=list)
    recent: deque[StrokePicture] = field(default_factory=lambda: deque(maxlen=_N_RECENT))

    def follow(self, sample: StrokePicture) -> None:
        """Look which lines are still there in the next frame."""
        for tracked in self.active:
            if tracked.is_in(sample):
                tracked.seen_s, tracked.missed = sample.time_s, 0
            else:
                tracked.missed += 1
        self.lost += [tracked for tracked in self.active if tracked.missed >= _MAX_MISSED]
        self.active = [tracked for tracked in self.active if tracked.missed < _MAX_MISSED]
        self.recent.append(sample)

    def add(self, sample: StrokePicture, lines: list[ScreenLine]) -> None:
        """Take the lines that were read in the frame of the last call: known ones go on, others are new."""
        before = [*self.active, *self.lost]
        self.active = []
        for line in lines:
            tracked = TrackedLine(line, sample, sample.time_s)
            if not line.text and any(other.line.text and _overlaps(other.line, line) for other in before):
                continue  # it fades, and was read
            known = next((other for other in before if _is_same(other, tracked)), None)
            if line.text:  # it was fading in, and is read now
                before = [other for other in before if other.line.text or not _overlaps(other.line, line)]
            if known:
                before.remove(known)
                surer = max(known.line, line, key=lambda part: part.confidence)
                tracked.line = replace(line, text=surer.text, confidence=surer.confidence, words=surer.words)
                start_s = known.line.start_s
            else:
                start_s = self._find_start(tracked, before)
            tracked.line = replace(tracked.line, start_s=start_s)
            self.active.append(tracked)
        self.done += [self._end(tracked) for tracked in before]
        self.lost = []
        self.recent.clear()
        self.recent.append(sample)

    def _find_start(self, tracked: TrackedLine, before: list[TrackedLine]) -> float:
        """Return when a new line starts; lines of `before` in its place are no longer seen then.

        "1/6" and "2/6" correlate, so a frame belongs to the line that it resembles more.
        """
        replaced = [other for other in before if _overlaps(other.line, tracked.line)]
        start_s = tracked.picture.time_s
        for sample in reversed(self.recent):
            likeness = tracked.likeness(tracked.picture, sample)
            rivals = [other for other in replaced if other.seen_s >= sample.time_s]
            least = max((tracked.likeness(other.picture, sample) for other in rivals), default=0.0)
            if likeness < RULES.min_correlation or likeness <= least:
                break
            start_s = sample.time_s
        for other in replaced:
            other.seen_s = min(other.seen_s, start_s - 1 / RATE)
        return start_s

    def _end(self, tracked: TrackedLine) -> ScreenLine:
        return replace(tracked.line, end_s=tracked.seen_s + 1 / RATE)

    def finish(self, end_s: float) -> tuple[ScreenLine, ...]:
        """Return all lines; those that are still there end at `end_s`."""
        lines = [*self.done, *map(self._end, self.lost)]
        lines += [replace(tracked.line, end_s=end_s) for tracked in self.active]
        lines = [replace(line, end_s=max(min(line.end_s, end_s), line.start_s + 0.04)) for line in lines]
        return tuple(sorted(lines, key=lambda line: (line.start_s, line.box[1], line.box[0], line.text)))


def _is_same(known: TrackedLine, tracked: TrackedLine) -> bool:
    """Return whether two readings, an earlier and a later one, are of the same line."""
    before, line = known.line, tracked.line
    if tracked.picture.time_s - known.seen_s > RULES.bridged_s:
        return False
    if not before.text or not line.text:
        return before.text == line.text and _overlaps(before, line)
    if before.text == line.text:
        return True
    digits = [[letter for letter in part.text if letter.isdigit()] for part in (before, line)]
    if digits[0] != digits[1] or not _overlaps(before, line):
        return False
    likeness = SequenceMatcher(None, before.text, line.text, autojunk=False).ratio()
    if min(before.confidence, line.confidence) < RULES.sure and abs(len(before.text) - len(line.text)) < 2:
        return likeness >= 0.7  # EXAN, EXAM: a doubtful reading of letters before moving pictures
    return likeness >= 0.8 and not known.missed


def _overlaps(line: ScreenLine, other: ScreenLine) -> bool:
    pairs = list(zip(line.box, other.box, strict=True))
    width, height = (min(pairs[n + 2]) - max(pairs[n]) for n in (0, 1))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (line.box, other.box)]
    return width > 0 and height > 0 and width * height >= 0.5 * min(areas)
