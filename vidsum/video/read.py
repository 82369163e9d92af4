"""Read sampled frames of a video in one decode pass, in a thread a bounded number ahead; or single frames."""

import io
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import av
import numpy as np

from vidsum.errors import InputError, Mention, UsageError, unknown_name_error
from vidsum.io.packages import install_extra_command
from vidsum.types import VideoInfo
from vidsum.video.changes import ChangeMeter
from vidsum.video.damage import CannotReadError, DecodeLog, describe_damage, pictures_end_s
from vidsum.video.decode import DecodedFrame, can_seek, decode_frames, decode_onward, first_pts_s
from vidsum.video.frames import (
    TOLERANCE_S,
    Frame,
    LongSide,
    PictureMaker,
    Sampling,
    Size,
    has_odd_pixels,
    pixel_size,
    sample_stream,
)
from vidsum.video.jumps import Jumps
from vidsum.video.open import open_video, video_stream
from vidsum.video.skipping import FrameSkipper
from vidsum.video.threads import ReadAhead
from vidsum.video.timing import read_jumps

READERS = ("pyav", "decord", "opencv")

_AHEAD_BYTES = 16 * 2**20
_AHEAD_FRAMES = (2, 64)  # fewest and most pictures decoded ahead

_ReadSamples = Callable[[VideoInfo, Sequence[Sampling], Jumps, DecodeLog], Iterator[tuple[int, Frame]]]


@dataclass
class _Outcome:
    """Results of the decoding thread; read after it has ended."""

    end_s: float
    warnings: list[str] = field(default_factory=list)


class FrameReader(ReadAhead[tuple[int, Frame]]):
    """An iterator of (i, frame) for sampling i, in time order; its end closes the file."""

    def __init__(
        self, info: VideoInfo, samplings: Sequence[Sampling], read_samples: _ReadSamples, strict: bool
    ) -> None:
        self.info = info
        self._outcome = _Outcome(end_s=info.duration_s)
        frames = _read(info, samplings, read_samples, strict, self._outcome)
        super().__init__(frames, _queue_length(info, samplings))

    @property
    def warnings(self) -> tuple[str, ...]:
        """After the end: damage, and whether another reader had to step in."""
        return tuple(self._outcome.warnings)

    @property
    def end_s(self) -> float:
        """After the end: where the pictures end. Before `info.duration_s` if the file is cut short."""
        return self._outcome.end_s


def read_frames(
    info: VideoInfo,
    samplings: Sequence[Sampling],
    *,
    reader: str = "pyav",
    strict: bool = False,
    fast: bool = False,
    meter: ChangeMeter | None = None,
) -> FrameReader:
    """Read the frames of a video on screen at k / fps for each k and each sampling, in one decode pass.

    Sample k shows the last frame whose time, counted from the first picture, is not after k / fps; before the
    first frame that decodes, that one. There is a sample for every k with k / fps before the pictures' end.

    Where decord or OpenCV fails, PyAV steps in, with a warning. With PyAV only, `fast` decodes key frames
    alone (see `vidsum.video.skipping`), and `meter` sees all decoded frames.

    Raises UsageError: unknown reader, or decord is not installed; no sampling. InputError: the file cannot be
    read, has no video, or none of it can be decoded; with `strict`, after the last frame, if not all can.
    """
    if not samplings:
        raise UsageError("no sampling given")
    read_samples: _ReadSamples
    if reader == "pyav":
        read_samples = partial(_read_samples, strict=strict, fast=fast, meter=meter)
    elif fast:
        raise UsageError(
            (Mention("fast"), f" is of the reader pyav, not {reader}"), hint=Mention("reader", "pyav")
        )
    else:
        read_samples = _import_reader(reader)
    return FrameReader(info, samplings, read_samples, strict)


def _import_reader(reader: str) -> _ReadSamples:
    if reader == "opencv":
        from vidsum.video.opencv_reader import read_samples
    elif reader == "decord":
        try:
            from vidsum.video.decord_reader import read_samples
        except ImportError as error:
            hint = ("use ", Mention("reader", "pyav"), f", or {install_extra_command('decord')}")
            raise UsageError("decord is not installed", hint=hint) from error
    else:
        raise unknown_name_error("reader", reader, READERS)
    return read_samples


def _read_samples(
    info: VideoInfo,
    samplings: Sequence[Sampling],
    jumps: Jumps,
    log: DecodeLog,
    *,
    strict: bool = False,
    fast: bool = False,
    meter: ChangeMeter | None = None,
) -> Iterator[tuple[int, Frame]]:
    """Read samples with PyAV; unless `strict`, frames that no sample shows need not be decoded."""
    with open_video(info.path) as container:
        stream = video_stream(container, info)
        # AVI is read by its decoding times, which are another order
        is_whole = strict or jumps or container.format.name == "avi"
        skipper = None if is_whole else FrameSkipper(stream, samplings, first_pts_s(stream), log, fast=fast)
        decoded = decode_onward(container, stream, jumps, log, skipper)
        decoded = decoded if meter is None else _measure(decoded, meter)
        timed = ((frame.time_s, (frame.frame, frame.turn_deg)) for frame in decoded)
        yield from sample_stream(timed, samplings, info, log, lambda maker, frame: maker.from_frame(*frame))


def _measure(decoded: Iterable[DecodedFrame], meter: ChangeMeter) -> Iterator[DecodedFrame]:
    for frame in decoded:
        meter.add(frame.time_s, frame.frame, is_next=frame.is_next)
        yield frame


def _queue_length(info: VideoInfo, samplings: Sequence[Sampling]) -> int:
    sizes = [pixel_size(s.size, info.display_width, info.display_height) for s in samplings]
    fewest, most = _AHEAD_FRAMES
    return min(most, max(fewest, _AHEAD_BYTES // max(3 * width * height for width, height in sizes)))


def _read(
    info: VideoInfo,
    samplings: Sequence[Sampling],
    read_samples: _ReadSamples,
    strict: bool,
    outcome: _Outcome,
) -> Generator[tuple[int, Frame], None, None]:
    n_given = [0] * len(samplings)
    log, jumps = DecodeLog(), read_jumps(info)
    try:
        for i, frame in read_samples(info, samplings, jumps, log):
            n_given[i] = frame.index + 1
            yield i, frame
    except CannotReadError as reason:
        outcome.warnings.append(f"read with PyAV instead, {reason}")
        log = DecodeLog()
        for i, frame in _read_samples(info, samplings, jumps, log, strict=strict):
            if frame.index >= n_given[i]:
                yield i, frame
    if not log.frames:
        raise InputError("none of its video can be decoded", subject=info.path)
    outcome.end_s = pictures_end_s(info, log)
    damage = describe_damage(info, log)
    if damage and strict:
        hint = ("leave out ", Mention("strict"), " to use what can be decoded")
        raise InputError(damage, hint, subject=info.path)
    if has_odd_pixels(info.sample_aspect_ratio):
        pixels = f"pixels of {info.sample_aspect_ratio:g} times their height"
        outcome.warnings.append(f"{pixels} are treated as square")
    outcome.warnings += [*jumps.describe(), *([damage] if damage else [])]


_KEY_FRAME_GAP_S = 3.0  # assumed where the file has no index


def read_frames_at(info: VideoInfo, times_s: Sequence[float], size: Size = None) -> list[Frame]:
    """Return the frame on screen at each of some times, in their order; at the ends the first or last.

    Seeks only to times further ahead than key frames are apart. Raises InputError where there is no frame.
    """
    maker = PictureMaker(*pixel_size(size, info.display_width, info.display_height))
    jumps = read_jumps(info)
    with open_video(info.path) as container:
        stream = video_stream(container, info)
        key_gap_s = _key_frame_gap_s(container, stream, jumps)
        frames = decode_frames(container, stream, jumps=jumps)
        on_screen = upcoming = next(frames, None)
        stills: dict[int, Frame] = {}
        for index, time_s in sorted(enumerate(times_s), key=lambda item: item[1]):
            if on_screen is not None and time_s - on_screen.time_s > key_gap_s:
                frames = decode_frames(container, stream, start_s=min(time_s, info.duration_s))
                on_screen = upcoming = next(frames, None)
            while upcoming is not None and upcoming.time_s <= time_s + TOLERANCE_S:
                on_screen, upcoming = upcoming, next(frames, None)
            if on_screen is None:
                raise InputError(f"no frame can be decoded at {time_s:.2f} s", subject=info.path)
            picture = maker.from_frame(on_screen.frame, on_screen.turn_deg)
            stills[index] = Frame(index, time_s, on_screen.time_s, picture)
    return [stills[index] for index in range(len(times_s))]


def read_jpegs(info: VideoInfo, times_s: Sequence[float], side: int, quality: int) -> list[bytes]:
    """Return the frames at some times as JPEGs whose longest side has at most `side` pixels."""
    from PIL import Image

    pictures = []
    size = LongSide(min(side, max(info.display_width, info.display_height)))
    for frame in read_frames_at(info, times_s, size):
        Image.fromarray(frame.image).save(content := io.BytesIO(), "JPEG", quality=quality)
        pictures.append(content.getvalue())
    return pictures


def _key_frame_gap_s(container: av.container.InputContainer, stream: av.VideoStream, jumps: Jumps) -> float:
    """Return the median time between key frames in the file's index; infinite where seeking fails."""
    if not can_seek(container, stream, jumps):
        return math.inf
    times = [entry.timestamp for entry in stream.index_entries if entry.is_keyframe]
    if len(times) < 2 or stream.time_base is None:
        return _KEY_FRAME_GAP_S
    return float(np.median(np.diff(times)) * stream.time_base)
