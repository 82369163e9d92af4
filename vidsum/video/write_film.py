"""Encode parts of many clips, and photographs, as one MP4 on one canvas, the sound in step."""

import os
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Final

import av
from av.video.reformatter import ColorRange

from vidsum.errors import InputError
from vidsum.io.atomic import atomic_write
from vidsum.types import Interval, Picture, Progress, VideoInfo
from vidsum.video.audio import SoundTrack
from vidsum.video.canvas import CanvasPainter, write_title
from vidsum.video.damage import DecodeLog
from vidsum.video.framing import Framing
from vidsum.video.h264 import H264Track
from vidsum.video.hdr import describe_hdr
from vidsum.video.loudness import plan_normalisation
from vidsum.video.mixing import LAYOUT, RATE, TARGET_LUFS, SoundPart, mix_sound, sample_at
from vidsum.video.open import open_video, video_stream
from vidsum.video.photographs import read_photograph
from vidsum.video.picture_track import BT709
from vidsum.video.segments import SegmentFrame, in_ticks, segment_frames
from vidsum.video.settings import DEFAULT_CRF
from vidsum.video.timing import read_jumps
from vidsum.video.write import open_mp4, translate_ffmpeg_errors

_TITLE_S: Final = 3.0


@dataclass(frozen=True, eq=False)
class FilmPart:
    """A part [start_s, end_s) of a video, or a photograph."""

    path: str
    video: VideoInfo | None  # None of a photograph
    start_s: float
    end_s: float
    title: str = ""
    speech: tuple[Interval, ...] = ()  # in the video
    framing: Framing | None = None  # the part of the picture that is shown; None: the whole


def write_film(
    parts: Sequence[FilmPart],
    size: tuple[int, int],
    rate: Fraction,
    target: str | os.PathLike[str],
    *,
    music: str | None = None,
    crf: int = DEFAULT_CRF,
    comment: str | None = None,
    progress: Progress | None = None,
) -> tuple[str, ...]:
    """Write parts one after the other as MP4 with H.264 and AAC, and return warnings.

    Frame k of a part shows what is on screen in its source half a frame after `start_s` + k / rate, so that
    a picture is at most half a frame early or late. The first sample of its sound is the one at `start_s`.
    One source is open at a time. The same input gives the same bytes.

    Args:
        size: (width, height) of the film, even.
        rate: frames per second.
        music: a file whose sound is under the film.

    Raises InputError: a source cannot be read. OutputError: the target cannot be written.
    """
    lengths = accumulate(
        (Fraction(part.end_s) - Fraction(part.start_s) for part in parts), initial=Fraction()
    )
    edges = [0]
    for length in islice(lengths, 1, None):
        edges.append(max(round(length * rate), edges[-1] + 1))  # each has a frame
    painter, warnings, total_s = CanvasPainter(*size), list[str](), float(edges[-1] / rate)
    report = progress or (lambda *_: None)
    with atomic_write(target) as made:
        sounds = [
            SoundPart(part.video, part.start_s, sample_at(first, rate), sample_at(end, rate), part.speech)
            for part, (first, end) in zip(parts, pairwise(edges), strict=True)
        ]
        with (
            translate_ffmpeg_errors("cannot be encoded by H.264 and AAC", target),
            mix_sound(sounds, music, made.parent, warnings, progress) as mixed,
            open_mp4(made, comment) as output,
        ):
            pictures = _open_track(output, rate, size, crf)
            level = None
            if mixed is not None:
                report("measuring loudness", 0, 0)
                level = plan_normalisation(mixed.blocks, RATE, LAYOUT, TARGET_LUFS)
                warnings += level.describe() if level else ()
            sound = SoundTrack(mixed, output, level) if mixed is not None else None
            for part, (first, end) in zip(parts, pairwise(edges), strict=True):
                frames = _frames_of(part, painter, end - first, rate, warnings)
                for tick, frame in enumerate(frames, first):
                    report("writing", float(tick / rate), total_s)
                    pictures.encode(frame, tick, starts_segment=tick == first)
                    if sound is not None:
                        sound.follow(tick / rate)
            if sound is not None:
                sound.finish(edges[-1] / rate)
            pictures.finish(edges[-1])
    report("writing", total_s, total_s)
    return tuple(dict.fromkeys(warnings))


def _open_track(
    output: av.container.OutputContainer, rate: Fraction, size: tuple[int, int], crf: int
) -> H264Track:
    track = H264Track(output, rate, size, 1 / rate, crf)
    encoder = track.encoder
    encoder.color_range = ColorRange.MPEG
    encoder.colorspace = encoder.color_primaries = encoder.color_trc = BT709
    return track


def _frames_of(
    part: FilmPart, painter: CanvasPainter, count: int, rate: Fraction, warnings: list[str]
) -> Iterator[av.VideoFrame]:
    """Yield `count` frames of a part as the film shows them. Raises InputError: it has no picture."""
    pictures = _video_frames(part, painter, rate, warnings) if part.video else _still(part, painter)
    last, n_made = None, 0
    with closing(pictures):
        for picture, until in pictures:
            while n_made < min(until, count):
                yield picture
                n_made += 1
            last = picture
            if n_made == count:
                return
    if last is None:
        raise InputError("no frame of its part can be decoded", subject=part.path)
    for _ in range(count - n_made):  # the file ends early
        yield last


def _still(part: FilmPart, painter: CanvasPainter) -> Generator[tuple[av.VideoFrame, int], None, None]:
    """Yield the frame of a photograph, and a number beyond that of any frame of the film."""
    canvas = painter.from_picture(read_photograph(part.path, max(painter.width, painter.height)))
    titled = write_title(canvas, part.title) if part.title else canvas
    yield painter.to_frame(titled), sys.maxsize


def _paint(part: FilmPart, painter: CanvasPainter, frame: SegmentFrame, *, is_titled: bool) -> Picture:
    assert part.video is not None
    canvas = painter.from_frame(frame.decoded, part.video, part.framing)
    return write_title(canvas, part.title) if part.title and is_titled else canvas


def _video_frames(
    part: FilmPart, painter: CanvasPainter, rate: Fraction, warnings: list[str]
) -> Generator[tuple[av.VideoFrame, int], None, None]:
    """Yield each frame of a video's part that the film shows, and the number of the frame after its last."""
    video = part.video
    assert video is not None
    log, name, covered = DecodeLog(), Path(video.path).name, 0
    passed: SegmentFrame | None = None
    with open_video(video.path) as container:
        stream = video_stream(container, video)
        if hdr := describe_hdr(video.path, stream):
            warnings.append(f"{name}: {hdr}")
        base = stream.time_base or Fraction(1)
        ticks = in_ticks([(part.start_s, part.end_s)], base)
        try:
            for frame in segment_frames(container, stream, ticks, read_jumps(video), log):
                # frames of the film whose middle comes before the next picture
                off = (frame.end_tick * base - Fraction(part.start_s)) * rate
                until = round(off)
                if until <= covered:
                    passed = frame
                    continue
                canvas = _paint(part, painter, frame, is_titled=covered < _TITLE_S * rate)
                yield painter.to_frame(canvas), until
                covered = until
            if not covered and passed:  # the part is shorter than half a frame of the film
                yield painter.to_frame(_paint(part, painter, passed, is_titled=True)), 1
        finally:  # its reader stops where it has enough
            if log.errors or log.damaged:
                warnings.append(f"{name}: damaged pictures: {log.errors + log.damaged}")
